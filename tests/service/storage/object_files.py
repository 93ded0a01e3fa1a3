"""Objects of one emulated store: files in a folder, written atomically, optionally only once."""

import base64
import hashlib
import json
import threading
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import google_crc32c

from vbdesk.clock import utc_now


class AlreadyThere(Exception):
    """A conditional write found an existing object."""


@dataclass(frozen=True)
class StoredObject:
    """Metadata of an object; `name` is `bucket/key`."""

    name: str
    size: int
    md5: str
    crc32c: str
    content_type: str
    metadata: dict[str, str]
    file: str
    updated: str = field(default_factory=lambda: utc_now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"))

    @property
    def etag(self) -> str:
        return f'"{base64.b64decode(self.md5).hex()}"'


class ObjectFiles:
    """Objects below `folder`; they survive the process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._objects: dict[str, StoredObject] = {}
        for path in folder.glob("*.json"):
            found = StoredObject(**json.loads(path.read_text()))
            self._objects[found.name] = found

    def find(self, name: str) -> StoredObject | None:
        return self._objects.get(name)

    def read(self, found: StoredObject) -> bytes:
        return (self._folder / found.file).read_bytes()

    def put(
        self, name: str, body: bytes, content_type: str, metadata: dict[str, str] | None = None, *, once: bool = False
    ) -> StoredObject:
        file = uuid.uuid4().hex
        (self._folder / file).write_bytes(body)
        stored = StoredObject(
            name,
            len(body),
            base64.b64encode(hashlib.md5(body).digest()).decode(),
            base64.b64encode(google_crc32c.Checksum(body).digest()).decode(),
            content_type,
            metadata or {},
            file,
        )
        with self._lock:
            if once and name in self._objects:
                (self._folder / file).unlink()
                raise AlreadyThere
            self._forget(name)
            described = self._folder / f"{file}.part"
            described.write_text(json.dumps(asdict(stored)))
            described.replace(self._folder / f"{file}.json")
            self._objects[name] = stored
        return stored

    def delete(self, name: str) -> bool:
        with self._lock:
            return self._forget(name)

    def clear(self) -> None:
        for name in list(self._objects):
            self.delete(name)

    def below(self, prefix: str) -> Iterator[StoredObject]:
        for name in sorted(self._objects):
            if name.startswith(prefix):
                yield self._objects[name]

    def _forget(self, name: str) -> bool:
        gone = self._objects.pop(name, None)
        if gone is not None:
            (self._folder / f"{gone.file}.json").unlink()
            (self._folder / gone.file).unlink()
        return gone is not None

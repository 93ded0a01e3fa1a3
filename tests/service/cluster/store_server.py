"""Object store emulator as a process that can be killed, restarted and made to fail."""

import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx

from free_ports import free_port
from patience import HANGS_S

sys.path.append(str(Path(__file__).parents[1] / "support"))

from served import ReadyProcess

sys.path.append(str(Path(__file__).parents[1] / "storage"))

from object_files import ObjectFiles

EMULATOR = Path(__file__).parents[1] / "storage" / "emulator.py"


@dataclass(frozen=True)
class StoreAccess:
    """Settings and environment that a service process needs to reach the object store."""

    settings: dict[str, str]
    environment: dict[str, str] = field(default_factory=dict)


class StoreServer(ReadyProcess):
    """Store server that runs from creation until `close`."""

    def __init__(self, kind: Literal["s3", "gcs"]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="vbdesk-objects-"))
        command = [sys.executable, EMULATOR, "--kind", kind, "--port", free_port(), "--folder", self._folder / "kept"]
        super().__init__(self._folder, *command)
        self.start()

    def access(self, prefix: str) -> StoreAccess:
        """Return the access for a service whose audio is stored under `prefix`."""
        settings = dict(self.ready["settings"])
        bucket = settings["storage_url"].split("/")[2]
        settings["storage_url"] = f"{settings['storage_url'].split(':')[0]}://{bucket}/{prefix}"
        return StoreAccess(settings, dict(self.ready["environment"]))

    def set_mood(self, **mood: Any) -> None:
        """Set how it treats requests, see `moods.Mood`; without arguments it works normally."""
        httpx.put(f"{self.ready['endpoint']}/_control", json=mood, trust_env=False, timeout=HANGS_S).raise_for_status()

    def kept(self) -> ObjectFiles:
        """Return all stored objects, from its folder."""
        return ObjectFiles(self._folder / "kept" / "objects")

    def replace(self, body: bytes, other: bytes) -> int:
        """Replace the content `body` of all objects by `other`; return their number. The server restarts for this."""
        self.kill()
        kept = self.kept()
        found = [stored for stored in kept.below("") if kept.read(stored) == body]
        for stored in found:
            kept.put(stored.name, other, stored.content_type, stored.metadata)
        self.start()
        return len(found)

    def close(self) -> None:
        if self.runs:
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

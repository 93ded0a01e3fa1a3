"""Uploads: a signed address, then the bytes, straight to the storage."""

from collections.abc import Callable, Iterator

import httpx

from vbdesk.client.answers import is_of_portal, storage_error_of
from vbdesk.client.audio import AudioSource
from vbdesk.client.errors import Cancelled, UploadExpired
from vbdesk.client.paths import path
from vbdesk.client.timekeeper import CancelFlag
from vbdesk.client.transport import Call, Transport
from vbdesk.contract.limits import Bucket
from vbdesk.contract.uploads import AudioContentType, UploadGrant, UploadRequest

CHUNK_BYTES = 64 * 1024
UPLOAD_TIMEOUT = httpx.Timeout(120.0, connect=10.0)

Progress = Callable[[int, int], None]
"""Called with bytes sent and bytes in all; starts over when an attempt does."""


class Uploads:
    """Ways to bring a recording to the storage."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, audio: AudioSource, *, progress: Progress | None = None, cancel: CancelFlag | None = None) -> str:
        """Mint an address, put the recording there, and return its `upload_ref`.

        Raises:
            ClientError: see `vbdesk.client.errors`.
        """
        grant = self.mint(audio.content_type, audio.filename, cancel, size_bytes=audio.size_bytes)
        try:
            self.put(grant, audio, progress=progress, cancel=cancel)
        except UploadExpired:
            grant = self.mint(audio.content_type, audio.filename, cancel, size_bytes=audio.size_bytes)
            self.put(grant, audio, progress=progress, cancel=cancel)
        return grant.upload_ref

    def mint(
        self,
        content_type: AudioContentType,
        filename: str | None = None,
        cancel: CancelFlag | None = None,
        *,
        size_bytes: int | None = None,
    ) -> UploadGrant:
        """Ask for a place to put one file; told its size, a storage that can takes no other."""
        body = UploadRequest(content_type=content_type, filename=filename, size_bytes=size_bytes or None).model_dump(
            mode="json"
        )
        call = Call("POST", path("audio", "uploads"), bucket=Bucket.ANALYZE, repeatable=True, json=body)
        return self._transport.read(call, UploadGrant.model_validate_json, cancel)

    def put(
        self,
        grant: UploadGrant,
        audio: AudioSource,
        *,
        progress: Progress | None = None,
        cancel: CancelFlag | None = None,
    ) -> None:
        """Put the bytes at the granted address, without credentials, with every required header.

        The address takes one file once: when an answer was lost, the second attempt is told that the file is already
        there, and that is success.
        """
        attempts = 0

        def attempt() -> None:
            nonlocal attempts
            attempts += 1
            response = self._transport.exchange(
                lambda: self._put_once(grant, audio, progress, cancel), with_storage=True
            )
            already_there = response.status_code == httpx.codes.PRECONDITION_FAILED and attempts > 1
            taken = response.is_success and not is_of_portal(response)  # a login page says "200 OK" to anything
            if not (taken or already_there):
                raise storage_error_of(response)

        self._transport.persist(attempt, repeatable=True, cancel=cancel)

    def _put_once(
        self, grant: UploadGrant, audio: AudioSource, progress: Progress | None, cancel: CancelFlag | None
    ) -> httpx.Response:
        headers = {**grant.required_headers, "Content-Length": str(audio.size_bytes)}
        return self._transport.http.put(
            grant.upload_url, content=_chunks(audio, progress, cancel), headers=headers, timeout=UPLOAD_TIMEOUT
        )


def _chunks(audio: AudioSource, progress: Progress | None, cancel: CancelFlag | None) -> Iterator[bytes]:
    sent = 0
    with audio.open() as stream:
        while chunk := stream.read(CHUNK_BYTES):
            if cancel is not None and cancel.is_set():
                raise Cancelled
            yield chunk
            sent += len(chunk)
            if progress is not None:
                progress(sent, audio.size_bytes)

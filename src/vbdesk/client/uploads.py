"""Uploads: get a signed address, then send the bytes directly to the storage."""

import hashlib
import re
from collections.abc import Callable, Iterator

import httpx

from vbdesk.client.audio import AudioSource
from vbdesk.client.error_responses import is_of_portal, storage_error_of
from vbdesk.client.errors import AddressUsed, Cancelled, ConnectionFailed, UploadExpired
from vbdesk.client.transport import Call, Transport
from vbdesk.client.url_paths import path
from vbdesk.clock import CancelFlag
from vbdesk.contract.audio_formats import AudioContentType
from vbdesk.contract.limits import Bucket
from vbdesk.contract.uploads import STORED_SHA256, UploadGrant, UploadRequest

CHUNK_BYTES = 64 * 1024
UPLOAD_TIMEOUT = httpx.Timeout(120.0, connect=10.0)

Progress = Callable[[int, int], None]
"""Called with the bytes sent and all bytes; a new attempt starts at 0 again."""


class Uploads:
    """Uploads a recording to the storage."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, audio: AudioSource, *, progress: Progress | None = None, cancel: CancelFlag | None = None) -> str:
        """Get an address, upload the recording there, and return its `upload_ref`.

        Raises:
            ClientError: see `vbdesk.client.errors`.
        """
        grant = self.mint(audio.content_type, audio.filename, cancel, size_bytes=audio.size_bytes)
        try:
            self.put(grant, audio, progress=progress, cancel=cancel)
        except (UploadExpired, AddressUsed):
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
        """Get an address for one file; with its size, the storage can refuse any other."""
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
        sent_before: bool = False,
    ) -> None:
        """Upload the bytes to the granted address, without credentials, with all required headers.

        The address accepts one file once, so a second PUT gets 412: after a lost answer, or if the network delivers one
            PUT
        twice. It counts as success only if the file there is this one. Our storage proves it by a digest. Others do
        not; there an earlier unanswered attempt must have sent the whole file, since nobody else knows the address.

        Args:
            grant: from `mint`, used for these bytes only.
            audio: the bytes.
            progress: called as bytes are sent.
            cancel: set to stop.
            sent_before: whether an earlier call sent all of these bytes to this address without an answer.

        Raises:
            AddressUsed: a file is there that may not be this one. Get another address.
            ClientError: see `vbdesk.client.errors`.
        """
        unanswered = sent_before

        def attempt() -> None:
            nonlocal unanswered
            whole = False

            def advance(sent: int, total: int) -> None:
                nonlocal whole
                whole = sent >= total
                if progress is not None:
                    progress(sent, total)

            try:
                response = self._transport.exchange(
                    lambda: self._put_once(grant, audio, advance, cancel), with_storage=True
                )
            except ConnectionFailed:
                unanswered = unanswered or whole
                raise
            if response.status_code == httpx.codes.PRECONDITION_FAILED and not is_of_portal(response):
                if not _is_ours(response, audio, unanswered=unanswered):
                    raise AddressUsed(code=storage_error_of(response).code, status=response.status_code)
            elif not response.is_success or is_of_portal(response):  # a login page answers "200 OK" to anything
                unanswered = unanswered or (whole and response.status_code >= httpx.codes.INTERNAL_SERVER_ERROR)
                raise storage_error_of(response)

        self._transport.persist(attempt, repeatable=True, cancel=cancel)

    def _put_once(
        self, grant: UploadGrant, audio: AudioSource, progress: Progress | None, cancel: CancelFlag | None
    ) -> httpx.Response:
        headers = {**grant.required_headers, "Content-Length": str(audio.size_bytes)}
        return self._transport.http.put(
            grant.upload_url, content=_chunks(audio, progress, cancel), headers=headers, timeout=UPLOAD_TIMEOUT
        )


def _is_ours(response: httpx.Response, audio: AudioSource, *, unanswered: bool) -> bool:
    """Whether the file at a used address is this one."""
    found = re.search(rf"<{STORED_SHA256}>([0-9a-f]{{64}})</{STORED_SHA256}>", response.text)
    if found is None:
        return unanswered
    digest = hashlib.sha256()
    with audio.open() as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest() == found[1]


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

"""Download of a recording from the URL in a v1 call: to disk, within limits, from public addresses."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpcore

from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.service.encryption.recording_files import RecordingFiles
from vbdesk.service.http.multipart import UploadedFile
from vbdesk.service.kernel.address_guard import AddressGuard, AddressNotAllowed
from vbdesk.service.kernel.errors import AudioTooLarge, InvalidRequest
from vbdesk.service.storage.spool import Spool, StreamTooLong, TakeBytes, take_all
from vbdesk.service.webhooks.sender import ssl_context

TIMEOUT_S = 30.0
_HEADERS = [("Accept", "*/*"), ("Accept-Encoding", "identity"), ("User-Agent", "vbdesk")]
_CONNECT_FAILURES = (httpcore.NetworkError, httpcore.TimeoutException)


class AudioFetcher:
    """Fetches audio by URL: HTTPS only, unless private addresses are allowed; no redirects, proxies or cookies."""

    def __init__(
        self, guard: AddressGuard, account_id: str, *, allow_plain_http: bool, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._guard = guard
        self._account_id = account_id
        self._schemes = ("https", "http") if allow_plain_http else ("https",)
        self._timeout_s = timeout_s

    async def check(self, url: str) -> None:
        """Check the URL before anything is fetched. Raises InvalidRequest."""
        if urlsplit(url).scheme not in self._schemes:
            raise InvalidRequest("Audio is fetched over HTTPS only. Give an address that begins with https://.")
        try:
            await self._guard.check_url(url, self._account_id)
        except AddressNotAllowed as refusal:
            raise InvalidRequest(str(refusal)) from None

    @asynccontextmanager
    async def fetch(self, url: str, files: RecordingFiles, take: TakeBytes = take_all) -> AsyncIterator[UploadedFile]:
        """Fetch the recording as one of `files`; it is removed at the end of the block unless it was moved.

        `take` may refuse bytes before they are written.

        Raises:
            InvalidRequest: the address is refused, cannot be reached, does not answer 200, or takes too long.
            AudioTooLarge: there are more bytes than allowed; the rest is not read.
        """
        await self.check(url)
        spool = Spool(files, MAX_AUDIO_BYTES, take)
        try:
            content_type = await self._download(url, spool)
            yield UploadedFile(spool.recording, content_type, spool.size)
        finally:
            spool.discard()

    async def _download(self, url: str, spool: Spool) -> str:
        """Download into the spool and return the declared content type."""
        backend = _PinnedBackend(self._guard, self._account_id)
        pool = httpcore.AsyncConnectionPool(ssl_context=ssl_context(), network_backend=backend)
        try:
            # One timeout for the whole download: a server that sends single bytes cannot extend it.
            async with asyncio.timeout(self._timeout_s), pool, pool.stream("GET", url, headers=_HEADERS) as response:
                if response.status != 200:
                    raise InvalidRequest(f"The audio address answered with status {response.status} and not with 200.")
                headers = {name.lower(): value for name, value in response.headers}
                announced = headers.get(b"content-length", b"")
                if announced.isdigit() and int(announced) > MAX_AUDIO_BYTES:
                    raise AudioTooLarge
                async for chunk in response.aiter_stream():
                    await spool.write(chunk)
                await spool.finish()
        except StreamTooLong:
            raise AudioTooLarge from None
        except AddressNotAllowed as refusal:
            raise InvalidRequest(str(refusal)) from None
        except TimeoutError:
            raise InvalidRequest(f"The audio did not arrive within {self._timeout_s:g} s.") from None
        except (socket.gaierror, httpcore.ProtocolError, httpcore.UnsupportedProtocol, *_CONNECT_FAILURES):
            raise InvalidRequest("The audio address cannot be reached. Check it, or send the audio itself.") from None
        return headers.get(b"content-type", b"application/octet-stream").decode("latin-1")


class _PinnedBackend(httpcore.AsyncNetworkBackend):
    """Resolves a name once, checks every address, and connects to a checked address.

    TLS verifies the name in the URL, not the IP address.
    """

    def __init__(self, guard: AddressGuard, account_id: str) -> None:
        self._guard = guard
        self._account_id = account_id
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers."""
        failure: Exception | None = None
        for number in await self._guard.resolve(host, port, self._account_id):
            try:
                return await self._inner.connect_tcp(number, port, timeout, local_address, socket_options)
            except _CONNECT_FAILURES as error:
                failure = error
        raise failure or httpcore.ConnectError(f"{host} has no address.")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: audio is never fetched from a local socket."""
        raise httpcore.UnsupportedProtocol("Audio is not read from a socket file.")

"""HTTP origin of the object store: accepts files at signed addresses, reports errors in XML."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol
from xml.sax.saxutils import escape

from sqlalchemy.exc import DBAPIError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vbdesk.clock import Clock
from vbdesk.contract.uploads import LENGTH_RANGE_HEADER, STORED_SHA256
from vbdesk.service.http.cors import REFUSED, storage_with_cors
from vbdesk.service.http.malformed_requests import UNREADABLE, MalformedRequestAnswer
from vbdesk.service.kernel.disk_space import is_disk_full
from vbdesk.service.kernel.errors import OutOfSpace
from vbdesk.service.storage.signing import PutRequest, SignedAddressRefused, UploadSigner
from vbdesk.service.storage.spool import Spool, StreamTooLong, TakeBytes, take_all
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, ObjectStore

_XML = "application/xml"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent. Responses repeat header names, which callers put in addresses."""
# Create a new one per request: an exception that is raised repeatedly keeps every frame, and its request, alive.
_too_large = partial(SignedAddressRefused, 400, "EntityTooLarge", "The file is larger than the address allows.")
_too_small = partial(SignedAddressRefused, 400, "EntityTooSmall", "The file is smaller than the address allows.")
_address_ended = partial(
    SignedAddressRefused,
    403,
    "AccessDenied",
    "The address does not hold any more. Ask for a new one.",
)
_slow_down = partial(
    SignedAddressRefused, 503, "SlowDown", "Files are being put to this address already. Try again later."
)
_no_room = partial(
    SignedAddressRefused, 503, "ServiceUnavailable", "The store is short of disk space. Try again later."
)
RETRY_AFTER_S = 60


AT_ONCE_TO_ONE_ADDRESS = 16
"""Concurrent uploads to one address: enough for the caller's retries, but limited."""


class UploadGate(Protocol):
    """Decides which addresses still accept uploads: a signature alone cannot be revoked."""

    def admits(self, key: str) -> bool:
        """Return whether the address accepts an upload now."""
        ...

    def note_stored(self, key: str, size: int) -> bool:
        """Record the file that was just stored; False when it must be removed."""
        ...


class _StorageApp(Starlette):
    """Starlette application; CORS wraps its handler of unexpected errors."""

    cors_origins: Collection[str] = ()

    def build_middleware_stack(self) -> ASGIApp:
        stack = super().build_middleware_stack()
        return storage_with_cors(stack, self.cors_origins, _CROSS_ORIGIN) if self.cors_origins else stack


def create_storage_app(
    store: ObjectStore,
    signer: UploadSigner,
    clock: Clock,
    uploads: UploadGate,
    take: TakeBytes = take_all,
    cors_origins: Collection[str] = (),
) -> Starlette:
    """Create the ASGI application; `take` may refuse bytes for lack of space; pages of `cors_origins` may PUT."""
    origin = _Origin(store, signer, clock, uploads, take)
    app = _StorageApp(
        routes=[Route("/{key:path}", origin.put, methods=["PUT"])],
        exception_handlers={
            SignedAddressRefused: _refusal,
            HTTPException: _framework_refusal,
            OutOfSpace: _out_of_space,
            OSError: _disk_full_or_crash,
            DBAPIError: _disk_full_or_crash,
            Exception: _crash,
        },
    )
    app.cors_origins = cors_origins
    app.state.unreadable = MalformedRequestAnswer(_XML, _xml_body("InvalidRequest", UNREADABLE, {}))
    return app


@dataclass(frozen=True, slots=True)
class _Origin:
    store: ObjectStore
    signer: UploadSigner
    clock: Clock
    uploads: UploadGate
    take: TakeBytes
    under_way: Counter[str] = field(default_factory=Counter)

    async def put(self, request: Request) -> Response:
        """Accept one file: check the signature, the length, the address's validity and that it is the first file.

        A refused upload leaves no data behind.
        """
        raw_path = request.scope["raw_path"].decode("ascii", "replace").partition("?")[0]
        self.signer.check(PutRequest(raw_path, request.url.query, request.headers), self.clock.now())
        key: str = request.path_params["key"]
        least, most = (int(bound) for bound in request.headers[LENGTH_RANGE_HEADER].split(","))
        announced = request.headers.get("content-length", "")
        if announced.isdigit() and int(announced) > most:
            raise _too_large()
        if not await run_in_threadpool(self.uploads.admits, key):
            raise _address_ended()
        if await run_in_threadpool(self.store.exists, key):
            raise await run_in_threadpool(self._written_already, key)
        if self.under_way[key] >= AT_ONCE_TO_ONE_ADDRESS:
            raise _slow_down()
        self.under_way[key] += 1
        try:
            return await self._receive(request, key, least, most)
        finally:
            self.under_way[key] -= 1
            if not self.under_way[key]:
                del self.under_way[key]

    async def _receive(self, request: Request, key: str, least: int, most: int) -> Response:
        self.take(0)  # check the space before the file is created
        spool = Spool(self.store.files, most, self.take)
        try:
            async for chunk in request.stream():
                await spool.write(chunk)
            await spool.finish()
            if spool.size < least:
                raise _too_small()
            await run_in_threadpool(self._store, key, spool)
        except StreamTooLong:
            raise _too_large() from None
        except ObjectExists:
            raise await run_in_threadpool(self._written_already, key) from None
        except ClientDisconnect:
            return Response(status_code=400)  # the caller has disconnected
        finally:
            spool.discard()
        return Response(status_code=200)

    def _store(self, key: str, spool: Spool) -> None:
        """Store the file; refuse or delete it if its account was erased during the upload."""
        if not self.uploads.admits(key):
            raise _address_ended()
        self.store.adopt(key, spool.path)
        if not self.uploads.note_stored(key, spool.size):
            self.store.delete(key)
            raise _address_ended()

    def _written_already(self, key: str) -> SignedAddressRefused:
        """Return the error for a second file, with the digest of the first: a caller can recognise its retry."""
        details = {}
        with suppress(ObjectMissing), self.store.local_copy(key) as copy, copy.open("rb") as file:
            details[STORED_SHA256] = hashlib.file_digest(file, "sha256").hexdigest()
        return SignedAddressRefused(412, "PreconditionFailed", "A file was put to this address already.", **details)


def _xml_body(code: str, message: str, details: dict[str, str]) -> bytes:
    inner = {"Code": code, "Message": message, **details}
    elements = "".join(f"<{name}>{_text(value)}</{name}>" for name, value in inner.items())
    return f'<?xml version="1.0" encoding="UTF-8"?><Error>{elements}</Error>'.encode()


def _text(value: str) -> str:
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", value))


def _xml(
    status: int, code: str, message: str, details: dict[str, str], headers: Mapping[str, str] | None = None
) -> Response:
    return Response(_xml_body(code, message, details), status, headers, media_type=_XML)


_CROSS_ORIGIN = MalformedRequestAnswer(_XML, _xml_body("AccessForbidden", REFUSED, {}))


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, SignedAddressRefused)  # noqa: S101  (narrows the handler's type)
    headers = {"Retry-After": str(RETRY_AFTER_S)} if error.status == 503 else None
    return _xml(error.status, error.code, error.message, error.details, headers)


async def _out_of_space(request: Request, error: Exception) -> Response:
    return await _refusal(request, _no_room())


async def _disk_full_or_crash(request: Request, error: Exception) -> Response:
    if not is_disk_full(error):
        raise error
    return await _refusal(request, _no_room())


async def _framework_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    code = "MethodNotAllowed" if error.status_code == 405 else "InvalidRequest"
    return _xml(error.status_code, code, "Files are taken here by PUT to a signed address only.", {}, error.headers)


async def _crash(request: Request, error: Exception) -> Response:
    return _xml(500, "InternalError", "The store could not take the file. Try again.", {})

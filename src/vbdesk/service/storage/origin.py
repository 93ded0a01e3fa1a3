"""The object store's own origin: takes files at signed addresses, answers refusals in XML."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from xml.sax.saxutils import escape

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from vbdesk.contract.uploads import LENGTH_RANGE_HEADER, STORED_SHA256
from vbdesk.service.clock import Clock
from vbdesk.service.http.unreadable import UNREADABLE, Refusal
from vbdesk.service.storage.signing import AddressRefused, PutRequest, UploadSigner
from vbdesk.service.storage.spool import Spool, StreamTooLong
from vbdesk.service.storage.store import ObjectExists, ObjectMissing, ObjectStore

_XML = "application/xml"
_TOO_LARGE = AddressRefused(400, "EntityTooLarge", "The file is larger than the address allows.")
_TOO_SMALL = AddressRefused(400, "EntityTooSmall", "The file is smaller than the address allows.")


def create_storage_app(store: ObjectStore, signer: UploadSigner, clock: Clock) -> Starlette:
    """The origin as an ASGI application."""
    origin = _Origin(store, signer, clock)
    app = Starlette(
        routes=[Route("/{key:path}", origin.put, methods=["PUT"])],
        exception_handlers={AddressRefused: _refusal, HTTPException: _framework_refusal, Exception: _crash},
    )
    app.state.unreadable = Refusal(_XML, _xml_body("InvalidRequest", UNREADABLE, {}))
    return app


@dataclass(frozen=True, slots=True)
class _Origin:
    store: ObjectStore
    signer: UploadSigner
    clock: Clock

    async def put(self, request: Request) -> Response:
        """Take one file: signature first, then length, then whether it is the first; nothing is left of a refusal."""
        raw_path = request.scope["raw_path"].decode("ascii", "replace").partition("?")[0]
        self.signer.check(PutRequest(raw_path, request.url.query, request.headers), self.clock.now())
        key: str = request.path_params["key"]
        least, most = (int(bound) for bound in request.headers[LENGTH_RANGE_HEADER].split(","))
        announced = request.headers.get("content-length", "")
        if announced.isdigit() and int(announced) > most:
            raise _TOO_LARGE
        if await run_in_threadpool(self.store.exists, key):
            raise await run_in_threadpool(self._written_already, key)
        spool = Spool(self.store.files, most)
        try:
            async for chunk in request.stream():
                await spool.write(chunk)
            await spool.finish()
            if spool.size < least:
                raise _TOO_SMALL
            await run_in_threadpool(self.store.adopt, key, spool.path)
        except StreamTooLong:
            raise _TOO_LARGE from None
        except ObjectExists:
            raise await run_in_threadpool(self._written_already, key) from None
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is left to read it
        finally:
            spool.discard()
        return Response(status_code=200)

    def _written_already(self, key: str) -> AddressRefused:
        """The refusal of a second file, with the digest of the first: a caller whose PUT came twice knows it again."""
        told = {}
        with suppress(ObjectMissing), self.store.local_copy(key) as copy, copy.open("rb") as file:
            told[STORED_SHA256] = hashlib.file_digest(file, "sha256").hexdigest()
        return AddressRefused(412, "PreconditionFailed", "A file was put to this address already.", **told)


def _xml_body(code: str, message: str, details: dict[str, str]) -> bytes:
    inner = {"Code": code, "Message": message, **details}
    elements = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in inner.items())
    return f'<?xml version="1.0" encoding="UTF-8"?><Error>{elements}</Error>'.encode()


def _xml(
    status: int, code: str, message: str, details: dict[str, str], headers: Mapping[str, str] | None = None
) -> Response:
    return Response(_xml_body(code, message, details), status, headers, media_type=_XML)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, AddressRefused)  # noqa: S101  (narrows the handler's type)
    return _xml(error.status, error.code, error.message, error.details)


async def _framework_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    code = "MethodNotAllowed" if error.status_code == 405 else "InvalidRequest"
    return _xml(error.status_code, code, "Files are taken here by PUT to a signed address only.", {}, error.headers)


async def _crash(request: Request, error: Exception) -> Response:
    return _xml(500, "InternalError", "The store could not take the file. Try again.", {})

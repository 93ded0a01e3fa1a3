"""The object store's own origin: takes files at signed addresses, answers refusals in XML."""

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
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
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no way to write. Callers name headers in addresses, and answers repeat these names."""
# Made for each request: an exception that is raised again and again keeps every frame that it passed, with its request.
_too_large = partial(AddressRefused, 400, "EntityTooLarge", "The file is larger than the address allows.")
_withdrawn = partial(
    AddressRefused, 403, "AccessDenied", "What belongs to this address was erased. Ask for a new address."
)
_too_small = partial(AddressRefused, 400, "EntityTooSmall", "The file is smaller than the address allows.")


def create_storage_app(
    store: ObjectStore, signer: UploadSigner, clock: Clock, is_awaited: Callable[[str], bool]
) -> Starlette:
    """The origin as an ASGI application. It takes what `is_awaited` by its key: an erasure ends an address early."""
    origin = _Origin(store, signer, clock, is_awaited)
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
    is_awaited: Callable[[str], bool]

    async def put(self, request: Request) -> Response:
        """Take one file: signature first, then length, then whether it is the first; nothing is left of a refusal."""
        raw_path = request.scope["raw_path"].decode("ascii", "replace").partition("?")[0]
        self.signer.check(PutRequest(raw_path, request.url.query, request.headers), self.clock.now())
        key: str = request.path_params["key"]
        least, most = (int(bound) for bound in request.headers[LENGTH_RANGE_HEADER].split(","))
        announced = request.headers.get("content-length", "")
        if announced.isdigit() and int(announced) > most:
            raise _too_large()
        if not await run_in_threadpool(self.is_awaited, key):
            raise _withdrawn()
        if await run_in_threadpool(self.store.exists, key):
            raise await run_in_threadpool(self._written_already, key)
        spool = Spool(self.store.incoming, most)
        try:
            async for chunk in request.stream():
                await spool.write(chunk)
            await spool.finish()
            if spool.size < least:
                raise _too_small()
            await run_in_threadpool(self._keep, key, spool.path)
        except StreamTooLong:
            raise _too_large() from None
        except ObjectExists:
            raise await run_in_threadpool(self._written_already, key) from None
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is left to read it
        finally:
            spool.discard()
        return Response(status_code=200)

    def _keep(self, key: str, path: Path) -> None:
        """Store the file, unless what it belongs to was erased meanwhile.

        An erasure removes the row first and the object afterwards. So the row is asked for once the object is there:
        whichever comes last sees the other, and removes the object.
        """
        self.store.adopt(key, path)
        if not self.is_awaited(key):
            self.store.delete(key)
            raise _withdrawn()

    def _written_already(self, key: str) -> AddressRefused:
        """The refusal of a second file, with the digest of the first: a caller whose PUT came twice knows it again."""
        told = {}
        with suppress(ObjectMissing), self.store.local_copy(key) as path, path.open("rb") as file:
            told[STORED_SHA256] = hashlib.file_digest(file, "sha256").hexdigest()
        return AddressRefused(412, "PreconditionFailed", "A file was put to this address already.", **told)


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


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, AddressRefused)  # noqa: S101  (narrows the handler's type)
    return _xml(error.status, error.code, error.message, error.details)


async def _framework_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    code = "MethodNotAllowed" if error.status_code == 405 else "InvalidRequest"
    return _xml(error.status_code, code, "Files are taken here by PUT to a signed address only.", {}, error.headers)


async def _crash(request: Request, error: Exception) -> Response:
    return _xml(500, "InternalError", "The store could not take the file. Try again.", {})

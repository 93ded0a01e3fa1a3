"""Streaming reader of forms with at most one file.

FastAPI's own forms have no limit and are read before credentials are checked. Here the file is written to disk as it
arrives, reading stops at the size limit, and text fields are limited. A form without a file may be URL-encoded.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.service.encryption.recording_files import RecordingFile, RecordingFiles
from vbdesk.service.http.form_fields import FORM_FIELDS, MAX_BODY_BYTES, FormFields, invalid_field
from vbdesk.service.http.urlencoded import URLENCODED, read_urlencoded
from vbdesk.service.kernel.errors import AudioTooLarge, InvalidRequest
from vbdesk.service.storage.spool import Spool, StreamTooLong, TakeBytes, take_all

_MAX_PREAMBLE_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """Uploaded file on disk; `content_type` as declared, `size` in bytes.

    A file above the limit is not kept. The rest of its form is still read, because form errors are reported before size
    errors.
    """

    recording: RecordingFile
    content_type: str
    size: int

    @property
    def too_large(self) -> bool:
        """Whether the file exceeds the limit."""
        return self.size > MAX_AUDIO_BYTES


@dataclass(frozen=True, slots=True)
class Form:
    """Known text fields that were sent, and the file if there was one."""

    fields: dict[str, str]
    audio: UploadedFile | None


@asynccontextmanager
async def received_form(
    request: Request, files: RecordingFiles, file_field: str = "audio", take: TakeBytes = take_all
) -> AsyncIterator[Form]:
    """Read the form; its file is one of `files` and is removed after the block unless it was moved.

    `take` may refuse bytes of the file before they are written.

    Raises:
        InvalidRequest: not a form, or a malformed one.
        ValidationFailed: a field is too long or not text, or there are two files.
        AudioTooLarge: the body is too large for any allowed file; the rest is not read.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind == URLENCODED.encode():
        yield Form(await read_urlencoded(request, options.get(b"charset", b""), file_field), audio=None)
        return
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not boundary:
        raise InvalidRequest(
            f"Send the fields as multipart/form-data with a boundary, or without a file as {URLENCODED}."
        )
    reader = _Reader(request, boundary, files, file_field, take)
    try:
        yield await reader.read()
    finally:
        reader.discard()


class _Preamble:
    """Skips text before the first boundary: RFC 2046 allows it, but the parser does not."""

    def __init__(self, boundary: bytes) -> None:
        self._first_delimiter = b"\n--" + boundary
        self._held = bytearray(b"\n")  # the body may start with the boundary
        self._over = False

    def passed_over(self, chunk: bytes) -> bytes:
        """Return the bytes from the first boundary on."""
        if self._over:
            return chunk
        self._held += chunk
        begins = self._held.find(self._first_delimiter)
        passed = begins if begins >= 0 else len(self._held) - len(self._first_delimiter)
        if passed > _MAX_PREAMBLE_BYTES:
            raise InvalidRequest("The multipart form does not begin with its boundary. Send it again.")
        self._over = begins >= 0
        return bytes(self._held[begins + 1 :]) if self._over else b""


class _Reader:
    """Turns the parser's callbacks into fields and a file. The callbacks only collect; writes are awaited between."""

    def __init__(
        self, request: Request, boundary: bytes, files: RecordingFiles, file_field: str, take: TakeBytes
    ) -> None:
        self._request = request
        self._boundary = boundary
        self._files = files
        self._take = take
        self._file_field = file_field
        self._fields = FormFields()
        self._spool: Spool | None = None
        self._file_type = "application/octet-stream"
        self._file_is_named = False
        self._headers: dict[bytes, bytes] = {}
        self._header_name, self._header_value = bytearray(), bytearray()
        self._part = ""
        self._file_data = bytearray()
        self._complete = False

    async def read(self) -> Form:
        announced = self._request.headers.get("content-length", "")
        if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
            raise AudioTooLarge
        received = 0
        try:
            preamble = _Preamble(self._boundary)
            parser = MultipartParser(self._boundary, self._callbacks())  # type: ignore[arg-type]
            async for chunk in self._request.stream():
                received += len(chunk)
                if received > MAX_BODY_BYTES:
                    raise AudioTooLarge
                parser.write(preamble.passed_over(chunk))
                await self._write_file_data()
        except FormParserError:
            raise InvalidRequest("The multipart form is broken. Send it again.") from None
        except ClientDisconnect:
            self._complete = False
        if not self._complete:
            raise InvalidRequest("The multipart form broke off. Send it again.")
        return Form(self._fields.texts(), await self._file())

    def discard(self) -> None:
        if self._spool is not None:
            self._spool.discard()

    async def _write_file_data(self) -> None:
        if self._spool is not None and self._file_data:
            data = bytes(self._file_data)
            self._file_data.clear()
            with suppress(StreamTooLong):  # the recorded size shows this
                await self._spool.write(data)

    async def _file(self) -> UploadedFile | None:
        if self._spool is None:
            return None
        if not self._spool.size and not self._file_is_named:  # browsers send this for a file field without a file
            return None
        await self._spool.finish()
        return UploadedFile(self._spool.recording, self._file_type, self._spool.size)

    def _callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._begin_part,
            "on_header_field": lambda data, start, end: self._header_name.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._header_value.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._name_part,
            "on_part_data": self._take_data,
            "on_end": self._end,
        }

    def _begin_part(self) -> None:
        self._fields.count()
        self._headers = {}

    def _end_header(self) -> None:
        self._headers[bytes(self._header_name).lower()] = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _name_part(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._part = options.get(b"name", b"").decode("utf-8", "replace")
        if self._part == self._file_field:
            if self._spool is not None:
                raise invalid_field(self._part, "Send one file only.", "too_many_files")
            self._spool = Spool(self._files, MAX_AUDIO_BYTES, self._take)
            self._file_is_named = bool(options.get(b"filename"))
            self._file_type = self._headers.get(b"content-type", b"application/octet-stream").decode("latin-1")
        elif self._part in FORM_FIELDS:
            self._fields.begin(self._part)

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        if self._part == self._file_field:
            self._file_data += data[start:end]
        elif self._part in FORM_FIELDS:
            self._fields.add(self._part, data[start:end])

    def _end(self) -> None:
        self._complete = True

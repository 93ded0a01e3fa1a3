"""A streaming reader of multipart forms with one file.

FastAPI's own forms have no limit and are read before credentials are. Here the file goes to disk as it arrives, reading
stops at the size limit, and text fields are bounded.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from vbdesk.contract.errors import ErrorDetail
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.service.encryption.recording_files import RecordingFile, RecordingFiles
from vbdesk.service.errors import AudioTooLarge, InvalidRequest, ValidationFailed
from vbdesk.service.storage.spool import Spool, StreamTooLong

FORM_FIELDS = frozenset(
    {
        "audio_upload_ref",
        "diarize",
        "webhook_url",
        "webhook_secret_key",
        "recorded_at",
        "use_case",
        "condition",
    }
)
"""The text fields of the interface's forms; any other is ignored."""

_MAX_FIELD_BYTES = 8 * 1024
_MAX_PREAMBLE_BYTES = 8 * 1024
_MAX_BODY_BYTES = MAX_AUDIO_BYTES + 1024 * 1024


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that came with a form, on disk; `content_type` as declared, `size` in bytes.

    A file larger than the limit is not kept: its form is read on only because shape is judged before size.
    """

    recording: RecordingFile
    content_type: str
    size: int

    @property
    def too_large(self) -> bool:
        """Whether more came than allowed."""
        return self.size > MAX_AUDIO_BYTES


@dataclass(frozen=True, slots=True)
class Form:
    """The known text fields that were sent, and the file if there was one."""

    fields: dict[str, str]
    audio: UploadedFile | None


@asynccontextmanager
async def received_form(request: Request, files: RecordingFiles, file_field: str = "audio") -> AsyncIterator[Form]:
    """Read the form; its file is one of `files` and is removed at the end of the block unless moved away.

    Raises:
        InvalidRequest: not a multipart form, or a broken one.
        ValidationFailed: a field is too long or not text, or there are two files.
        AudioTooLarge: the body is so large that its file must be; it is not read on.
    """
    reader = _Reader(request, files, file_field)
    try:
        yield await reader.read()
    finally:
        reader.discard()


class _Preamble:
    """What stands before the first boundary: RFC 2046 allows a note there, which the parser does not."""

    def __init__(self, boundary: bytes) -> None:
        self._first_delimiter = b"\n--" + boundary
        self._held = bytearray(b"\n")  # the boundary may stand at once
        self._over = False

    def passed_over(self, chunk: bytes) -> bytes:
        """The bytes from the first boundary on."""
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
    """Turns the parser's callbacks into fields and a file. The callbacks only collect; writing is awaited between."""

    def __init__(self, request: Request, files: RecordingFiles, file_field: str) -> None:
        self._request = request
        self._files = files
        self._file_field = file_field
        self._fields: dict[str, bytearray] = {}
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
        if announced.isdigit() and int(announced) > _MAX_BODY_BYTES:
            raise AudioTooLarge
        received = 0
        try:
            boundary = self._boundary()
            preamble = _Preamble(boundary)
            parser = MultipartParser(boundary, self._callbacks())  # type: ignore[arg-type]
            async for chunk in self._request.stream():
                received += len(chunk)
                if received > _MAX_BODY_BYTES:
                    raise AudioTooLarge
                parser.write(preamble.passed_over(chunk))
                await self._write_file_data()
        except FormParserError:
            raise InvalidRequest("The multipart form is broken. Send it again.") from None
        except ClientDisconnect:
            self._complete = False
        if not self._complete:
            raise InvalidRequest("The multipart form broke off. Send it again.")
        return Form({name: _text(name, value) for name, value in self._fields.items()}, await self._file())

    def discard(self) -> None:
        if self._spool is not None:
            self._spool.discard()

    def _boundary(self) -> bytes:
        kind, options = parse_options_header(self._request.headers.get("content-type", ""))
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not boundary:
            raise InvalidRequest("Send the fields as multipart/form-data with a boundary.")
        return boundary

    async def _write_file_data(self) -> None:
        if self._spool is not None and self._file_data:
            data = bytes(self._file_data)
            self._file_data.clear()
            with suppress(StreamTooLong):  # its size tells
                await self._spool.write(data)

    async def _file(self) -> UploadedFile | None:
        if self._spool is None:
            return None
        if not self._spool.size and not self._file_is_named:  # how browsers send a field in which no file was chosen
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
                raise _invalid(self._part, "Send one file only.", "too_many_files")
            self._spool = Spool(self._files, MAX_AUDIO_BYTES)
            self._file_is_named = bool(options.get(b"filename"))
            self._file_type = self._headers.get(b"content-type", b"application/octet-stream").decode("latin-1")
        elif self._part in FORM_FIELDS:
            self._fields[self._part] = bytearray()

    def _take_data(self, data: bytes, start: int, end: int) -> None:
        if self._part == self._file_field:
            self._file_data += data[start:end]
        elif self._part in FORM_FIELDS:
            value = self._fields[self._part]
            value += data[start:end]
            if len(value) > _MAX_FIELD_BYTES:
                raise _invalid(self._part, f"Keep this field within {_MAX_FIELD_BYTES} bytes.", "string_too_long")

    def _end(self) -> None:
        self._complete = True


def _text(name: str, value: bytearray) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise _invalid(name, "Send this field as UTF-8 text.", "string_unicode") from None


def _invalid(name: str, message: str, kind: str) -> ValidationFailed:
    return ValidationFailed([ErrorDetail(loc=["body", name], msg=message, type=kind)])

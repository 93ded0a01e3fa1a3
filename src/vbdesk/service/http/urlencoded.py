"""Streaming reader of URL-encoded forms, as sent by `curl -d` and most HTTP libraries without a file."""

import re
from urllib.parse import unquote_to_bytes

from fastapi import Request
from starlette.requests import ClientDisconnect

from vbdesk.service.http.form_fields import FORM_FIELDS, MAX_BODY_BYTES, MAX_FIELD_BYTES, FormFields, invalid_field
from vbdesk.service.kernel.errors import AudioTooLarge, InvalidRequest

URLENCODED = "application/x-www-form-urlencoded"

_MAX_ENCODED_BYTES = 3 * MAX_FIELD_BYTES + 256  # every byte as %XX, with the name; longer fields are truncated
_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_CHARSETS = frozenset({b"", b"utf-8", b"utf8", b"us-ascii"})
_TIMES = ("recorded_at",)
_BARE_PLUS = re.compile(r"(:[\d.,]+) (\d\d:\d\d)$")


def with_plus(text: str) -> str:
    """Restore the `+` of the UTC offset of a time, which a query or form turned into a space; else the same text."""
    return _BARE_PLUS.sub(r"\1+\2", text)


async def read_urlencoded(request: Request, charset: bytes, file_field: str) -> dict[str, str]:
    """Read the known text fields.

    Raises:
        InvalidRequest: a charset other than UTF-8, too many fields, text in place of the file, or a malformed body.
        ValidationFailed: a field is too long, or not text.
        AudioTooLarge: the body is longer than a form with a file may be; the rest is not read.
    """
    if charset.strip().lower() not in _CHARSETS:
        raise InvalidRequest("The form's charset is not UTF-8. Send the fields as UTF-8 text.")
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
        raise AudioTooLarge
    reader = _Reader(file_field)
    received = 0
    try:
        async for chunk in request.stream():
            received += len(chunk)
            if received > MAX_BODY_BYTES:
                raise AudioTooLarge
            reader.take(chunk)
    except ClientDisconnect:
        raise InvalidRequest("The form broke off. Send it again.") from None
    texts = reader.finish()
    return {name: with_plus(text) if name in _TIMES else text for name, text in texts.items()}


class _Reader:
    """Splits the body into fields as it arrives. Memory is limited: only the start of a long field is kept."""

    def __init__(self, file_field: str) -> None:
        self._file_field = file_field
        self._fields = FormFields()
        self._field = bytearray()

    def take(self, chunk: bytes) -> None:
        self._fields.count(chunk.count(b"&"))
        first, *others = chunk.split(b"&")
        self._collect(first)
        for piece in others:
            self._end_field()
            self._collect(piece)

    def finish(self) -> dict[str, str]:
        self._fields.count()
        self._end_field()
        return self._fields.texts()

    def _collect(self, piece: bytes) -> None:
        self._field += piece[: _MAX_ENCODED_BYTES + 1 - len(self._field)]

    def _end_field(self) -> None:
        raw_name, _, raw_value = bytes(self._field).partition(b"=")
        self._field.clear()
        name = _decoded(raw_name).decode("utf-8", "replace")
        if name == self._file_field:
            if raw_value:  # otherwise the field counts as not sent
                raise InvalidRequest(f"`{name}` is a file. Send it as multipart/form-data, or use `audio_upload_ref`.")
        elif name in FORM_FIELDS:
            if _BROKEN_ESCAPE.search(raw_value) and len(raw_value) <= 3 * MAX_FIELD_BYTES:
                raise invalid_field(name, "Write a percent sign as %25.", "percent_encoding")
            self._fields.begin(name)
            self._fields.add(name, _decoded(raw_value))


def _decoded(raw: bytes) -> bytes:
    return unquote_to_bytes(raw.replace(b"+", b" "))

"""Text fields of forms and their limits, the same for every encoding."""

from vbdesk.contract.errors import ErrorDetail
from vbdesk.contract.idempotency import CLIENT_REF_FIELD
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.contract.spoken_language import LANGUAGE_FIELD, SECOND_LANGUAGE_FIELD
from vbdesk.service.kernel.errors import InvalidRequest, ValidationFailed

FORM_FIELDS = frozenset(
    {
        "audio_upload_ref",
        "diarize",
        "webhook_url",
        "webhook_secret_key",
        "recorded_at",
        LANGUAGE_FIELD,
        SECOND_LANGUAGE_FIELD,
        CLIENT_REF_FIELD,
        "use_case",
        "condition",
    }
)
"""Known text fields of all forms; others are ignored."""

MAX_BODY_BYTES = MAX_AUDIO_BYTES + 1024 * 1024
MAX_FIELD_BYTES = 8 * 1024
MAX_FIELDS = 1000
"""Fields per form, including ignored ones: each costs time, and the API knows ten."""


class FormFields:
    """Collects the known fields of one form; the last value of a repeated field counts.

    Every method raises ValidationFailed or InvalidRequest for invalid input.
    """

    def __init__(self) -> None:
        self._values: dict[str, bytearray] = {}
        self._seen = 0

    def count(self, more: int = 1) -> None:
        """Count `more` fields, known or not."""
        self._seen += more
        if self._seen > MAX_FIELDS:
            raise InvalidRequest(f"The form has more than {MAX_FIELDS} fields. Send only those of the interface.")

    def begin(self, name: str) -> None:
        """Begin a known field."""
        self._values[name] = bytearray()

    def add(self, name: str, data: bytes) -> None:
        """Append to a known field."""
        value = self._values[name]
        value += data
        if len(value) > MAX_FIELD_BYTES:
            raise invalid_field(name, f"Keep this field within {MAX_FIELD_BYTES} bytes.", "string_too_long")

    def texts(self) -> dict[str, str]:
        """Return all received fields as text."""
        return {name: _text(name, value) for name, value in self._values.items()}


def _text(name: str, value: bytearray) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise invalid_field(name, "Send this field as UTF-8 text.", "string_unicode") from None


def invalid_field(name: str, message: str, kind: str) -> ValidationFailed:
    """Create the error for one field."""
    return ValidationFailed([ErrorDetail(loc=["body", name], msg=message, type=kind)])

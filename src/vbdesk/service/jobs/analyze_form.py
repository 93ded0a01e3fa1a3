"""Fields of an analyze form, validated and parsed."""

from dataclasses import dataclass
from datetime import datetime

from pydantic import AnyUrl, TypeAdapter, ValidationError

from vbdesk.contract.errors import ErrorDetail
from vbdesk.contract.limits import MAX_WEBHOOK_URL_LENGTH
from vbdesk.contract.timestamps import parse_timestamp
from vbdesk.service.http.multipart import Form, UploadedFile
from vbdesk.service.kernel.errors import InvalidRequest, ValidationFailed

_BOOLEAN = TypeAdapter(bool)
_URL = TypeAdapter(AnyUrl)


@dataclass(frozen=True, slots=True)
class OwnWebhook:
    """Webhook of a single job."""

    url: str
    secret_key: str

    def __repr__(self) -> str:
        return "OwnWebhook(...)"


@dataclass(frozen=True, slots=True)
class AnalyzeForm:
    """Parsed analyze form.

    Attributes:
        audio: the file, unless `upload_ref` names one.
        recorded_at: capture time, if given.
    """

    audio: UploadedFile | None
    upload_ref: str | None
    diarize: bool
    webhook: OwnWebhook | None
    recorded_at: datetime | None


def read_analyze_form(form: Form, *, in_group: bool = False) -> AnalyzeForm:
    """Check the fields against each other and parse them.

    An empty field counts as not sent, as form libraries send it. Only forms `in_group` have a `recorded_at`.

    Raises:
        InvalidRequest: not exactly one source of audio, an incomplete webhook, or an invalid `recorded_at`.
        ValidationFailed: `diarize` is not a boolean.
    """
    fields = {name: value for name, value in form.fields.items() if value.strip()}
    upload_ref = fields.get("audio_upload_ref")
    if (form.audio is None) == (upload_ref is None):
        raise InvalidRequest("Send the recording either as `audio` or by `audio_upload_ref`: exactly one of them.")
    return AnalyzeForm(
        audio=form.audio,
        upload_ref=upload_ref,
        diarize=_boolean("diarize", fields.get("diarize", "false")),
        webhook=_webhook(fields.get("webhook_url"), fields.get("webhook_secret_key")),
        recorded_at=_recorded_at(fields.get("recorded_at")) if in_group else None,
    )


def _boolean(name: str, text: str) -> bool:
    try:
        return _BOOLEAN.validate_python(text.strip())
    except ValidationError:
        detail = ErrorDetail(loc=["body", name], msg="Send true or false.", type="bool_parsing")
        raise ValidationFailed([detail]) from None


def _webhook(url: str | None, secret_key: str | None) -> OwnWebhook | None:
    if url is None and secret_key is None:
        return None
    if url is None or secret_key is None:
        raise InvalidRequest("Send `webhook_url` and `webhook_secret_key` together, or neither.")
    try:
        valid = len(url) <= MAX_WEBHOOK_URL_LENGTH and _URL.validate_python(url.strip())
    except ValidationError:
        valid = False
    if not valid:
        raise InvalidRequest(f"`webhook_url` is not a URL of at most {MAX_WEBHOOK_URL_LENGTH} characters.")
    return OwnWebhook(url.strip(), secret_key)


def _recorded_at(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return parse_timestamp(text)
    except ValueError as error:
        raise InvalidRequest(f"`recorded_at` is not a time. {error}") from None

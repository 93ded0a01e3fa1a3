"""One analyze call, as its form asks for it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pydantic import AnyUrl, TypeAdapter, ValidationError
from sqlalchemy import Connection

from vbdesk.contract.errors import ErrorDetail
from vbdesk.contract.idempotency import BAD_CLIENT_REF, CLIENT_REF_FIELD, is_client_ref
from vbdesk.contract.jobs import JobType
from vbdesk.contract.limits import MAX_WEBHOOK_URL_LENGTH
from vbdesk.contract.spoken_language import (
    LANGUAGE_FIELD,
    SECOND_LANGUAGE_FIELD,
    UNKNOWN_LANGUAGE,
    SpokenLanguage,
    language_tag,
)
from vbdesk.contract.timestamps import parse_timestamp
from vbdesk.service.http.multipart import Form, UploadedFile
from vbdesk.service.jobs.target import JobTarget
from vbdesk.service.kernel.errors import InvalidRequest, ValidationFailed
from vbdesk.service.ports.identity import Account

_BOOLEAN = TypeAdapter(bool)
_URL = TypeAdapter(AnyUrl)
_WITH_REFERENCE = frozenset({JobType.MODEL, JobType.SIGN})


@dataclass(frozen=True, slots=True)
class OwnWebhook:
    """Webhook of a single job."""

    url: str
    secret_key: str

    def __repr__(self) -> str:
        return "OwnWebhook(...)"


class JobGroup(Protocol):
    """The group that a new job joins."""

    @property
    def group_id(self) -> str:
        """The id that the caller gave the group."""
        ...

    @property
    def longitudinal(self) -> bool:
        """Whether the job is scored against the group's history."""
        ...

    def ensure(self, connection: Connection) -> str:
        """Create the group if it is new; its key."""
        ...

    def register(self, connection: Connection, group_key: str, job_id: str) -> None:
        """Put the job into the group."""
        ...


@dataclass(frozen=True, slots=True)
class Submission:
    """One analyze call.

    Attributes:
        audio: the recording, unless `upload_ref` names one.
        webhook: a webhook for this job alone.
        recorded_at: capture time, where one was supplied.
        group: the group that the job joins, if any.
        idempotency_key: of the optional header.
        client_ref: reference of the submission, of the optional field.
        recording_digest: SHA-256 of the audio bytes, as hexadecimal text; None until it is needed. Where v1 names the
            recording by its address, that of the address: a repeat fetches nothing.
        api_version: which interface it came by.
        spoken: what the caller says about the language.
    """

    account: Account
    target: JobTarget
    audio: UploadedFile | None = None
    upload_ref: str | None = None
    diarize: bool = False
    webhook: OwnWebhook | None = None
    recorded_at: datetime | None = None
    group: JobGroup | None = None
    idempotency_key: str | None = None
    client_ref: str | None = None
    recording_digest: str | None = None
    api_version: str = "v2"
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE

    @property
    def is_named(self) -> bool:
        """Whether a repeat can be recognised."""
        return self.client_ref is not None or self.idempotency_key is not None

    @property
    def webhook_url(self) -> str | None:
        """Address of the webhook of this job alone."""
        return None if self.webhook is None else self.webhook.url

    @property
    def request(self) -> str:
        """Digest of the route and of what it is asked for; a group's id is not kept with a key in the clear.

        A request without a language has the digest of earlier releases, so that their keys are still recognised.
        """
        target, group = self.target, self.group
        group_id, longitudinal = (group.group_id, group.longitudinal) if group else (None, False)
        asked = [self.api_version, target.job_type, target.name, self.diarize, group_id, longitudinal]
        if self.spoken.is_known:
            asked += [self.spoken.language, self.spoken.second_language]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def read_submission(
    form: Form,
    account: Account,
    target: JobTarget,
    *,
    group: JobGroup | None = None,
    idempotency_key: str | None = None,
) -> Submission:
    """Check the fields of a form against each other and parse them.

    An empty field counts as not sent: that is how form libraries send nothing. Only the form of a job that joins a
    group has a `recorded_at`, and only that of a model or sign a `client_ref`.

    Raises:
        InvalidRequest: not exactly one source of audio, an incomplete webhook, or an invalid `recorded_at`.
        ValidationFailed: `diarize`, `language`, `second_language` or `client_ref` is not valid.
    """
    fields = {name: value for name, value in form.fields.items() if value.strip()}
    upload_ref = fields.get("audio_upload_ref")
    if (form.audio is None) == (upload_ref is None):
        raise InvalidRequest("Send the recording either as `audio` or by `audio_upload_ref`: exactly one of them.")
    return Submission(
        account,
        target,
        audio=form.audio,
        upload_ref=upload_ref,
        diarize=_boolean("diarize", fields.get("diarize", "false")),
        webhook=_webhook(fields.get("webhook_url"), fields.get("webhook_secret_key")),
        recorded_at=_recorded_at(fields.get("recorded_at")) if group is not None else None,
        group=group,
        idempotency_key=idempotency_key,
        client_ref=_client_ref(fields) if target.job_type in _WITH_REFERENCE else None,
        spoken=spoken_language(fields),
    )


def spoken_language(fields: Mapping[str, str]) -> SpokenLanguage:
    """Read what the fields of a form say about the language; empty fields say nothing. Raises ValidationFailed."""
    language, second = (fields.get(name, "").strip() for name in (LANGUAGE_FIELD, SECOND_LANGUAGE_FIELD))
    try:
        tag = language_tag(language) if language else None
    except ValueError as error:
        detail = ErrorDetail(loc=["body", LANGUAGE_FIELD], msg=str(error), type="value_error")
        raise ValidationFailed([detail]) from None
    return SpokenLanguage(tag, _boolean(SECOND_LANGUAGE_FIELD, second) if second else None)


def _boolean(name: str, text: str) -> bool:
    try:
        return _BOOLEAN.validate_python(text.strip())
    except ValidationError:
        detail = ErrorDetail(loc=["body", name], msg="Send true or false.", type="bool_parsing")
        raise ValidationFailed([detail]) from None


def _client_ref(fields: Mapping[str, str]) -> str | None:
    ref = fields.get(CLIENT_REF_FIELD)
    if ref is None or is_client_ref(ref):
        return ref
    raise ValidationFailed([ErrorDetail(loc=["body", CLIENT_REF_FIELD], msg=BAD_CLIENT_REF, type="value_error")])


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

"""Submit a recording for analysis."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from vbdesk.client.audio import AudioSource
from vbdesk.client.refusals import OF_MODEL, OF_SIGN
from vbdesk.client.transport import Call, Transport
from vbdesk.client.url_paths import path
from vbdesk.clock import CancelFlag
from vbdesk.contract.idempotency import CLIENT_REF_FIELD, KEY_HEADER
from vbdesk.contract.jobs import GroupJob, Job
from vbdesk.contract.limits import Bucket
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.language import message


class AnalysisTarget(Protocol):
    """Anything that names a model or a sign."""

    @property
    def kind(self) -> str:
        """`model` or `sign`."""
        ...

    @property
    def name(self) -> str:
        """Name of the model or sign."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """A model or a sign."""

    kind: Literal["model", "sign"]
    name: str


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where this one job is reported, instead of to the account's webhook; its repr hides the secret."""

    url: str
    secret_key: str = field(repr=False)


_COLLECTIONS = {"model": "models", "sign": "signs"}
_REFUSALS = {"model": OF_MODEL, "sign": OF_SIGN}


def submit(
    transport: Transport,
    target: AnalysisTarget,
    recording: AudioSource | str,
    *,
    group_id: str | None = None,
    longitudinal: bool = False,
    recorded_at: datetime | None = None,
    diarize: bool = False,
    webhook: Webhook | None = None,
    client_ref: str | None = None,
    after_faults: bool = True,
    cancel: CancelFlag | None = None,
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE,
) -> Job:
    """Submit one recording; returns the queued job, a `GroupJob` if a group was named.

    A submit whose answer was lost (`ConnectionFailed.maybe_delivered`) is not retried: the service may have accepted
    and charged it. First search the group's jobs for its `recorded_at`.

    Args:
        transport: sends the request.
        target: model or sign.
        recording: the audio itself, or the `upload_ref` of an upload.
        group_id: group to register the job in; created if new.
        longitudinal: score against the group's history; needs `group_id`.
        recorded_at: capture time; the present if None.
        diarize: analyse each speaker.
        webhook: where this job is reported.
        client_ref: reference of the submission, 16 to 64 URL-safe characters: a service that reads it recognises a
            repeat. The field is sent only if an answer of the service announced it (`Client.reads_client_ref`). It is
            the `Idempotency-Key`, too, for services that support keys.
        after_faults: retry when the service reports an internal failure, as the interface recommends. Without it the
            caller searches first, since the service may have accepted the recording before it failed.
        cancel: set to stop before the request is sent.
        spoken: what is known about the language of the recording; sent only if an answer of the service announced that
            it reads these fields (`Client.reads_language`), because another service may refuse them.

    Raises:
        ValueError: `longitudinal` or `recorded_at` without a group.
        ClientError: see `vbdesk.client.errors`.
    """
    if group_id is None and (longitudinal or recorded_at is not None):
        raise ValueError(message("Name the group: without one there is no history to place the recording in."))
    parts = [_COLLECTIONS[target.kind], target.name]
    if group_id is not None:
        parts += ["groups", group_id]
    parts.append("analyze")
    if longitudinal:
        parts.append("longitudinal")
    form = {"diarize": "true" if diarize else "false"}
    if transport.reads_language:
        form |= spoken.form
    if transport.reads_client_ref and client_ref is not None:
        form[CLIENT_REF_FIELD] = client_ref
    if recorded_at is not None:
        form["recorded_at"] = format_timestamp(recorded_at)
    if webhook is not None:
        form |= {"webhook_url": webhook.url, "webhook_secret_key": webhook.secret_key}
    if isinstance(recording, str):
        form["audio_upload_ref"] = recording
    call = Call(
        "POST",
        path(*parts),
        bucket=Bucket.ANALYZE,
        form=form,
        audio=recording if isinstance(recording, AudioSource) else None,
        headers=None if client_ref is None else {KEY_HEADER: client_ref},
        after_faults=after_faults,
        refusals=_REFUSALS[target.kind],
    )
    answer: type[Job] = Job if group_id is None else GroupJob
    return transport.read(call, answer.model_validate_json, cancel)

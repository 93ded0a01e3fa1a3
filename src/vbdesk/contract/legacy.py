"""Older forms: resources of v1, and the shape of results in the earlier v2 form and v1."""

from typing import Annotated, TypeVar

from pydantic import AfterValidator, AnyUrl, Field

from vbdesk.contract.base import WireModel
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.results import Result, Signal, SignResult, SpeakerResult
from vbdesk.contract.spoken_language import language_tag
from vbdesk.contract.timestamps import Timestamp

MAX_AUDIO_URL_LENGTH = 2083
V1_DIARIZED = "-diarized"
"""Suffix of `pipeline_type` for a diarized job."""

AnySignalT = TypeVar("AnySignalT", bound=Signal)


def _tag(text: str | None) -> str | None:
    return language_tag(text) if text and text.strip() else None


class V1Submitted(WireModel):
    """Answer to a v1 analyze call."""

    job_id: str


class V1AudioUrl(WireModel):
    """Request to analyse audio at a public HTTPS address.

    Attributes:
        language: language of the recording (BCP 47), such as en or pt-BR.
        second_language: whether the speaker reads a second language.
    """

    url: Annotated[AnyUrl, Field(max_length=MAX_AUDIO_URL_LENGTH)]
    language: Annotated[str | None, AfterValidator(_tag)] = None
    second_language: bool | None = None


class V1Job(WireModel):
    """A job in v1; `status` is `pending` until it is terminal.

    Attributes:
        pipeline_type: the v1 condition, or the target's name for a job of v2; ends with `V1_DIARIZED` for a diarized
            job.
        result: in the shape of the earlier form.
    """

    job_id: str
    status: JobStatus
    created_at: Timestamp
    completed_at: Timestamp | None
    result: Result | None
    audio_content_type: str
    audio_size_bytes: int
    audio_duration_seconds: float
    pipeline_type: str


def v1_status(status: JobStatus) -> JobStatus:
    """Convert a state to v1."""
    return status if status.terminal else JobStatus.PENDING


def to_earlier_form(result: Result) -> Result:
    """Add `model_id`, equal to `name`, to every signal, also of single speakers."""
    speakers = None if result.speakers is None else [_speaker(speaker) for speaker in result.speakers]
    if isinstance(result, SignResult):
        return result.model_copy(update={"signal": _signal(result.signal), "speakers": speakers})
    signals = [_signal(signal) for signal in result.signals]
    return result.model_copy(update={"signals": signals, "speakers": speakers})


def _speaker(speaker: SpeakerResult) -> SpeakerResult:
    signals = None if speaker.signals is None else [_signal(signal) for signal in speaker.signals]
    signal = None if speaker.signal is None else _signal(speaker.signal)
    return speaker.model_copy(update={"signals": signals, "signal": signal})


def _signal(signal: AnySignalT) -> AnySignalT:
    return signal.model_copy(update={"model_id": signal.name})

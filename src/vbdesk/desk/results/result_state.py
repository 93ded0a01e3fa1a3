"""Content of the Result page: the result, or why there is none and what helps. No Qt."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE
from vbdesk.desk.results.analysis_text import model_text, sign_text, task_text
from vbdesk.desk.results.result_source import Found
from vbdesk.desk.results.result_text import ResultReading, reading_of, title_of
from vbdesk.desk.results.voice_question import voice_question
from vbdesk.desk.subject_data.consent_text import consent_text, missing_text
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.language import N_, _, joined, message, translated
from vbdesk.outbox.library.consent import ConsentStatus
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.states import Fix, OutboxState

_AUTOMATIC = N_("The result appears here automatically.")


class ResultRemedy(Enum):
    """What the user can do without a result."""

    SEND_AGAIN = auto()
    REVIEW = auto()
    OUTBOX = auto()

    @property
    def label(self) -> str:
        """The label of its button."""
        match self:
            case ResultRemedy.SEND_AGAIN:
                return _("Send again")
            case ResultRemedy.REVIEW:
                return _("Review the recording")
            case ResultRemedy.OUTBOX:
                return _("Open the Outbox")


@dataclass(frozen=True, slots=True)
class ResultView:
    """What the page shows.

    Attributes:
        recording: with everything known about it.
        caption: requested analysis and task.
        reading: None while there is no result.
        heading, sentence: why there is none; empty if there is one.
        remedy: what the user can do about that.
        coming: the result will arrive automatically.
        take_id: the recording on this computer; None when its sound is not here.
        silence: why its sound cannot be played here.
        consent: where the consent for it stands, as a text; empty if the profile does not ask for any.
        lacks_consent: whether none is noted.
        question: what to ask about its voice; empty for nothing.
    """

    recording: RecordingRoute
    title: str
    group_id: str
    recorded_at: datetime | None
    caption: str = ""
    reading: ResultReading | None = None
    heading: str = ""
    sentence: str = ""
    remedy: ResultRemedy | None = None
    coming: bool = False
    take_id: str | None = None
    silence: str = ""
    consent: str = ""
    lacks_consent: bool = False
    question: str = ""


class NoSuchResult(Exception):
    """There is nothing to show; `str(error)` is a sentence for a person."""


@dataclass(frozen=True, slots=True)
class _MissingResult:
    """Why there is no result, what helps, and whether it will arrive automatically."""

    heading: str
    sentence: str
    remedy: ResultRemedy | None = None
    coming: bool = False


def first_view(recording: RecordingRoute) -> ResultView:
    """The first view, before anything was read."""
    return ResultView(
        recording,
        title_of(recording.recorded_at),
        recording.group_id or "",
        recording.recorded_at,
        heading=_("Reading the result"),
        sentence="",
        coming=True,
    )


def view_of(found: Found) -> ResultView:
    """Describe what was found.

    Raises:
        NoSuchResult: nothing is known of it.
    """
    item, result = found.item, found.result
    recorded_at = found.recorded_at or (None if found.job is None else found.job.created_at)
    language = UNKNOWN_LANGUAGE if item is None else item.spoken
    reading = (
        None if result is None else reading_of(result, found.raw, found.seconds, found.comparison, language, found.own)
    )
    missing = _MissingResult("", "") if reading is not None else _missing_result(found)
    return ResultView(
        recording=found.recording,
        title=title_of(recorded_at),
        group_id=found.group_id,
        recorded_at=recorded_at,
        caption=_caption(found, reading),
        reading=reading,
        heading=missing.heading,
        sentence=missing.sentence,
        remedy=missing.remedy,
        coming=missing.coming,
        take_id=found.take_id,
        silence=found.silence if reading is not None or item is not None else "",
        consent=_consent_text(found.consent),
        lacks_consent=found.consent is not None and not found.consent.in_force,
        question=voice_question(item),
    )


def _consent_text(status: ConsentStatus | None) -> str:
    if status is None:
        return ""
    if not status.in_force:
        return missing_text(status)
    return _("Consent: {consent}", consent=consent_text(status))


def _caption(found: Found, reading: ResultReading | None) -> str:
    item, job = found.item, found.job
    target = reading.target if reading is not None else ""
    if not target and item is not None:
        target = (model_text if item.target.kind == "model" else sign_text)(item.target.name)
    if not target and job is not None:
        target = model_text(job.model_name) if job.model_name else sign_text(job.sign_name or "")
    task = task_text(item.protocol) if item is not None and item.protocol else ""
    file_name = "" if item is None else item.file_name
    return " · ".join(part for part in (target, task, file_name) if part)


def _missing_result(found: Found) -> _MissingResult:
    if found.item is not None:
        return _of_item(found.item)
    if found.job is not None:
        return _of_job(found.job.status)
    if found.recording.job_id is None:
        raise NoSuchResult(message("This recording is no longer on this computer, and the service was not asked."))
    return _MissingResult(
        _("Asking the service for the result"), _("It is shown as soon as the service answers."), coming=True
    )


def _of_job(status: JobStatus) -> _MissingResult:
    headings = {
        JobStatus.FAILED: N_("The analysis failed"),
        JobStatus.TIMED_OUT: N_("The analysis timed out"),
        JobStatus.DONE: N_("The analysis brought no result"),
    }
    if status in headings:
        where = _("The sound is not on this computer: send it again from where it was recorded, or record again.")
        return _MissingResult(_(headings[status]), where)
    text = joined(_("The service is analysing this recording."), _(_AUTOMATIC))
    return _MissingResult(_("No result yet"), text, coming=True)


def _of_item(item: RecordingItem) -> _MissingResult:
    reason, state = translated(item.reason or item.fault or ""), item.state
    if state in (OutboxState.FAILED, OutboxState.TIMED_OUT):
        ended = _("The analysis failed") if state is OutboxState.FAILED else _("The analysis timed out")
        if item.audio_gone_at is not None:
            return _MissingResult(ended, joined(reason, _("Its sound was removed here, so it cannot be sent again.")))
        kept_text = _("The recording is kept and can be sent again.")
        return _MissingResult(ended, reason or kept_text, ResultRemedy.SEND_AGAIN)
    if state is OutboxState.NEEDS_ATTENTION:
        remedies = {Fix.REVIEW_TAKE: ResultRemedy.REVIEW, Fix.TRY_AGAIN: ResultRemedy.SEND_AGAIN}
        remedy = ResultRemedy.OUTBOX if item.fix is None else remedies.get(item.fix, ResultRemedy.OUTBOX)
        return _MissingResult(_("Needs attention"), reason, remedy)
    if state is OutboxState.CHECKED:
        text = _("This recording is kept here and was not sent.")
        return _MissingResult(_("Not sent"), reason or text, ResultRemedy.OUTBOX)
    if state is OutboxState.HANDED_OVER:
        text = _("It was handed over to another computer, which sends it. The result appears here once it has.")
        return _MissingResult(_("Handed over"), reason or text, ResultRemedy.OUTBOX, coming=True)
    if state in (OutboxState.SUBMITTED, OutboxState.RUNNING):
        text = _("The service is analysing this recording.")
    else:
        text = _("This recording is saved here. It is sent when the service answers.")
    return _MissingResult(_("No result yet"), joined(reason or text, _(_AUTOMATIC)), ResultRemedy.OUTBOX, coming=True)

"""Input of a PDF report: one recording of a subject, and print options."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from vbdesk.contract.jobs import JobType
from vbdesk.contract.levels import LEVEL_ORDER, Level, RecommendedAction
from vbdesk.contract.results import AudioQuality, Result, Signal
from vbdesk.language import Language, current, message, reading_in
from vbdesk.report.drawing.style import Look
from vbdesk.report.letterhead import Letterhead
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord


class PageSize(StrEnum):
    """A4, and Letter for North America."""

    A4 = "a4"
    LETTER = "letter"

    @property
    def points(self) -> tuple[float, float]:
        """Width and height."""
        return (595.28, 841.89) if self is PageSize.A4 else (612.0, 792.0)


class ReportScope(StrEnum):
    """What a PDF shows: one recording, a subject over time, or all subjects over time in one document."""

    RECORDING = "recording"
    OVER_TIME = "over-time"
    TOGETHER = "together"


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Print options.

    Attributes:
        exported_at: time of the export (aware); all else being equal, only this changes the bytes.
        zone: time zone of all printed times.
        job_id: the recording; the newest with a result by default.
        scores: include raw scores, for research.
        attach: attach the tables and the FHIR Bundle.
        subject_line: printed below the subject's id on the first page: its name and second line here; usually empty.
        letterhead: printed at the top of the first page.
        appendix: add what research knows about each sign, and the method.
        scope: what a PDF shows.
        look: colours and patterns of PDFs and charts.
        language: of texts, numbers and dates; None for the reader's. Machine formats stay English.
    """

    exported_at: datetime
    zone: tzinfo = UTC
    page_size: PageSize = PageSize.A4
    job_id: str | None = None
    scores: bool = False
    sign_off: SignOff | None = None
    attach: bool = True
    subject_line: str = ""
    letterhead: Letterhead | None = None
    appendix: bool = False
    scope: ReportScope = ReportScope.RECORDING
    look: Look = Look.LIGHT
    language: Language | None = None

    def reading(self) -> AbstractContextManager[None]:
        """A block whose texts are in the language of the export."""
        return reading_in(self.language or current())


@dataclass(frozen=True, slots=True)
class ReportInput:
    """The reported recording and its complete result."""

    record: SubjectRecord
    recording: RecordingRecord
    options: ReportOptions
    result: Result
    level: Level
    action: RecommendedAction
    quality: AudioQuality

    @property
    def signals(self) -> Sequence[Signal]:
        """The readings, the highest level first, then the highest score."""
        order = (Level.INCONCLUSIVE, *LEVEL_ORDER)
        return sorted(self.recording.signals, key=lambda signal: (-order.index(signal.level), -signal.score))

    @property
    def model(self) -> str | None:
        """Name of the model; None for a single sign."""
        kind, name = self.recording.target
        return None if kind in (JobType.SIGN, JobType.CONDITION) else name


def report_input(record: SubjectRecord, options: ReportOptions) -> ReportInput:
    """Find the recording to report.

    Raises:
        ValueError: none has a result; the message is for the user.
    """
    if options.job_id is not None:
        recording = record.recording(options.job_id)
    elif record.finished:
        recording = record.finished[-1]
    else:
        raise ValueError(
            message(
                "Subject {subject} has no recording with a result yet, so there is nothing to print.",
                subject=record.group_id,
            )
        )
    result, level, action, quality = recording.job.result, recording.level, recording.action, recording.quality
    if result is None or level is None or action is None or quality is None:
        raise ValueError(message("This recording has no result yet, so there is nothing to print."))
    return ReportInput(record, recording, options, result, level, action, quality)

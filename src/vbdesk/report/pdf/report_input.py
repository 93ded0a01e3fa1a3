"""What a printed report is about: one recording of a subject, and how to print it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from vbdesk.contract.jobs import JobType
from vbdesk.contract.levels import LEVEL_ORDER, Level, RecommendedAction
from vbdesk.contract.results import AudioQuality, Result, Signal
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord


class PageSize(StrEnum):
    """TaggedCanvas of most of the world, and of North America."""

    A4 = "a4"
    LETTER = "letter"

    @property
    def points(self) -> tuple[float, float]:
        """Width and height."""
        return (595.28, 841.89) if self is PageSize.A4 else (612.0, 792.0)


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How to print.

    Attributes:
        exported_at: the aware moment of the export: the one thing that differs between two exports of the same.
        zone: of every time on paper.
        job_id: which recording; the newest with a result by default.
        scores: with raw scores, for research.
        attach: with the tables and the FHIR Bundle inside.
    """

    exported_at: datetime
    zone: tzinfo = UTC
    page_size: PageSize = PageSize.A4
    job_id: str | None = None
    scores: bool = False
    sign_off: SignOff | None = None
    attach: bool = True


@dataclass(frozen=True, slots=True)
class ReportInput:
    """The recording that a report is about, with nothing left open."""

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
        ValueError: there is none with a result; the text says so to a person.
    """
    if options.job_id is not None:
        recording = record.recording(options.job_id)
    elif record.finished:
        recording = record.finished[-1]
    else:
        raise ValueError(f"Subject {record.group_id} has no recording with a result yet, so there is nothing to print.")
    result, level, action, quality = recording.job.result, recording.level, recording.action, recording.quality
    if result is None or level is None or action is None or quality is None:
        raise ValueError("This recording has no result yet, so there is nothing to print.")
    return ReportInput(record, recording, options, result, level, action, quality)

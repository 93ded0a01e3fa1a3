"""All data of one subject as the service returned it: the input of every export."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlsplit

from vbdesk.contract.baseline_changes import job_with_changes
from vbdesk.contract.jobs import Job, JobStatus, JobType
from vbdesk.contract.levels import Level, RecommendedAction, overall_level, recommended_action
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.contract.results import AudioQuality, LongitudinalSignal, ModelResult, Signal, signals_of
from vbdesk.language import message
from vbdesk.report.recording_details import RecordingDetails
from vbdesk.report.subject_consent import ConsentGrant

EMBEDDED_SERVICE = "this-computer"
"""The service that vbdesk runs itself: it has another address at each start. Its account ids are globally unique."""

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True)
class RecordSource:
    """Source of a record.

    Attributes:
        service: the service's address, or `EMBEDDED_SERVICE`.
        account_id: the account's public id.
    """

    service: str
    account_id: str

    @classmethod
    def of(cls, base_url: str | None, account_id: str) -> "RecordSource":
        """Source of an account; `base_url` is None for the service that vbdesk runs itself."""
        return cls(EMBEDDED_SERVICE if base_url is None else base_url.rstrip("/"), account_id)

    @property
    def url(self) -> str:
        """The service as a URL that stays the same: without the port of a service on this computer."""
        if self.service == EMBEDDED_SERVICE or urlsplit(self.service).hostname in _LOOPBACK:
            return "http://localhost"
        return self.service


@dataclass(frozen=True, slots=True)
class RecordingRecord:
    """One recording of the subject.

    Attributes:
        recorded_at: capture time, aware; orders the history.
        job: the analysis in any state.
        details: what the computer that recorded knows; None elsewhere.
        consent: of the subject for this recording, as this computer knows it: `clinical`, `research`, `both`,
            `not_stated`, or `none`, `expired`, `withdrawn`, `unreadable`; empty if no library was read.
    """

    recorded_at: datetime
    job: Job
    details: RecordingDetails | None = None
    consent: str = ""

    @property
    def measured_at(self) -> datetime:
        """The capture time as known, without the random fraction of a second that makes `recorded_at` unique."""
        random = self.details is not None and self.details.random_fraction
        return self.recorded_at.replace(microsecond=0) if random else self.recorded_at

    @property
    def done(self) -> bool:
        """Whether there is a result."""
        return self.job.status is JobStatus.DONE and self.job.result is not None

    @property
    def target(self) -> tuple[JobType, str]:
        """What was requested: job type and name."""
        job = self.job
        name = job.model_name or job.sign_name or job.use_case or job.condition
        return job.job_type, name or ""

    @property
    def signals(self) -> list[Signal]:
        """The readings; empty without a result."""
        return [] if self.job.result is None else signals_of(self.job.result)

    @property
    def quality(self) -> AudioQuality | None:
        """Audio quality; None without a result."""
        return None if self.job.result is None else self.job.result.audio_quality

    @property
    def level(self) -> Level | None:
        """The overall level; None without a result."""
        result = self.job.result
        if result is None:
            return None
        if isinstance(result, ModelResult):
            return result.summary.overall_level
        return overall_level(signal.level for signal in self.signals)

    @property
    def action(self) -> RecommendedAction | None:
        """Recommended action; None without a result."""
        result = self.job.result
        if result is None:
            return None
        if isinstance(result, ModelResult):
            return result.summary.recommended_action
        return recommended_action([signal.level for signal in self.signals])

    @property
    def longitudinal(self) -> bool:
        """Whether the readings are compared with the subject's history."""
        return any(isinstance(signal, LongitudinalSignal) for signal in self.signals)


@dataclass(frozen=True, slots=True)
class SubjectRecord:
    """One subject and its recordings.

    Attributes:
        group_id: the account's pseudonym of the subject.
        recordings: by recording time.
        trajectory: None if the service has none.
        language: of labels and narrative, as a BCP 47 tag.
        consents: as this computer knows them, oldest first; empty if no library was read.
    """

    group_id: str
    source: RecordSource
    recordings: tuple[RecordingRecord, ...]
    trajectory: TrajectoryRead | None = None
    language: str = "en"
    consents: tuple[ConsentGrant, ...] = ()

    @property
    def finished(self) -> tuple[RecordingRecord, ...]:
        """The recordings that have a result."""
        return tuple(recording for recording in self.recordings if recording.done)

    def only(self, recording: RecordingRecord) -> "SubjectRecord":
        """Copy with this recording only, and the trajectory."""
        return replace(self, recordings=(recording,))

    def with_details(
        self, details: Mapping[str, RecordingDetails], consent: Callable[[datetime], str] = lambda recorded_at: ""
    ) -> "SubjectRecord":
        """Copy with details of recordings, by job id, and with the subject's consent for a recording of a time."""
        recordings = (
            replace(each, details=details.get(each.job.job_id, each.details), consent=consent(each.recorded_at))
            for each in self.recordings
        )
        return replace(self, recordings=tuple(recordings))

    def without(self, job_ids: Collection[str], trajectory: TrajectoryRead | None) -> "SubjectRecord":
        """Copy without recordings that left the course; changes against the baseline come from `trajectory`."""
        others = (each for each in self.recordings if each.job.job_id not in job_ids)
        recordings = (replace(each, job=job_with_changes(each.job, trajectory)) for each in others)
        return replace(self, recordings=tuple(recordings), trajectory=trajectory)

    def recording(self, job_id: str) -> RecordingRecord:
        """The recording with this job.

        Raises:
            ValueError: the subject has none.
        """
        for recording in self.recordings:
            if recording.job.job_id == job_id:
                return recording
        raise ValueError(
            message("Subject {subject} has no recording with the job {job_id}.", subject=self.group_id, job_id=job_id)
        )


def subject_record(
    group_id: str,
    source: RecordSource,
    recordings: Iterable[tuple[datetime | None, Job]],
    trajectory: TrajectoryRead | None = None,
    language: str = "en",
) -> SubjectRecord:
    """Build a record from the responses of a service.

    Args:
        group_id: the subject.
        source: service and account.
        recordings: capture time and job in any order; the job's `created_at` replaces a missing time.
        trajectory: the trajectory, if it was read. Changes against the baseline are taken from it.
        language: of labels and narrative.
    """
    records = [
        RecordingRecord(recorded_at or job.created_at, job_with_changes(job, trajectory))
        for recorded_at, job in recordings
    ]
    records.sort(key=lambda record: (record.recorded_at, record.job.job_id))
    return SubjectRecord(group_id, source, tuple(records), trajectory, language)

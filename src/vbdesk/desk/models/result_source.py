"""Source of results: this computer first, then the service."""

from dataclasses import dataclass, replace
from datetime import datetime

from vbdesk.contract.jobs import Job
from vbdesk.contract.results import Result
from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.models.result_text import pretty
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.items import ItemFilter, RecordingItem
from vbdesk.outbox.library.library import Library, UnknownTake
from vbdesk.outbox.results.repository import ResultRepository


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a recording.

    Attributes:
        item: in the library of this computer; None if it is not there.
        job: the service's answer; None if not needed or not read yet.
    """

    recording: RecordingRoute
    item: RecordingItem | None
    job: Job | None = None

    @property
    def result(self) -> Result | None:
        """The result; None while it is unknown."""
        if self.item is not None and self.item.result_json is not None:
            return self.item.result
        return None if self.job is None else self.job.result

    @property
    def raw(self) -> str:
        """The result as received, as JSON."""
        if self.item is not None and self.item.result_json is not None:
            return pretty(self.item.result_json)
        return "" if self.job is None else self.job.model_dump_json(indent=2)

    @property
    def recorded_at(self) -> datetime | None:
        """Time of the recording, if known."""
        return self.item.recorded_at if self.item is not None else self.recording.recorded_at

    @property
    def seconds(self) -> float | None:
        """Duration, if known."""
        if self.item is not None:
            return self.item.duration_s
        return None if self.job is None else self.job.audio_duration_seconds

    @property
    def group_id(self) -> str:
        """The subject; empty if unknown."""
        return (self.item.group_id if self.item is not None else self.recording.group_id) or ""

    @property
    def take_id(self) -> str | None:
        """The recording on this computer whose sound can be played."""
        return None if self.item is None or self.item.audio_gone_at is not None else self.item.take_id

    @property
    def asked_of_service(self) -> bool:
        """Whether only the service has the rest."""
        return self.item is None and self.recording.job_id is not None and self.result is None

    @property
    def silence(self) -> str:
        """Why its sound cannot be played here; empty if it can."""
        if self.item is None:
            return "The sound of this recording is not on this computer."
        if self.item.audio_gone_at is None:
            return ""
        gone = in_zone(self.item.audio_gone_at)
        day = f"{gone.day} {gone:%B %Y}"
        return f"The sound was removed from this computer on {day}, as set under Account. The result stays."


class ResultSource:
    """Finds results. Every method blocks: call it in tasks."""

    def __init__(self, library: Library, results: ResultRepository) -> None:
        self._library, self._results = library, results

    def here(self, recording: RecordingRoute) -> Found:
        """Find a result on this computer, without the network."""
        item = self._item(recording)
        if item is not None:
            recording = replace(
                recording,
                take_id=item.take_id,
                job_id=item.job_id or recording.job_id,
                group_id=item.group_id,
                recorded_at=item.recorded_at,
            )
        job = self._results.finished_job(recording.job_id) if recording.job_id else None
        return Found(recording, item, job)

    def ask(self, found: Found) -> Found:
        """Read the result from the service. Raises ClientError, VaultError."""
        job_id = found.recording.job_id
        if job_id is None:
            return found
        return replace(found, job=self._results.fetch_job(job_id))

    def _item(self, recording: RecordingRoute) -> RecordingItem | None:
        if recording.take_id is not None:
            try:
                return self._library.get(recording.take_id)
            except UnknownTake:
                return None
        if recording.job_id is None:  # otherwise a recording that was never sent would match
            return None
        items = self._library.list(ItemFilter(group_id=recording.group_id))
        return next((item for item in items if item.job_id == recording.job_id), None)

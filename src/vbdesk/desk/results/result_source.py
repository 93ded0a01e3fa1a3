"""Source of results: this computer first, then the service."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from vbdesk.contract.baseline_changes import Comparison, comparison_of, job_with_changes, with_changes
from vbdesk.contract.jobs import Job
from vbdesk.contract.longitudinal import LongitudinalFields, TrajectoryRead
from vbdesk.contract.results import Result
from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.results.own_features import own_ranges_here
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.language import _, formats
from vbdesk.outbox.library.consent import ConsentPolicy, ConsentStatus
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library, UnknownTake
from vbdesk.outbox.results.repository import ResultRepository

if TYPE_CHECKING:
    from vbdesk.report.own_ranges import OwnRange


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a recording.

    Attributes:
        item: in the library of this computer; None if it is not there.
        job: the service's answer; None if not needed or not read yet.
        trajectory: of its subject, as last read; None if there is none.
        consent: where the consent for it stands; None if the profile does not ask for any.
        own: the subject's own usual range by vocal feature, where enough earlier results are on this computer.
    """

    recording: RecordingRoute
    item: RecordingItem | None
    job: Job | None = None
    trajectory: TrajectoryRead | None = None
    consent: ConsentStatus | None = None
    own: "Mapping[str, OwnRange]" = field(default_factory=dict)

    @property
    def result(self) -> Result | None:
        """The result, with the changes of the trajectory; None while it is unknown."""
        received = self.received
        return None if received is None else with_changes(received, self.trajectory, self.job_id)

    @property
    def received(self) -> Result | None:
        """The result as received; None while it is unknown."""
        if self.item is not None and self.item.result_json is not None:
            return self.item.result
        return None if self.job is None else self.job.result

    @property
    def comparison(self) -> Comparison:
        """Whether it is compared with earlier recordings of its subject."""
        if self.item is not None and self.item.excluded:
            return Comparison.EXCLUDED
        return comparison_of(self.trajectory, self.job_id)

    @property
    def job_id(self) -> str | None:
        """Its job, if known."""
        return (None if self.item is None else self.item.job_id) or self.recording.job_id

    @property
    def raw(self) -> str:
        """The result as JSON, with the changes of the trajectory in place of those that it was received with."""
        if self.item is not None and self.item.result_json is not None:
            received = json.loads(self.item.result_json)
            return json.dumps(_changed(received, self.result), indent=2, ensure_ascii=False)
        return "" if self.job is None else job_with_changes(self.job, self.trajectory).model_dump_json(indent=2)

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
            return _("The sound of this recording is not on this computer.")
        if self.item.audio_gone_at is None:
            return ""
        day = formats.long_day(in_zone(self.item.audio_gone_at))
        return _("The sound was removed from this computer on {day}, as set under Account. The result stays.", day=day)


class ResultSource:
    """Finds results. Every method blocks: call it in tasks."""

    def __init__(self, library: Library, results: ResultRepository) -> None:
        self._library, self._results = library, results

    def here(self, recording: RecordingRoute) -> Found:
        """Find a result on this computer, without the network."""
        item = self._item(recording)
        recording = _placed(recording, item)
        job = self._results.last_job(recording.job_id) if recording.job_id else None
        stored = self._results.stored_trajectory(recording.group_id) if recording.group_id else None
        trajectory = None if stored is None else stored.value
        return self._with_own(Found(recording, item, job, trajectory, self._consent(recording)))

    def locate(self, recording: RecordingRoute) -> RecordingRoute:
        """A recording with everything that this computer knows of it."""
        return _placed(recording, self._item(recording))

    def _with_own(self, found: Found) -> Found:
        result, recorded_at, job_id = found.received, found.recorded_at, found.job_id or found.recording.take_id
        if result is None or recorded_at is None or not job_id or not found.group_id:
            return found
        own = own_ranges_here(self._library, found.group_id, job_id, recorded_at, result, found.seconds)
        return replace(found, own=own)

    def _consent(self, recording: RecordingRoute) -> ConsentStatus | None:
        policy = self._library.consent_gate.rules().policy
        if policy is ConsentPolicy.OFF or recording.group_id is None or recording.recorded_at is None:
            return None
        return self._library.consents.status(recording.group_id, recording.recorded_at)

    def ask(self, found: Found) -> Found:
        """Read the result from the service. Raises ClientError, VaultError."""
        job_id = found.recording.job_id
        if job_id is None:
            return found
        return self._with_own(replace(found, job=self._results.fetch_job(job_id)))

    def _item(self, recording: RecordingRoute) -> RecordingItem | None:
        if recording.take_id is not None:
            try:
                return self._library.get(recording.take_id)
            except UnknownTake:
                return None
        return None if recording.job_id is None else self._library.of_job(recording.job_id)


def _placed(recording: RecordingRoute, item: RecordingItem | None) -> RecordingRoute:
    if item is None:
        return recording
    return RecordingRoute(item.take_id, item.job_id or recording.job_id, item.group_id, item.recorded_at)


def _changed(received: Any, result: Result | None) -> Any:
    """The JSON of a result with the longitudinal fields of `result`; everything else as received."""
    shown = None if result is None else result.model_dump(mode="json")
    return _merged(received, shown)


def _merged(received: Any, shown: Any) -> Any:
    if isinstance(received, list) and isinstance(shown, list) and len(received) == len(shown):
        return [_merged(each, other) for each, other in zip(received, shown, strict=True)]
    if not isinstance(received, dict) or not isinstance(shown, dict):
        return received
    return {
        name: shown.get(name) if name in LongitudinalFields.model_fields else _merged(value, shown.get(name))
        for name, value in received.items()
    }

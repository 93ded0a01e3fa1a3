"""Other recordings of a subject with a result, for comparison."""

from dataclasses import dataclass
from datetime import datetime

from vbdesk.contract.levels import Level, overall_level
from vbdesk.contract.longitudinal import DataPoint
from vbdesk.desk.results.result_text import moment_of
from vbdesk.desk.subject_data.levels import level_of
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.language import _
from vbdesk.outbox.library.items import ItemFilter, RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.report.result_texts import overall_word


@dataclass(frozen=True, slots=True)
class SameSubjectRecording:
    """A recording with a result."""

    recording: RecordingRoute
    recorded_at: datetime
    level: Level | None

    @property
    def text(self) -> str:
        """When it was made, and its level."""
        moment = moment_of(self.recorded_at)
        if self.level is None:
            return moment
        return _("{moment} · {level}", moment=moment, level=overall_word(self.level))

    def is_of(self, recording: RecordingRoute) -> bool:
        """Whether `recording` is this one."""
        own = self.recording
        by_job = own.job_id is not None and own.job_id == recording.job_id
        return by_job or (own.take_id is not None and own.take_id == recording.take_id)


def same_subject_recordings(
    library: Library, results: ResultRepository, group_id: str
) -> tuple[SameSubjectRecording, ...]:
    """Recordings in a subject's course, newest first, as far as this computer knows them. Blocks on the disk."""
    items = library.list(ItemFilter(group_id=group_id, states=frozenset({OutboxState.DONE})))
    here = {item.job_id or item.take_id: item for item in items}
    history = results.history(group_id)
    points = [] if history is None else history.value.data_points
    found = [_of_item(here[point.job_id]) if point.job_id in here else _of_point(point, group_id) for point in points]
    return tuple(sorted(found, key=lambda one: one.recorded_at, reverse=True))


def with_itself(
    same_subject: tuple[SameSubjectRecording, ...], recording: RecordingRoute, item: RecordingItem | None
) -> tuple[SameSubjectRecording, ...]:
    """The list with `recording`, `item` on this computer, if it lacks it: it may be excluded from the course."""
    if any(one.is_of(recording) for one in same_subject):
        return same_subject
    if item is not None:
        own = _of_item(item)
    elif recording.recorded_at is not None:
        own = SameSubjectRecording(recording, recording.recorded_at, None)
    else:
        return same_subject
    return tuple(sorted((*same_subject, own), key=lambda one: one.recorded_at, reverse=True))


def neighbours(
    same_subject: tuple[SameSubjectRecording, ...], recording: RecordingRoute, recorded_at: datetime | None
) -> tuple[tuple[SameSubjectRecording, ...], tuple[SameSubjectRecording, ...]]:
    """Recordings before and after `recording`, nearest first."""
    others = [one for one in same_subject if not one.is_of(recording)]
    at = next((one.recorded_at for one in same_subject if one.is_of(recording)), recorded_at)
    if at is None:
        return tuple(others), ()
    before = tuple(one for one in others if one.recorded_at < at)
    after = tuple(one for one in reversed(others) if one.recorded_at >= at)
    return before, after


def _of_item(item: RecordingItem) -> SameSubjectRecording:
    route = RecordingRoute(item.take_id, item.job_id, item.group_id, item.recorded_at)
    return SameSubjectRecording(route, item.recorded_at, level_of(item))


def _of_point(point: DataPoint, group_id: str) -> SameSubjectRecording:
    route = RecordingRoute(None, point.job_id, group_id, point.recorded_at)
    return SameSubjectRecording(route, point.recorded_at, overall_level(signal.level for signal in point.signals))

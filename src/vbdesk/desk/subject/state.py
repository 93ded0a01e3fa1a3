"""What the Subject page says, as a function of what is known and of the time. No Qt."""

from dataclasses import dataclass, field
from datetime import datetime

from vbdesk.desk.flow.reads import Snapshot
from vbdesk.desk.subject.reads import SubjectData
from vbdesk.desk.subject.trajectory_text import SubjectReading, age_text
from vbdesk.desk.ui.time_text import moment_in_sentence
from vbdesk.language import _, joined, ngettext


@dataclass(frozen=True, slots=True)
class SubjectState:
    """State of the page.

    Attributes:
        reading: None while there is nothing to show.
        loading: nothing is known before the first answer.
        waiting: why there is nothing to show; empty if there is something.
        stale: why the content may be old; empty if it is not.
        age: age of the content, and whether newer content is asked for.
    """

    reading: SubjectReading | None = field(default=None, compare=False)
    loading: bool = False
    waiting: str = ""
    stale: str = ""
    age: str = ""


def subject_state(snapshot: Snapshot[SubjectData], now: datetime) -> SubjectState:
    """What the page shows."""
    reading = None if snapshot.value is None else snapshot.value.reading
    failure = snapshot.unreadable or snapshot.failure
    why = "" if failure is None else failure.sentence
    if snapshot.value is None or reading is None:
        loading = failure is None and not snapshot.answered
        moving = 0 if snapshot.value is None else snapshot.value.moving
        return SubjectState(None, loading, _waiting(snapshot, moving), why)
    read_at = reading.read_at if snapshot.read_at is None else snapshot.read_at
    moment = moment_in_sentence(read_at, now)
    stale = joined(why, _("The charts show what was last read, {moment}.", moment=moment)) if why else ""
    age = _("Read {moment}, asking for newer", moment=moment) if snapshot.asking else age_text(read_at, now)
    return SubjectState(reading, stale=stale, age=age)


def _waiting(snapshot: Snapshot[SubjectData], moving: int) -> str:
    """Why there is nothing to show."""
    if snapshot.unreadable is not None or snapshot.failure is not None:
        return _("There is nothing to show until the service answers.")
    if not snapshot.answered:
        return _("Reading the trajectory.")
    if snapshot.pending:
        return _("The trajectory is being computed. It appears here automatically.")
    if moving:
        return ngettext(
            "{count} recording is on the way. The charts appear with the first result.",
            "{count} recordings are on the way. The charts appear with the first result.",
            moving,
        )
    return _("No recording of this subject has a result yet.")


def arrival(before: SubjectState, after: SubjectState) -> str:
    """What arrived while the page showed a subject, as a sentence; empty for nothing."""
    if before.reading is None or after.reading is None or before.reading.group_id != after.reading.group_id:
        return ""
    more = len(set(after.reading.chart.jobs) - set(before.reading.chart.jobs))
    if not more:
        return ""
    return joined(ngettext("{count} new result.", "{count} new results.", more), after.reading.sentence)

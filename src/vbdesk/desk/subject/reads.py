"""What the Subject page reads: one subject over time, and its consent."""

from dataclasses import dataclass, field
from datetime import datetime

from vbdesk.client.errors import NotFound
from vbdesk.contract.longitudinal import TrajectoryRunning
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Asked, AskedRead, Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed, SubjectTopic, Topic
from vbdesk.desk.subject.trajectory_text import SubjectReading, subject_of
from vbdesk.outbox.library.consent import NO_CONSENT, ConsentKind, ConsentState, ConsentStatus, SubjectConsent
from vbdesk.outbox.library.items import ItemFilter
from vbdesk.outbox.library.states import ON_THEIR_WAY
from vbdesk.outbox.library.subject_registry import recordings_to_erase


@dataclass(frozen=True)
class SubjectData:
    """A subject as this computer knows it.

    Attributes:
        reading: None before the first result.
        moving: how many recordings are on their way to a result.
    """

    reading: SubjectReading | None
    moving: int = 0

    def shown_parts(self) -> object:
        """What the page shows of it: arrays of charts cannot be compared."""
        if self.reading is None:
            return self.moving
        chart = self.reading.chart
        rows = [(row.key, row.excluded, row.lacks_consent) for row in self.reading.rows]
        return self.reading.computed_at, self.reading.sentence, chart.marks, chart.jobs, chart.voice_questions, rows


@dataclass(frozen=True)
class SubjectRead(AskedRead[SubjectData]):
    """One subject over time: the last trajectory of the service, with newer results and corrections from here."""

    group_id: str
    ask_every_s = 60.0  # to find results that another computer sent

    @property
    def topics(self) -> frozenset[Topic]:  # noqa: D102
        return frozenset({Changed.LIBRARY, SubjectTopic(self.group_id)})

    ask_topics = frozenset({Changed.ARRIVED})

    def here(self, context: DeskContext, before: SubjectData | None, task: TaskContext) -> SubjectData:  # noqa: D102
        library, results, group_id = context.library, context.results, self.group_id
        items = library.list(ItemFilter(group_id=group_id))
        moving = sum(item.state in ON_THEIR_WAY for item in items)
        stored = results.history(group_id)
        if stored is None:
            return SubjectData(None, moving)
        outside = results.excluded(group_id)
        if not stored.value.data_points and not outside:
            return SubjectData(None, moving)
        read_at = stored.read_at if stored.read_at.tzinfo else None
        consents, count = library.consent_gate.all(), results.counts.of(group_id)
        now = context.clock.now()
        return SubjectData(subject_of(stored.value, now, items, read_at, consents, outside, count), moving)

    def ask(self, context: DeskContext, task: TaskContext) -> Asked:  # noqa: D102
        try:
            read = context.results.fetch_trajectory(self.group_id)
        except NotFound:  # nothing of it was sent yet
            return Asked()
        return Asked(ask_again_s=read.retry_after_seconds) if isinstance(read, TrajectoryRunning) else Asked()

    def shows_same(self, value: SubjectData, other: SubjectData) -> bool:  # noqa: D102
        return value.shown_parts() == other.shown_parts()

    def read_at(self, value: SubjectData) -> datetime | None:  # noqa: D102
        return None if value.reading is None else value.reading.read_at


@dataclass(frozen=True, slots=True)
class ConsentReading:
    """The consent of one subject.

    Attributes:
        recordings: how many recordings a withdrawal can erase here.
        in_bundles: of how many of them a bundle has a copy.
    """

    group_id: str = ""
    status: ConsentStatus = NO_CONSENT
    consent: SubjectConsent = field(default_factory=SubjectConsent)
    recordings: int = 0
    in_bundles: int = 0

    @property
    def withdrawable(self) -> bool:
        """Whether there is a consent to withdraw; also an expired one, for earlier recordings."""
        return bool(self.consent.events) and self.status.state is not ConsentState.WITHDRAWN

    def ends_with(self, kind: ConsentKind) -> bool:
        """Whether nothing stays in force after a withdrawal for `kind`."""
        present = self.status.kind
        return kind is ConsentKind.BOTH or present in (None, kind, ConsentKind.NOT_STATED)


@dataclass(frozen=True)
class SubjectConsentRead(Read[ConsentReading]):
    """The consent of a subject, and what its withdrawal can erase."""

    group_id: str

    @property
    def topics(self) -> frozenset[Topic]:  # noqa: D102
        return frozenset({Changed.LIBRARY, SubjectTopic(self.group_id)})

    def here(self, context: DeskContext, before: ConsentReading | None, task: TaskContext) -> ConsentReading:  # noqa: D102
        consent = context.library.consents.of(self.group_id)
        here = recordings_to_erase(context.library, self.group_id)
        status = consent.status(context.clock.now())
        return ConsentReading(self.group_id, status, consent, len(here), sum(here.values()))

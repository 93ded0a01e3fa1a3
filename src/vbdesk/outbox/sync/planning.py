"""What the sync worker does next, and when: by the budget, the pauses and a person's settings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from vbdesk.client import RequestBudget
from vbdesk.client.submission_recovery import SEARCH_AFTER_S
from vbdesk.clock import Clock
from vbdesk.contract.limits import POLL_INTERVAL_S, Bucket
from vbdesk.outbox.library.corrections import Correction
from vbdesk.outbox.sync.error_policy import POSTPONED_S
from vbdesk.outbox.sync.upload_queue import PendingEvent

POLL_GROWTH = 1.25
CREDITS_EVERY_S = 60.0
HANDED_OVER_EVERY_S = 600.0
SCARCE = 15  # polls left in the minute; below this they are spread evenly
SCARCE_TURN_S = 2.25  # a standard plan's polls spread over a minute, less the reserve for pages
TURN_S = 0.25  # minimum between two polls, so that other requests get through

ROOM_FOR_PAGES = {Bucket.GENERAL: 4, Bucket.POLLING: 3, Bucket.ANALYZE: 0}
"""Requests per minute that the sync worker leaves free, so that pages need not wait."""


@dataclass(frozen=True, slots=True)
class SendRecording:
    """Upload and submit a recording."""

    event: PendingEvent


@dataclass(frozen=True, slots=True)
class FindLostJob:
    """Search for the job of a submit whose answer was lost."""

    event: PendingEvent


@dataclass(frozen=True, slots=True)
class PollJob:
    """Read the state of a job."""

    event: PendingEvent


@dataclass(frozen=True, slots=True)
class FindHandedOver:
    """Search for a recording that was handed over: another computer may have sent it."""

    event: PendingEvent


@dataclass(frozen=True, slots=True)
class SendCorrection:
    """Do the next step of a correction."""

    entry: Correction


@dataclass(frozen=True, slots=True)
class ReadSubject:
    """Read a subject's trajectory after a result."""

    group_id: str


@dataclass(frozen=True, slots=True)
class ReadCredits:
    """Read the balance; with an empty queue this also tests the connection."""


SyncTask = SendRecording | FindLostJob | PollJob | FindHandedOver | SendCorrection | ReadSubject | ReadCredits


@dataclass(frozen=True, slots=True)
class SendingLimits:
    """What delays tasks apart from the budget.

    Attributes:
        sends_s: seconds until recordings may be sent; infinite: until something changes.
        manual: whether only recordings that a person has released are sent.
        only_credits_s: seconds until the balance may be read, if nothing else is allowed; None if all is allowed.
        answered: whether the service has answered on this connection; if not, a send reads the balance first.
    """

    sends_s: float = 0.0
    manual: bool = False
    only_credits_s: float | None = None
    answered: bool = True


@dataclass(frozen=True, slots=True)
class _Planned:
    """A task, the seconds until it is due, and its rank among the tasks that are due."""

    rank: tuple[int, float]
    wait_s: float
    task: SyncTask


class Planner:
    """Decides which task is due when. Times are seconds of the monotonic clock."""

    def __init__(self, clock: Clock, budget: RequestBudget) -> None:
        self._clock = clock
        self._budget = budget
        self._polls: dict[str, tuple[float, float]] = {}  # take id: interval, when due
        self._polled_at = -SCARCE_TURN_S
        self._meanwhile_due = 0.0
        self._searches: dict[str, list[float]] = {}  # event id: when each remaining search is due
        self._handed_over_due: dict[str, float] = {}  # take id: when due
        self._searched_take_ids: set[str] = set()  # take ids
        self._subjects: dict[str, float] = {}  # group id: when due, in the order of results
        self._credits_due = 0.0

    def next(
        self,
        events: list[PendingEvent],
        handed_over: list[PendingEvent],
        limits: SendingLimits,
        corrections: Sequence[Correction] = (),
    ) -> tuple[SyncTask | None, float]:
        """The most urgent task that is due, or None and the seconds until the next one."""
        now = self._clock.monotonic()
        if limits.only_credits_s is not None:
            planned = [_Planned((0, 0.0), max(limits.only_credits_s, self._room_s(Bucket.GENERAL, now)), ReadCredits())]
        else:
            planned = [
                *self._polls_of(events, now),
                *self._searches_of(events, limits, now),
                *self._sends_of(events, limits, now),
                *self._corrections_of(corrections, now),
                *self._reads(events, handed_over, now),
            ]
        due = [each for each in planned if each.wait_s <= 0]
        if due:
            return min(due, key=lambda each: each.rank).task, 0.0
        return None, min(each.wait_s for each in planned)

    def poll_meanwhile(self, following: Callable[[], list[PendingEvent]]) -> PendingEvent | None:
        """The job to poll during an upload, if any. Calls `following` at most every two seconds."""
        now = self._clock.monotonic()
        if now < self._meanwhile_due:
            return None
        self._meanwhile_due = now + POLL_INTERVAL_S[0]
        due = [each for each in self._polls_of(following(), now) if each.wait_s <= 0]
        first = min(due, key=lambda each: each.rank).task if due else None
        return first.event if isinstance(first, PollJob) else None

    # State changes

    def polled(self, event: PendingEvent, *, taken: bool = False, invalid: bool = False) -> None:
        """A job was polled, or has just been accepted (`taken`); `invalid`: its answer was invalid."""
        now = self._clock.monotonic()
        shortest, longest = POLL_INTERVAL_S
        interval = self._polls.get(event.take_id, (shortest, 0.0))[0]
        self._polls[event.take_id] = (min(interval * POLL_GROWTH, longest), now + interval)
        if taken:
            self._polls[event.take_id] = (shortest, now + shortest)
        elif invalid:
            self._polls[event.take_id] = (longest, now + CREDITS_EVERY_S)
        else:
            self._polled_at = now

    def ask_now(self) -> None:
        """A person asked: everything that waits for the service is due now, as far as the budget allows."""
        now = self._clock.monotonic()
        self._polls = {take_id: (POLL_INTERVAL_S[0], min(due, now)) for take_id, (_, due) in self._polls.items()}
        self._handed_over_due = {take_id: min(due, now) for take_id, due in self._handed_over_due.items()}
        self._subjects = {group_id: min(due, now) for group_id, due in self._subjects.items()}
        self._credits_due = min(self._credits_due, now)

    def ended(self, event: PendingEvent) -> None:
        """A job has ended: plan to read its subject and the balance."""
        now = self._clock.monotonic()
        self._polls.pop(event.take_id, None)
        self.read_subject(event.group_id)
        self._credits_due = min(self._credits_due, now + POLL_INTERVAL_S[1])

    def answer_lost(self, event: PendingEvent, *, may_still_arrive: bool) -> None:
        """A submit was not answered. If it may still arrive, plan several searches, else one."""
        now = self._clock.monotonic()
        self._searches[event.event_id] = [now + after_s for after_s in SEARCH_AFTER_S] if may_still_arrive else [now]

    def searched(self, event: PendingEvent) -> bool:
        """A search found nothing; True if it was the last."""
        left = self._searches.pop(event.event_id, [])[1:]
        if left:
            self._searches[event.event_id] = left
        return not left

    def searched_for_handed_over(self, event: PendingEvent, *, answered: bool = False) -> None:
        """A search for a recording that was handed over began, or was `answered`."""
        self._handed_over_due[event.take_id] = self._clock.monotonic() + HANDED_OVER_EVERY_S
        if answered:
            self._searched_take_ids.add(event.take_id)

    def has_searched_for(self, handed_over: list[PendingEvent]) -> bool:
        """Whether each of these was searched for at least once."""
        return all(event.take_id in self._searched_take_ids for event in handed_over)

    def read_subject(self, group_id: str, in_s: float = 0.0) -> None:
        """Plan to read a subject's trajectory."""
        self._subjects[group_id] = self._clock.monotonic() + in_s

    def subject_was_read(self, group_id: str) -> None:
        """The trajectory was read."""
        self._subjects.pop(group_id, None)

    def read_credits(self, in_s: float) -> None:
        """Plan to read the balance within so many seconds."""
        self._credits_due = min(self._credits_due, self._clock.monotonic() + in_s)

    def credits_were_read(self) -> None:
        """The balance was read, or the read failed."""
        self._credits_due = self._clock.monotonic() + CREDITS_EVERY_S

    # Due tasks

    def _polls_of(self, events: list[PendingEvent], now: float) -> Iterator[_Planned]:
        turn_s = SCARCE_TURN_S if self._budget.wait_s(Bucket.POLLING, now, SCARCE) > 0 else TURN_S
        room_s = max(self._room_s(Bucket.POLLING, now), self._polled_at + turn_s - now)
        for event in events:
            if event.follows:
                due = self._polls.setdefault(event.take_id, (POLL_INTERVAL_S[0], now))[1]
                yield _Planned((0, due), max(due - now, room_s), PollJob(event))

    def _searches_of(self, events: list[PendingEvent], limits: SendingLimits, now: float) -> Iterator[_Planned]:
        """Searches for lost answers. A submission that was named to the service is sent again instead."""
        sends_s = max(limits.sends_s, self._room_s(Bucket.ANALYZE, now))
        room_s = self._room_s(Bucket.GENERAL, now, leave=ROOM_FOR_PAGES[Bucket.GENERAL] // 2)
        for event in events:
            if event.asked_at is not None and not event.follows:
                if event.event_id not in self._searches:
                    in_an_earlier_run = not event.shared or event.upload_ref is not None  # else another computer
                    self.answer_lost(event, may_still_arrive=in_an_earlier_run)
                due = self._searches[event.event_id][0]
                wait_s = max(due - now, room_s, self._until(event.not_before))
                yield _Planned((1, due), max(wait_s, sends_s) if event.named else wait_s, FindLostJob(event))

    def _sends_of(self, events: list[PendingEvent], limits: SendingLimits, now: float) -> Iterator[_Planned]:
        """Recordings as `upload_order` says."""
        room_s = max(limits.sends_s, self._room_s(Bucket.ANALYZE, now))
        for index, event in enumerate(sendable(events)):
            if limits.manual and not event.released:
                continue
            search_s = self._budget.wait_s(Bucket.GENERAL, now) if event.shared or not limits.answered else 0.0
            yield _Planned(
                (urgency(event), index),
                max(room_s, search_s, self._until(event.not_before)),
                SendRecording(event),
            )

    def _corrections_of(self, corrections: Sequence[Correction], now: float) -> Iterator[_Planned]:
        room_s = self._room_s(Bucket.GENERAL, now)
        for entry in corrections:
            yield _Planned((5, entry.number), max(room_s, self._until(entry.not_before)), SendCorrection(entry))

    def _reads(self, events: list[PendingEvent], handed_over: list[PendingEvent], now: float) -> Iterator[_Planned]:
        room_s = self._room_s(Bucket.GENERAL, now)
        at_service = {event.group_id for event in events if event.follows}
        for index, (group_id, due) in enumerate(self._subjects.items()):
            if group_id not in at_service:
                yield _Planned((6, index), max(due - now, room_s), ReadSubject(group_id))
        yield _Planned((7, 0.0), max(self._credits_due - now, room_s), ReadCredits())
        for event in handed_over:
            due = self._handed_over_due.setdefault(event.take_id, now)
            yield _Planned((8, due), max(due - now, room_s), FindHandedOver(event))

    def _room_s(self, bucket: Bucket, now: float, leave: int | None = None) -> float:
        """Seconds until a request leaves enough budget for others."""
        reserve = ROOM_FOR_PAGES[bucket] if leave is None else leave
        return self._budget.wait_s(bucket, now, 1 + min(reserve, self._budget.limit(bucket) // 2))

    def _until(self, moment: datetime | None) -> float:
        """Seconds until a time of day; 0 if it is further away than any delay of ours, since another clock wrote it."""
        wait_s = 0.0 if moment is None else (moment - self._clock.now()).total_seconds()
        return wait_s if wait_s <= POSTPONED_S else 0.0


def sendable(events: Sequence[PendingEvent]) -> list[PendingEvent]:
    """The recordings that may be sent now, oldest first as given.

    While one recording of a subject has an unknown outcome, no other of that subject is sent. A service may store
    few digits of `recorded_at`, so the search could confuse the two.
    """
    unclear = {event.group_id for event in events if event.asked_at is not None and not event.follows}
    return [event for event in events if not event.follows and event.group_id not in unclear]


def urgency(event: PendingEvent) -> int:
    """Uploaded recordings come before others, and those that failed after all others; smaller is earlier."""
    return (2 if event.upload_ref else 3) + 2 * bool(event.attempts)

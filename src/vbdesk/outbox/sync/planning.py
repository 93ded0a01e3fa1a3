"""What the courier does next, and when: every task that waits, within the budget, the pauses and what a person set."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from vbdesk.capture.clock import Clock
from vbdesk.client import RequestBudget
from vbdesk.client.submission_recovery import SEARCH_AFTER_S
from vbdesk.contract.limits import POLL_INTERVAL_S, Bucket
from vbdesk.outbox.sync.error_policy import PATIENCE_S
from vbdesk.outbox.sync.upload_queue import Event

POLL_GROWTH = 1.25
CREDITS_EVERY_S = 60.0
HANDED_OVER_EVERY_S = 600.0
SCARCE = 15  # polls left in the minute; with fewer they come evenly
SCARCE_TURN_S = 2.25  # a standard plan's minute of polls, less the room for pages, one by one
TURN_S = 0.25  # between two polls in any case: many jobs take turns, and leave the line to others in between

ROOM_FOR_PAGES = {Bucket.GENERAL: 4, Bucket.POLLING: 3, Bucket.ANALYZE: 0}
"""Requests of a minute that the courier does not touch, so that a page has its answer at once."""


@dataclass(frozen=True, slots=True)
class Send:
    """Bring a recording to the service."""

    event: Event


@dataclass(frozen=True, slots=True)
class Search:
    """Look for the job of a submit whose answer was lost."""

    event: Event


@dataclass(frozen=True, slots=True)
class Follow:
    """Ask how far an analysis is."""

    event: Event


@dataclass(frozen=True, slots=True)
class LookFor:
    """Look whether another computer has sent a recording that was handed over."""

    event: Event


@dataclass(frozen=True, slots=True)
class ReadSubject:
    """Read a subject's history, after a result."""

    group_id: str


@dataclass(frozen=True, slots=True)
class ReadCredits:
    """Read the balance; with an empty line this is also how the way to the service is tried."""


Task = Send | Search | Follow | LookFor | ReadSubject | ReadCredits


@dataclass(frozen=True, slots=True)
class Gate:
    """What keeps tasks back, whatever the budget says.

    Attributes:
        sends_s: seconds until recordings may be sent; infinite for until something changes.
        by_hand: only those that a person has released are sent.
        only_credits_s: nothing may be done but reading the balance, in so many seconds; None if all may.
        heard: the service has answered on this connection; if not, a send reads the balance first.
    """

    sends_s: float = 0.0
    by_hand: bool = False
    only_credits_s: float | None = None
    heard: bool = True


@dataclass(frozen=True, slots=True)
class _Planned:
    """A task, in how many seconds, and its order among those that are due."""

    rank: tuple[int, float]
    wait_s: float
    task: Task


class Agenda:
    """When each thing is due. Times are seconds of the steady clock."""

    def __init__(self, clock: Clock, budget: RequestBudget) -> None:
        self._clock = clock
        self._budget = budget
        self._polls: dict[str, tuple[float, float]] = {}  # take id: interval, when due
        self._polled_at = -SCARCE_TURN_S
        self._meanwhile_due = 0.0
        self._searches: dict[str, list[float]] = {}  # event id: when each search still to be done is due
        self._looks: dict[str, float] = {}  # take id: when due
        self._looked: set[str] = set()  # take ids
        self._subjects: dict[str, float] = {}  # group id: when due, in the order of results
        self._credits_due = 0.0

    def next(self, events: list[Event], handed_over: list[Event], gate: Gate) -> tuple[Task | None, float]:
        """The most urgent task that is due, or None and the seconds until one is."""
        now = self._clock.monotonic()
        if gate.only_credits_s is not None:
            planned = [_Planned((0, 0.0), max(gate.only_credits_s, self._room_s(Bucket.GENERAL, now)), ReadCredits())]
        else:
            planned = [
                *self._polls_of(events, now),
                *self._searches_of(events, gate, now),
                *self._sends_of(events, gate, now),
                *self._reads(events, handed_over, now),
            ]
        due = [each for each in planned if each.wait_s <= 0]
        if due:
            return min(due, key=lambda each: each.rank).task, 0.0
        return None, min(each.wait_s for each in planned)

    def poll_meanwhile(self, following: Callable[[], list[Event]]) -> Event | None:
        """The job to ask after while an upload is under way; `following` is called every two seconds at most."""
        now = self._clock.monotonic()
        if now < self._meanwhile_due:
            return None
        self._meanwhile_due = now + POLL_INTERVAL_S[0]
        due = [each for each in self._polls_of(following(), now) if each.wait_s <= 0]
        first = min(due, key=lambda each: each.rank).task if due else None
        return first.event if isinstance(first, Follow) else None

    # What changes it

    def followed(self, event: Event, *, taken: bool = False, odd: bool = False) -> None:
        """A job was asked after, or has just been `taken` by the service; `odd`: its answer made no sense."""
        now = self._clock.monotonic()
        shortest, longest = POLL_INTERVAL_S
        interval = self._polls.get(event.take_id, (shortest, 0.0))[0]
        self._polls[event.take_id] = (min(interval * POLL_GROWTH, longest), now + interval)
        if taken:
            self._polls[event.take_id] = (shortest, now + shortest)
        elif odd:
            self._polls[event.take_id] = (longest, now + CREDITS_EVERY_S)
        else:
            self._polled_at = now

    def ended(self, event: Event) -> None:
        """A job has ended: its subject is to be read, and what it cost."""
        now = self._clock.monotonic()
        self._polls.pop(event.take_id, None)
        self.read_subject(event.group_id)
        self._credits_due = min(self._credits_due, now + POLL_INTERVAL_S[1])

    def answer_lost(self, event: Event, *, may_still_arrive: bool) -> None:
        """A submit was not answered; one that may still arrive is searched for again, a little later."""
        now = self._clock.monotonic()
        self._searches[event.event_id] = [now + after_s for after_s in SEARCH_AFTER_S] if may_still_arrive else [now]

    def searched(self, event: Event) -> bool:
        """A search has found nothing; True if it was the last."""
        left = self._searches.pop(event.event_id, [])[1:]
        if left:
            self._searches[event.event_id] = left
        return not left

    def looked_for(self, event: Event, *, answered: bool = False) -> None:
        """The service is asked whether it has a recording that was handed over, or has `answered` that."""
        self._looks[event.take_id] = self._clock.monotonic() + HANDED_OVER_EVERY_S
        if answered:
            self._looked.add(event.take_id)

    def has_looked_for(self, handed_over: list[Event]) -> bool:
        """Whether each of these was looked for at least once."""
        return all(event.take_id in self._looked for event in handed_over)

    def read_subject(self, group_id: str, in_s: float = 0.0) -> None:
        """A subject's history is to be read."""
        self._subjects[group_id] = self._clock.monotonic() + in_s

    def subject_was_read(self, group_id: str) -> None:
        """It was."""
        self._subjects.pop(group_id, None)

    def read_credits(self, in_s: float) -> None:
        """The balance is to be read within so many seconds."""
        self._credits_due = min(self._credits_due, self._clock.monotonic() + in_s)

    def credits_were_read(self) -> None:
        """It was, or it was tried."""
        self._credits_due = self._clock.monotonic() + CREDITS_EVERY_S

    # What there is

    def _polls_of(self, events: list[Event], now: float) -> Iterator[_Planned]:
        turn_s = SCARCE_TURN_S if self._budget.wait_s(Bucket.POLLING, now, SCARCE) > 0 else TURN_S
        room_s = max(self._room_s(Bucket.POLLING, now), self._polled_at + turn_s - now)
        for event in events:
            if event.follows:
                due = self._polls.setdefault(event.take_id, (POLL_INTERVAL_S[0], now))[1]
                yield _Planned((0, due), max(due - now, room_s), Follow(event))

    def _searches_of(self, events: list[Event], gate: Gate, now: float) -> Iterator[_Planned]:
        """Searches for lost answers. Where the service has promised to keep the key, the request is sent again."""
        sends_s = max(gate.sends_s, self._room_s(Bucket.ANALYZE, now))
        room_s = self._room_s(Bucket.GENERAL, now, leave=ROOM_FOR_PAGES[Bucket.GENERAL] // 2)
        for event in events:
            if event.asked_at is not None and not event.follows:
                if event.event_id not in self._searches:
                    in_an_earlier_run = not event.shared or event.upload_ref is not None  # else by another computer
                    self.answer_lost(event, may_still_arrive=in_an_earlier_run)
                due = self._searches[event.event_id][0]
                wait_s = max(due - now, room_s, self._until(event.not_before))
                yield _Planned((1, due), wait_s if event.key_kept_s is None else max(wait_s, sends_s), Search(event))

    def _sends_of(self, events: list[Event], gate: Gate, now: float) -> Iterator[_Planned]:
        """Recordings in the order they were made; those that failed come after the others.

        While it is open whether the service has one recording of a subject, no other of that subject is sent: where the
        service keeps few digits of `recorded_at`, the search could take one for the other.
        """
        room_s = max(gate.sends_s, self._room_s(Bucket.ANALYZE, now))
        unclear = {event.group_id for event in events if event.asked_at is not None and not event.follows}
        for place, event in enumerate(events):
            if event.follows or event.group_id in unclear or (gate.by_hand and not event.released):
                continue
            urgency = 2 if event.upload_ref else 3
            search_s = self._budget.wait_s(Bucket.GENERAL, now) if event.shared or not gate.heard else 0.0
            yield _Planned(
                (urgency + 2 * bool(event.attempts), place),
                max(room_s, search_s, self._until(event.not_before)),
                Send(event),
            )

    def _reads(self, events: list[Event], handed_over: list[Event], now: float) -> Iterator[_Planned]:
        room_s = self._room_s(Bucket.GENERAL, now)
        at_service = {event.group_id for event in events if event.follows}
        for place, (group_id, due) in enumerate(self._subjects.items()):
            if group_id not in at_service:
                yield _Planned((6, place), max(due - now, room_s), ReadSubject(group_id))
        yield _Planned((7, 0.0), max(self._credits_due - now, room_s), ReadCredits())
        for event in handed_over:
            due = self._looks.setdefault(event.take_id, now)
            yield _Planned((8, due), max(due - now, room_s), LookFor(event))

    def _room_s(self, bucket: Bucket, now: float, leave: int | None = None) -> float:
        """Seconds until a request of ours leaves enough for others."""
        kept = ROOM_FOR_PAGES[bucket] if leave is None else leave
        return self._budget.wait_s(bucket, now, 1 + min(kept, self._budget.limit(bucket) // 2))

    def _until(self, moment: datetime | None) -> float:
        """Seconds until a time of day; what is further off than we ever put off was noted by another clock."""
        wait_s = 0.0 if moment is None else (moment - self._clock.now()).total_seconds()
        return wait_s if wait_s <= PATIENCE_S else 0.0

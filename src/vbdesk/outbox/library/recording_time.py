"""Whether the time of a recording is right, as far as the service's clock can tell. Pure functions.

The computer's clock gives the time of a recording, and somebody may have set it wrong. So each take also keeps how long
the computer had been running when it began. One answer of the service during the same run of the computer then gives
the right time, whatever the clock was set to before or after. A take of another run lies between the last time that the
service had confirmed when it was made, and the first that it confirmed afterwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from vbdesk.capture.boot_clock import BootTime
from vbdesk.contract.timestamps import EARLIEST_NOW, in_zone, is_plausible_now

RIGHT = timedelta(minutes=2)
"""A clock that differs by less is right: no two clocks are the same."""

TOLERANCE = timedelta(minutes=15)
"""A clock that always differs by less does no harm: histories count days, and an upload may begin for as long."""

AGREE = timedelta(minutes=1)
"""By how much two answers of the service may differ from the time that passed between them."""

DRIFT = 1e-4  # a computer's count of seconds without correction; ten seconds a day
KEPT_SPANS = 50  # starts of the computer, about two months of them


@dataclass(frozen=True, slots=True)
class ServiceTime:
    """A time of day by the service's clock, and the time since the start of the computer at that moment."""

    boot: BootTime
    at: datetime

    def later(self, seconds: float) -> datetime:
        """The service's time when the computer had been running for so long, before or after."""
        return self.at + timedelta(seconds=seconds - self.boot.seconds)

    def drift(self, seconds: float) -> timedelta:
        """By how much `later` may be wrong."""
        return timedelta(seconds=abs(seconds - self.boot.seconds) * DRIFT)

    def agrees_with(self, other: "ServiceTime") -> bool:
        """Whether as much time passed between the two by the service's clock as by the computer's count."""
        if self.boot.boot_id != other.boot.boot_id:
            return False
        return abs(self.later(other.boot.seconds) - other.at) <= AGREE + self.drift(other.boot.seconds)


@dataclass(frozen=True, slots=True)
class TimeReference:
    """What was known of the time when a recording began, apart from the computer's clock.

    Attributes:
        boot: the time since the start of the computer.
        confirmed: the newest time that the service had confirmed; None before the first.
    """

    boot: BootTime
    confirmed: ServiceTime | None = None


@dataclass(frozen=True, slots=True)
class TimeDoubt:
    """Why the time of a recording is doubtful.

    Attributes:
        suggested: the right time, where it can be computed.
        after, before: else the times between which the recording was made, as far as they are known.
    """

    suggested: datetime | None = None
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """The first and the last time that the service confirmed while the two counts agreed, within one computer start.

    Attributes:
        clock: what the computer's clock said at `first`; None in libraries of an earlier release.
    """

    first: ServiceTime
    last: ServiceTime
    clock: datetime | None = None

    def is_refuted_by(self, answer: ServiceTime) -> bool:
        """Whether the service's clock was wrong during this span, if a later answer is right."""
        if self.last.boot.boot_id != answer.boot.boot_id:
            return self.last.at > answer.at + AGREE
        if self.last.agrees_with(answer):
            return False
        ahead = self.last.later(answer.boot.seconds) - answer.at
        return ahead > timedelta(0) or self._clock_contradicts(answer, -ahead)

    def _clock_contradicts(self, answer: ServiceTime, behind: timedelta) -> bool:
        """Whether the computer's clock of then supports the answer, which is later than this span lets expect.

        It does not where a virtual machine was suspended: time has passed that its count does not know of.
        """
        if self.clock is None:
            return False
        error = abs(ServiceTime(self.first.boot, self.clock).later(answer.boot.seconds) - answer.at)
        return error < behind and error <= TOLERANCE


@dataclass(frozen=True, slots=True)
class KnownTimes:
    """The times that the service has confirmed here, in the order in which it did.

    A newer answer takes the place of what it refutes: the service's clock was wrong then, or something on the way
    changed what it told.
    """

    spans: tuple[Span, ...] = ()

    @property
    def newest(self) -> ServiceTime | None:
        """The last confirmed time."""
        return self.spans[-1].last if self.spans else None

    def with_answer(self, answer: ServiceTime, clock: datetime | None = None) -> "KnownTimes":
        """The same with one more confirmed time, at which the computer's clock said `clock`."""
        spans = [span for span in self.spans if not span.is_refuted_by(answer)]
        if spans and spans[-1].last.agrees_with(answer):
            return KnownTimes((*spans[:-1], replace(spans[-1], last=answer)))
        return KnownTimes((*spans, Span(answer, answer, clock))[-KEPT_SPANS:])

    def supports(self, confirmed: ServiceTime) -> bool:
        """Whether a confirmed time that a recording keeps was not refuted since; where nothing is known, it was not."""
        return not self.spans or any(end.agrees_with(confirmed) for end in self.of_start(confirmed.boot.boot_id))

    def service_time(self, boot: BootTime) -> datetime | None:
        """The service's time at `boot`; None where it confirmed none since that start of the computer."""
        newest = self.newest
        if newest is None or newest.boot.boot_id != boot.boot_id:
            return None
        return newest.later(boot.seconds)

    def of_start(self, boot_id: str) -> list[ServiceTime]:
        """The times that were confirmed during one run of the computer."""
        ends = [end for span in self.spans for end in (span.first, span.last)]
        return [end for end in ends if end.boot.boot_id == boot_id]

    def first_since(self, confirmed: ServiceTime | None) -> datetime | None:
        """The first time that was confirmed in a later run of the computer than `confirmed` was."""
        if confirmed is None:
            return self.spans[0].first.at if self.spans else None
        own = [place for place, span in enumerate(self.spans) if span.last.boot.boot_id == confirmed.boot.boot_id]
        following = self.spans[own[-1] + 1 :] if own else self.spans
        later = [span.first.at for span in following if span.first.at >= confirmed.at]  # else a clock was corrected
        return later[0] if later else None


def doubt_of(
    recorded_at: datetime, reference: TimeReference | None, known: KnownTimes, boot: BootTime, clock: datetime
) -> TimeDoubt | None:
    """Why the time of a recording is doubtful; None if nothing speaks against it.

    Args:
        recorded_at: the time that the computer's clock gave.
        reference: kept with it when it began; None for a file, a bundle, or a take of an earlier release.
        known: what the service has confirmed.
        boot: the time since the start of the computer, now.
        clock: what the computer's clock says now.
    """
    service_time = known.service_time(boot)
    doubt = None if reference is None else _compared(recorded_at, reference, known, service_time, clock)
    if doubt is None and service_time is not None and recorded_at > service_time + TOLERANCE:
        return TimeDoubt(before=service_time)  # whatever was confirmed before: nothing is recorded in the future
    return doubt


def _compared(
    recorded_at: datetime, reference: TimeReference, known: KnownTimes, service_time: datetime | None, clock: datetime
) -> TimeDoubt | None:
    if reference.confirmed is not None and not known.supports(reference.confirmed):
        reference = replace(reference, confirmed=None)
    confirmed = [] if reference.confirmed is None else [reference.confirmed]
    anchors = [each for each in (*confirmed, *known.of_start(reference.boot.boot_id)) if _same_start(each, reference)]
    if anchors:
        clock_error = None if service_time is None else clock - service_time
        return _measured(recorded_at, reference.boot.seconds, anchors, clock_error)
    return _bounded(recorded_at, reference, known, service_time)


def _same_start(confirmed: ServiceTime, reference: TimeReference) -> bool:
    return confirmed.boot.boot_id == reference.boot.boot_id


def _measured(
    recorded_at: datetime, seconds: float, anchors: list[ServiceTime], clock_error: timedelta | None
) -> TimeDoubt | None:
    """The right time is known: by each anchor, should the computer have stood still in between."""
    for anchor in anchors:
        error = recorded_at - anchor.later(seconds)
        allowed = RIGHT + anchor.drift(seconds)
        if abs(error) <= allowed:
            return None
        unchanged = clock_error is None or abs(error - clock_error) <= allowed
        if abs(error) <= TOLERANCE and unchanged:
            return None
    newest, nearest = anchors[-1], min(anchors, key=lambda anchor: abs(anchor.boot.seconds - seconds))
    times = sorted(anchor.later(seconds) for anchor in (nearest, newest))
    if times[1] - times[0] > RIGHT + newest.drift(seconds):  # nothing tells which of the two is right
        return TimeDoubt(after=times[0], before=times[1])
    return TimeDoubt(suggested=nearest.later(seconds))


def _bounded(
    recorded_at: datetime, reference: TimeReference, known: KnownTimes, service_time: datetime | None
) -> TimeDoubt | None:
    after = None if reference.confirmed is None else reference.confirmed.at
    before = known.first_since(reference.confirmed) or service_time
    if recorded_at < (after or EARLIEST_NOW) - RIGHT or (before is not None and recorded_at > before + RIGHT):
        return TimeDoubt(after=after, before=before)
    return None


# In words

_SUGGESTED = {
    True: (
        "The clock here was ahead: it gave {told} for this recording, and by the service's clock it was {suggested}. "
        "Decide which time is right. It is not sent before."
    ),
    False: (
        "The clock here was behind: it gave {told} for this recording, and by the service's clock it was {suggested}. "
        "Decide which time is right. It is not sent before."
    ),
}
_BETWEEN = (
    "The clock here was wrong: it gave {told} for this recording, and by the service's clock it was after {after} and "
    "not later than {before}. Decide which time is right. It is not sent before."
)
_AFTER = (
    "The clock here was behind: it gave {told} for this recording, and by the service's clock it was after {after}. "
    "Decide which time is right. It is not sent before."
)
_NOT_LATER = (
    "The time of this recording is {told}, and by the service's clock it was made not later than {before}. Decide "
    "which time is right. It is not sent before."
)
_TOO_OLD = (
    "The clock here was wrong: it gave {told} for this recording, and this program did not exist then. Decide which "
    "time is right. It is not sent before."
)


_CORRECTED = (
    "The time of this recording was corrected from {original} to {told}. {known}Decide which time is right. It is not "
    "sent before."
)


def doubt_sentence(recorded_at: datetime, doubt: TimeDoubt, original: datetime | None = None) -> str:
    """What to say to a person of a recording whose time is doubtful: all times, as far as they are known.

    Args:
        recorded_at: the time that it has.
        doubt: why that is doubtful.
        original: the time that it had before a person corrected it; None if nobody did.
    """
    if original is not None:
        return _corrected_sentence(recorded_at, doubt, original)
    if doubt.suggested is not None:
        told, suggested = clock_words(recorded_at, doubt.suggested)
        return _SUGGESTED[recorded_at > doubt.suggested].format(told=told, suggested=suggested)
    if doubt.after is not None and doubt.before is not None:
        told, after, before = clock_words(recorded_at, doubt.after, doubt.before)
        return _BETWEEN.format(told=told, after=after, before=before)
    if doubt.after is not None:
        told, after = clock_words(recorded_at, doubt.after)
        return _AFTER.format(told=told, after=after)
    if doubt.before is not None and recorded_at > doubt.before:
        told, before = clock_words(recorded_at, doubt.before)
        return _NOT_LATER.format(told=told, before=before)
    (told,) = clock_words(recorded_at)
    return _TOO_OLD.format(told=told)


def _corrected_sentence(recorded_at: datetime, doubt: TimeDoubt, original: datetime) -> str:
    bounds = {"after": doubt.after, "not later than": doubt.before}
    known = {"at": doubt.suggested} if doubt.suggested else {words: at for words, at in bounds.items() if at}
    first, told, *others = clock_words(original, recorded_at, *known.values())
    when = " and ".join(f"{words} {at}" for words, at in zip(known, others, strict=True))
    sentence = f"By the service's clock it was made {when}. " if when else ""
    return _CORRECTED.format(original=first, told=told, known=sentence)


def clock_words(*moments: datetime) -> list[str]:
    """Moments as the clocks here show them, to the minute: the date once if it is the same, the zone if it is not."""
    local = [in_zone(moment) for moment in moments]
    form = "%Y-%m-%d %H:%M" if len({moment.utcoffset() for moment in local}) == 1 else "%Y-%m-%d %H:%M (UTC%z)"
    first, *others = local
    return [
        f"{first:{form}}",
        *(f"{other:{form if other.date() != first.date() else form.removeprefix('%Y-%m-%d ')}}" for other in others),
    ]


def read_entered(text: str) -> datetime:
    """A time that a person entered, by the clocks here unless it names its zone. Raises ValueError."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        raise ValueError("Enter date and time, such as 2026-03-01 09:30.") from None


# As it is kept


def service_time_json(known: ServiceTime | None) -> dict[str, Any] | None:
    """A confirmed time as JSON values."""
    if known is None:
        return None
    return {"boot_id": known.boot.boot_id, "seconds": known.boot.seconds, "at": known.at.astimezone(UTC).isoformat()}


def read_service_time(document: Mapping[str, Any] | None) -> ServiceTime | None:
    """What `service_time_json` wrote. Raises KeyError, TypeError, ValueError."""
    if document is None:
        return None
    return ServiceTime(BootTime(str(document["boot_id"]), float(document["seconds"])), _aware(document["at"]))


def reference_json(reference: TimeReference | None) -> dict[str, Any] | None:
    """A reference as JSON values."""
    if reference is None:
        return None
    confirmed = service_time_json(reference.confirmed)
    return {"boot_id": reference.boot.boot_id, "seconds": reference.boot.seconds, "confirmed": confirmed}


def read_reference(document: Mapping[str, Any] | None) -> TimeReference | None:
    """What `reference_json` wrote; None for anything else."""
    try:
        if document is None:
            return None
        boot = BootTime(str(document["boot_id"]), float(document["seconds"]))
        confirmed = read_service_time(document["confirmed"])
        return TimeReference(boot, confirmed if confirmed is None or is_plausible_now(confirmed.at) else None)
    except (KeyError, TypeError, ValueError):
        return None


def doubt_json(doubt: TimeDoubt | None) -> dict[str, Any] | None:
    """A doubt as JSON values."""
    if doubt is None:
        return None
    moments = {"suggested": doubt.suggested, "after": doubt.after, "before": doubt.before}
    return {name: None if at is None else at.astimezone(UTC).isoformat() for name, at in moments.items()}


def read_doubt(document: Mapping[str, Any] | None) -> TimeDoubt | None:
    """What `doubt_json` wrote; None for anything else."""
    try:
        if document is None:
            return None
        moments = {name: None if document[name] is None else _aware(document[name]) for name in _DOUBT}
        # earlier releases believed a service that told 1970
        return TimeDoubt(**{name: at if at and is_plausible_now(at) else None for name, at in moments.items()})
    except (KeyError, TypeError, ValueError):
        return None


_DOUBT = ("suggested", "after", "before")


def _aware(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("This time has no zone.")
    return moment

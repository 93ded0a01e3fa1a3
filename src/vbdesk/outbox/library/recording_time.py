"""Whether the time of a recording is right, as far as the service's clock can tell. Pure functions.

`recorded_at` comes from the computer's clock, which may be set wrong. So each take also stores the computer's uptime at
its start. One answer of the service during the same uptime then gives the right time, independent of the clock. A
take of another uptime is between the last time that the service had confirmed before it, and the first one after it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from vbdesk.boot_clock import BootTime
from vbdesk.contract.timestamps import EARLIEST_NOW, in_zone, is_plausible_now
from vbdesk.language import N_, Message, joined, message

RIGHT = timedelta(minutes=2)
"""A smaller difference between two clocks is normal."""

TOLERANCE = timedelta(minutes=15)
"""A smaller constant difference is harmless: trajectories count days, and upload grants last longer."""

AGREE = timedelta(minutes=1)
"""How much two answers of the service may differ from the time that passed between them."""

DRIFT = 1e-4  # of an uncorrected monotonic clock: ten seconds a day
MOST_SPANS = 50  # starts of the computer, about two months


@dataclass(frozen=True, slots=True)
class ServiceTime:
    """A time of day by the service's clock, and the computer's uptime at that moment."""

    boot: BootTime
    at: datetime

    def later(self, seconds: float) -> datetime:
        """The service's time at an uptime of `seconds`, before or after."""
        return self.at + timedelta(seconds=seconds - self.boot.seconds)

    def drift(self, seconds: float) -> timedelta:
        """The possible error of `later`."""
        return timedelta(seconds=abs(seconds - self.boot.seconds) * DRIFT)

    def agrees_with(self, other: "ServiceTime") -> bool:
        """Whether the same time passed between the two by the service's clock and by the uptime."""
        if self.boot.boot_id != other.boot.boot_id:
            return False
        return abs(self.later(other.boot.seconds) - other.at) <= AGREE + self.drift(other.boot.seconds)


@dataclass(frozen=True, slots=True)
class TimeReference:
    """What was known about the time when a recording began, apart from the computer's clock.

    Attributes:
        boot: the uptime of the computer.
        confirmed: the newest time that the service had confirmed; None before the first.
    """

    boot: BootTime
    confirmed: ServiceTime | None = None


@dataclass(frozen=True, slots=True)
class TimeDoubt:
    """Why the time of a recording is doubtful.

    Attributes:
        suggested: the right time, if it can be computed.
        after, before: else the known bounds of the time at which it was made.
    """

    suggested: datetime | None = None
    after: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class ConfirmedSpan:
    """The first and the last confirmed time of one uptime, between which the service's clock and the uptime agreed.

    Attributes:
        clock: what the computer's clock showed at `first`; None in libraries of an earlier release.
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
        """Whether the computer's clock supports an answer that is later than this span predicts.

        After a suspended virtual machine it does not: its uptime misses time that has passed.
        """
        if self.clock is None:
            return False
        error = abs(ServiceTime(self.first.boot, self.clock).later(answer.boot.seconds) - answer.at)
        return error < behind and error <= TOLERANCE


@dataclass(frozen=True, slots=True)
class KnownTimes:
    """The times that the service has confirmed here, in that order.

    A newer answer replaces those that it refutes: the service's clock was wrong, or something in between changed it.
    """

    spans: tuple[ConfirmedSpan, ...] = ()

    @property
    def newest(self) -> ServiceTime | None:
        """The last confirmed time."""
        return self.spans[-1].last if self.spans else None

    def with_answer(self, answer: ServiceTime, clock: datetime | None = None) -> "KnownTimes":
        """A copy with one more confirmed time, at which the computer's clock showed `clock`."""
        spans = [span for span in self.spans if not span.is_refuted_by(answer)]
        if spans and spans[-1].last.agrees_with(answer):
            return KnownTimes((*spans[:-1], replace(spans[-1], last=answer)))
        return KnownTimes((*spans, ConfirmedSpan(answer, answer, clock))[-MOST_SPANS:])

    def supports(self, confirmed: ServiceTime) -> bool:
        """Whether a recording's confirmed time was not refuted since; True if nothing is known."""
        return not self.spans or any(end.agrees_with(confirmed) for end in self.of_start(confirmed.boot.boot_id))

    def service_time(self, boot: BootTime) -> datetime | None:
        """The service's time at `boot`; None if it confirmed none during that uptime."""
        newest = self.newest
        if newest is None or newest.boot.boot_id != boot.boot_id:
            return None
        return newest.later(boot.seconds)

    def of_start(self, boot_id: str) -> list[ServiceTime]:
        """The confirmed times of one uptime."""
        ends = [end for span in self.spans for end in (span.first, span.last)]
        return [end for end in ends if end.boot.boot_id == boot_id]

    def first_since(self, confirmed: ServiceTime | None) -> datetime | None:
        """The first time that was confirmed during a later uptime than `confirmed`."""
        if confirmed is None:
            return self.spans[0].first.at if self.spans else None
        own = [index for index, span in enumerate(self.spans) if span.last.boot.boot_id == confirmed.boot.boot_id]
        following = self.spans[own[-1] + 1 :] if own else self.spans
        later = [span.first.at for span in following if span.first.at >= confirmed.at]  # else a clock was corrected
        return later[0] if later else None


def doubt_of(
    recorded_at: datetime, reference: TimeReference | None, known: KnownTimes, boot: BootTime, clock: datetime
) -> TimeDoubt | None:
    """Why the time of a recording is doubtful; None if nothing contradicts it.

    Args:
        recorded_at: the time by the computer's clock.
        reference: stored when it began; None for a file, a bundle, or a take of an earlier release.
        known: what the service has confirmed.
        boot: the computer's uptime now.
        clock: the computer's clock now.
    """
    service_time = known.service_time(boot)
    doubt = None if reference is None else _compared(recorded_at, reference, known, service_time, clock)
    if doubt is None and service_time is not None and recorded_at > service_time + TOLERANCE:
        return TimeDoubt(before=service_time)  # nothing is recorded in the future
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
    """The right time is known, by each anchor; several, since the uptime may miss a suspension."""
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
    if times[1] - times[0] > RIGHT + newest.drift(seconds):  # either may be right
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


# Sentences

_DECIDE = N_("Decide which time is right. It is not sent before.")


def doubt_sentence(recorded_at: datetime, doubt: TimeDoubt, original: datetime | None = None) -> str:
    """What to tell a person about a recording whose time is doubtful: all known times.

    Args:
        recorded_at: its time.
        doubt: why that is doubtful.
        original: its time before a person corrected it; None if nobody did.
    """
    if original is not None:
        return joined(*_corrected(recorded_at, doubt, original), _DECIDE)
    return joined(_doubted(recorded_at, doubt), _DECIDE)


def _doubted(recorded_at: datetime, doubt: TimeDoubt) -> Message:
    if doubt.suggested is not None:
        noted, suggested = clock_text(recorded_at, doubt.suggested)
        ahead = message(
            "The clock here was ahead: it gave {noted} for this recording, and by the service's clock it was {time}.",
            noted=noted,
            time=suggested,
        )
        behind = message(
            "The clock here was behind: it gave {noted} for this recording, and by the service's clock it was {time}.",
            noted=noted,
            time=suggested,
        )
        return ahead if recorded_at > doubt.suggested else behind
    if doubt.after is not None and doubt.before is not None:
        noted, after, before = clock_text(recorded_at, doubt.after, doubt.before)
        return message(
            "The clock here was wrong: it gave {noted} for this recording, and by the service's clock it was after "
            "{after} and not later than {before}.",
            noted=noted,
            after=after,
            before=before,
        )
    if doubt.after is not None:
        noted, after = clock_text(recorded_at, doubt.after)
        return message(
            "The clock here was behind: it gave {noted} for this recording, and by the service's clock it was after "
            "{after}.",
            noted=noted,
            after=after,
        )
    if doubt.before is not None and recorded_at > doubt.before:
        noted, before = clock_text(recorded_at, doubt.before)
        return message(
            "The time of this recording is {noted}, and by the service's clock it was made not later than {before}.",
            noted=noted,
            before=before,
        )
    (noted,) = clock_text(recorded_at)
    return message(
        "The clock here was wrong: it gave {noted} for this recording, and this program did not exist then.",
        noted=noted,
    )


def _corrected(recorded_at: datetime, doubt: TimeDoubt, original: datetime) -> tuple[Message, ...]:
    """Sentences about a time that a person corrected, and what the service's clock says."""
    moments = [at for at in (doubt.suggested,) if at] or [at for at in (doubt.after, doubt.before) if at]
    first, noted, *known = clock_text(original, recorded_at, *moments)
    corrected = message(
        "The time of this recording was corrected from {original} to {noted}.", original=first, noted=noted
    )
    if doubt.suggested is not None:
        return corrected, message("By the service's clock it was made at {time}.", time=known[0])
    if doubt.after is not None and doubt.before is not None:
        after, before = known
        sentence = message(
            "By the service's clock it was made after {after} and not later than {before}.", after=after, before=before
        )
        return corrected, sentence
    if doubt.after is not None:
        return corrected, message("By the service's clock it was made after {after}.", after=known[0])
    if doubt.before is not None:
        return corrected, message("By the service's clock it was made not later than {before}.", before=known[0])
    return (corrected,)


def clock_text(*moments: datetime) -> list[str]:
    """Local times to the minute; equal dates only once, zones only if they differ."""
    local = [in_zone(moment) for moment in moments]
    form = "%Y-%m-%d %H:%M" if len({moment.utcoffset() for moment in local}) == 1 else "%Y-%m-%d %H:%M (UTC%z)"
    first, *others = local
    return [
        f"{first:{form}}",
        *(f"{other:{form if other.date() != first.date() else form.removeprefix('%Y-%m-%d ')}}" for other in others),
    ]


def read_entered(text: str) -> datetime:
    """Parse a time that a person entered, local unless it names its zone. Raises ValueError."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        raise ValueError(message("Enter date and time, such as 2026-03-01 09:30.")) from None


# Storage


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
        # earlier releases accepted times such as 1970 from a service
        return TimeDoubt(**{name: at if at and is_plausible_now(at) else None for name, at in moments.items()})
    except (KeyError, TypeError, ValueError):
        return None


_DOUBT = ("suggested", "after", "before")


def _aware(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("This time has no zone.")
    return moment

"""The times that the service has confirmed to a library, and what they say of its recordings."""

import json
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from vbdesk.contract.timestamps import is_plausible_now
from vbdesk.outbox.library.items import RecordingItem, metadata_of
from vbdesk.outbox.library.recording_time import (
    RIGHT,
    KnownTimes,
    ServiceTime,
    Span,
    TimeDoubt,
    TimeReference,
    doubt_of,
    doubt_sentence,
    read_service_time,
    service_time_json,
)
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.store import Store

KEPT_AGAIN_S = 60.0  # a later time of the same run is written at most once a minute
_SETTING = "service_times"
_NOT_SENT = (OutboxState.CHECKED, OutboxState.WAITING, OutboxState.NEEDS_ATTENTION)

log = logging.getLogger(__name__)


class ServiceTimes:
    """Reads and keeps them sealed among the settings of the library. Every method reads the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def known(self) -> KnownTimes:
        """What the service has confirmed; nothing where it cannot be read."""
        content = self._store.setting(_SETTING)
        if content is None:
            return KnownTimes()
        try:
            spans = [_span(*kept) for kept in json.loads(content)]
        except (TypeError, ValueError, KeyError):
            log.warning("The times that the service has confirmed cannot be read")
            return KnownTimes()
        # earlier releases kept times such as 1970
        return KnownTimes(
            tuple(span for span in spans if is_plausible_now(span.first.at) and is_plausible_now(span.last.at))
        )

    def reference(self) -> TimeReference:
        """What to keep with a recording that begins now."""
        return TimeReference(self._store.clock.boot(), self.known().newest)

    def service_time(self) -> datetime | None:
        """The time of day by the service's clock; None where it confirmed none since the computer started."""
        return self.known().service_time(self._store.clock.boot())

    def agrees(self, answer: ServiceTime) -> bool:
        """Whether an answer tells the same time as the last that was confirmed."""
        newest = self.known().newest
        return newest is not None and newest.agrees_with(answer)

    def confirm(self, answer: ServiceTime) -> None:
        """Keep a time that the service has confirmed."""
        known = self.known()
        newest = known.newest
        if newest is not None and newest.agrees_with(answer) and _since_s(newest, answer) < KEPT_AGAIN_S:
            return
        now, clock = self._store.clock.boot(), self._store.clock.now()
        if now.boot_id == answer.boot.boot_id:
            clock -= timedelta(seconds=now.seconds - answer.boot.seconds)
        spans = [_span_json(span) for span in known.with_answer(answer, clock).spans]
        with self._store.changing():  # settings count among what is proved
            self._store.keep_setting(_SETTING, json.dumps(spans).encode())

    def doubt(self, item: RecordingItem, known: KnownTimes | None = None) -> TimeDoubt | None:
        """Why the time of a recording is doubtful; None if nothing speaks against it, or a person has decided.

        A suggestion that a person took is compared further: the time that it came from may be refuted later.
        """
        clock = self._store.clock
        reference = None if item.time_decided and not item.time_suggested else item.reference
        return doubt_of(item.recorded_at, reference, known or self.known(), clock.boot(), clock.now())

    def review(self, take_id: str | None = None) -> None:
        """Say of every recording that is not sent, or of one, whether its time is doubtful by what is known now."""
        if take_id is None:
            marks = ", ".join("?" * len(_NOT_SENT))
            items = self._store.items(f"state IN ({marks}) AND NOT imported AND bundle_id IS NULL", _NOT_SENT)
        else:
            items = [self._store.get(take_id)]
        known = self.known()
        referred = [(item, self.doubt(item, known)) for item in items if item.reference is not None]
        changed = [(item, doubt) for item, doubt in referred if _is_news(item, doubt)]
        if changed:
            with self._store.changing():
                for item, doubt in changed:
                    self.mark(item, doubt)

    def mark(self, item: RecordingItem, doubt: TimeDoubt | None) -> None:
        """Note that the time of a recording is doubtful, or is not any more. Within a transaction."""
        store = self._store
        store.keep_details(item.take_id, replace(metadata_of(item), time_doubt=doubt))
        if doubt is not None:
            reason = doubt_sentence(item.recorded_at, doubt, item.original_time)
            store.update(item.take_id, {"reason": reason, "fix": Fix.SET_CLOCK})
        elif item.fix is Fix.SET_CLOCK:
            store.update(item.take_id, {"reason": None, "fix": None})
            if item.state is OutboxState.NEEDS_ATTENTION:
                store.restart_event(item.take_id)
                store.move(item.take_id, OutboxState.WAITING)


def _is_news(item: RecordingItem, doubt: TimeDoubt | None) -> bool:
    """Whether a person is to be told something else; bounds that came nearer are no news."""
    if item.fault is not None or item.fix not in (None, Fix.SET_CLOCK):
        return False
    before = item.time_doubt
    if before is None or doubt is None:
        return before is not doubt
    if before.suggested is None or doubt.suggested is None:
        return before.suggested is not doubt.suggested
    return abs(before.suggested - doubt.suggested) > RIGHT


def _since_s(earlier: ServiceTime, later: ServiceTime) -> float:
    return abs(later.boot.seconds - earlier.boot.seconds)


def _span_json(span: Span) -> list[object]:
    clock = None if span.clock is None else span.clock.astimezone(UTC).isoformat()
    return [service_time_json(span.first), service_time_json(span.last), clock]


def _span(first: dict[str, object], last: dict[str, object], clock: str | None = None) -> Span:
    begin, end = read_service_time(first), read_service_time(last)
    if begin is None or end is None:
        raise ValueError("A confirmed time is missing.")
    return Span(begin, end, None if clock is None else datetime.fromisoformat(clock))

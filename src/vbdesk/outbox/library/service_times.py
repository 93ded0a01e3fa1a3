"""The times that the service has confirmed to a library, and what they mean for its recordings."""

import json
import logging
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from vbdesk.contract.timestamps import is_plausible_now
from vbdesk.outbox.library.items import RecordingItem, metadata_of
from vbdesk.outbox.library.recording_time import (
    RIGHT,
    ConfirmedSpan,
    KnownTimes,
    ServiceTime,
    TimeDoubt,
    TimeReference,
    doubt_of,
    doubt_sentence,
    read_service_time,
    service_time_json,
)
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.store import Store, UnknownTake

STORE_INTERVAL_S = 60.0  # minimum seconds between two writes during one uptime
_SETTING = "service_times"
_NOT_SENT = (OutboxState.CHECKED, OutboxState.WAITING, OutboxState.NEEDS_ATTENTION)

log = logging.getLogger(__name__)


class ServiceTimes:
    """Stores confirmed times in the library's encrypted settings. Every method reads the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def known(self) -> KnownTimes:
        """What the service has confirmed; empty if it cannot be read."""
        content = self._store.setting(_SETTING)
        if content is None:
            return KnownTimes()
        try:
            spans = [_span(*kept) for kept in json.loads(content)]
        except (TypeError, ValueError, KeyError):
            log.warning("The times that the service has confirmed cannot be read")
            return KnownTimes()
        # earlier releases stored times such as 1970
        return KnownTimes(
            tuple(span for span in spans if is_plausible_now(span.first.at) and is_plausible_now(span.last.at))
        )

    def reference(self) -> TimeReference:
        """The time reference for a recording that begins now."""
        return TimeReference(self._store.clock.boot(), self.known().newest)

    def service_time(self) -> datetime | None:
        """The time of day by the service's clock; None if it confirmed none since the computer started."""
        return self.known().service_time(self._store.clock.boot())

    def agrees(self, answer: ServiceTime) -> bool:
        """Whether an answer agrees with the last confirmed time."""
        newest = self.known().newest
        return newest is not None and newest.agrees_with(answer)

    def confirm(self, answer: ServiceTime) -> None:
        """Store a time that the service has confirmed."""
        known = self.known()
        newest = known.newest
        if newest is not None and newest.agrees_with(answer) and _since_s(newest, answer) < STORE_INTERVAL_S:
            return
        now, clock = self._store.clock.boot(), self._store.clock.now()
        if now.boot_id == answer.boot.boot_id:
            clock -= timedelta(seconds=now.seconds - answer.boot.seconds)
        spans = [_span_json(span) for span in known.with_answer(answer, clock).spans]
        with self._store.changing():  # settings are authenticated
            self._store.store_setting(_SETTING, json.dumps(spans).encode())

    def doubt(self, item: RecordingItem, known: KnownTimes | None = None) -> TimeDoubt | None:
        """Why the time of a recording is doubtful; None if nothing contradicts it, or a person has decided.

        A suggestion that a person took is still compared: a later answer may refute its source.
        """
        clock = self._store.clock
        reference = None if item.time_decided and not item.time_suggested else item.reference
        return doubt_of(item.recorded_at, reference, known or self.known(), clock.boot(), clock.now())

    def review(self, take_id: str | None = None) -> None:
        """Mark every unsent recording, or one, whose time is doubtful by what is known now; unmark the others."""
        if take_id is None:
            marks = ", ".join("?" * len(_NOT_SENT))
            items = self._store.items(f"state IN ({marks}) AND NOT imported AND bundle_id IS NULL", _NOT_SENT)
        else:
            items = [self._store.get(take_id)]
        known = self.known()
        changed = [item.take_id for item in items if self._is_to_mark(item, known)]
        if changed:
            with self._store.changing():
                for take_id in changed:
                    with suppress(UnknownTake):  # deleted meanwhile
                        item = self._store.get(take_id)  # with what a person has changed meanwhile
                        if item.state in _NOT_SENT and self._is_to_mark(item, known):
                            self.mark(item, self.doubt(item, known))

    def _is_to_mark(self, item: RecordingItem, known: KnownTimes) -> bool:
        return item.reference is not None and _has_changed(item, self.doubt(item, known))

    def mark(self, item: RecordingItem, doubt: TimeDoubt | None) -> None:
        """Mark the time of a recording as doubtful, or unmark it. Within a transaction."""
        store = self._store
        store.store_details(item.take_id, replace(metadata_of(item), time_doubt=doubt))
        if doubt is not None:
            reason = doubt_sentence(item.recorded_at, doubt, item.original_time)
            store.update(item.take_id, {"reason": reason, "fix": Fix.SET_CLOCK})
        elif item.fix is Fix.SET_CLOCK:
            store.update(item.take_id, {"reason": None, "fix": None})
            if item.state is OutboxState.NEEDS_ATTENTION:
                store.restart_event(item.take_id)
                store.move(item.take_id, OutboxState.WAITING)


def _has_changed(item: RecordingItem, doubt: TimeDoubt | None) -> bool:
    """Whether the doubt has changed for a person; narrower bounds are no change."""
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


def _span_json(span: ConfirmedSpan) -> list[object]:
    clock = None if span.clock is None else span.clock.astimezone(UTC).isoformat()
    return [service_time_json(span.first), service_time_json(span.last), clock]


def _span(first: dict[str, object], last: dict[str, object], clock: str | None = None) -> ConfirmedSpan:
    begin, end = read_service_time(first), read_service_time(last)
    if begin is None or end is None:
        raise ValueError("A confirmed time is missing.")
    return ConfirmedSpan(begin, end, None if clock is None else datetime.fromisoformat(clock))

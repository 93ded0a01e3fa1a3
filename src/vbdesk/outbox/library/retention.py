"""Removes the sound of recordings that have their result, by the rule that a person has set; the rest of them stays.

The days are reckoned by the service's clock: a result came when the service says so, and it is so many days later when
the service says so. The computer's clock may be set a year ahead and back without a sound going early; it has to agree,
too, so that a service with a wrong clock does no harm either. Where the service has not been heard, nothing is removed,
but sounds that go at once after their result.
"""

from datetime import datetime, timedelta

from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import RetentionRule
from vbdesk.outbox.library.store import time_text

AT_ONCE_MOST = 20  # recordings in one step: the database is searched once for what remains of their keys
_WITH_SOUND = "SELECT take_id FROM recordings WHERE state = 'done' AND audio_gone_at IS NULL"


class SoundRetention:
    """Keeps the rule for one library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._store = library.store

    def step(self, service_time: datetime | None) -> bool:
        """Remove what is due, some of it at a time; True if there was anything. Cheap when there is not.

        Args:
            service_time: the time of the service's last answer; None before the first.
        """
        if service_time is not None:
            self._date_results(service_time)
        due = self.due(service_time)
        if due:
            self._library.remove_sounds(due)
        return bool(due)

    def due(self, service_time: datetime | None) -> list[str]:
        """Take ids of recordings whose sound is to go now, the oldest results first, at most `AT_ONCE_MOST`."""
        rule = self._library.settings().retention
        if rule.rule is RetentionRule.FOR_EVER:
            return []
        if rule.days == 0:
            rows = self._store.rows(f"{_WITH_SOUND} ORDER BY result_at")
        elif service_time is None:
            return []
        else:
            now = min(service_time, self._store.clock.now())
            until = time_text(now - timedelta(days=rule.days))
            rows = self._store.rows(f"{_WITH_SOUND} AND result_at <= ? ORDER BY result_at", (until,))
        found: list[str] = []
        for row in rows:
            if _may_go(self._store.get(row["take_id"])):
                found.append(row["take_id"])
            if len(found) == AT_ONCE_MOST:
                break
        return found

    def _date_results(self, service_time: datetime) -> None:
        """Let results whose time is not known count from now: from a service that does not tell, or of old."""
        found = [row["take_id"] for row in self._store.rows(f"{_WITH_SOUND} AND result_at IS NULL")]
        undated = [take_id for take_id in found if self._store.is_as_written(take_id)]
        if undated:
            with self._store.changing():
                for take_id in undated:
                    self._store.update(take_id, {"result_at": time_text(service_time)})


def _may_go(item: RecordingItem) -> bool:
    return item.fault is None and item.encrypted_result is not None

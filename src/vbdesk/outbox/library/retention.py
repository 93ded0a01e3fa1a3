"""Delete the sound of recordings that have their result, by the rule that a person has set; their entries stay.

The days count by the service's clock, so that setting the computer's clock back and forth deletes nothing early. The
computer's clock has to agree, so that a service with a wrong clock does no harm. A service on this computer shares that
clock, so the days of use count too (`day_count`). Without an answer of the service, only sounds that are deleted
directly after their result are deleted.
"""

from datetime import datetime, timedelta

from vbdesk.outbox.library.day_count import DayCount
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import RetentionRule
from vbdesk.outbox.library.store import time_text

AT_ONCE_MOST = 20  # recordings per step, since each step scrubs the database once
_WITH_SOUND = "SELECT take_id FROM recordings WHERE state = 'done' AND audio_gone_at IS NULL"


class SoundRetention:
    """Applies the retention rule of one library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._store = library.store

    def step(self, service_time: datetime | None) -> bool:
        """Delete some of what is due; True if there was anything. Cheap if there is not.

        Args:
            service_time: the time of the service's last answer; None before the first.
        """
        if service_time is not None:
            self._date_results(service_time)
        if not self.due(service_time):
            return False
        with self._store.changing():  # the rule of this moment holds
            self._library.remove_sounds(self.due(service_time))
        return True

    def due(self, service_time: datetime | None) -> list[str]:
        """Take ids of recordings whose sound is due, the oldest results first, at most `AT_ONCE_MOST`."""
        rule = self._library.settings().retention
        if rule.rule is RetentionRule.FOR_EVER:
            return []
        count: DayCount | None = None
        if rule.days == 0:
            rows = self._store.rows(f"{_WITH_SOUND} ORDER BY result_at")
        elif service_time is None:
            return []
        else:
            if self._library.days_of_use.service_is_here:
                count = self._library.days_of_use.count()
            now = min(service_time, self._store.clock.now())
            until = time_text(now - timedelta(days=rule.days))
            rows = self._store.rows(f"{_WITH_SOUND} AND result_at <= ? ORDER BY result_at", (until,))
        found: list[str] = []
        for row in rows:
            item = self._store.get(row["take_id"])
            passed = count is None or (item.result_at is not None and count.have_passed(item.result_at, rule.days))
            if passed and _may_go(item):
                found.append(row["take_id"])
            if len(found) == AT_ONCE_MOST:
                break
        return found

    def _date_results(self, service_time: datetime) -> None:
        """Count from now for results without a time: from a service that sends none, or from an old library."""
        found = [row["take_id"] for row in self._store.rows(f"{_WITH_SOUND} AND result_at IS NULL")]
        undated = [take_id for take_id in found if self._store.is_intact(take_id)]
        if undated:
            with self._store.changing():
                for take_id in undated:
                    self._store.update(take_id, {"result_at": time_text(service_time)})


def _may_go(item: RecordingItem) -> bool:
    return item.fault is None and item.encrypted_result is not None

"""How many days have passed, for what a library destroys by its age: a jump of the clock counts as one day at most.

A library stores the days on which the desk ran while something waited for its end. An age of seven days needs seven
days by the clock, and also seven later days of use, or a service elsewhere that confirms the time. The service on this
computer shares its clock, so its answers confirm nothing.
"""

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from vbdesk.contract.timestamps import in_zone
from vbdesk.outbox.library.recording_time import RIGHT
from vbdesk.outbox.library.service_times import ServiceTimes
from vbdesk.outbox.library.settings import LONGEST_TRASH_DAYS
from vbdesk.outbox.library.store import Store

_SETTING = "days_of_use"
_ENOUGH = LONGEST_TRASH_DAYS  # so many days of use are sufficient for a higher age too


@dataclass(frozen=True, slots=True)
class DayCount:
    """The days on which the desk ran.

    Attributes:
        now: the earlier of the computer's time and the service's.
        latest: the later of both.
        days: each day once, in the order in which it was last the present one, and whether a service elsewhere
            confirmed it.
    """

    now: datetime
    latest: datetime
    days: tuple[tuple[date, bool], ...]

    def have_passed(self, since: datetime, days: int) -> bool:
        """Whether at least so many days have passed since a moment."""
        if self.now < since + timedelta(days=days):
            return False
        begin = in_zone(since, UTC).date()
        own = [index for index, (day, _confirmed) in enumerate(self.days) if day == begin]
        following = self.days[own[0] :] if own else self.days
        if sum(day > begin for day, _confirmed in following) >= min(days, _ENOUGH):
            return True
        certain = next((day for day, confirmed in following if confirmed), None)
        if certain is None or not self.days[-1][1]:
            return False
        midnight = datetime.combine(certain + timedelta(days=1), time(), UTC)
        return certain == begin or self.now >= max(since, midnight) + timedelta(days=days)


class DaysOfUse:
    """Stores the days on which the desk ran, in the library's encrypted settings.

    Attributes:
        service_is_here: whether the service runs on this computer and shares its clock.
    """

    def __init__(self, store: Store, times: ServiceTimes, *, service_is_here: bool) -> None:
        self._store, self._times, self.service_is_here = store, times, service_is_here

    def count(self) -> DayCount:
        """Count the present day. It writes at most twice a day, unless the clock is set."""
        here, there = self._store.clock.now(), self._times.service_time()
        now, latest = (here, here) if there is None else (min(here, there), max(here, there))
        today = in_zone(now, UTC).date()
        confirmed = there is not None and not self.service_is_here and there - now <= RIGHT
        before = self._stored()
        if before and before[-1][0] == today and (before[-1][1] or not confirmed):
            return DayCount(now, latest, before)
        days = (*(each for each in before if each[0] != today), (today, confirmed))[-_ENOUGH - 1 :]
        with self._store.changing():  # settings are authenticated
            content = json.dumps([(day.isoformat(), sure) for day, sure in days])
            self._store.store_setting(_SETTING, content.encode())
        return DayCount(now, latest, days)

    def _stored(self) -> tuple[tuple[date, bool], ...]:
        """The days; none if somebody else wrote them: then everything is kept longer."""
        content = self._store.setting(_SETTING)
        return tuple((date.fromisoformat(day), sure) for day, sure in json.loads(content)) if content else ()

"""Ticks at whole quarters, months, weeks, days or hours in the local zone."""

from collections.abc import Callable
from datetime import MAXYEAR, datetime, timedelta

from vbdesk.contract.timestamps import from_unix_seconds, in_zone
from vbdesk.language import _, formats

_DAY_S = 86_400.0
_WIDEST_WITH_QUARTERS = timedelta(days=20 * 365)
_MOST_YEARS = 20

# widest span in days, step, form of a tick
_STEPS: tuple[tuple[float, str, Callable[[datetime], str]], ...] = (
    (1.5, "6h", formats.time_of_day),
    (12.0, "day", formats.day_without_year),
    (75.0, "week", formats.day_without_year),
    (400.0, "month", formats.month),
    (float("inf"), "quarter", formats.month_and_year),
)


def ticks(start_s: float, end_s: float) -> list[tuple[float, str]]:
    """Moments and labels from `start_s` to `end_s`; days begin at local midnight, also across clock changes."""
    first, last = from_unix_seconds(start_s), from_unix_seconds(end_s)
    if last - first > _WIDEST_WITH_QUARTERS:
        return _years(first.year, last.year)
    step, form = _step((last - first).total_seconds())
    moment = _floor(in_zone(first), step)
    found: list[tuple[float, str]] = []
    while moment <= last:
        if moment >= first:
            found.append((moment.timestamp(), form(moment)))
        following = _next(moment, step)
        if following <= moment:  # the calendar ends
            break
        moment = following
    return found


def _years(first: int, last: int) -> list[tuple[float, str]]:
    """Starts of years, thinned out: times of a service may be centuries apart."""
    step = max(1, (last - first) // _MOST_YEARS)
    return [(_midnight(datetime(year, 1, 1)).timestamp(), str(year)) for year in range(first + 1, last + 1, step)]


def zone_text(moment_s: float) -> str:
    """`Local time (UTC+01:00)`: the zone of the axis at a moment."""
    offset = in_zone(from_unix_seconds(moment_s)).utcoffset() or timedelta(0)
    minutes = round(offset.total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    sign = "+" if minutes >= 0 else "\u2212"
    zone = f"UTC{sign}{hours:02d}:{rest:02d}" if minutes else "UTC"
    return _("Local time ({zone})", zone=zone)


def read_text(as_of: datetime, now: datetime) -> str:
    """`Today`, or the local day such as `30 Jan`: a cached read may be old."""
    read, here = in_zone(as_of), now.astimezone()
    if read.date() == here.date():
        return _("Today")
    return formats.day_without_year(read) if read.year == here.year else formats.day(read)


def _step(span_s: float) -> tuple[str, Callable[[datetime], str]]:
    return next((step, form) for widest, step, form in _STEPS if span_s <= widest * _DAY_S)


def _midnight(moment: datetime) -> datetime:
    # the UTC offset may change
    return in_zone(moment.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None))


def _floor(moment: datetime, step: str) -> datetime:
    day = _midnight(moment)
    match step:
        case "6h" | "day":
            return day
        case "week":
            return _midnight(_later(day, -timedelta(days=day.weekday())))
        case "month":
            return _midnight(day.replace(day=1))
        case _:
            return _midnight(day.replace(month=day.month - (day.month - 1) % 3, day=1))


def _next(moment: datetime, step: str) -> datetime:
    match step:
        case "6h":
            return in_zone(_later(moment, timedelta(hours=6)))
        case "day":
            return _midnight(_later(moment, timedelta(days=1)))
        case "week":
            return _midnight(_later(moment, timedelta(days=7)))
    months = moment.month + (1 if step == "month" else 3)
    if moment.year + (months - 1) // 12 > MAXYEAR:
        return moment
    return _midnight(moment.replace(year=moment.year + (months - 1) // 12, month=(months - 1) % 12 + 1, day=1))


def _later(moment: datetime, step: timedelta) -> datetime:
    """Add wall clock time; the same moment at the end of the calendar."""
    try:
        return moment.replace(tzinfo=None) + step
    except OverflowError:
        return moment.replace(tzinfo=None)

"""Ticks for people: whole quarters, months, weeks, days or hours in the local zone, and which zone that is."""

from datetime import datetime, timedelta

_DAY_S = 86_400.0

# widest span in days for a step, the step, and how its ticks read
_STEPS: tuple[tuple[float, str, str], ...] = (
    (1.5, "6h", "%H:%M"),
    (12.0, "day", "%-d %b"),
    (75.0, "week", "%-d %b"),
    (400.0, "month", "%b"),
    (float("inf"), "quarter", "%b %Y"),
)


def ticks(start_s: float, end_s: float) -> list[tuple[float, str]]:
    """Moments and labels from `start_s` to `end_s`; days begin at local midnight, also across changes of the clock."""
    step, form = _step(end_s - start_s)
    moment = _floor(datetime.fromtimestamp(start_s).astimezone(), step)
    found: list[tuple[float, str]] = []
    while moment.timestamp() <= end_s:
        if moment.timestamp() >= start_s:
            found.append((moment.timestamp(), _label(moment, form)))
        moment = _next(moment, step)
    return found


def zone_words(moment_s: float) -> str:
    """`Local time (UTC+01:00)`: the zone in which the axis counts, as it was at a moment."""
    offset = datetime.fromtimestamp(moment_s).astimezone().utcoffset() or timedelta(0)
    minutes = round(offset.total_seconds() / 60)
    hours, rest = divmod(abs(minutes), 60)
    sign = "+" if minutes >= 0 else "\u2212"
    return f"Local time (UTC{sign}{hours:02d}:{rest:02d})" if minutes else "Local time (UTC)"


def read_words(as_of: datetime, now: datetime) -> str:
    """`Today` for a read of this day, else the local day it is from, as in `30 Jan`: a kept read may be old."""
    read, here = as_of.astimezone(), now.astimezone()
    if read.date() == here.date():
        return "Today"
    return _label(read, "%-d %b" if read.year == here.year else "%-d %b %Y")


def _step(span_s: float) -> tuple[str, str]:
    return next((step, form) for widest, step, form in _STEPS if span_s <= widest * _DAY_S)


def _label(moment: datetime, form: str) -> str:
    # "%-d" is not known to every platform's strftime
    return moment.strftime(form.replace("%-d", str(moment.day)))


def _midnight(moment: datetime) -> datetime:
    # naive, then local again: the offset may differ from the original's
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None).astimezone()


def _floor(moment: datetime, step: str) -> datetime:
    day = _midnight(moment)
    match step:
        case "6h" | "day":
            return day
        case "week":
            return _midnight(day - timedelta(days=day.weekday()))
        case "month":
            return _midnight(day.replace(day=1))
        case _:
            return _midnight(day.replace(month=day.month - (day.month - 1) % 3, day=1))


def _next(moment: datetime, step: str) -> datetime:
    match step:
        case "6h":
            return (moment.replace(tzinfo=None) + timedelta(hours=6)).astimezone()
        case "day":
            return _midnight(moment.replace(tzinfo=None) + timedelta(days=1))
        case "week":
            return _midnight(moment.replace(tzinfo=None) + timedelta(days=7))
    months = moment.month + (1 if step == "month" else 3)
    return _midnight(moment.replace(year=moment.year + (months - 1) // 12, month=(months - 1) % 12 + 1, day=1))

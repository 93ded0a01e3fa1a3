"""A time axis for people: whole months, weeks, days or hours in the local zone."""

from datetime import datetime, timedelta

import pyqtgraph as pg

_DAY_S = 86_400.0

# widest span in days for a step, the step, and how its ticks read
_STEPS: tuple[tuple[float, str, str], ...] = (
    (1.5, "6h", "%H:%M"),
    (12.0, "day", "%-d %b"),
    (75.0, "week", "%-d %b"),
    (400.0, "month", "%b"),
    (float("inf"), "quarter", "%b %Y"),
)


class TimeAxis(pg.AxisItem):  # type: ignore[misc]
    """Bottom axis over epoch seconds. Days begin at local midnight, also across changes of the clock."""

    def __init__(self) -> None:
        super().__init__(orientation="bottom")

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803
        """Ticks at whole steps; pyqtgraph's signature."""
        step, _ = _step(maxVal - minVal)
        moment = _floor(datetime.fromtimestamp(minVal).astimezone(), step)
        ticks: list[float] = []
        while moment.timestamp() <= maxVal:
            if moment.timestamp() >= minVal:
                ticks.append(moment.timestamp())
            moment = _next(moment, step)
        return [(maxVal - minVal, ticks)]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Labels of the ticks; `spacing` is the whole span, as `tickValues` says it."""
        _, form = _step(spacing)
        return [_label(datetime.fromtimestamp(value).astimezone(), form) for value in values]


def local_day_and_time(moment_s: float) -> str:
    """`29 May, 09:12` in the local zone."""
    return _label(datetime.fromtimestamp(moment_s).astimezone(), "%-d %b, %H:%M")


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

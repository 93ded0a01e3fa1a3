"""Times and durations as text for reports and charts."""

from datetime import datetime, timedelta, tzinfo

from vbdesk.contract.rounding import whole
from vbdesk.contract.timestamps import in_zone
from vbdesk.report.report_texts import report_texts


def format_moment(moment: datetime, zone: tzinfo) -> str:
    """`21 November 2026, 10:41 (UTC+01:00)`: never without its zone."""
    local = in_zone(moment, zone)
    month = report_texts().months[local.month - 1]  # not %B: Qt sets the locale of the process
    return f"{local.day} {month} {local:%Y, %H:%M} ({format_utc_offset(moment, zone)})"


def format_short_moment(moment: datetime, zone: tzinfo) -> str:
    """`21 Nov 2026, 10:41 +01:00`, for tables."""
    local = in_zone(moment, zone)
    offset = format_utc_offset(moment, zone).removeprefix("UTC") or "UTC"
    return f"{local.day} {report_texts().months_short[local.month - 1]} {local:%Y, %H:%M}\u00a0{offset}"


def format_utc_offset(moment: datetime, zone: tzinfo) -> str:
    """`UTC` or `UTC+01:00`: the zone's offset at a moment."""
    offset = in_zone(moment, zone).utcoffset() or timedelta(0)
    minutes = round(offset.total_seconds() / 60)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '−'}{hours:02d}:{rest:02d}"


def format_duration(seconds: float) -> str:
    """`42 s`, `3 min 05 s`."""
    minutes, rest = divmod(whole(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"

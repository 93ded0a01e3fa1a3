"""Times and durations as text for reports and charts, in the reader's language."""

from datetime import datetime, timedelta, tzinfo

from vbdesk.contract.rounding import whole
from vbdesk.contract.timestamps import in_zone
from vbdesk.language import _, formats


def format_moment(moment: datetime, zone: tzinfo) -> str:
    """`21 November 2026, 10:41 (UTC+01:00)`: never without its zone."""
    local = in_zone(moment, zone)
    return _(
        "{day}, {time} ({zone})",
        day=formats.long_day(local),
        time=formats.time_of_day(local),
        zone=format_utc_offset(moment, zone),
    )


def format_short_moment(moment: datetime, zone: tzinfo) -> str:
    """`21 Nov 2026, 10:41 +01:00`, for tables."""
    offset = format_utc_offset(moment, zone).removeprefix("UTC") or "UTC"
    return _("{moment}\u00a0{zone}", moment=formats.day_and_time(in_zone(moment, zone)), zone=offset)


def format_utc_offset(moment: datetime, zone: tzinfo) -> str:
    """`UTC` or `UTC+01:00`: the zone's offset at a moment."""
    offset = in_zone(moment, zone).utcoffset() or timedelta(0)
    minutes = round(offset.total_seconds() / 60)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '−'}{hours:02d}:{rest:02d}"


def format_duration(seconds: float) -> str:
    """`42 s`, `3 min 5 s`."""
    minutes, rest = divmod(whole(seconds), 60)
    if minutes:
        return _("{minutes} min {seconds} s", minutes=minutes, seconds=rest)
    return _("{seconds} s", seconds=rest)

"""Times, durations and amounts as display texts, in the reader's language and region."""

from datetime import datetime

from vbdesk.contract.rounding import whole
from vbdesk.contract.timestamps import in_zone
from vbdesk.language import N_, _, formats, ngettext, pgettext

_MEGABYTE = 1_000_000
_PLACES = (N_("Next in line"), N_("Second in line"), N_("Third in line"), N_("Fourth in line"), N_("Fifth in line"))


def day_and_time(moment: datetime, now: datetime) -> str:
    """`Today 10:41`, `Yesterday 16:30`, `21 Nov 10:41`, `21 Nov 2025 10:41`; in the local zone."""
    time = formats.time_of_day(in_zone(moment))
    match _days_ago(moment, now):
        case 0:
            return _("Today {time}", time=time)
        case 1:
            return _("Yesterday {time}", time=time)
    return pgettext("day and time of day", "{day} {time}", day=day_text(moment, now), time=time)


def moment_in_sentence(moment: datetime, now: datetime) -> str:
    """As `day_and_time`, for the inside of a sentence: `today 10:41`, `21 Nov 10:41`."""
    match _days_ago(moment, now):
        case 0:
            return pgettext("inside a sentence", "today {time}", time=formats.time_of_day(in_zone(moment)))
        case 1:
            return pgettext("inside a sentence", "yesterday {time}", time=formats.time_of_day(in_zone(moment)))
    return day_and_time(moment, now)


def day_text(moment: datetime, now: datetime) -> str:
    """`Today`, `Yesterday`, `21 Nov`, `21 Nov 2025`; in the local zone."""
    match _days_ago(moment, now):
        case 0:
            return _("Today")
        case 1:
            return _("Yesterday")
    local = in_zone(moment)
    return formats.day_without_year(local) if local.year == now.astimezone().year else formats.day(local)


def day_in_sentence(moment: datetime, now: datetime) -> str:
    """As `day_text`, for the inside of a sentence: `today`, `21 Nov`."""
    match _days_ago(moment, now):
        case 0:
            return pgettext("inside a sentence", "today")
        case 1:
            return pgettext("inside a sentence", "yesterday")
    return day_text(moment, now)


def local_time_of_day(moment: datetime) -> str:
    """`10:41`, in the local zone."""
    return formats.time_of_day(in_zone(moment))


def _days_ago(moment: datetime, now: datetime) -> int:
    return (now.astimezone().date() - in_zone(moment).date()).days


def age_text(moment: datetime, now: datetime) -> str:
    """Age, for the inside of a sentence: `a moment ago`, `12 minutes ago`, `3 hours ago`, `2 days ago`."""
    minutes = max(0, int((now - moment).total_seconds() // 60))
    if minutes < 1:
        return _("a moment ago")
    if minutes < 60:
        return ngettext("{count} minute ago", "{count} minutes ago", minutes)
    if minutes < 60 * 24:
        return ngettext("{count} hour ago", "{count} hours ago", minutes // 60)
    return ngettext("{count:,} day ago", "{count:,} days ago", minutes // (60 * 24))


def clock_text(seconds: float) -> str:
    """Seconds as minutes and seconds, 0:00."""
    return formats.clock(whole(seconds))


def megabytes(sent: int, total: int) -> str:
    """`1.9 of 3.2 MB`."""
    return _("{sent:.1f} of {total:.1f} MB", sent=sent / _MEGABYTE, total=total / _MEGABYTE)


def rate_text(bytes_per_s: float) -> str:
    """`0.4 MB a second`."""
    return _("{amount:.1f} MB a second", amount=bytes_per_s / _MEGABYTE)


def place_in_line(position: int) -> str:
    """`Next in line`, `Third in line`, `Number 17 in line`; `position` counts from 1."""
    return _(_PLACES[position - 1]) if position <= len(_PLACES) else _("Number {place:,} in line", place=position)

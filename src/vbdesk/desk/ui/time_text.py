"""Times, durations and amounts as display texts."""

from datetime import datetime, timedelta

from vbdesk.contract.rounding import whole
from vbdesk.contract.timestamps import in_zone

_MEGABYTE = 1_000_000
_PLACES = ("Next", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth")


def day_and_time(moment: datetime, now: datetime) -> str:
    """`Today 10:41`, `Yesterday 16:30`, `21 Nov 10:41`, `21 Nov 2025 10:41`; in the local zone."""
    local, today = in_zone(moment), now.astimezone().date()
    if local.date() == today:
        return f"Today {local:%H:%M}"
    if local.date() == today - timedelta(days=1):
        return f"Yesterday {local:%H:%M}"
    year = "" if local.year == today.year else f" {local.year}"
    return f"{local.day} {local:%b}{year} {local:%H:%M}"


def moment_in_sentence(moment: datetime, now: datetime) -> str:
    """As `day_and_time`, for the inside of a sentence: `today 10:41`, `21 Nov 10:41`."""
    words = day_and_time(moment, now)
    return words if words[0].isdigit() else words[0].lower() + words[1:]


def age_words(moment: datetime, now: datetime) -> str:
    """Age: `a moment ago`, `12 minutes ago`, `3 hours ago`, `2 days ago`."""
    minutes = max(0, int((now - moment).total_seconds() // 60))
    if minutes < 1:
        return "a moment ago"
    if minutes < 60:
        return f"{counted(minutes, 'minute')} ago"
    if minutes < 60 * 24:
        return f"{counted(minutes // 60, 'hour')} ago"
    return f"{counted(minutes // (60 * 24), 'day')} ago"


def clock_words(seconds: float) -> str:
    """Seconds as minutes and seconds, 0:00."""
    minutes, rest = divmod(whole(seconds), 60)
    return f"{minutes}:{rest:02d}"


def megabytes(sent: int, total: int) -> str:
    """`1.9 of 3.2 MB`."""
    return f"{sent / _MEGABYTE:.1f} of {total / _MEGABYTE:.1f} MB"


def rate_words(bytes_per_s: float) -> str:
    """`0.4 MB a second`."""
    return f"{bytes_per_s / _MEGABYTE:.1f} MB a second"


def place_in_line(place: int) -> str:
    """`Next in line`, `Third in line`, `17th in line`; `place` counts from 1."""
    if place <= len(_PLACES):
        return f"{_PLACES[place - 1]} in line"
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending} in line"


def counted(count: int, noun: str) -> str:
    """`1 recording`, `38 recordings`."""
    return f"{count:,} {noun}".replace(",", " ") if count == 1 else f"{count:,} {noun}s".replace(",", " ")

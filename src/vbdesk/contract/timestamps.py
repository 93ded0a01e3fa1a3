"""Timestamps of the interface: every allowed form in, one form out."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from math import isnan
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_FORM = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})[Tt ](?P<time>\d{2}:\d{2}(?::\d{2}(?:[.,](?P<fraction>\d+))?)?)"
    r"(?P<zone>[Zz]|(?P<sign>[+-])(?P<hours>\d{2}):(?P<minutes>\d{2}))?"
)

EARLIEST_NOW = datetime(2025, 1, 1, tzinfo=UTC)
"""This program did not exist before, so no right clock shows an earlier time while it runs."""
LATEST_NOW = datetime(2050, 1, 1, tzinfo=UTC)
"""No release of this program is in use for so long, so no right clock shows a later time while it runs."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 1e15
_ADVICE = "Give the time as ISO 8601, for example 2026-03-01T09:30:00Z."


def parse_timestamp(text: str) -> datetime:
    """Parse an ISO 8601 timestamp into an aware datetime in UTC.

    The designator may be `Z`, `+hh:mm`, `-hh:mm` or absent (then UTC); the seconds may be left out, as a browser's
    field for date and time does; the fraction may have any number of digits, of which microseconds are kept.

    Raises:
        ValueError: the text is not such a timestamp.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(_ADVICE)
    try:
        moment = datetime.fromisoformat(f"{match['date']}T{match['time'][: len('hh:mm:ss')]}")
        moment = moment.replace(microsecond=int((match["fraction"] or "0")[:6].ljust(6, "0")), tzinfo=_zone(match))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"There is no such time or zone. {_ADVICE}") from error


def _zone(match: re.Match[str]) -> tzinfo:
    if not match["sign"]:
        return UTC
    minutes = int(match["minutes"])
    if minutes > 59:
        raise ValueError("minutes of the offset")
    offset = timedelta(hours=int(match["hours"]), minutes=minutes)
    return timezone(offset if match["sign"] == "+" else -offset)


def format_timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC with designator `Z` and microseconds; a naive `moment` is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return in_zone(aware, UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def in_zone(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """`moment` in `zone`, the one of this computer if None; in UTC where that zone cannot show it.

    A zone cannot show the first and last hours of the calendar, and Windows shows none before 1970.
    """
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError, OSError):
        pass
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return moment.replace(tzinfo=UTC)


def from_unix_seconds(seconds: float) -> datetime:
    """The moment so many seconds after 1970, in UTC; the first or last of the calendar where it lies beyond."""
    if isnan(seconds):
        return _EPOCH
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)


def add_clamped(moment: datetime, step: timedelta) -> datetime:
    """`moment + step`; the first or last moment of the calendar where that lies beyond."""
    try:
        return moment + step
    except OverflowError:
        return (datetime.max if step > timedelta(0) else datetime.min).replace(tzinfo=UTC)


def bounded(amount: float) -> float:
    """`amount` as one that can be rounded to a whole number: NaN gives 0, and infinity a large number."""
    if amount != amount:  # NaN; `isnan` takes no integer of thousands of digits
        return 0.0
    return max(-_LARGEST, min(_LARGEST, amount))


def is_plausible_now(moment: datetime) -> bool:
    """Whether a right clock can show `moment` while this program runs; not so for 1970 or 2099."""
    return EARLIEST_NOW <= moment < LATEST_NOW


def local_minute(moment: datetime) -> str:
    """A moment as the clock of this computer shows it, to the minute: `2026-03-01 09:30`."""
    return f"{in_zone(moment):%Y-%m-%d %H:%M}"


def _validated(value: Any) -> datetime:
    if isinstance(value, str):
        return parse_timestamp(value)
    if isinstance(value, datetime):
        return in_zone(value, UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    raise ValueError("A timestamp must be text in ISO 8601.")


Timestamp = Annotated[
    datetime,
    BeforeValidator(_validated),
    PlainSerializer(format_timestamp, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""An aware datetime in UTC; on the wire RFC 3339 with `Z` and microseconds."""

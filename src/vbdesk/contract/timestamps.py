"""Timestamps of the interface: parsing of every allowed form, and the one output form."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from math import isnan
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from vbdesk.language import N_, joined, message

_FORM = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})[Tt ](?P<time>\d{2}:\d{2}(?::\d{2}(?:[.,](?P<fraction>\d+))?)?)"
    r"(?P<zone>[Zz]|(?P<sign>[+-])(?P<hours>\d{2}):(?P<minutes>\d{2}))?"
)

EARLIEST_NOW = datetime(2025, 1, 1, tzinfo=UTC)
"""Earliest plausible current time: this program did not exist before."""
LATEST_NOW = datetime(2050, 1, 1, tzinfo=UTC)
"""Latest plausible current time: no release of this program is in use that long."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 1e15
_ADVICE = N_("Give the time as ISO 8601, for example 2026-03-01T09:30:00Z.")


def parse_timestamp(text: str) -> datetime:
    """Parse an ISO 8601 timestamp into an aware datetime in UTC.

    The zone can be `Z`, `+hh:mm`, `-hh:mm` or absent, which means UTC. Seconds are optional, as in a browser's date and
    time field. The fraction can have any number of digits; it is truncated to microseconds.

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
        raise ValueError(joined(message("There is no such time or zone."), _ADVICE)) from error


def _zone(match: re.Match[str]) -> tzinfo:
    if not match["sign"]:
        return UTC
    minutes = int(match["minutes"])
    if minutes > 59:
        raise ValueError("minutes of the offset")
    offset = timedelta(hours=int(match["hours"]), minutes=minutes)
    return timezone(offset if match["sign"] == "+" else -offset)


def format_timestamp(moment: datetime) -> str:
    """Format as RFC 3339 in UTC with `Z` and microseconds; a naive `moment` counts as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return in_zone(aware, UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def in_zone(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """Convert `moment` to `zone` (None: the local zone), or to UTC if the zone cannot represent it.

    That happens in the first and last hours of the calendar, and on Windows before 1970.
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
    """Convert Unix seconds to a time in UTC, clamped to the first or last moment of the calendar."""
    if isnan(seconds):
        return _EPOCH
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return (datetime.max if seconds > 0 else datetime.min).replace(tzinfo=UTC)


def add_clamped(moment: datetime, step: timedelta) -> datetime:
    """`moment + step`, clamped to the first or last moment of the calendar."""
    try:
        return moment + step
    except OverflowError:
        return (datetime.max if step > timedelta(0) else datetime.min).replace(tzinfo=UTC)


def bounded(amount: float) -> float:
    """Make `amount` finite, so that it can be rounded: NaN gives 0, infinity a large number."""
    if amount != amount:  # NaN; `isnan` takes no integer of thousands of digits
        return 0.0
    return max(-_LARGEST, min(_LARGEST, amount))


def is_plausible_now(moment: datetime) -> bool:
    """Whether `moment` is a plausible current time; 1970 and 2099 are not."""
    return EARLIEST_NOW <= moment < LATEST_NOW


def local_minute(moment: datetime) -> str:
    """Format a time in the local zone, to the minute: `2026-03-01 09:30`."""
    return f"{in_zone(moment):%Y-%m-%d %H:%M}"


def _validated(value: Any) -> datetime:
    if isinstance(value, str):
        return parse_timestamp(value)
    if isinstance(value, datetime):
        return in_zone(value, UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    raise ValueError(message("A timestamp must be text in ISO 8601."))


Timestamp = Annotated[
    datetime,
    BeforeValidator(_validated),
    PlainSerializer(format_timestamp, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""An aware datetime in UTC; on the wire RFC 3339 with `Z` and microseconds."""

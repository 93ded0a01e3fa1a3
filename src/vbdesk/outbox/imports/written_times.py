"""Dates and times as people and recorders write them: in a cell, or in the name of a file.

A date is `2026-11-01`, `20261101` or `01.11.2026` (day first, always). `03/04/2026` and `03-04-2026` are refused: in
some countries the day is first, in others the month. A time of day has 24 hours: `14:30`, `14-30`, `14.30`, `14h30`,
`143000`. Times without an offset are in the zone of the import.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache

from vbdesk.language import N_, Message, joined, message

_YEAR_FIRST = r"(?P<y>(?:19|20)\d\d)(?P<ds>[-_.]?)(?P<mo>0[1-9]|1[0-2])(?P=ds)(?P<d>0[1-9]|[12]\d|3[01])"
_DAY_FIRST = r"(?P<d>0?[1-9]|[12]\d|3[01])\.(?P<mo>0?[1-9]|1[0-2])\.(?P<y>(?:19|20)\d\d)"
_EITHER_WAY = r"\d{1,2}([-/_])\d{1,2}\1(?:19|20)\d\d"
_NO_HALF_DAY = r"(?![ _.-]?[ap]\.?m)"
_COLON = r"(?P<h>[01]?\d|2[0-3]):(?P<mi>[0-5]\d)(?::(?P<s>[0-5]\d)(?:[.,](?P<f>\d+))?)?"
_DIVIDED = r"(?P<h>[01]\d|2[0-3])(?P<ts>[-.])(?P<mi>[0-5]\d)(?:(?P=ts)(?P<s>[0-5]\d))?"
_LOW_LINE = r"(?P<h>[01]\d|2[0-3])_(?P<mi>[0-5]\d)(?:_(?P<s>[0-5]\d))?"
_WITH_H = r"(?P<h>[01]?\d|2[0-3])h(?P<mi>[0-5]\d)(?:m?(?P<s>[0-5]\d)s?|m)?"
_DIGITS = r"(?P<h>[01]\d|2[0-3])(?P<mi>[0-5]\d)(?P<s>[0-5]\d)?"
_SIX_DIGITS = r"(?P<h>[01]\d|2[0-3])(?P<mi>[0-5]\d)(?P<s>[0-5]\d)"
_OFFSET = r"(?P<o>Z|[+-](?:0\d|1[0-4]):?(?:00|15|30|45))"
_NAME_OFFSET = r"(?P<o>Z|\+(?:0\d|1[0-4]):?(?:00|15|30|45))"  # after a minus comes the number of a take


def _one_of(*forms: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(form, re.IGNORECASE) for form in forms)


_DATES = _one_of(rf"(?<!\d){_YEAR_FIRST}", rf"(?<![\d.]){_DAY_FIRST}(?!\d)")
_AMBIGUOUS = re.compile(rf"(?<!\d){_EITHER_WAY}(?!\d)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_CLOCKS = (_COLON, _DIVIDED, _WITH_H, _DIGITS)
_TIMES_AFTER = _one_of(
    *(rf"T{form}{_OFFSET}?(?!\d)" for form in _CLOCKS),
    *(rf"[T_ .,-]{{0,3}}{form}{_NAME_OFFSET}?(?!\d){_NO_HALF_DAY}" for form in _CLOCKS),
)
_OFFSET_OR_NUMBER = re.compile(r"-(?:0\d|1[0-4])(?:00|30)(?!\d)")
_TIME_AFTER_LOW_LINES = _one_of(rf"_{_LOW_LINE}{_NAME_OFFSET}?(?!\d)")
_TIMES_BEFORE = _one_of(
    *(rf"(?<!\d){form}[_ -]$" for form in (_COLON, _DIVIDED, _WITH_H, _SIX_DIGITS)),
)
_TIMES_ANYWHERE = _one_of(*(rf"(?<![\dA-Za-z]){form}(?![\dA-Za-z]){_NO_HALF_DAY}" for form in (_WITH_H, _COLON)))
_TYPED_DATES = _one_of(_YEAR_FIRST, _DAY_FIRST)
_TYPED_TIMES = _one_of(*(rf"{form} ?{_OFFSET}?" for form in (*_CLOCKS, _LOW_LINE)))

HOW_TO_WRITE = N_("Write it as 2026-11-01 14:30 or 01.11.2026 14:30 (ISO 8601, or day.month.year).")
EITHER_DAY_OR_MONTH = N_("In the date, day and month could be exchanged. Write it as 2026-04-03 or 03.04.2026.")
NO_TIME_OF_DAY = N_("The time of day is missing. Add it, such as 14:30.")
NO_DATE = N_("The date is missing. Add it, such as 2026-11-01.")


@dataclass(frozen=True, slots=True)
class WrittenTime:
    """A date, a time of day, or both, as written; `offset` from UTC if one was written."""

    day: date | None = None
    clock: time | None = None
    offset: timezone | None = None

    def __str__(self) -> str:
        """The form that `read_time` reads: `2026-11-01 14:30:05+01:00`."""
        day = "" if self.day is None else self.day.isoformat()
        clock = "" if self.clock is None else _clock_text(self.clock)
        offset = "" if self.offset is None else _offset_text(self.offset.utcoffset(None))
        return f"{day} {clock}{offset}".strip()

    def over(self, before: "WrittenTime") -> "WrittenTime":
        """This time; a missing date or time of day is taken from `before`."""
        if self.clock is None:
            return WrittenTime(self.day, before.clock, before.offset)
        return WrittenTime(self.day or before.day, self.clock, self.offset)


@lru_cache(maxsize=20_000)
def read_time(text: str) -> WrittenTime:
    """Read what a person typed, or what a list contains: a date, a time of day, or both.

    Raises:
        ValueError: it is not understood, or ambiguous; the message says how to write it.
    """
    typed = " ".join(text.split())
    if not typed:
        return WrittenTime()
    if _AMBIGUOUS.match(typed):
        raise ValueError(EITHER_DAY_OR_MONTH)
    if _YEAR.fullmatch(typed):
        raise ValueError(joined(message("This could be a year or a time of day."), HOW_TO_WRITE))
    for form in _TYPED_DATES:
        found = form.match(typed)
        rest = "" if found is None else typed[found.end() :]
        if found is not None and (not rest or rest[0] in "T t,"):
            clock = rest[1:].strip()
            timed = WrittenTime() if not clock else _clock_of(clock)
            return WrittenTime(_day_of(found), timed.clock, timed.offset)
    return _clock_of(typed)


def time_in_name(stem: str) -> WrittenTime:
    """The date and the time of day in the name of a file; empty if there is none.

    A time of day is looked for next to the date. Bare digits elsewhere can be anything, such as a subject's number.

    Raises:
        ValueError: there are two dates or two times, or the date is ambiguous.
    """
    found = [match for form in _DATES for match in form.finditer(stem)]
    days = [match for match in found if _is_day(match) and _ends_a_date(stem, match)]
    unclear = [match for match in _AMBIGUOUS.finditer(stem) if not any(_overlap(match, other) for other in days)]
    if unclear:
        raise ValueError(EITHER_DAY_OR_MONTH)
    if not days:
        return WrittenTime()
    if len({_day_of(match) for match in days}) > 1:
        raise ValueError(message("There are two dates in the file name. Enter the right one."))
    times = {written for match in days for written in _times_around(stem, match)}
    if not times:
        rest = "".join(character if not _within(index, days) else " " for index, character in enumerate(stem))
        times = {_clock(match) for form in _TIMES_ANYWHERE for match in form.finditer(rest)}
    if len(times) > 1:
        raise ValueError(message("There are two times of day in the file name. Enter the right one."))
    timed = next(iter(times), WrittenTime())
    return WrittenTime(_day_of(days[0]), timed.clock, timed.offset)


@lru_cache(maxsize=20_000)
def moment_of(written: WrittenTime, zone: tzinfo | None) -> datetime:
    """The moment in UTC; `zone` (None: that of this computer) counts if no offset was written.

    Raises:
        ValueError: a part is missing, or the zone's clocks skipped or repeated that time.
    """
    if written.day is None:
        nothing = joined(message("Enter the time of the recording."), HOW_TO_WRITE)
        raise ValueError(NO_DATE if written.clock is not None else nothing)
    if written.clock is None:
        raise ValueError(NO_TIME_OF_DAY)
    naive = datetime.combine(written.day, written.clock)
    try:
        if written.offset is not None:
            return naive.replace(tzinfo=written.offset).astimezone(UTC)
        early, late = (naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        back = early.astimezone(zone).replace(tzinfo=None)
    except (OverflowError, OSError, ValueError) as error:
        raise ValueError(joined(message("There is no such time."), HOW_TO_WRITE)) from error
    if early == late:
        return early
    shown = f"{naive:%Y-%m-%d %H:%M}"
    if back != naive:
        raise ValueError(joined(_skipped(shown, zone), message("Correct it, or choose another time zone.")))
    first, second = (f"{naive:%H:%M}{_offset_text(naive - moment.replace(tzinfo=None))}" for moment in (early, late))
    advice = message("Write it as {first} or {second}.", first=first, second=second)
    raise ValueError(joined(_repeated(shown, zone), advice))


def _skipped(time_text: str, zone: tzinfo | None) -> Message:
    if zone is None:
        return message(
            "The time {time} does not exist in the time zone of this computer: the clocks went forward.", time=time_text
        )
    return message("The time {time} does not exist in {zone}: the clocks went forward.", time=time_text, zone=str(zone))


def _repeated(time_text: str, zone: tzinfo | None) -> Message:
    if zone is None:
        return message(
            "The time {time} occurred twice in the time zone of this computer: the clocks went back.", time=time_text
        )
    return message("The time {time} occurred twice in {zone}: the clocks went back.", time=time_text, zone=str(zone))


def written_in(moment: datetime, zone: tzinfo | None) -> WrittenTime:
    """An aware moment as it is written in `zone`; with its offset only where the zone's clocks repeat that time."""
    local = moment.astimezone(zone).replace(microsecond=0)
    written = WrittenTime(local.date(), local.time().replace(fold=0))
    try:
        moment_of(written, zone)
    except ValueError:
        return WrittenTime(written.day, written.clock, timezone(local.utcoffset() or timedelta()))
    return written


def _clock_of(text: str) -> WrittenTime:
    if _AMBIGUOUS.search(text):
        raise ValueError(EITHER_DAY_OR_MONTH)
    for form in _TYPED_TIMES:
        found = form.fullmatch(text)
        if found is not None:
            return _clock(found)
    raise ValueError(joined(message("The time is not understood."), HOW_TO_WRITE))


def _times_around(stem: str, day: re.Match[str]) -> list[WrittenTime]:
    forms = _TIMES_AFTER + (_TIME_AFTER_LOW_LINES if day.groupdict().get("ds") == "_" else ())
    after = (form.match(stem, day.end()) for form in forms)
    before = (form.search(stem[: day.start()]) for form in _TIMES_BEFORE)
    first = (next((match for match in side if match is not None), None) for side in (after, before))
    times = [match for match in first if match is not None]
    if any(
        not match["o"] and _OFFSET_OR_NUMBER.match(stem, match.end()) for match in times if match.start() >= day.end()
    ):
        raise ValueError(message("After the time in the file name stands an offset or a number. Enter the right time."))
    return [_clock(match) for match in times]


def _ends_a_date(stem: str, match: re.Match[str]) -> bool:
    """Whether the digits end with the date, or go on with a time of day."""
    rest = re.match(r"\d*", stem[match.end() :])
    return rest is not None and (not rest[0] or bool(re.fullmatch(_DIGITS, rest[0])))


def _is_day(match: re.Match[str]) -> bool:
    try:
        _day_of(match)
    except ValueError:
        return False
    return True


def _day_of(match: re.Match[str]) -> date:
    try:
        return date(int(match["y"]), int(match["mo"]), int(match["d"]))
    except ValueError as error:
        raise ValueError(joined(message("There is no such day."), HOW_TO_WRITE)) from error


def _clock(match: re.Match[str]) -> WrittenTime:
    parts = match.groupdict()
    micros = int((parts.get("f") or "0")[:6].ljust(6, "0"))
    clock = time(int(parts["h"]), int(parts["mi"]), int(parts.get("s") or 0), micros)
    return WrittenTime(None, clock, _offset(parts.get("o")))


def _offset(text: str | None) -> timezone | None:
    if not text:
        return None
    if text in "Zz":
        return UTC
    size = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(size if text[0] == "+" else -size)


def _offset_text(offset: timedelta) -> str:
    minutes = round(offset.total_seconds() / 60)
    return f"{'+' if minutes >= 0 else '-'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _clock_text(clock: time) -> str:
    return clock.isoformat(timespec="minutes" if not (clock.second or clock.microsecond) else "auto")


def _overlap(one: re.Match[str], other: re.Match[str]) -> bool:
    return one.start() < other.end() and other.start() < one.end()


def _within(index: int, matches: list[re.Match[str]]) -> bool:
    return any(match.start() <= index < match.end() for match in matches)

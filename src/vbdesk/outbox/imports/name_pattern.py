"""Patterns for the names of recordings, such as `{subject}_{date}_{time}`."""

import re
from dataclasses import dataclass, field
from datetime import date, time
from functools import cached_property
from pathlib import Path

from vbdesk.language import message, message_of
from vbdesk.outbox.imports.written_times import WrittenTime, read_time, time_in_name

_PLACEHOLDERS = {
    "subject": r".+?",
    "date": r"(?:\d{4}[-_.]?\d\d[-_.]?\d\d|\d{1,2}\.\d{1,2}\.\d{4})",
    "time": r"\d{1,2}[-_.:h]?\d\d(?:[-_.:m]?\d\d)?s?",
    "year": r"\d{4}",
    "month": r"\d\d?",
    "day": r"\d\d?",
}
_TOKEN = re.compile(r"\{([^{}]*)\}|\*")
_MOST_STARS = 4  # each multiplies the work of a name that does not fit


@dataclass(frozen=True, slots=True)
class NameFinding:
    """What a name says.

    Attributes:
        subject: empty if the name does not contain it.
        written: date and time of day, as far as the name contains them.
        fault: why the name was not used; None if it was.
    """

    subject: str = ""
    written: WrittenTime = field(default_factory=WrittenTime)
    fault: str | None = None


@dataclass(frozen=True)
class NamePattern:
    """A pattern; without text it finds the time automatically, and no subject.

    `{subject}`, `{date}`, `{time}`, `{year}`, `{month}` and `{day}` match these, `*` matches anything. A pattern with
    `/` begins with the name of the folder. The suffix of the file does not count.
    """

    text: str = ""

    def find(self, path: Path) -> NameFinding:
        """Read the name of `path`.

        Raises:
            ValueError: the pattern itself is wrong; the message says how to write it.
        """
        if not self.text.strip():
            return _automatic(path)
        name = f"{path.parent.name}/{path.stem}" if "/" in self.text else path.stem
        found = self._form.fullmatch(name)
        if found is None:
            return NameFinding(fault=message("The name does not fit the pattern."))
        parts = {name: text or "" for name, text in found.groupdict().items()}
        try:
            return NameFinding(parts.get("subject", "").strip(), _written(parts))
        except ValueError as error:
            return NameFinding(parts.get("subject", "").strip(), fault=message_of(error))

    def check(self) -> None:
        """Raise ValueError if the pattern is wrong."""
        if self.text.strip():
            _ = self._form

    @cached_property
    def _form(self) -> re.Pattern[str]:
        parts, end, seen = [], 0, set()
        text = self.text.strip()
        if text.count("*") > _MOST_STARS:
            raise ValueError(message("The pattern has more than {most} times *. Use fewer.", most=_MOST_STARS))
        for token in _TOKEN.finditer(text):
            parts.append(re.escape(text[end : token.start()]))
            end = token.end()
            name = token[1]
            if name is None:
                parts.append(".*?")
            elif name not in _PLACEHOLDERS or name in seen:
                known = ", ".join(f"{{{name}}}" for name in _PLACEHOLDERS)
                raise ValueError(
                    message(
                        "{part} is not known, or used twice. There are {known}, and * for anything.",
                        part=token[0],
                        known=known,
                    )
                )
            else:
                seen.add(name)
                parts.append(f"(?P<{name}>{_PLACEHOLDERS[name]})")
        parts.append(re.escape(text[end:]))
        if not seen:
            raise ValueError(message("The pattern finds nothing. Use {subject}, {date} or {time}, and * for anything."))
        return re.compile("".join(parts), re.IGNORECASE)


def _automatic(path: Path) -> NameFinding:
    try:
        return NameFinding(written=time_in_name(path.stem))
    except ValueError as error:
        return NameFinding(fault=message_of(error))


def _written(parts: dict[str, str]) -> WrittenTime:
    day = read_time(parts["date"].replace("_", "-")).day if parts.get("date") else None
    if parts.get("year") and parts.get("month") and parts.get("day"):
        day = _day(int(parts["year"]), int(parts["month"]), int(parts["day"]))
    clock: time | None = read_time(parts["time"]).clock if parts.get("time") else None
    return WrittenTime(day, clock)


def _day(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        raise ValueError(
            message("There is no such day. Check the order of year, month and day in the pattern.")
        ) from error

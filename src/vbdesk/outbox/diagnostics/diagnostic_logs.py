"""The part of the logs that may leave this computer: source locations and kinds of errors, no names, no messages."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from vbdesk.outbox.diagnostics.log_file import CRASH_NAME, last_lines

LOG_LINES = 200
CRASH_LINES = 60
SERVICE_LOG_BYTES = 256 * 1024
HIDDEN = "…"

_LEVEL = r"(?:WARNING|ERROR|CRITICAL)"
_OUR_LINE = re.compile(rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ {_LEVEL} [\w.]+ .*")
_SERVICE_LINE = re.compile(rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ ({_LEVEL}) (vbdesk(?:\.[a-z_]+)*): ")
_FATAL = re.compile(r"Fatal Python error: ([A-Za-z ]{1,40})")
_FRAME = re.compile(r'  File "(?:.*[/\\])?([\w<>.-]+)", line (\d+) in ([\w<>]+)')


def log_lines(folder: Path, private: Iterable[str]) -> list[str]:
    """The newest lines of the desk's log, with `private` words blacked out; normally there are none."""
    return [_hidden(line, private) for line in last_lines(folder, LOG_LINES) if _OUR_LINE.fullmatch(line)]


def crash_locations(folder: Path, private: Iterable[str]) -> list[str]:
    """Where native code crashed last: file names, lines and functions, without folders."""
    try:
        lines = (folder / CRASH_NAME).read_text(encoding="utf-8", errors="replace").splitlines()[-CRASH_LINES:]
    except OSError:
        return []
    places = []
    for line in lines:
        if fatal := _FATAL.match(line):
            places.append(fatal[1])
        elif frame := _FRAME.match(line):
            places.append("{}:{} {}".format(*frame.groups()))
    return [_hidden(location, private) for location in places]


def service_log_counts(path: Path) -> dict[str, int]:
    """Number of recent complaints of each part of the service on this computer."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - SERVICE_LOG_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return {}
    found = (_SERVICE_LINE.match(line) for line in text.splitlines())
    return dict(Counter(f"{line[1]} {line[2]}" for line in found if line))


def _hidden(line: str, private: Iterable[str]) -> str:
    for word in private:
        line = line.replace(word, HIDDEN)
    return line

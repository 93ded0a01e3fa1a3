"""The log and the crash notes of this computer: what went wrong and where, and nothing that anybody said or wrote.

A line holds the sentence as it stands in the source, never the values put into it, and of an error its kind and the
places it came through, never its message: a message may name a file, and a file a person. Of libraries not even the
sentence is kept.
"""

import faulthandler
import logging
import sys
import time
import traceback
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from vbdesk.privacy import disable_core_dumps, make_private, owner_only_opener

LOG_NAME = "vbdesk.log"
CRASH_NAME = "crash.log"
MAX_BYTES = 256 * 1024
_OURS = "vbdesk"


class PlainFormatter(logging.Formatter):
    """One line a record: time in UTC, level, logger, sentence, and where an error came from."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        parts = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)), record.levelname, record.name]
        if record.name.partition(".")[0] == _OURS:
            parts.append(str(record.msg))
        else:
            parts.append(f"{Path(record.pathname).name}:{record.lineno}")
        if record.exc_info and record.exc_info[1] is not None:
            parts.append(_way_of(record.exc_info[1], record.exc_info[2]))
        return " ".join(" ".join(parts).split())


class LogFile(RotatingFileHandler):
    """The log's file, for its owner alone; a full disk costs lines of the log, and puts nothing on the terminal."""

    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(open(self.baseFilename, "ab", opener=owner_only_opener), encoding=self.encoding)

    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing: what could not be written is said where it matters."""


def keep_log(folder: Path, *, on_terminal: bool = True) -> None:
    """Write the log of this program to `folder`, and where native code crashed; no image of its memory.

    A log that cannot be written keeps nobody from working.

    Args:
        folder: of the log.
        on_terminal: write to standard error too; not in a command that says in sentences what goes wrong.
    """
    disable_core_dumps()
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr) if on_terminal else logging.NullHandler()]
    try:
        make_private(folder)
        handlers.append(LogFile(folder / LOG_NAME, maxBytes=MAX_BYTES, backupCount=1, encoding="utf-8"))
        if not faulthandler.is_enabled():
            crashes = open(folder / CRASH_NAME, "ab", opener=owner_only_opener)  # noqa: SIM115 - as long as it runs
            faulthandler.enable(crashes)
    except OSError:
        pass
    for handler in handlers:
        handler.setFormatter(PlainFormatter())
        handler.setLevel(logging.WARNING)
    logging.basicConfig(level=logging.WARNING, handlers=handlers)


def last_lines(folder: Path, count: int) -> list[str]:
    """The newest lines of the log; none where there is none."""
    try:
        lines = (folder / LOG_NAME).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return lines[-count:]


def _way_of(error: BaseException, trace: TracebackType | None) -> str:
    """Kind of an error, and the places it came through, innermost last."""
    frames = traceback.extract_tb(trace, limit=-12)
    way = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"[{type(error).__name__} {way}]"

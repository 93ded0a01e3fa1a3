"""The log and the crash notes of this computer: what failed and where, without personal data.

A line holds the sentence as in the source, without its values; of an error its kind and traceback, without its message.
A message may name a file, and a file a person. Of other libraries not even the sentence is stored.
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
    """One line per record: time in UTC, level, logger, sentence, and the location of an error."""

    def format(self, record: logging.LogRecord) -> str:
        """Format the record as one line."""
        parts = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)), record.levelname, record.name]
        if record.name.partition(".")[0] == _OURS:
            parts.append(str(record.msg))
        else:
            parts.append(f"{Path(record.pathname).name}:{record.lineno}")
        if record.exc_info and record.exc_info[1] is not None:
            parts.append(_way_of(record.exc_info[1], record.exc_info[2]))
        return " ".join(" ".join(parts).split())


class LogFile(RotatingFileHandler):
    """The log file, readable for its owner only; a full disk loses lines and prints nothing."""

    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(open(self.baseFilename, "ab", opener=owner_only_opener), encoding=self.encoding)

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore write errors: what matters is reported elsewhere."""


def start_log(folder: Path, *, on_terminal: bool = True) -> None:
    """Write the log of this program to `folder`, and native crashes as stack traces, without a memory dump.

    The program continues without a log if it cannot be written.

    Args:
        folder: of the log.
        on_terminal: whether to write to standard error too; not for a command that reports errors in sentences.
    """
    disable_core_dumps()
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr) if on_terminal else logging.NullHandler()]
    try:
        make_private(folder)
        handlers.append(LogFile(folder / LOG_NAME, maxBytes=MAX_BYTES, backupCount=1, encoding="utf-8"))
        if not faulthandler.is_enabled():
            crashes = open(folder / CRASH_NAME, "ab", opener=owner_only_opener)  # noqa: SIM115 - open until the end
            faulthandler.enable(crashes)
    except OSError:
        pass
    for handler in handlers:
        handler.setFormatter(PlainFormatter())
        handler.setLevel(logging.WARNING)
    logging.basicConfig(level=logging.WARNING, handlers=handlers)


def last_lines(folder: Path, count: int) -> list[str]:
    """The newest lines of the log; empty if there is none."""
    try:
        lines = (folder / LOG_NAME).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return lines[-count:]


def _way_of(error: BaseException, trace: TracebackType | None) -> str:
    """Kind of an error and its source locations, innermost last."""
    frames = traceback.extract_tb(trace, limit=-12)
    way = " > ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    return f"[{type(error).__name__} {way}]"

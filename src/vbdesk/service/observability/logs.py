"""The service's log: text lines for people, or one JSON object per line for machines.

Neither format contains exception messages or values of local variables: `Key (account_id, group_id)=(..., anna) already
exists` is such a message. An exception is logged as its type, its error code if any, and its frames.
"""

import json
import logging
import re
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Literal, TextIO

from vbdesk.service.observability.tracing import trace_id

MOST_FRAMES = 20
_OURS = "vbdesk"
_TALKATIVE = (
    "sqlalchemy",
    "psycopg",
    "botocore",
    "boto3",
    "s3transfer",
    "urllib3",
    "google",
    "python_multipart",
    "httpx",
)
"""Libraries that log rows, bodies or headers below WARNING; they are kept at WARNING at any log level."""

_fields: ContextVar[Mapping[str, str]] = ContextVar("vbdesk_log_fields", default=MappingProxyType({}))

log = logging.getLogger(__name__)


@contextmanager
def log_fields(**fields: str) -> Iterator[None]:
    """Add fields such as `job_id` to every line logged in the block: only ids of ours, nothing personal."""
    token = _fields.set({**_fields.get(), **fields})
    try:
        yield
    finally:
        _fields.reset(token)


class TextFormatter(logging.Formatter):
    """Lines for people: UTC time, level, logger, message; of an exception its type and frames."""

    def format(self, record: logging.LogRecord) -> str:
        """Format one line."""
        parts = [_time_of(record), record.levelname, f"{record.name}: {record.getMessage()}"]
        if record.exc_info and record.exc_info[1] is not None:
            error = exception_facts(record.exc_info[1])
            parts.append(f"[{' from '.join(error['kinds'])}] {' > '.join(error['frames'])}")
        return redact(" ".join(parts))


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Format one line."""
        entry: dict[str, object] = {
            "time": _time_of(record),
            "level": record.levelname,
            "logger": record.name,
            "message": redact(record.getMessage()),
            **_fields.get(),
        }
        present = trace_id()
        if present is not None:
            entry["trace_id"] = present
        if record.exc_info and record.exc_info[1] is not None:
            entry["exception"] = exception_facts(record.exc_info[1])
        return json.dumps(entry, ensure_ascii=False)


def exception_facts(error: BaseException) -> dict[str, list[str]]:
    """Return the types of an exception and its causes, and its frames, innermost last."""
    kinds: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(kinds) < MOST_FRAMES:
        kinds.append(_kind_of(cause))
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return {"kinds": kinds, "frames": _frames(error.__traceback__)}


def configure_logs(log_format: Literal["text", "json"], stream: TextIO | None = None) -> None:
    """Log to `stream`, standard error by default: our loggers from INFO, libraries from WARNING."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(_OURS).setLevel(logging.INFO)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)
    sys.excepthook = _log_last_words
    threading.excepthook = _log_thread_end


def _log_last_words(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    log.critical("The process ends by an unexpected error.", exc_info=(kind, error, trace))


def _log_thread_end(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None:
        log.error(
            "A thread ended by an unexpected error.", exc_info=(ended.exc_type, ended.exc_value, ended.exc_traceback)
        )


def _time_of(record: logging.LogRecord) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}Z"


def _kind_of(error: BaseException) -> str:
    """Return the exception's type with its database or system error code."""
    code = getattr(error, "sqlstate", None) or getattr(error, "errno", None)
    name = type(error).__qualname__
    return name if code is None else f"{name} {code}"


def _frames(trace: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(trace, limit=-MOST_FRAMES)
    return [f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]


def _short(filename: str) -> str:
    """Return the last three parts of the path; the folders above differ between computers."""
    parts = Path(filename).parts
    return "/".join(parts[-3:])


REDACTED = "[redacted]"

_TELLING_NAMES = (
    r"[\w-]*(?:pass(?:word|wd|phrase)?|secret|token|signature|credential|api[_-]?key|access[_-]?key(?:[_-]?id)?"
    r"|private[_-]?key|authorization|cookie|webhook[_-]?secret[_-]?key|session|sig)"
)
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL), REDACTED),
    (re.compile(r"(?i)\b(bearer|basic|aws4-hmac-sha256|goog4-rsa-sha256)\s+[^\s,'\"][^'\"\n]*"), rf"\1 {REDACTED}"),
    # user and password before the host: postgresql://user:password@host
    (re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/@'\"<>]*@"), rf"\1{REDACTED}@"),
    # the query of an address may contain a signature
    (re.compile(r"(?i)((?:https?|s3|gs)://[^\s?'\"<>]*|\s/[^\s?'\"<>]*)\?[^\s'\"<>]+"), rf"\1?{REDACTED}"),
    (
        re.compile(
            r"(?i)\b((?:x-(?:amz|goog|vbdesk)-[\w-]+|awsaccesskeyid|googleaccessid))(['\"]?\s*[=:]\s*)(?:'[^']*'|\"[^\"]*\"|[^\s&'\",;]+)"
        ),
        rf"\1\2{REDACTED}",
    ),
    (
        re.compile(rf"(?i)\b({_TELLING_NAMES})(['\"]?\s*[=:]\s*)(?:b?'[^']*'|b?\"[^\"]*\"|[^\s&'\",;)}}]+)"),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(r"\bvb[ks]_[A-Za-z0-9_-]{8,}"), REDACTED),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}"), REDACTED),
    (re.compile(r"\bya29\.[\w.-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]+"), REDACTED),
    (re.compile(r"(?i)(/groups?/)(?!\{)[^/\s?'\"]+"), rf"\1{REDACTED}"),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), REDACTED),
)
_MAY_NEED = re.compile(
    r"(?i)[@?]|://|vb[ks]_|group|akia|asia|ya29|eyj|begin|bearer|basic|hmac|rsa|pass|secret|token|signat|credential|key"
    r"|authoriz|cookie|session|sig|x-"
)
"""A cheap first check: most lines match nothing."""


def redact(text: str) -> str:
    """Replace everything that looks like a secret or a person's name."""
    if not _MAY_NEED.search(text):
        return text
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text

"""The requests of the last minute in a small file, for short-lived programs."""

import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from vbdesk.clock import utc_now
from vbdesk.contract.limits import RATE_WINDOW_S, Bucket
from vbdesk.json_lines import read_valid_json_lines
from vbdesk.privacy import make_private, owner_only_opener

MAX_BYTES = 64 * 1024

log = logging.getLogger(__name__)


class RequestFile:
    """A request journal shared by the commands of one account.

    It is read at the start only, so parallel commands do not see each other. An unusable file costs at most a refused
    request.
    """

    def __init__(self, path: Path, time_of_day: Callable[[], float] = lambda: utc_now().timestamp()) -> None:
        """Name the file, which the first request creates; `time_of_day` is in seconds."""
        self._path = path
        self._time_of_day = time_of_day
        self._failed = False

    def append(self, bucket: Bucket, in_s: float) -> None:
        """Record a request that leaves in `in_s` seconds."""
        try:
            make_private(self._path.parent)
            with open(self._path, "a", encoding="ascii", opener=owner_only_opener) as file:
                file.write(_line(bucket, self._time_of_day() + in_s))
            self._failed = False
        except OSError:
            if not self._failed:  # log once, not for each request
                log.warning("Cannot store a request")
            self._failed = True

    def recent(self) -> Iterable[tuple[Bucket, float]]:
        """The requests of the last minute: the bucket, and how many seconds ago each left."""
        now = self._time_of_day()
        try:
            noted = [(bucket, at) for bucket, at in self._read() if now - at < 2 * RATE_WINDOW_S]
            if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
                shorter = self._path.with_suffix(".new")
                with open(shorter, "w", encoding="ascii", opener=owner_only_opener) as file:
                    file.write("".join(_line(bucket, at) for bucket, at in noted))
                shorter.replace(self._path)
        except OSError:
            return []
        return [(bucket, now - at) for bucket, at in noted]

    def _read(self) -> Iterator[tuple[Bucket, float]]:
        for line in read_valid_json_lines(self._path):
            try:
                bucket, at = line
                yield Bucket(bucket), float(at)
            except (ValueError, TypeError):
                continue  # truncated by a crash, or by a concurrent write


def _line(bucket: Bucket, at: float) -> str:
    return f'["{bucket}",{at:.3f}]\n'

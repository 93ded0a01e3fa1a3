"""What has been measured so far, one line a recording, so that work cut short goes on where it was."""

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from vbdesk.json_lines import read_valid_json_lines
from vbdesk.signs.corpus.measurement import Measured, Outcome, Unmeasurable


class Journal:
    """A file of outcomes by the SHA-256 of the recording, for one extractor; a context manager while it is written.

    A line that was cut short by a crash, or that another extractor wrote, counts as not there.
    """

    def __init__(self, path: Path, extractor: str) -> None:
        """Read what is there; nothing is written before `record`."""
        self._path = path
        self._extractor = extractor
        self._outcomes = _read(path, extractor)
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        """Open for writing."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        cut_short = self._path.exists() and self._path.read_bytes()[-1:] not in (b"", b"\n")
        self._file = self._path.open("a", encoding="utf-8")
        if cut_short:
            self._file.write("\n")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; what was recorded stays."""
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        """How many recordings it knows."""
        return len(self._outcomes)

    def find(self, digest: str) -> Outcome | None:
        """What was measured of the recording with this digest."""
        return self._outcomes.get(digest)

    def record(self, digest: str, outcome: Outcome) -> None:
        """Keep an outcome, on disk too."""
        self._outcomes[digest] = outcome
        if self._file is None:
            raise ValueError("the journal is not open")
        line = {"sha256": digest, "extractor": self._extractor, **asdict(outcome)}
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()


def _read(path: Path, extractor: str) -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = {}
    for line in read_valid_json_lines(path):
        try:
            digest, written_by = line.pop("sha256"), line.pop("extractor")
            if written_by == extractor:
                outcomes[digest] = _outcome(line)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return outcomes


def _outcome(line: dict[str, Any]) -> Outcome:
    if "reason" in line:
        return Unmeasurable(**line)
    return Measured(**{**line, "issues": tuple(line["issues"])})

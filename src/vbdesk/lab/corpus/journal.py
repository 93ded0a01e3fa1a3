"""Journal of measurements, one line per recording, so that an interrupted run can resume."""

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from vbdesk.json_lines import read_valid_json_lines
from vbdesk.lab.corpus.measurement import MeasuredFile, MeasurementOutcome, Unmeasurable


class MeasurementJournal:
    """Outcomes by the SHA-256 of the recording, for one extractor; a context manager during writing.

    An incomplete line and a line of another extractor are ignored.
    """

    def __init__(self, path: Path, extractor: str) -> None:
        """Read the existing lines; nothing is written before `record`."""
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
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        """Number of known recordings."""
        return len(self._outcomes)

    def find(self, digest: str) -> MeasurementOutcome | None:
        """The outcome of the recording with this digest; None if unknown."""
        return self._outcomes.get(digest)

    def record(self, digest: str, outcome: MeasurementOutcome) -> None:
        """Store an outcome, also on disk."""
        self._outcomes[digest] = outcome
        if self._file is None:
            raise ValueError("the journal is not open")
        line = {"sha256": digest, "extractor": self._extractor, **asdict(outcome)}
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()


def _read(path: Path, extractor: str) -> dict[str, MeasurementOutcome]:
    outcomes: dict[str, MeasurementOutcome] = {}
    for line in read_valid_json_lines(path):
        try:
            digest, written_by = line.pop("sha256"), line.pop("extractor")
            if written_by == extractor:
                outcomes[digest] = _outcome(line)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return outcomes


def _outcome(line: dict[str, Any]) -> MeasurementOutcome:
    if "reason" in line:
        return Unmeasurable(**line)
    return MeasuredFile(**{**line, "issues": tuple(line["issues"])})

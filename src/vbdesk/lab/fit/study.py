"""The labelled recordings of a fit: speakers, labels and z values."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vbdesk.contract.timestamps import parse_timestamp
from vbdesk.lab.corpus.joined_clips import ACROSS_JOINTS, JoinedClips, is_clip
from vbdesk.lab.corpus.measurement import MeasuredFile, MeasurementOutcome, file_digest
from vbdesk.lab.corpus.recording_table import CorpusRow, TableError, read_table
from vbdesk.lab.fit.rules import StudyRules
from vbdesk.language import message
from vbdesk.signs.norms import Norms
from vbdesk.voice.measurement import Measurement

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LABELS = {"0": 0, "1": 1}
_OTHER_COLUMNS = ("path", "speaker", "label", "recorded_at")
_DAY_S = 86_400.0


class StudyError(Exception):
    """The recordings cannot be fitted; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class RecordingLabel:
    """A recording's line in the table; `recorded_at` is an aware datetime.

    Attributes:
        corpus: where the recording comes from; None if the table does not say.
        clips: number of clips that were joined to it; 1 for a recording of its own.
    """

    speaker: str
    label: int
    session: str | None
    recorded_at: datetime | None
    corpus: str | None = None
    clips: int = 1


@dataclass(frozen=True, slots=True)
class Study:
    """Recordings in a fixed order.

    Attributes:
        features: names of the columns of `z`.
        z: shape (n, k), NaN where a feature could not be measured.
        labels: shape (n,), 0 or 1.
        speakers: shape (n,), numbers from 0.
        sessions: shape (n,), session numbers; None if the table names no session.
        days: shape (n,), days since the first recording, NaN if unknown.
        clarity: shape (n,), audio clarity, NaN if unknown.
        sample_rates: shape (n,), of the files, in Hz.
        speech_s: shape (n,), seconds of speech.
        left_out: features that were measured in too few recordings.
        digest: SHA-256 of everything that the fit depends on.
        corpora: shape (n,), numbers of `corpus_names`; None if the table names no corpus.
        clips: shape (n,), number of joined clips; None if nothing was joined.
    """

    features: tuple[str, ...]
    z: Floats
    labels: Ints
    speakers: Ints
    sessions: Ints | None
    days: Floats
    clarity: Floats
    sample_rates: Floats
    speech_s: Floats
    left_out: tuple[str, ...]
    digest: str
    corpora: Ints | None = None
    corpus_names: tuple[str, ...] = ()
    clips: Ints | None = None

    @property
    def filled(self) -> Floats:
        """`z` with 0, the reference mean, for features that could not be measured."""
        return np.nan_to_num(self.z, nan=0.0)

    @property
    def weights(self) -> Floats:
        """Weight of each recording, mean 1; every speaker has the same total weight."""
        own = 1.0 / np.bincount(self.speakers)[self.speakers]
        return np.asarray(own / own.mean())

    def speakers_with(self, label: int) -> int:
        """Number of speakers who have a recording with this label."""
        return int(np.unique(self.speakers[self.labels == label]).size)


def read_labels(table: Path, corpus_column: str | None = None) -> dict[Path, RecordingLabel]:
    """Read the labels in the CSV file `table`, whose paths are relative to its folder.

    Args:
        table: the file.
        corpus_column: column that names the corpus of each recording.

    Raises:
        TableError: the table or a field is not valid.
    """
    if corpus_column in _OTHER_COLUMNS:
        raise TableError(
            message(
                "The column '{corpus_column}' does not name corpora. Choose another for --corpus-column.",
                corpus_column=corpus_column,
            )
        )
    required = ["speaker", "label"] if corpus_column is None else ["speaker", "label", corpus_column]
    rows = read_table(table, table.parent, required, ["session", "recorded_at"])
    return {row.path: _label(table, row, corpus_column) for row in rows}


def joinable_clips(
    labels: Mapping[Path, RecordingLabel], outcomes: Mapping[Path, MeasurementOutcome]
) -> dict[JoinedClips, RecordingLabel]:
    """Group the recordings that only lack length by speaker, label, session and corpus; single ones are left out."""
    groups: dict[tuple[str, int, str, str], list[Path]] = {}
    for path in sorted(outcomes):
        label = labels[path]
        if is_clip(outcomes[path]):
            key = (label.speaker, label.label, label.session or "", label.corpus or "")
            groups.setdefault(key, []).append(path)
    joined = {}
    for paths in groups.values():
        if len(paths) > 1:
            moments = [moment for path in paths if (moment := labels[path].recorded_at) is not None]
            joined[JoinedClips(tuple(paths))] = replace(
                labels[paths[0]], recorded_at=min(moments, default=None), clips=len(paths)
            )
    return joined


def reject_shared_recordings(labels: Mapping[Path, RecordingLabel]) -> None:
    """Reject a recording with two speakers or labels: it would be both trained on and tested on.

    Raises:
        StudyError: there is such a recording.
    """
    seen: dict[str, Path] = {}
    for path, label in labels.items():
        try:
            digest = file_digest(path)
        except OSError:
            continue
        other = seen.setdefault(digest, path)
        if (labels[other].speaker, labels[other].label) != (label.speaker, label.label):
            raise StudyError(
                message(
                    "{first} and {second} are the same recording under another speaker or label.",
                    first=other.name,
                    second=path.name,
                )
            )


def make_study(
    labels: Mapping[Path, RecordingLabel],
    measured: Mapping[Path, MeasuredFile],
    norms: Norms,
    rules: StudyRules,
    fewest: int,
) -> Study:
    """Combine labels and measurements; `fewest` is the required number of speakers with each label.

    Raises:
        StudyError: there are too few speakers with a label, or no feature to fit.
    """
    paths = sorted(path for path in labels if path in measured)
    _require_speakers([labels[path] for path in paths], fewest)
    z = [_standardised(measured[path], norms) for path in paths]
    chosen = [labels[path] for path in paths]
    joined = any(label.clips > 1 for label in chosen)
    names = [name for name in norms.features if name not in rules.left_out and not (joined and name in ACROSS_JOINTS)]
    missing = {name: float(np.mean([name not in row for row in z])) for name in names}
    features = tuple(name for name in names if missing[name] <= rules.largest_missing_share)
    if not features:
        raise StudyError(message("No feature could be measured in enough recordings. See which issues they have."))
    sessions = [f"{label.speaker}\n{label.session}" for label in chosen]
    table = np.array([[row.get(name, np.nan) for name in features] for row in z], dtype=np.float64)
    label_column = np.array([label.label for label in chosen], dtype=np.int64)
    speakers = _numbered([label.speaker for label in chosen])
    corpora = sorted({label.corpus for label in chosen if label.corpus is not None})
    return Study(
        features=features,
        z=table,
        labels=label_column,
        speakers=speakers,
        sessions=_numbered(sessions) if any(label.session for label in chosen) else None,
        days=_days([label.recorded_at for label in chosen]),
        clarity=np.array([_or_nan(measured[path].audio_clarity) for path in paths]),
        sample_rates=np.array([measured[path].sample_rate for path in paths], dtype=np.float64),
        speech_s=np.array([measured[path].speech_s for path in paths]),
        left_out=tuple(name for name in names if name not in features),
        digest=hashlib.sha256(
            "\n".join([*features, *corpora]).encode() + table.tobytes() + label_column.tobytes() + speakers.tobytes()
        ).hexdigest(),
        corpora=np.array([corpora.index(label.corpus or "") for label in chosen]) if corpora else None,
        corpus_names=tuple(corpora),
        clips=np.array([label.clips for label in chosen]) if joined else None,
    )


def _label(table: Path, row: CorpusRow, corpus_column: str | None) -> RecordingLabel:
    text = row.fields["label"]
    if text not in _LABELS:
        raise TableError(
            message(
                "{file}, line {line}: label is '{text}'. Write 1 with the sign and 0 without; cut a scale of"
                " several grades in two first.",
                file=table.name,
                line=row.line,
                text=text,
            )
        )
    recorded_at = None
    if "recorded_at" in row.fields:
        try:
            recorded_at = parse_timestamp(row.fields["recorded_at"])
        except ValueError as error:
            raise TableError(
                message(
                    "{file}, line {line}: recorded_at is not a time. {error}",
                    file=table.name,
                    line=row.line,
                    error=error,
                )
            ) from None
    return RecordingLabel(
        row.fields["speaker"],
        _LABELS[text],
        row.fields.get("session"),
        recorded_at,
        None if corpus_column is None else row.fields[corpus_column],
    )


def _require_speakers(labels: Sequence[RecordingLabel], fewest: int) -> None:
    found = Counter(label for _, label in {(label.speaker, label.label) for label in labels})
    for label in (0, 1):
        if found[label]:
            continue
        if not found[1 - label]:
            raise StudyError(message("The recordings that could be measured have no label. Both 0 and 1 are needed."))
        raise StudyError(
            message(
                "The recordings that could be measured have the label {label} only. Both 0 and 1 are needed.",
                label=1 - label,
            )
        )
    for label in (0, 1):
        if found[label] < fewest:
            raise StudyError(
                message(
                    "Speakers with label {label}: {found}; at least {fewest} with each label are needed, or"
                    " cross-validation says nothing.",
                    label=label,
                    found=found[label],
                    fewest=fewest,
                )
            )


def _standardised(measured: MeasuredFile, norms: Norms) -> Mapping[str, float]:
    features = {name: Measurement(value) for name, value in measured.features.items()}
    return norms.standardise(features, norms.locate(features))


def _numbered(names: Sequence[str]) -> Ints:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


def _days(moments: Sequence[datetime | None]) -> Floats:
    known = [moment for moment in moments if moment is not None]
    first = min(known, default=None)
    return np.array(
        [np.nan if moment is None or first is None else (moment - first).total_seconds() / _DAY_S for moment in moments]
    )


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value

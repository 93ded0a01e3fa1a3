"""The reference group: the speaker of each recording, and one value per speaker."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from vbdesk.lab.corpus.measurement import MeasuredFile
from vbdesk.lab.corpus.recording_table import CorpusRow, TableError, read_table
from vbdesk.language import message

Sex = Literal["female", "male"]

_SEXES: Mapping[str, Sex] = {"f": "female", "female": "female", "m": "male", "male": "male"}
YOUNGEST, OLDEST = 18.0, 120.0


@dataclass(frozen=True, slots=True)
class RecordingSpeaker:
    """The speaker of a recording; `age` in years, None if unknown."""

    speaker: str
    sex: Sex
    age: float | None


@dataclass(frozen=True, slots=True)
class ReferenceSpeaker:
    """A speaker of the group.

    Attributes:
        features: mean of each feature over the speaker's recordings.
    """

    name: str
    sex: Sex
    age: float | None
    features: Mapping[str, float]


def read_recording_speakers(table: Path, folder: Path) -> dict[Path, RecordingSpeaker]:
    """Read the speaker of each recording under `folder`.

    Raises:
        TableError: the table or a field is not valid, or a speaker has two sexes.
    """
    rows = read_table(table, folder, ["speaker", "sex"], ["age"])
    readers = {row.path: _reader(table, row) for row in rows}
    sexes: dict[str, tuple[Sex, int]] = {}
    for row in rows:
        reader = readers[row.path]
        sex, line = sexes.setdefault(reader.speaker, (reader.sex, row.line))
        if sex != reader.sex:
            raise TableError(
                message(
                    "{file}, line {line}: the sex of speaker {speaker} is another one than in line {earlier}.",
                    file=table.name,
                    line=row.line,
                    speaker=reader.speaker,
                    earlier=line,
                )
            )
    return readers


def group_by_speaker(
    readers: Mapping[Path, RecordingSpeaker], measured: Mapping[Path, MeasuredFile]
) -> list[ReferenceSpeaker]:
    """Group the measured recordings by speaker, in the order of names."""
    recordings: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(measured):
        recordings[readers[path].speaker].append(path)
    group = []
    for name in sorted(recordings):
        paths = recordings[name]
        ages = [age for path in paths if (age := readers[path].age) is not None]
        group.append(
            ReferenceSpeaker(
                name=name,
                sex=readers[paths[0]].sex,
                age=float(np.mean(ages)) if ages else None,
                features=_means([measured[path].features for path in paths]),
            )
        )
    return group


def _reader(table: Path, row: CorpusRow) -> RecordingSpeaker:
    sex = _SEXES.get(row.fields["sex"].lower())
    if sex is None:
        raise TableError(
            message(
                "{file}, line {line}: sex is '{sex}'. Write female or male.",
                file=table.name,
                line=row.line,
                sex=row.fields["sex"],
            )
        )
    age: float | None = None
    if "age" in row.fields:
        try:
            age = float(row.fields["age"])
        except ValueError:
            raise TableError(
                message(
                    "{file}, line {line}: age is '{age}'. Write years.",
                    file=table.name,
                    line=row.line,
                    age=row.fields["age"],
                )
            ) from None
        if not YOUNGEST <= age <= OLDEST:
            raise TableError(
                message(
                    "{file}, line {line}: age is {age:g}. The norms are of adults, from 18 years.",
                    file=table.name,
                    line=row.line,
                    age=age,
                )
            )
    return RecordingSpeaker(row.fields["speaker"], sex, age)


def _means(recordings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = sorted({name for features in recordings for name in features})
    return {name: float(np.mean([features[name] for features in recordings if name in features])) for name in names}

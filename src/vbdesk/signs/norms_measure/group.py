"""The reference group: who speaks in which recording, and one value a speaker."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from vbdesk.signs.corpus.measurement import Measured
from vbdesk.signs.corpus.table import Row, TableError, read_table

Sex = Literal["female", "male"]

_SEXES: Mapping[str, Sex] = {"f": "female", "female": "female", "m": "male", "male": "male"}
YOUNGEST, OLDEST = 18.0, 120.0


@dataclass(frozen=True, slots=True)
class Reader:
    """Who speaks in a recording; `age` in years, None where it is not told."""

    speaker: str
    sex: Sex
    age: float | None


@dataclass(frozen=True, slots=True)
class Speaker:
    """One of the group.

    Attributes:
        features: mean over the speaker's recordings of each feature that any of them gives.
    """

    name: str
    sex: Sex
    age: float | None
    features: Mapping[str, float]


def read_readers(table: Path, folder: Path) -> dict[Path, Reader]:
    """Who speaks in which recording under `folder`.

    Raises:
        TableError: it is no table of recordings, a field cannot be read, or a speaker changes sex.
    """
    rows = read_table(table, folder, ["speaker", "sex"], ["age"])
    readers = {row.path: _reader(table, row) for row in rows}
    sexes: dict[str, tuple[Sex, int]] = {}
    for row in rows:
        reader = readers[row.path]
        sex, line = sexes.setdefault(reader.speaker, (reader.sex, row.line))
        if sex != reader.sex:
            raise TableError(f"{table.name}, line {row.line}: speaker {reader.speaker} is {sex} in line {line}.")
    return readers


def speakers_of(readers: Mapping[Path, Reader], measured: Mapping[Path, Measured]) -> list[Speaker]:
    """The group, in the order of their names, from the recordings that could be measured."""
    recordings: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(measured):
        recordings[readers[path].speaker].append(path)
    group = []
    for name in sorted(recordings):
        paths = recordings[name]
        ages = [age for path in paths if (age := readers[path].age) is not None]
        group.append(
            Speaker(
                name=name,
                sex=readers[paths[0]].sex,
                age=float(np.mean(ages)) if ages else None,
                features=_means([measured[path].features for path in paths]),
            )
        )
    return group


def _reader(table: Path, row: Row) -> Reader:
    sex = _SEXES.get(row.fields["sex"].lower())
    if sex is None:
        raise TableError(f"{table.name}, line {row.line}: sex is {row.fields['sex']!r}. Write female or male.")
    age: float | None = None
    if "age" in row.fields:
        try:
            age = float(row.fields["age"])
        except ValueError:
            raise TableError(f"{table.name}, line {row.line}: age is {row.fields['age']!r}. Write years.") from None
        if not YOUNGEST <= age <= OLDEST:
            raise TableError(f"{table.name}, line {row.line}: age is {age:g}. The norms are of adults, from 18 years.")
    return Reader(row.fields["speaker"], sex, age)


def _means(recordings: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = sorted({name for features in recordings for name in features})
    return {name: float(np.mean([features[name] for features in recordings if name in features])) for name in names}

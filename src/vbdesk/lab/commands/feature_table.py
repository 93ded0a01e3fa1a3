"""The acoustic features of many recordings as one table: a row for each recording, also where it has no values."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.contract.audio_formats import AUDIO_SUFFIXES
from vbdesk.report.data_dictionary import DictionaryColumn, TableDefinition, ucum_code
from vbdesk.report.tidy_csv import csv_cell, dictionary_csv

if TYPE_CHECKING:
    from vbdesk.lab.corpus.measurement import MeasurementOutcome
    from vbdesk.report.tables import Value
    from vbdesk.signs.reference_data import ReferenceData

MEASURED, TOO_LITTLE, FAILED = "measured", "too_little_speech", "failed"
_ABOUT = (
    DictionaryColumn(name="path", type="text", about="The file, as it was named or found."),
    DictionaryColumn(
        name="status",
        type="code",
        values=(MEASURED, TOO_LITTLE, FAILED),
        about="Whether there are values; with too little speech they do not count for any sign.",
    ),
    DictionaryColumn(name="reason", type="text", about="Why it has no values, or too little speech; empty otherwise."),
    DictionaryColumn(name="duration_seconds", type="number", unit="s", about="Length of the recording."),
    DictionaryColumn(name="speech_seconds", type="number", unit="s", about="Speech in it."),
    DictionaryColumn(name="sample_rate", type="integer", unit="Hz", about="Sampling rate of the file."),
    DictionaryColumn(name="voice_percentage", type="number", unit="%", about="Share with speech, 0 to 100."),
    DictionaryColumn(
        name="audio_clarity", type="number", unit="{score}", about="Freedom from background noise, 0 to 100."
    ),
    DictionaryColumn(name="issues", type="text", about="Codes of quality issues, separated by semicolons."),
    DictionaryColumn(name="extractor", type="text", about="Fingerprint of the code that measured; do not mix several."),
)


def recordings_in(paths: Sequence[Path]) -> list[Path]:
    """The files among `paths`, and every recording in the folders among them, without hidden ones; each once."""
    found: dict[Path, Path] = {}
    for path in paths:
        for each in _in_folder(path) if path.is_dir() else [path]:
            found.setdefault(each.resolve(), each)
    return list(found.values())


def feature_rows(outcomes: "Mapping[Path, MeasurementOutcome]", paths: Sequence[Path]) -> "Iterator[dict[str, Value]]":
    """A row for each of `paths`."""
    from vbdesk.lab.corpus.measurement import MeasuredFile, extractor_fingerprint, too_little_speech

    for path in paths:
        outcome = outcomes[path]
        if not isinstance(outcome, MeasuredFile):
            yield {"path": str(path), "status": FAILED, "reason": outcome.reason, "extractor": extractor_fingerprint()}
            continue
        reason = too_little_speech(outcome)
        yield {
            "path": str(path),
            "status": MEASURED if reason is None else TOO_LITTLE,
            "reason": reason,
            "duration_seconds": outcome.duration_s,
            "speech_seconds": outcome.speech_s,
            "sample_rate": outcome.sample_rate,
            "voice_percentage": outcome.voice_percentage,
            "audio_clarity": outcome.audio_clarity,
            "issues": ";".join(outcome.issues) or None,
            "extractor": extractor_fingerprint(),
            **outcome.features,
        }


def feature_csv(rows: "Sequence[Mapping[str, Value]]", reference: "ReferenceData") -> bytes:
    """The table as CSV."""
    names = [column.name for column in feature_definition(reference).columns]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([csv_cell(row.get(name)) for name in names] for row in rows)
    return text.getvalue().encode("utf-8")


def feature_dictionary(reference: "ReferenceData") -> bytes:
    """Its data dictionary as CSV."""
    return dictionary_csv({"features": feature_definition(reference)}, scores=True)


def feature_definition(reference: "ReferenceData") -> TableDefinition:
    """Its columns."""
    features = tuple(
        DictionaryColumn(name=name, type="number", unit=ucum_code(norm.unit), about=f"{norm.label}.")
        for name, norm in reference.norms.features.items()
    )
    return TableDefinition(title="One row per recording.", keys=("path",), columns=(*_ABOUT, *features))


def _in_folder(folder: Path) -> list[Path]:
    found = (path for path in folder.rglob("*") if path.suffix.lower() in AUDIO_SUFFIXES and path.is_file())
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))

"""Files of the BIDS folder: participants, sessions, and tables of the readings.

The readings are derivatives: BIDS has one row for each participant in `phenotype`, and they have one for each session.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from vbdesk import __version__
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.report.data_dictionary import DictionaryColumn, table_definitions
from vbdesk.report.file_names import bids_labels, file_stems
from vbdesk.report.recording_details import RecordingDetails
from vbdesk.report.safe_text import safe_text
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord
from vbdesk.report.tables import Row, Value, table_rows
from vbdesk.resource_files import resource

MISSING = "n/a"


@dataclass(frozen=True, slots=True)
class DescribedColumn:
    """A column with its description."""

    name: str
    about: str
    unit: str = ""
    values: Sequence[str] = ()

    @classmethod
    def of(cls, column: DictionaryColumn) -> "DescribedColumn":
        """A column of the data dictionary."""
        return cls(column.name, column.about, column.unit, column.values)

    @classmethod
    def named(cls, name: str) -> "DescribedColumn":
        """A column described in bids.toml."""
        return cls(name, bids_texts().column[name])


def tsv(columns: Sequence[DescribedColumn], rows: Iterable[Row]) -> bytes:
    """Header and rows; every row has every column."""
    lines = ["\t".join(column.name for column in columns)]
    lines += ["\t".join(_cell(row.get(column.name)) for column in columns) for row in rows]
    return ("\n".join(lines) + "\n").encode("utf-8")


def column_descriptions(columns: Sequence[DescribedColumn], about: str = "") -> bytes:
    """JSON file of a table's columns; `about` describes the table."""
    document: dict[str, Any] = {"MeasurementToolMetadata": {"Description": about}} if about else {}
    for column in columns:
        entry: dict[str, Any] = {"Description": column.about}
        if column.unit:
            entry["Units"] = column.unit
        if column.values:
            entry["Levels"] = {value: value for value in column.values}
        document[column.name] = entry
    return as_json(document)


def as_json(document: Mapping[str, Any]) -> bytes:
    """Indented JSON."""
    return safe_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _cell(value: Value) -> str:
    match value:
        case None | "":
            return MISSING
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case datetime():
            return format_timestamp(value)
    return " ".join(safe_text(value).split()) or MISSING


_OMITTED_COLUMNS = {
    "group_id",
    "job_id",
    "recorded_at",
    "sign",
    "label",
    "language",
    "service",
    "account_id",
    "narrative",
    "note",
}
"""Columns of the tidy tables that BIDS has in file names, sidecars or `sourcedata`; notes may name people."""
_DERIVATIVES = "derivatives/vbdesk"
_TABLE_NAMES = ("sign_*", "recording_quality", "vocal_features", "extended_metrics", "trajectory")
"""Our tables, for which BIDS has no rule."""


@dataclass(frozen=True, slots=True)
class AudioFile:
    """Audio of a recording: file name extension with the dot, and bytes or path."""

    suffix: str
    content: bytes | Path


@dataclass(frozen=True, slots=True)
class _Session:
    """A recording with its BIDS labels."""

    record: SubjectRecord
    recording: RecordingRecord
    participant: str
    session: str

    @property
    def key(self) -> Row:
        return {"participant_id": self.participant, "session_id": self.session}


def bids_files(
    records: Sequence[SubjectRecord], audio: Mapping[str, AudioFile] | None = None, *, scores: bool = True
) -> Mapping[str, bytes | Path]:
    """Files by path with `/`; the same records give the same bytes.

    Args:
        records: the subjects.
        audio: audio files by job id, to copy; a recording without one is still described.
        scores: include raw scores and extended metrics.
    """
    labels = bids_labels([record.group_id for record in records])
    sessions = [session for record in records for session in _sessions(record, f"sub-{labels[record.group_id]}")]
    return {
        **_top_level_files(records),
        **_participants(records, labels),
        **dict(_session_files(sessions, audio or {})),
        **dict(_readings(sessions, scores)),
        **_derivatives(records, labels, scores),
        **_sourcedata(records, labels, sessions),
    }


def _sessions(record: SubjectRecord, participant: str) -> Iterator[_Session]:
    """Name sessions by capture time: a new recording renames no other session."""
    taken: set[str] = set()
    for recording in record.recordings:
        name = f"ses-{recording.recorded_at:%Y%m%dT%H%M%S}"
        for letter in ("", *(f"n{number}" for number in range(2, len(record.recordings) + 2))):
            if name + letter not in taken:
                taken.add(name + letter)
                yield _Session(record, recording, participant, name + letter)
                break


def _top_level_files(records: Sequence[SubjectRecord]) -> dict[str, bytes]:
    texts = bids_texts()
    subjects = "1 subject" if len(records) == 1 else f"{len(records)} subjects"
    readme = texts.readme.format(subjects=subjects, vbdesk=__version__, bids=texts.version)
    return {
        "README": readme.lstrip().encode(),
        ".bidsignore": b"sub-*/ses-*/voice\n",
        "dataset_description.json": as_json(_description("raw")),
    }


def _description(kind: str) -> dict[str, Any]:
    return {
        "Name": bids_texts().name,
        "BIDSVersion": bids_texts().version,
        "DatasetType": kind,
        "GeneratedBy": [{"Name": "vbdesk", "Version": __version__}],
    }


def _participants(records: Sequence[SubjectRecord], labels: Mapping[str, str]) -> dict[str, bytes]:
    names = ("participant_id", "recordings", "first_recorded_at", "last_recorded_at")
    columns = [DescribedColumn.named(name) for name in names]
    rows: list[Row] = [
        {
            "participant_id": f"sub-{labels[record.group_id]}",
            "recordings": len(record.recordings),
            "first_recorded_at": record.recordings[0].measured_at if record.recordings else None,
            "last_recorded_at": record.recordings[-1].measured_at if record.recordings else None,
        }
        for record in records
    ]
    return {"participants.tsv": tsv(columns, rows), "participants.json": column_descriptions(columns)}


def _session_files(sessions: Sequence[_Session], audio: Mapping[str, AudioFile]) -> Iterator[tuple[str, bytes | Path]]:
    columns = [DescribedColumn.named(name) for name in ("session_id", "acq_time", "status")]
    for participant in dict.fromkeys(session.participant for session in sessions):
        own = [session for session in sessions if session.participant == participant]
        rows: list[Row] = [
            {
                "session_id": session.session,
                "acq_time": session.recording.measured_at,
                "status": session.recording.job.status.value,
            }
            for session in own
        ]
        yield f"{participant}/{participant}_sessions.tsv", tsv(columns, rows)
        yield f"{participant}/{participant}_sessions.json", column_descriptions(columns)
        for session in own:
            stem = f"{participant}/{session.session}/voice/{participant}_{session.session}_voice"
            yield f"{stem}.json", as_json(_sidecar(session))
            if sound := audio.get(session.recording.job.job_id):
                yield f"{stem}{sound.suffix}", sound.content


def _sidecar(session: _Session) -> dict[str, Any]:
    job, recording = session.recording.job, session.recording
    details = recording.details
    kind, target = recording.target
    speakers = job.result.speakers if job.result else None
    return {
        "RecordedAt": format_timestamp(recording.measured_at),
        "DurationSeconds": job.audio_duration_seconds,
        "SamplingFrequency": job.audio_sample_rate,
        "ContentType": job.audio_content_type,
        "Analysis": {
            "Status": job.status.value,
            "TargetType": kind.value,
            "Target": target,
            "Longitudinal": recording.longitudinal,
            "SignVersions": sorted({signal.sign_version for signal in recording.signals if signal.sign_version}),
        },
        "Speakers": [
            {"Speaker": speaker.speaker, "SpeechSeconds": speaker.speech_seconds, "Segments": speaker.segments}
            for speaker in speakers or []
        ],
        **({"Consent": recording.consent} if recording.consent else {}),
        **({} if details is None else _recorded(details)),
    }


def _recorded(details: RecordingDetails) -> dict[str, Any]:
    """What the computer that recorded knows; without the note, which may name people."""
    return {
        "Protocol": details.protocol or MISSING,
        "ProtocolVersion": details.protocol_version,
        "ProtocolLanguage": details.protocol_language or MISSING,
        "SpokenLanguage": details.spoken_language or MISSING,
        "SecondLanguage": MISSING if details.second_language is None else details.second_language,
        "Microphone": details.microphone or MISSING,
        "MicrophoneSamplingFrequency": details.microphone_sample_rate,
        "Imported": details.imported,
        "Tags": list(details.tags),
        "MarkersSeconds": list(details.markers_s),
        "SoftwareVersions": details.recorder_version or MISSING,
    }


def _readings(sessions: Sequence[_Session], scores: bool) -> Iterator[tuple[str, bytes]]:
    texts, key = bids_texts().table, [DescribedColumn.named("participant_id"), DescribedColumn.named("session_id")]
    tidy = {name: list(_rows(name, sessions)) for name in ("recordings", "signs", "measures")}
    signs = list(dict.fromkeys(str(row["sign"]) for row in tidy["signs"]))
    names = file_stems([sign.replace("-", "_") for sign in signs])
    for sign in signs:
        rows = [row for row in tidy["signs"] if row["sign"] == sign]
        about = texts.sign.format(label=rows[0]["label"])
        yield from _table(f"sign_{names[sign.replace('-', '_')]}", [*key, *_columns("signs", scores)], rows, about)
    yield from _table(
        "recording_quality", [*key, *_columns("recordings", scores)], tidy["recordings"], texts.recording_quality
    )
    for kind, name, about, second in (
        ("vocal_feature", "vocal_features", texts.vocal_features, ("interpretation", "band")),
        ("extended_metric", "extended_metrics", texts.extended_metrics, ("spread", "spread")),
    ):
        columns, rows = _wide([row for row in tidy["measures"] if row["kind"] == kind], *second)
        if rows and (scores or kind != "extended_metric"):
            yield from _table(name, [*key, *columns], rows, about)


def _rows(table: str, sessions: Sequence[_Session]) -> Iterator[Row]:
    """Rows of a tidy table, with the BIDS labels of their recordings."""
    keys = {(session.record.group_id, session.recording.job.job_id): session.key for session in sessions}
    records = {session.record.group_id: session.record for session in sessions}
    for row in table_rows(table, records.values()):
        yield keys[str(row["group_id"]), str(row["job_id"])] | row


def _columns(table: str, scores: bool) -> list[DescribedColumn]:
    columns = table_definitions()[table].columns_for(scores=scores)
    return [DescribedColumn.of(column) for column in columns if column.name not in _OMITTED_COLUMNS]


def _wide(rows: Sequence[Row], field: str, ending: str) -> tuple[list[DescribedColumn], list[Row]]:
    """One row per session: value and `field` of every measure."""
    columns: dict[str, DescribedColumn] = {}
    wide: dict[tuple[str, str], Row] = {}
    for row in rows:
        measure = str(row["measure"]).replace("-", "_")
        second = f"{measure}_{ending}"
        columns.setdefault(measure, DescribedColumn(measure, f"{row['label']}.", str(row["unit"])))
        columns.setdefault(second, DescribedColumn(second, f"{row['label']}: {bids_texts().column[ending]}"))
        key: Row = {"participant_id": row["participant_id"], "session_id": row["session_id"]}
        own = wide.setdefault((str(row["participant_id"]), str(row["session_id"])), key)
        own |= {measure: row["value"], second: row[field]}
    return list(columns.values()), list(wide.values())


def _table(
    name: str, columns: Sequence[DescribedColumn], rows: Sequence[Row], about: str
) -> Iterator[tuple[str, bytes]]:
    yield f"{_DERIVATIVES}/{name}.tsv", tsv(columns, rows)
    yield f"{_DERIVATIVES}/{name}.json", column_descriptions(columns, about)


def _derivatives(records: Sequence[SubjectRecord], labels: Mapping[str, str], scores: bool) -> dict[str, bytes]:
    definition, texts = table_definitions()["trajectory"], bids_texts()
    own = [DescribedColumn.of(column) for column in definition.columns_for(scores=scores) if column.name != "group_id"]
    columns = [DescribedColumn.named("participant_id"), *own]
    rows: list[Row] = [
        {"participant_id": f"sub-{labels[str(row['group_id'])]}", **row} for row in table_rows("trajectory", records)
    ]
    return {
        f"{_DERIVATIVES}/dataset_description.json": as_json(_description("derivative")),
        f"{_DERIVATIVES}/README": texts.derivatives.lstrip().encode(),
        f"{_DERIVATIVES}/.bidsignore": b"".join(b"%s.*\n" % name.encode() for name in _TABLE_NAMES),
        f"{_DERIVATIVES}/trajectory.tsv": tsv(columns, rows),
        f"{_DERIVATIVES}/trajectory.json": column_descriptions(columns),
    }


def _sourcedata(
    records: Sequence[SubjectRecord], labels: Mapping[str, str], sessions: Sequence[_Session]
) -> dict[str, bytes]:
    groups: list[Row] = [
        {
            "participant_id": f"sub-{labels[record.group_id]}",
            "group_id": record.group_id,
            "service": record.source.service,
            "account_id": record.source.account_id,
        }
        for record in records
    ]
    jobs: list[Row] = [session.key | {"job_id": session.recording.job.job_id} for session in sessions]
    names = ("participant_id", "group_id", "service", "account_id")
    return {
        "sourcedata/group_ids.tsv": tsv([DescribedColumn(name, "") for name in names], groups),
        "sourcedata/job_ids.tsv": tsv(
            [DescribedColumn(name, "") for name in ("participant_id", "session_id", "job_id")], jobs
        ),
    }


class TableTexts(StrictDataModel):
    """Descriptions of the tables of readings."""

    sign: str
    recording_quality: str
    vocal_features: str
    extended_metrics: str


class BidsTexts(StrictDataModel):
    """All texts of bids.toml; `version` is the BIDS version."""

    version: str
    name: str
    readme: str
    derivatives: str
    table: TableTexts
    column: Mapping[str, str]


@cache
def bids_texts() -> BidsTexts:
    """The texts of bids.toml, validated."""
    return BidsTexts.model_validate(read_toml(resource("report", "bids.toml")))

"""Export formats, and writing their files without overwriting others."""

import json
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from vbdesk.contract.timestamps import format_timestamp
from vbdesk.language import message, plural_message
from vbdesk.privacy import make_export_folder, owner_only_opener, set_export_mode
from vbdesk.report.bids import AudioFile, bids_files
from vbdesk.report.data_dictionary import table_definitions
from vbdesk.report.data_package import PACKAGE_FILE, data_package
from vbdesk.report.documents.compiler import compile_picture
from vbdesk.report.documents.report_input import ReportOptions, ReportScope
from vbdesk.report.documents.reports import pdf_of_subjects, pdf_report
from vbdesk.report.drawing.shapes import Drawing
from vbdesk.report.drawing.svg import to_svg
from vbdesk.report.fhir import fhir_bundle
from vbdesk.report.file_names import file_stems
from vbdesk.report.parquet import parquet_files
from vbdesk.report.safe_text import safe_text
from vbdesk.report.subject_record import SubjectRecord
from vbdesk.report.tidy_csv import DICTIONARY_FILE, csv_files
from vbdesk.report.trajectory_chart import trajectory_drawing

Files = Mapping[str, bytes | Path]
"""Content, or the file to copy, by path with `/`."""


class ExportFormat(StrEnum):
    """Format of an export."""

    CSV = "csv"
    PARQUET = "parquet"
    FHIR = "fhir"
    PDF = "pdf"
    BIDS = "bids"
    JSON = "json"
    SVG = "svg"
    PNG = "png"

    @property
    def one_folder(self) -> bool:
        """Whether all subjects share a folder; otherwise each subject has one file."""
        return self in (ExportFormat.CSV, ExportFormat.PARQUET, ExportFormat.BIDS)


EXTENSIONS = {ExportFormat.FHIR: ".fhir.json"}
"""File name extensions that differ from the format's name."""
TOGETHER_FILE = "subjects.pdf"
"""Several subjects in one document."""
CHART_WIDTH_POINTS = 540.0
PICTURE_PPI = 200.0


class WouldOverwrite(Exception):
    """Files already exist; `str(error)` is a sentence for the user."""


def export_files(
    kind: ExportFormat,
    records: Sequence[SubjectRecord],
    options: ReportOptions,
    audio: Mapping[str, AudioFile] | None = None,
) -> Files:
    """The files of an export.

    Args:
        kind: the format.
        records: the subjects.
        options: print options, sign-off, and whether to export raw scores; JSON always has them.
        audio: audio files by job id, for BIDS.

    Raises:
        ValueError: a subject cannot be printed or drawn; the message says why.
    """
    if kind is ExportFormat.CSV:
        package = data_package(table_definitions(), scores=options.scores)
        return {**csv_files(records, scores=options.scores), PACKAGE_FILE: package}
    if kind is ExportFormat.PARQUET:
        return parquet_files(records, scores=options.scores)
    if kind is ExportFormat.BIDS:
        return bids_files(records, audio, scores=options.scores)
    if kind is ExportFormat.PDF and options.scope is ReportScope.TOGETHER:
        return {TOGETHER_FILE: pdf_of_subjects(records, options)}
    names = _names(kind, [record.group_id for record in records])
    return {names[record.group_id]: _export_one(kind, record, options) for record in records}


def expected_files(
    kind: ExportFormat, group_ids: Sequence[str], scope: ReportScope = ReportScope.RECORDING
) -> list[str]:
    """Files that an export creates in any case, to check before a long read."""
    if kind is ExportFormat.CSV:
        return [*(f"{table}.csv" for table in table_definitions()), DICTIONARY_FILE, PACKAGE_FILE]
    if kind is ExportFormat.PARQUET:
        return [*(f"{table}.parquet" for table in table_definitions()), DICTIONARY_FILE]
    if kind is ExportFormat.BIDS:
        return ["dataset_description.json", "participants.tsv"]
    if kind is ExportFormat.PDF and scope is ReportScope.TOGETHER:
        return [TOGETHER_FILE]
    return list(_names(kind, group_ids).values())


def refuse_overwriting(folder: Path, names: Iterable[str]) -> None:
    """Raise WouldOverwrite if one of these files is in `folder` already."""
    there = [path for path in (folder.joinpath(*name.split("/")) for name in names) if path.exists()]
    if there:
        if len(there) == 1:
            raise WouldOverwrite(
                message("{file} would be overwritten. Choose another place, or allow it.", file=there[0])
            )
        raise WouldOverwrite(
            plural_message(
                "{file} and {count} more would be overwritten. Choose another place, or allow it.",
                "{file} and {count} more would be overwritten. Choose another place, or allow it.",
                len(there) - 1,
                file=there[0],
            )
        )


def write_files(folder: Path, files: Files, *, overwrite: bool = False) -> None:
    """Write files into `folder`, each atomically; none if one of them exists.

    Raises:
        WouldOverwrite: a file exists and `overwrite` is false. It stays; nothing was written, unless it appeared only
            after others were.
        OSError: writing failed.
    """
    if not overwrite:
        refuse_overwriting(folder, files)
    for name, content in files.items():
        path = folder.joinpath(*name.split("/"))
        make_export_folder(path.parent)
        unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.unfinished")  # two exports may run
        try:
            with open(unfinished, "wb", opener=owner_only_opener) as file:
                if isinstance(content, Path):
                    with content.open("rb") as source:
                        shutil.copyfileobj(source, file)
                else:
                    file.write(content)
            set_export_mode(unfinished)
            if overwrite:
                unfinished.replace(path)
            else:
                _place(unfinished, path)
        except OSError as error:
            if error.filename is not None and Path(error.filename) == unfinished:
                error.filename = str(path)  # the file that was asked for
            raise
        finally:
            unfinished.unlink(missing_ok=True)


def _place(unfinished: Path, path: Path) -> None:
    """Give a file its name, unless another file got it meanwhile. Raises WouldOverwrite, OSError."""
    try:
        with open(path, "xb", opener=owner_only_opener):  # unlike a hard link, every file system of a stick has this
            pass
    except FileExistsError:
        refuse_overwriting(path.parent, [path.name])
        raise
    try:
        unfinished.replace(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _names(kind: ExportFormat, group_ids: Sequence[str]) -> Mapping[str, str]:
    ending = EXTENSIONS.get(kind, f".{kind}")
    return {group_id: f"{stem}{ending}" for group_id, stem in file_stems(group_ids).items()}


def _export_one(kind: ExportFormat, record: SubjectRecord, options: ReportOptions) -> bytes:
    match kind:
        case ExportFormat.FHIR:
            return fhir_bundle(record, scores=options.scores, sign_off=options.sign_off)
        case ExportFormat.PDF:
            return pdf_report(record, options)
        case ExportFormat.SVG:
            return to_svg(_chart_drawing(record, options))
        case ExportFormat.PNG:
            drawing = _chart_drawing(record, options)
            return compile_picture(to_svg(drawing).decode(), drawing.title, PICTURE_PPI)
    return subject_json(record)


def _chart_drawing(record: SubjectRecord, options: ReportOptions) -> Drawing:
    read = record.trajectory
    if read is None or not read.data_points:
        raise ValueError(
            message(
                "Subject {subject} has no recording with a result yet, so there is nothing to draw.",
                subject=record.group_id,
            )
        )
    with options.reading():
        return trajectory_drawing(read, read.signs, CHART_WIDTH_POINTS, options.zone, options.look)


def subject_json(record: SubjectRecord) -> bytes:
    """The service's responses, unchanged, in one document."""
    document = {
        "group_id": record.group_id,
        "service": record.source.service,
        "account_id": record.source.account_id,
        "language": record.language,
        "recordings": [
            {"recorded_at": format_timestamp(recording.recorded_at), "job": recording.job.model_dump(mode="json")}
            for recording in record.recordings
        ],
        "trajectory": None if record.trajectory is None else record.trajectory.model_dump(mode="json"),
    }
    return safe_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8")

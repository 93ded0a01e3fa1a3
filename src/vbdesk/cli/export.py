"""`vbdesk export`: a subject as CSV, Parquet, FHIR, PDF, BIDS or JSON, its charts as SVG or PNG."""

import re
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.connection import LATER, REFUSED, USAGE, DataDir, ProfileName, names_account, open_client
from vbdesk.cli.export_library import as_library_knows, letterhead_of, note_export, refuse_beside_desk
from vbdesk.cli.export_post import post_subjects
from vbdesk.cli.output import fail, say
from vbdesk.cli.report import LOOK_HELP, LOOKS, PAPERS, report_language
from vbdesk.clock import utc_now
from vbdesk.contract.audio_formats import AUDIO_SUFFIXES
from vbdesk.language import _, system_reason, translated

if TYPE_CHECKING:
    from vbdesk.contract.jobs import Job
    from vbdesk.report.bids import AudioFile
    from vbdesk.report.documents.report_input import ReportOptions
    from vbdesk.report.subject_reader import JobReader
    from vbdesk.report.subject_record import SubjectRecord

FORMATS = ("csv", "parquet", "fhir", "pdf", "bids", "json", "svg", "png")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_DRAWN = ("pdf", "svg", "png")
_FOR_RESEARCH = {"csv", "parquet", "bids", "json"}


def export(
    format: Annotated[str, typer.Option(help=f"One of: {', '.join(FORMATS)}.")],  # named as the option
    group: Annotated[list[str] | None, typer.Option(help="The subject's group id; repeatable.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every subject of the account.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write to. Default: this folder; for csv, parquet and bids a new one in it."),
    ] = None,
    sign_off: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who has read the newest recording (pdf, fhir).")
    ] = None,
    scores: Annotated[
        bool | None,
        typer.Option("--scores/--no-scores", help="Raw scores, for research. Default: in csv, parquet, bids and json."),
    ] = None,
    job: Annotated[str | None, typer.Option(help="Print this recording instead of the newest (pdf).")] = None,
    over_time: Annotated[
        bool, typer.Option("--over-time", help="Print subjects over time instead of the newest recording (pdf).")
    ] = False,
    together: Annotated[
        bool, typer.Option("--together", help="Print all subjects over time in one document (pdf).")
    ] = False,
    appendix: Annotated[
        bool, typer.Option("--appendix", help="Add the evidence of each sign, and the method (pdf).")
    ] = False,
    paper: Annotated[str, typer.Option(help="a4 or letter (pdf).")] = "a4",
    look: Annotated[str | None, typer.Option(help=f"{LOOK_HELP[:-1]} (pdf, svg, png).")] = None,
    audio: Annotated[
        Path | None, typer.Option(help="Folder with sound files named by job id, to be copied along (bids).")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(help="Folder of `vbdesk sync --results`: jobs in it are not fetched again."),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option(metavar="TAG", help="Language of the document (pdf, svg, png). Default: that of the commands."),
    ] = None,
    service_language: Annotated[
        str, typer.Option(metavar="TAG", help="Language of the service's labels and summaries, as a BCP 47 tag.")
    ] = "en",
    post: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Send to this FHIR server, and write no file (fhir); the login is that of vbdesk fhir login.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    profile: ProfileName = None,
    data_dir: DataDir = None,
) -> None:
    """Write the data of subjects from the service to files: docs/exports.md.

    With a profile of the desk, csv, parquet and bids also have what only this computer knows, such as protocol,
    microphone, tags and markers.
    """
    from vbdesk.outbox.library.disk_faults import disk_fault, stopped_sentence
    from vbdesk.report.exports import (
        ExportFormat,
        WouldOverwrite,
        expected_files,
        export_files,
        refuse_overwriting,
        write_files,
    )

    groups = list(dict.fromkeys(group or []))
    if every == bool(groups):
        fail(_("Name subjects with --group, or all of them with --all."), USAGE)
    _check_usage(format, scores, job, paper, audio, groups, every=every)
    _check_print(format, job, look, over_time=over_time, together=together, appendix=appendix)
    server = _server(post, format, out, force=force)
    if not _LANGUAGE.fullmatch(service_language):
        fail(_("'{language}' is no BCP 47 tag, such as en or de-CH.", language=service_language), USAGE)
    if language is not None and format not in _DRAWN:
        fail(_("--language goes with the formats {names}.", names=", ".join(_DRAWN)), USAGE)
    if results is not None and not (results / "jobs.jsonl").is_file():
        fail(
            _("There are no results in {results}. Fetch them first: vbdesk sync --results {results}", results=results),
            USAGE,
        )
    kind = ExportFormat(format)
    scope = "together" if together else "over-time" if over_time else "recording"
    options = _options(format, sign_off, scores, job, paper, look or "light", scope, appendix=appendix)
    options = replace(options, language=report_language(language))
    folder = out or (Path(f"vbdesk-{format}") if kind.one_folder else Path())
    try:
        if server is None and not force and (groups or kind.one_folder):
            refuse_overwriting(folder, expected_files(kind, groups, options.scope))  # before a long read
        if profile is not None or not names_account():
            refuse_beside_desk(profile, data_dir)
        records, of_profile = _read(groups, profile, data_dir, service_language, results)
        if not records:
            fail(_("The account has no subject yet."), REFUSED)
        if of_profile:
            consents = kind is ExportFormat.FHIR
            records = as_library_knows(records, profile, data_dir, tables=kind.one_folder, consents=consents)
        if of_profile and kind is ExportFormat.PDF:
            options = replace(options, letterhead=letterhead_of(profile, data_dir))
        if every and not kind.one_folder and kind is not ExportFormat.JSON:
            records = _with_results(records)
        if server is not None:
            from vbdesk.client.fhir import host_in_log

            detail = f"{format}, sent to {host_in_log(server)}, subjects="

            def note(count: int) -> None:
                if of_profile:
                    note_export(profile, data_dir, f"{detail}{count}")

            post_subjects(server, records, options, profile, data_dir, note=note)
            return
        files = export_files(kind, records, options, _sound(audio, records))
        write_files(folder, files, overwrite=force)
    except (ValueError, WouldOverwrite) as error:
        hint = _("With --force files are replaced.") if isinstance(error, WouldOverwrite) else ""
        fail(f"{translated(error)} {hint}", REFUSED)
    except OSError as error:
        fault = disk_fault(error)
        if fault is not None:
            fail(
                _(
                    "The export could not be written to {folder}. {advice}",
                    folder=folder,
                    advice=stopped_sentence(fault),
                ),
                LATER,
            )
        fail(
            _("The export could not be written to {folder}: {reason}.", folder=folder, reason=system_reason(error)),
            REFUSED,
        )
    if of_profile:
        note_export(profile, data_dir, f"{format}, subjects={len(records)}")
    for name in [folder] if kind.one_folder else [folder / name for name in files]:
        say(str(name))


def _check_usage(
    format: str,
    scores: bool | None,
    job: str | None,
    paper: str,
    audio: Path | None,
    groups: list[str],
    *,
    every: bool,
) -> None:
    if format not in FORMATS:
        fail(
            _("There is no format '{format}'. Choose one of: {names}.", format=format, names=", ".join(FORMATS)),
            USAGE,
        )
    if format == "parquet":
        from vbdesk.report.parquet import require_pyarrow

        try:
            require_pyarrow()  # before a long read
        except ValueError as error:
            fail(translated(error), USAGE)
    if paper not in PAPERS:
        fail(_("There is no paper '{paper}'. Choose one of: {names}.", paper=paper, names=", ".join(PAPERS)), USAGE)
    if format == "json" and scores is False:
        fail(_("JSON holds the service's answers unchanged, with their scores. Choose another format."), USAGE)
    if job is not None and (format != "pdf" or every or len(groups) > 1):
        fail(_("--job goes with --format pdf and one subject."), USAGE)
    if audio is not None and (format != "bids" or not audio.is_dir()):
        fail(_("--audio names a folder that is there, and goes with --format bids."), USAGE)


def _check_print(
    format: str, job: str | None, look: str | None, *, over_time: bool, together: bool, appendix: bool
) -> None:
    if format != "pdf" and (over_time or together or appendix):
        fail(_("--over-time, --together and --appendix go with --format pdf."), USAGE)
    if job is not None and (over_time or together):
        fail(_("--job prints one recording, so it does not go with --over-time and --together."), USAGE)
    if look is not None and format not in _DRAWN:
        fail(_("--look goes with the formats {names}.", names=", ".join(_DRAWN)), USAGE)
    if look is not None and look not in LOOKS:
        fail(_("There is no look '{look}'. Choose one of: {names}.", look=look, names=", ".join(LOOKS)), USAGE)


def _server(post: str | None, format: str, out: Path | None, *, force: bool) -> str | None:
    """The checked address to send to; None to write files."""
    from vbdesk.client.fhir import fhir_address

    if post is None:
        return None
    if format != "fhir" or out is not None or force:
        fail(_("--post goes with --format fhir, and without --out and --force: it writes no file."), USAGE)
    try:
        return fhir_address(post)
    except ValueError as error:
        fail(translated(error), USAGE)


def _options(
    format: str,
    sign_off: str | None,
    scores: bool | None,
    job: str | None,
    paper: str,
    look: str,
    scope: str,
    *,
    appendix: bool,
) -> "ReportOptions":
    from vbdesk.report.documents.compiler import missing_letters
    from vbdesk.report.documents.report_input import PageSize, ReportOptions, ReportScope
    from vbdesk.report.drawing.style import Look
    from vbdesk.report.sign_off import SignOff

    now = utc_now().replace(microsecond=0)
    try:
        reader = None if sign_off is None else SignOff(sign_off, now)
    except ValueError as error:
        fail(translated(error), USAGE)
    if reader is not None and format == "pdf" and (missing := missing_letters(reader.name)):
        say(_("The report's fonts lack these letters, which print as squares: {missing}", missing=missing), err=True)
    return ReportOptions(
        exported_at=now,
        zone=now.astimezone().tzinfo or UTC,
        page_size=PageSize(paper),
        job_id=job,
        scores=format in _FOR_RESEARCH if scores is None else scores,
        sign_off=reader,
        appendix=appendix,
        scope=ReportScope(scope),
        look=Look(look),
    )


def _read(
    groups: list[str], profile: str | None, data_dir: Path | None, language: str, results: Path | None
) -> "tuple[list[SubjectRecord], bool]":
    """Read the subjects, all if none is named; returns whether a profile was used instead of the environment."""
    from vbdesk.report.subject_reader import read_subject
    from vbdesk.report.subject_record import RecordSource

    with open_client(profile, data_dir) as connection:
        used = connection.profile
        source = RecordSource.of(connection.base_url if used is None else used.base_url, connection.account_id)
        jobs = connection.client.jobs if results is None else _StoredJobs(results, connection.client.jobs)
        records = [
            read_subject(
                group_id,
                source,
                connection.client.groups,
                jobs,
                on_progress=_Progress(group_id),
                language=language,
            )
            for group_id in groups or [known.group_id for known in connection.client.groups.all()]
        ]
        return records, connection.name is not None


def _with_results(records: "list[SubjectRecord]") -> "list[SubjectRecord]":
    """The subjects that can be printed or drawn; names the others."""
    for record in records:
        if not record.finished:
            say(_("Subject {group_id} has no result yet and is left out.", group_id=record.group_id), err=True)
    return [record for record in records if record.finished]


class _StoredJobs:
    """Reads jobs from a folder of results if they are there, else from the service; ended jobs never change."""

    def __init__(self, folder: Path, others: "JobReader") -> None:
        from vbdesk.client.folder_lock import exclusive_lock
        from vbdesk.client.result_folder import JOBS
        from vbdesk.json_lines import JsonLinesFile

        with exclusive_lock(folder / ".lock"):  # a synchronisation may be running
            self._jobs = {line["job_id"]: line for line in JsonLinesFile(folder / JOBS).read()}
        self._others = others

    def get(self, job_id: str) -> "Job":
        from vbdesk.contract.jobs import Job

        line = self._jobs.get(job_id)
        return self._others.get(job_id) if line is None else Job.model_validate(line)


class _Progress:
    """Prints progress to standard error from time to time: a long history takes minutes within the rate limits."""

    EVERY = 25

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id

    def __call__(self, done: int, total: int) -> None:
        if done and done % self.EVERY == 0:
            say(
                _("{group_id}: {done} of {total} recordings read", group_id=self._group_id, done=done, total=total),
                err=True,
            )


def _sound(folder: Path | None, records: "list[SubjectRecord]") -> "dict[str, AudioFile]":
    """Existing sound files, by job id."""
    from vbdesk.report.bids import AudioFile

    if folder is None:
        return {}
    jobs = [recording.job.job_id for record in records for recording in record.recordings]
    found = {}
    for job_id in (job_id for job_id in jobs if Path(job_id).name == job_id):  # never a path outside the folder
        for suffix in AUDIO_SUFFIXES:
            path = folder / f"{job_id}{suffix}"
            if path.is_file():
                found[job_id] = AudioFile(suffix, path)
                break
    return found

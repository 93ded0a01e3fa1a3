"""`vbdesk submit`: send recordings in files for analysis, each once."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vbdesk.cli.connection import (
    ACT_FIRST,
    LATER,
    REFUSED,
    USAGE,
    AsJson,
    ConnectedAccount,
    DataDir,
    ProfileName,
    account_file,
    open_client,
)
from vbdesk.cli.output import fail, fail_without_target, local_time, print_json, say
from vbdesk.cli.spoken_language import known_language
from vbdesk.cli.submit_consent import StatedConsent, submit_consent
from vbdesk.clock import utc_now
from vbdesk.contract.audio_formats import ANY_FORMAT, AUDIO_SUFFIXES
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.language import N_, _, message, system_reason, translated

if TYPE_CHECKING:
    from vbdesk.client import FileToSubmit, SubmissionOutcome
    from vbdesk.client.uploads import Progress
    from vbdesk.contract.jobs import Job
    from vbdesk.outbox.imports.import_row import ImportRow
    from vbdesk.outbox.library.items import RecordingTarget

NO_SOUND = message("The file is not {formats}.", formats=ANY_FORMAT)


@dataclass(frozen=True, slots=True)
class _Moments:
    """Source of the recording times: one time, the file names, or the files' modification times."""

    given: datetime | None
    from_name: bool
    zone: tzinfo


def submit(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help=f"Recordings ({ANY_FORMAT}), and folders of them."),
    ] = None,
    group: Annotated[str | None, typer.Option(help="The subject that all the files belong to.")] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            help="A list instead, with the columns path and group_id, and recorded_at, model, language, "
            "second_language and consent if wanted."
        ),
    ] = None,
    recorded_at: Annotated[
        str | None, typer.Option(help="When the one file was recorded, as ISO 8601; UTC without a zone.")
    ] = None,
    from_name: Annotated[
        bool, typer.Option("--from-name", help="Take the time from each name, as in ward4_2026-03-01_09-30-12.wav.")
    ] = False,
    zone: Annotated[str, typer.Option(help="Zone of the times in names, such as Europe/Berlin.")] = "UTC",
    model: Annotated[str | None, typer.Option(help="Analyse for this model, such as pulse.")] = None,
    sign: Annotated[str | None, typer.Option(help="Analyse for this sign only, such as stress.")] = None,
    consent: Annotated[
        StatedConsent | None,
        typer.Option(
            help="State that all the subjects have consented, and to what. What the desk has noted counts first."
        ),
    ] = None,
    longitudinal: Annotated[
        bool, typer.Option("--longitudinal", help="Score each against the subject's history.")
    ] = False,
    diarize: Annotated[bool, typer.Option("--diarize", help="Analyse each speaker; costs more.")] = False,
    language: Annotated[
        str | None, typer.Option(help="Language of the recordings (BCP 47), such as en, de or pt-BR.")
    ] = None,
    second_language: Annotated[
        bool | None,
        typer.Option(
            "--second-language/--no-second-language",
            help="Whether it is a second language of the speakers. A list has its own columns for both.",
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Send recordings again whose analysis failed or timed out.")
    ] = False,
    send_again: Annotated[
        bool,
        typer.Option(
            "--send-again",
            help="Send again, at their price, recordings that the service may have or does not know any more.",
        ),
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the results and show them.")] = False,
    journal: Annotated[
        Path | None,
        typer.Option(help="File that records what was sent. Default: one per account, in the desk's folder."),
    ] = None,
    profile: ProfileName = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Send recordings for analysis. A second run sends nothing twice, even after an interruption.

    The time of a recording comes from --recorded-at, --from-name or a column of --csv, else from the file's
    modification time. Files that cannot be analysed are reported, and do not stop the others. Where the profile
    requires consent, a recording is sent only if the desk has noted one, or --consent or the column consent states it.
    """
    from vbdesk.outbox.library.disk_faults import disk_fault, stopped_sentence

    paths = files or []
    _check_usage(paths, group, csv, recorded_at, from_name)
    moments = _Moments(_moment(recorded_at), from_name, _zone(zone))
    target = _target(model, sign)
    spoken_language = SpokenLanguage(known_language(language), second_language)
    with open_client(profile, data_dir) as connection:
        consents = submit_consent(connection, data_dir, consent)
        rows = list(consents.checked(_looked_at(paths, group or "", csv, target, moments, connection)))
        statements = {row.path: row.consent for row in rows}
        if recorded_at is not None and len(rows) > 1:
            fail(
                _("--recorded-at is for one file; these are {count}. Use --from-name or --csv.", count=len(rows)), USAGE
            )
        sender = _Sender(
            connection,
            journal or _journal_of(connection, data_dir),
            longitudinal,
            diarize,
            spoken_language,
            retry_failed=retry_failed,
            send_again=send_again,
        )
        outcomes = []
        try:
            for outcome in sender.send(rows):
                outcomes.append(outcome)
                if not as_json:
                    say(_line(outcome, consents.text(outcome.file.group_id, statements.get(outcome.file.path))))
        except OSError as error:
            fault = disk_fault(error)
            if fault is not None:
                fail(
                    _(
                        "The journal cannot be written, so nothing more was sent. {advice}",
                        advice=stopped_sentence(fault),
                    ),
                    LATER,
                )
            fail(_("The journal cannot be written, so nothing more was sent: {reason}.", reason=system_reason(error)))
        ended = _ended(connection, outcomes, quiet=as_json) if wait else {}
    if as_json:
        print_json(
            [
                _document(outcome, ended)
                | {"consent": consents.text(outcome.file.group_id, statements.get(outcome.file.path))}
                for outcome in outcomes
            ]
        )
    elif not outcomes:
        say(_("There is no recording there."), err=True)
    if any(consents.is_missing(row) for row in rows):
        raise typer.Exit(ACT_FIRST)
    refused = [outcome for outcome in outcomes if outcome.job_id is None]
    if refused or not outcomes or any(job.result is None for job in ended.values()):
        raise typer.Exit(REFUSED)


def _check_usage(
    paths: Sequence[Path], group: str | None, csv: Path | None, recorded_at: str | None, from_name: bool
) -> None:
    from vbdesk.contract.groups import group_id_fault

    if (csv is None) == (not paths):
        fail(_("Name files, or a list with --csv."), USAGE)
    if csv is None and group is None:
        fail(_("Name the subject with --group."), USAGE)
    if csv is not None and (group is not None or recorded_at is not None or from_name):
        fail(_("With --csv, subjects and times come from the list."), USAGE)
    if recorded_at is not None and from_name:
        fail(_("Give --recorded-at or --from-name, not both."), USAGE)
    if group is not None and (fault := group_id_fault(group)) is not None:
        fail(fault, USAGE)
    for path in [*paths, *([csv] if csv else [])]:
        if not path.exists():
            fail(_("There is no {path}.", path=path), USAGE)


def _moment(text: str | None) -> datetime | None:
    from vbdesk.contract.timestamps import parse_timestamp

    try:
        return None if text is None else parse_timestamp(text)
    except ValueError as error:
        fail(translated(error), USAGE)


def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        fail(_("There is no zone {name}. Zones are called like Europe/Berlin.", name=name), USAGE)


def _target(model: str | None, sign: str | None) -> "RecordingTarget":
    from vbdesk.outbox.library.items import RecordingTarget

    if (model is None) == (sign is None):
        fail_without_target(USAGE)
    return RecordingTarget("model", model) if model is not None else RecordingTarget("sign", sign or "")


def _looked_at(
    paths: Sequence[Path],
    group: str,
    csv: Path | None,
    target: "RecordingTarget",
    moments: _Moments,
    connection: ConnectedAccount,
) -> "list[ImportRow]":
    """Every recording with its length and time, or its fault, before anything is sent."""
    from vbdesk.outbox.imports.file_import import preview_csv, preview_files
    from vbdesk.outbox.imports.import_list import ImportFailed
    from vbdesk.outbox.imports.import_row import ImportRow

    if csv is None:
        preview = preview_files(paths, group, target, progress=_counter(N_("Read {done:.3g} of {total:.3g}")))
        foreign = [ImportRow(0, path, group, None, target, faults=(NO_SOUND,)) for path in paths if _is_foreign(path)]
        return [*foreign, *(_with_moment(row, moments) for row in preview.rows)]
    try:
        offered = {sign.name for sign in connection.client.signs.list()}
        return list(
            preview_csv(csv, target, signs=offered, progress=_counter(N_("Read {done:.3g} of {total:.3g}"))).rows
        )
    except ImportFailed as error:
        fail(translated(error), USAGE)


def _with_moment(row: "ImportRow", moments: _Moments) -> "ImportRow":
    from vbdesk.client import recorded_at_in_name
    from vbdesk.outbox.imports.import_row import CLOCK_DRIFT

    if row.error is not None or not (moments.given or moments.from_name):
        return row
    moment = moments.given or recorded_at_in_name(row.path.name, moments.zone)
    if moment is None:
        return replace(row, faults=(message("There is no date and time in the name of the file."),))
    if moment > utc_now() + CLOCK_DRIFT:
        return replace(row, faults=(message("The time of the recording is in the future."),))
    return replace(row, recorded_at=moment, notes=())


def _journal_of(connection: ConnectedAccount, data_dir: Path | None) -> Path:
    from vbdesk.cli.paths import desk_paths

    return account_file(desk_paths(data_dir), "submitted", connection.service, connection.account_id)


def _is_foreign(path: Path) -> bool:

    return path.is_file() and path.suffix.lower() not in AUDIO_SUFFIXES


class _Sender:
    """Sends what can be sent, and reports why the rest is not."""

    def __init__(
        self,
        connection: ConnectedAccount,
        journal: Path,
        longitudinal: bool,
        diarize: bool,
        spoken_language: SpokenLanguage,
        *,
        retry_failed: bool,
        send_again: bool,
    ) -> None:
        self._client = connection.client
        self._journal = journal
        self._longitudinal = longitudinal
        self._diarize = diarize
        self._spoken_language = spoken_language
        self._retry_failed = retry_failed
        self._send_again = send_again

    def send(self, rows: "Sequence[ImportRow]") -> "Iterator[SubmissionOutcome]":
        from vbdesk.client import SubmissionOutcome

        for row in rows:
            if row.error is not None:
                yield SubmissionOutcome(self._file(row), None, row.error)
        files = [self._file(row) for row in rows if row.error is None]
        while files:
            once_more = []
            for sent in self._submitted(files):
                outcome, failed = self._looked_up(sent)
                if failed or (self._send_again and outcome.earlier and outcome.unproven):
                    once_more.append(replace(outcome.file, attempt=outcome.file.attempt + 1))
                else:
                    yield outcome
            files = once_more

    def _submitted(self, files: "list[FileToSubmit]") -> "Iterator[SubmissionOutcome]":
        from vbdesk.client import submit_files

        return submit_files(
            self._client, files, self._journal, progress=_counter(N_("Sent {done:.3g} of {total:.3g} MB"), 1e6)
        )

    def _looked_up(self, outcome: "SubmissionOutcome") -> "tuple[SubmissionOutcome, bool]":
        """The outcome by what the service knows of its job now, and whether to send the recording again."""
        from vbdesk.client.errors import NotFound

        if outcome.job_id is None or not outcome.earlier or not (self._retry_failed or self._send_again):
            return outcome, False
        try:
            job = self._client.jobs.get(outcome.job_id)
        except NotFound:
            refusal = message(
                "It was sent before, but the service does not know its job {job} any more: it was erased there, or an"
                " older database was restored.",
                job=outcome.job_id,
            )
            return replace(outcome, job_id=None, refusal=refusal, unproven=True), False
        return outcome, self._retry_failed and job.status.terminal and job.result is None

    def _file(self, row: "ImportRow") -> "FileToSubmit":
        from vbdesk.client import FileToSubmit

        moment = row.recorded_at or datetime.fromtimestamp(0, UTC)  # None only for rows that are not sent
        stated, default = row.spoken, self._spoken_language
        second = default.second_language if stated.second_language is None else stated.second_language
        return FileToSubmit(
            row.path,
            row.group_id,
            moment,
            row.target,
            self._longitudinal,
            self._diarize,
            row.duration_s,
            spoken=SpokenLanguage(stated.language or default.language, second),
        )


def _counter(text: str, factor: float = 1) -> "Progress | None":
    """Progress on a terminal; nothing in a log."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        line = _(text, done=done / factor, total=total / factor)
        typer.echo(f"\r\x1b[K{line if done < total else ''}", err=True, nl=False)

    return show


def _ended(connection: ConnectedAccount, outcomes: "Sequence[SubmissionOutcome]", *, quiet: bool) -> "dict[str, Job]":
    from vbdesk.cli.jobs import wait_for

    job_ids = [outcome.job_id for outcome in outcomes if outcome.job_id is not None]
    return {job.job_id: job for job in wait_for(connection.client.jobs.wait_each(job_ids), quiet=quiet)}


def _line(outcome: "SubmissionOutcome", consent: str) -> str:
    """One line on a recording; without consent it says so."""
    line = _sent_line(outcome)
    if outcome.job_id is None or consent not in ("none", "withdrawn", "unreadable"):
        return line
    return f"{line} {_('Consent withdrawn.') if consent == 'withdrawn' else _('No consent noted.')}"


def _sent_line(outcome: "SubmissionOutcome") -> str:
    name = outcome.file.path.name
    if outcome.job_id is None:
        reason = translated(outcome.refusal)
        if outcome.unproven:
            return _("{file}: not known whether it was sent. {reason} See --send-again.", file=name, reason=reason)
        return _("{file}: not sent. {reason}", file=name, reason=reason)
    moment, job = local_time(_recorded_at(outcome)), outcome.job_id
    if outcome.earlier:
        line = _("{file}: sent before, recorded {moment}, job {job}.", file=name, moment=moment, job=job)
    else:
        line = _("{file}: sent, recorded {moment}, job {job}.", file=name, moment=moment, job=job)
    if _recorded_at(outcome) == outcome.file.recorded_at:
        return line
    unused = _(
        "The time {moment} was not used: the service has it with the other.",
        moment=local_time(outcome.file.recorded_at),
    )
    return f"{line} {unused}"


def _recorded_at(outcome: "SubmissionOutcome") -> datetime:
    """The time at the service: the given one with its own digits, or that of an earlier run."""
    given, stored = outcome.file.recorded_at, outcome.recorded_at
    return given if stored is None or abs(stored - given) < timedelta(seconds=1) else stored


def _document(outcome: "SubmissionOutcome", ended: "dict[str, Job]") -> dict[str, Any]:
    from vbdesk.contract.timestamps import format_timestamp

    job = ended.get(outcome.job_id or "")
    return {
        "file": str(outcome.file.path),
        "group_id": outcome.file.group_id,
        "recorded_at": format_timestamp(_recorded_at(outcome)),
        "job_id": outcome.job_id,
        "refusal": outcome.refusal,
        "earlier": outcome.earlier,
        "unproven": outcome.unproven,
        "job": None if job is None else job.model_dump(mode="json"),
    }

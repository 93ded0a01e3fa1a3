"""`vbdesk sync`: send a library's waiting recordings and fetch results, without a window."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from vbdesk.cli.connection import (
    ACT_FIRST,
    LATER,
    REFUSED,
    USAGE,
    AsJson,
    DataDir,
    ProfileName,
    api_key,
    local_service_key,
    names_account,
    open_client,
    report_disk_faults,
    requests_file,
    running,
    service_of,
)
from vbdesk.cli.interrupts import stop_in_order
from vbdesk.cli.output import fail, print_json, say
from vbdesk.cli.recording_times import decide_times, how_to_decide, is_undecided, parse_times, undecided_times
from vbdesk.clock import utc_now
from vbdesk.language import _, ngettext, system_reason, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vbdesk.cli.locked_library import LockedProfile
    from vbdesk.cli.recording_times import DecidedTime
    from vbdesk.client import RequestBudget
    from vbdesk.outbox.library.items import RecordingItem
    from vbdesk.outbox.library.library import Library
    from vbdesk.outbox.library.states import Fix
    from vbdesk.outbox.profiles.vault import Vault
    from vbdesk.outbox.sync.connectivity import SyncStatus
    from vbdesk.outbox.sync.sync_worker import SyncWorker

GIVE_UP_AFTER_S = 40.0  # delays of 1 + 2 + 4 + 8 + 16 seconds, and the attempts
DISK_TIMEOUT_S = 60.0
CHECK_INTERVAL_S = 0.2
STOP_WITHIN_S = 30.0
VOICES_AT_MOST = 50  # a third of a second each


def sync(
    results: Annotated[
        Path | None, typer.Option(help="Also store results in this folder, as JSON lines and a table.", file_okay=False)
    ] = None,
    group: Annotated[list[str] | None, typer.Option(help="Only results of this subject; repeatable.")] = None,
    send: Annotated[bool, typer.Option("--send/--no-send", help="Send what waits in the library.")] = True,
    keep_trying: Annotated[bool, typer.Option("--keep-trying", help="Wait for the service without a limit.")] = False,
    send_again: Annotated[
        list[str] | None,
        typer.Option(
            help="Send this recording again though the service may have it; costs credits: its take id, as shown here.",
            metavar="TAKE",
        ),
    ] = None,
    disk_timeout: Annotated[
        float,
        typer.Option(min=0.0, metavar="SECONDS", help="How long to wait for a disk that is full, read-only or gone."),
    ] = DISK_TIMEOUT_S,
    time_of: Annotated[
        list[str] | None,
        typer.Option(
            "--time",
            metavar="TAKE=TIME",
            help="Decide about the time of a recording whose clock was wrong: its id, or all, and suggested, keep, "
            "clock (the time before a correction), or date and time such as 2026-03-01T09:30+01:00. Repeatable.",
        ),
    ] = None,
    look_again: Annotated[
        list[str] | None,
        typer.Option(help="Search the service again for this recording: its take id, as shown here.", metavar="TAKE"),
    ] = None,
    profile: ProfileName = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Send a profile's waiting recordings and fetch their results; with --results, into a folder too.

    Uses the desk's queue, so the desk must be closed. Also sends recordings that the desk sends only manually.
    """
    if group and results is None:
        fail(_("--group chooses results: name their folder with --results."), USAGE)
    if time_of and not send:
        fail(_("--time decides about recordings that are to be sent: leave out --no-send."), USAGE)
    stop_in_order()
    report: dict[str, Any] = {}
    budget: RequestBudget | None = None
    if send and (profile is not None or not names_account()):
        _start_log(data_dir)
        report["sent"], budget = send_waiting(
            profile,
            data_dir,
            keep_trying=keep_trying,
            disk_timeout_s=disk_timeout,
            quiet=as_json,
            send_again=send_again or (),
            look_again=look_again or (),
            times=parse_times(time_of or []),
        )
    elif results is None:
        if profile is None and names_account():
            fail(_("An account of the environment has no library to send from. Name a folder with --results."), USAGE)
        fail(_("With --no-send, only results are fetched: name their folder with --results."), USAGE)
    if results is not None:
        report["results"] = _fetch(profile, data_dir, results, group, budget, quiet=as_json)
    if as_json:
        print_json(report)
    status = status_of_report(report.get("sent", {}))
    if status:
        raise typer.Exit(status)


def status_of_report(sent: "Mapping[str, Any]") -> int:
    """The exit status for what `send_waiting` reports."""
    if sent.get("undecided_times") or sent.get("without_consent"):
        return ACT_FIRST
    return REFUSED if sent.get("unsettled") or sent.get("attention") else 0


def _start_log(data_dir: Path | None) -> None:
    from vbdesk.cli.paths import desk_paths
    from vbdesk.outbox.diagnostics.log_file import start_log

    start_log(desk_paths(data_dir).data, on_terminal=False)


class SyncOutcome(NamedTuple):
    """What happened to the recordings, and the request budget for the next requests of the command."""

    report: dict[str, Any]
    budget: "RequestBudget"


def send_waiting(
    profile: str | None,
    data_dir: Path | None,
    vault: "Vault | None" = None,
    *,
    keep_trying: bool = False,
    disk_timeout_s: float = DISK_TIMEOUT_S,
    quiet: bool = False,
    send_again: Sequence[str] = (),
    look_again: Sequence[str] = (),
    times: "Mapping[str, DecidedTime] | None" = None,
) -> SyncOutcome:
    """Run the sync worker of a profile's library until nothing waits, and report on every recording.

    Args:
        profile: name or id of the profile, as given.
        data_dir: the desk's folder, as given.
        vault: the keys of profiles; the system's keyring if None.
        keep_trying: wait for the service without a limit.
        disk_timeout_s: how long to wait for a disk that refuses writes.
        quiet: print nothing about single recordings.
        send_again: take ids of recordings to send though the service may have them.
        look_again: take ids of recordings to search the service for again.
        times: a person's decisions about recording times; by take id or `all`.
    """
    from vbdesk.cli.locked_library import locked_library
    from vbdesk.cli.paths import desk_paths
    from vbdesk.client import Client, Credentials, RequestBudget, RetryRule
    from vbdesk.outbox.library.retention import SoundRetention
    from vbdesk.outbox.library.settings import RetentionRule
    from vbdesk.outbox.sync.request_journal import SharedRequestJournal, StoredRequestJournal
    from vbdesk.outbox.sync.sync_worker import SyncWorker

    paths = desk_paths(data_dir)
    with locked_library(profile, data_dir, vault) as held:
        while held.library.trash.destroy_due():
            pass
        if held.library.store.sending_blocked:
            fail(_("Nothing was sent, because it is not sure that this is the newest list of recordings."), ACT_FIRST)
        if held.library.settings().paused:
            fail(_("Sending is paused for this profile. Resume it in the desk, on the page Outbox."), ACT_FIRST)
        _each(held.library.send_again, send_again)
        _each(held.library.retry, look_again)
        decide_times(held.library, times or {})
        held.library.send_now()
        if held.library.settings().retention.rule is RetentionRule.AFTER_RESULT:
            _compare_voices(held.library)  # else the desk does it: their sound stays
        key = api_key(held.profile, held.vault)
        of_commands = requests_file(paths, service_of(held.profile), held.profile.account_id)
        requests = SharedRequestJournal(StoredRequestJournal(held.library.store), of_commands)
        budget = RequestBudget.of_plan(held.profile.plan, requests)
        with running(held.profile, paths, held.vault) as base_url:
            sync_worker = SyncWorker(
                held.library,
                lambda: Client(base_url, Credentials(held.profile.account_id, key), retries=RetryRule.NEVER),
                budget=budget,
            )
            report = _Watch(held, sync_worker, keep_trying, quiet, disk_timeout_s).until_settled()
        retention = SoundRetention(held.library)
        while retention.step(None):  # sounds that are deleted directly after their result
            pass
        if held.library.erasures is not None:
            _erase_at_service(held, paths.service, local_service_key(paths, held.vault))
        requests.leave_library()
        return SyncOutcome(report, budget)


def _compare_voices(library: "Library") -> None:
    """Compare the voices of new recordings with their subjects' earlier ones; the desk goes on with the rest."""
    from vbdesk.outbox.imports.speaker_checks import SpeakerChecks

    checks = SpeakerChecks(library)
    for _attempt in range(VOICES_AT_MOST):
        if not checks.step():
            return


def _erase_at_service(held: "LockedProfile", data_dir: Path, key: bytes) -> None:
    """Let the service on this computer erase what was removed here; a later run or the desk repeats failures."""
    from vbdesk.client.local_service import LocalServiceFailed, erase_recordings
    from vbdesk.outbox.library.pending_erasures import ErasureScope

    erasures = held.library.erasures
    for erasure in [] if erasures is None else erasures.due():
        sound_only = erasure.what is ErasureScope.SOUND
        account_id = held.profile.account_id
        try:
            erase_recordings(data_dir, key, account_id, erasure.job_ids, erasure.upload_refs, sound_only=sound_only)
        except LocalServiceFailed as error:
            say(translated(error), err=True)
            return
        if erasures is not None:
            erasures.settle(erasure)


def _each(decide: "Callable[[str], None]", take_ids: Sequence[str]) -> None:
    """Apply a person's decision to recordings; ends the command if one does not allow it."""
    from vbdesk.outbox.library.library import NotAllowed
    from vbdesk.outbox.library.store import UnknownTake

    for take_id in take_ids:
        try:
            decide(take_id)
        except UnknownTake:
            fail(
                _("There is no recording with the id {take_id} here. vbdesk sync shows the ids.", take_id=take_id),
                USAGE,
            )
        except NotAllowed as refusal:
            fail(f"{take_id}: {translated(refusal)}", USAGE)


def _fetch(
    profile: str | None,
    data_dir: Path | None,
    folder: Path,
    groups: list[str] | None,
    budget: "RequestBudget | None",
    *,
    quiet: bool,
) -> dict[str, Any]:
    from vbdesk.client import sync as fetch

    with open_client(profile, data_dir, budget=budget) as connection:
        try:
            with report_disk_faults():
                done = fetch(connection.client, folder, groups or None)
        except OSError as error:
            fail(_("{folder} cannot be used: {reason}.", folder=folder, reason=system_reason(error)))
    if not quiet:
        sentence = ngettext(
            "{count} new result, {kept} in {folder}.",
            "{count} new results, {kept} in {folder}.",
            done.new,
            kept=done.kept,
            folder=folder,
        )
        unfinished = _("Not done yet: {count}.", count=done.unfinished) if done.unfinished else ""
        say(f"{sentence} {unfinished}".rstrip())
    return asdict(done)


class _Watch:
    """Runs the sync worker until nothing is on its way, and prints what happens."""

    def __init__(
        self,
        held: "LockedProfile",
        sync_worker: "SyncWorker",
        keep_trying: bool,
        quiet: bool,
        disk_timeout_s: float = DISK_TIMEOUT_S,
    ) -> None:
        from vbdesk.outbox.library.items import ItemFilter
        from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState

        self._library = held.library
        self._sync_worker = sync_worker
        self._keep_trying = keep_trying
        self._quiet = quiet
        self._disk_timeout_s = disk_timeout_s
        self._disk_fault_since: float | None = None
        self._version = held.library.store.version()
        self._unsettled = ON_THEIR_WAY | {OutboxState.HANDED_OVER}
        chosen = held.library.list(ItemFilter(states=self._unsettled))
        self._chosen = {item.take_id for item in chosen}
        on_way = [item.take_id for item in chosen if item.state is not OutboxState.HANDED_OVER]
        self._on_way: dict[str, RecordingItem | None] = dict.fromkeys(on_way)  # None: unchanged so far
        self._ended: dict[str, RecordingItem] = {}
        self._said = ""

    def until_settled(self) -> dict[str, Any]:
        if self._on_their_way():
            self._say(translated(self._sync_worker.forecast().sentence))
        with self._at_work():
            unreachable_since: float | None = None
            while not self._sync_worker.has_checked_service() or self._on_their_way():  # a check may add recordings
                time.sleep(CHECK_INTERVAL_S)
                self._tell()
                status = self._sync_worker.status
                if self._waits_for_disk(status):
                    continue
                if status.on_hold is not None:
                    if not self._results_still_come(status.on_hold):
                        self._tell()
                        fail(translated(status.sentence), ACT_FIRST)
                    still = _("Results of accepted recordings still come.")
                    self._say(f"{translated(status.sentence)} {still}")
                if not self._keep_trying and (reason := self._given_up()) is not None:
                    fail(translated(reason), LATER)
                if status.connected is not False:
                    unreachable_since = None
                else:
                    self._say(translated(status.sentence))
                    unreachable_since = unreachable_since or time.monotonic()
                    if not self._keep_trying and time.monotonic() - unreachable_since > GIVE_UP_AFTER_S:
                        fail(translated(status.sentence), LATER)
            self._tell()
        return self._report()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        stop = threading.Event()
        thread = threading.Thread(target=self._sync_worker.run, args=(stop,), name="sync-worker")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(STOP_WITHIN_S)

    def _on_their_way(self) -> bool:
        from vbdesk.outbox.library.states import ON_THEIR_WAY

        counts = self._library.counts()
        return sum(counts[state] for state in ON_THEIR_WAY) > len(self._library.held_for_consent())

    def _waits_for_disk(self, status: "SyncStatus") -> bool:
        """Whether the disk blocks the queue now; ends the command after the timeout."""
        from vbdesk.outbox.library.states import Fix

        if status.on_hold is not Fix.MAKE_ROOM:
            return False
        now = time.monotonic()
        self._disk_fault_since = self._disk_fault_since or now
        self._say(translated(status.sentence))
        if now - self._disk_fault_since >= self._disk_timeout_s:
            fail(
                _(
                    "{sentence} This command stopped after {seconds:g} s: run it again.",
                    sentence=status.sentence,
                    seconds=self._disk_timeout_s,
                ),
                LATER,
            )
        return True

    def _results_still_come(self, hold: "Fix") -> bool:
        """Whether results are still awaited, while a hold only blocks sending."""
        from vbdesk.outbox.library.states import Fix, OutboxState

        counts = self._library.counts()
        accepted = counts[OutboxState.SUBMITTED] + counts[OutboxState.RUNNING]
        return bool(accepted) and hold in (Fix.ADD_CREDITS, Fix.SET_CLOCK)

    def _given_up(self) -> str | None:
        """Why nothing moves, if everything on its way has used its retries and waits for long."""
        from vbdesk.outbox.sync.error_policy import LONGEST_DELAY_S

        soon = utc_now() + timedelta(seconds=LONGEST_DELAY_S)
        resting = [item for item in self._on_way.values() if item and item.not_before and item.not_before > soon]
        return resting[0].reason if resting and len(resting) == len(self._on_way) else None

    def _say(self, sentence: str) -> None:
        """Print the state once, above the progress."""
        if sentence != self._said and not self._quiet:
            say(sentence, err=True)
        self._said = sentence

    def _tell(self) -> None:
        """Print how every recording ended that came to rest since the last call."""
        changes = self._library.changes_since(self._version)
        if changes.version != self._version:
            self._disk_fault_since = None  # a written change ends the outage
        self._version = changes.version
        for item in changes.items:
            self._follow(item)
            if item.state in self._unsettled or item.take_id not in self._chosen:
                continue
            known = self._ended.get(item.take_id)
            self._ended[item.take_id] = item
            if not (self._quiet or is_undecided(item)) and (known is None or known.state is not item.state):
                say(_line(item))

    def _follow(self, item: "RecordingItem") -> None:
        from vbdesk.outbox.library.states import ON_THEIR_WAY

        if item.state in ON_THEIR_WAY:
            self._on_way[item.take_id] = item
        else:
            self._on_way.pop(item.take_id, None)

    def _report(self) -> dict[str, Any]:
        from vbdesk.outbox.library.states import OutboxState

        recordings = [_document(item) for item in self._ended.values()]
        done = sum(item.state is OutboxState.DONE for item in self._ended.values())
        undecided = undecided_times(self._library)
        without_consent = self._library.held_for_consent()
        attention = [*self._stopped(), *without_consent]
        if not self._quiet:
            for item in attention:
                if item.take_id not in self._ended:
                    say(_line(item))
            left = len(undecided) + len(attention)
            results = ngettext(
                "{done} of {count} recording has its result.",
                "{done} of {count} recordings have their result.",
                len(recordings),
                done=done,
            )
            waits = ngettext("{count} is not sent before you decide.", "{count} are not sent before you decide.", left)
            say(f"{results} {waits if left else _('Nothing waits.')}")
            for item in undecided:
                say(how_to_decide(item), err=True)
            elsewhere = self._library.counts()[OutboxState.HANDED_OVER]
            if elsewhere:
                say(_("Handed over in a bundle and not sent yet: {count}. See vbdesk bundle list.", count=elsewhere))
        report: dict[str, Any] = {"recordings": recordings, "done": done, "unsettled": len(recordings) - done}
        if undecided:
            report["undecided_times"] = [item.take_id for item in undecided]
        if without_consent:
            report["without_consent"] = [item.take_id for item in without_consent]
        if attention:
            report["attention"] = [_document(item) for item in attention]
        return report

    def _stopped(self) -> "list[RecordingItem]":
        """Recordings that need attention other than for their time, from any run; changed entries too."""
        from vbdesk.outbox.library.states import OutboxState

        stopped = [item for item in self._library.list() if item.state is OutboxState.NEEDS_ATTENTION]
        return [item for item in stopped if not is_undecided(item)]


def _line(item: "RecordingItem") -> str:
    from vbdesk.cli.output import local_time
    from vbdesk.outbox.library.states import STATE_TEXTS, Fix

    sentences = [f"{item.group_id}, {local_time(item.recorded_at)}: {_(STATE_TEXTS[item.state])}."]
    if item.reason:
        sentences.append(translated(item.reason))
    if item.fix is Fix.SEND_AGAIN:
        if item.asked:
            sentences.append(_("To look again: {command}", command=f"vbdesk sync --look-again {item.take_id}"))
        sentences.append(_("To send it: {command}", command=f"vbdesk sync --send-again {item.take_id}"))
    elif item.fault is not None:
        sentences.append(
            _("Its id is {id}. Open the desk to compare it with your notes, or to delete it.", id=item.take_id)
        )
    return " ".join(sentences)


def _document(item: "RecordingItem") -> dict[str, Any]:
    from vbdesk.contract.timestamps import format_timestamp

    return {
        "take_id": item.take_id,
        "group_id": item.group_id,
        "recorded_at": format_timestamp(item.recorded_at),
        "state": item.state.value,
        "job_id": item.job_id,
        "reason": item.reason,
    }

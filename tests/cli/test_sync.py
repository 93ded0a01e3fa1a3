"""`vbdesk sync`: the library's queue and a folder of results, without a window."""

import csv
import json
import signal
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import typer
from failing_disk import FailingDisk, fill
from service_in_process import API

from days_of_use import use_daily
from list_by_hand import list_by_hand
from patience import HANGS_S
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.cli.connection import open_client, requests_file, service_of
from vbdesk.cli.locked_library import LockedProfile
from vbdesk.cli.paths import desk_paths
from vbdesk.cli.recording_times import parse_times
from vbdesk.cli.sync import _Watch, send_waiting, status_of_report
from vbdesk.client import AudioSource, Target
from vbdesk.clock import ManualClock, SystemClock, utc_now
from vbdesk.contract.limits import Bucket, Plan
from vbdesk.outbox.imports.speaker_comparison import sounds_unlike
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy
from vbdesk.outbox.library.items import RecordingTarget as Wanted
from vbdesk.outbox.library.items import TakeMetadata
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.recording_time import TimeDoubt
from vbdesk.outbox.library.settings import ConsentRules, Retention, RetentionRule, SendRule
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, library_folder
from vbdesk.outbox.profiles.vault import MemoryVault, VaultWaiting
from vbdesk.outbox.sync.connectivity import SyncStatus
from vbdesk.outbox.sync.forecast import Forecast
from vbdesk.outbox.sync.sync_worker import SyncWorker
from vbdesk.outbox.sync.upload_queue import UploadQueue

MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture
def vault():
    return MemoryVault()


@pytest.fixture
def profile(tmp_path, near_service, vault):
    made = Profile("p-1", "Ward 4", "service", API, near_service.credentials.account_id, plan=Plan.ENTERPRISE)
    ProfileStore(tmp_path).save(made)
    vault.set(made.api_key_name, near_service.credentials.api_key)
    return made


@pytest.fixture(autouse=True)
def results_are_asked_for_at_once(monkeypatch):
    """The service has the result when its job is read; when an upload queue reads, tests with a manual clock show."""
    monkeypatch.setattr("vbdesk.outbox.sync.planning.POLL_INTERVAL_S", (0.1, 0.2))


@pytest.fixture
def no_late_requests(monkeypatch):
    """An interrupted request has arrived when it is searched for: the search needs no half minute."""
    monkeypatch.setattr("vbdesk.outbox.sync.planning.SEARCH_AFTER_S", (0.0, 0.01))


@pytest.fixture
def opened(tmp_path, profile, vault):
    """Open the profile's library, as the desk does."""
    return lambda: LockedLibrary(profile, library_folder(tmp_path, profile.profile_id), vault)


@pytest.fixture
def record(opened, speech_file, tmp_path):
    """Put recordings with different sound into the queue."""

    def make(count):
        library = opened()
        for number in range(count):
            path = tmp_path / f"{number}.flac"
            path.write_bytes(speech_file.read_bytes() + bytes(number))
            facts = TakeMetadata("ward4-0172", MONDAY + timedelta(days=number), Wanted("sign", "stress"))
            library.queue(library.import_file(path, facts))
        return library

    return make


def jobs_of(near_service):
    """The service's jobs; a lost answer is requested again with the same key, and makes no second job."""
    return near_service.service.records.jobs(near_service.credentials.account_id)


def sync(tmp_path, vault, **more):
    return send_waiting("Ward 4", tmp_path, vault, **more).report


def test_what_waits_is_sent_and_comes_back_with_its_result(record, opened, tmp_path, vault, near_service, capsys):
    record(2).close()
    report = sync(tmp_path, vault)
    assert (report["done"], report["unsettled"]) == (2, 0)
    assert [entry["state"] for entry in report["recordings"]] == ["done", "done"]
    said = capsys.readouterr()
    assert said.out.count("ward4-0172, ") == 2
    assert "2 of 2 recordings have their result. Nothing waits." in said.out
    assert said.err.startswith("2 recordings")
    library = opened()
    assert all(item.result is not None for item in library.list())
    library.close()
    submits = sum("/analyze" in request for request in near_service.requests)
    assert sync(tmp_path, vault) == {"recordings": [], "done": 0, "unsettled": 0}
    assert sum("/analyze" in request for request in near_service.requests) == submits == 2


def test_what_waits_for_consent_is_said_and_does_not_hold_the_command(
    record, opened, tmp_path, vault, near_service, capsys
):
    library = record(1)
    library.change_settings(consent=ConsentRules(policy=ConsentPolicy.REQUIRED))
    library.close()
    report = sync(tmp_path, vault)
    assert [entry["state"] for entry in report["attention"]] == ["waiting"]
    assert report["without_consent"] == [report["attention"][0]["take_id"]]
    assert status_of_report(report) == 4, "a person must act first"
    said = capsys.readouterr().out
    assert "this profile requires it. Note the consent" in said
    assert "1 is not sent before you decide." in said
    assert jobs_of(near_service) == []
    library = opened()
    library.consents.give("ward4-0172", ConsentKind.RESEARCH)
    library.close()
    report = sync(tmp_path, vault)
    assert (report["done"], status_of_report(report)) == (1, 0)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({}, 0),
        ({"done": 2, "unsettled": 0}, 0),
        ({"unsettled": 1}, 1),
        ({"attention": [{"state": "needs_attention"}]}, 1),
        ({"unsettled": 1, "attention": [{"state": "waiting"}], "without_consent": ["t"]}, 4),
        ({"undecided_times": ["t"]}, 4),
    ],
)
def test_the_status_tells_whether_a_person_must_act_or_something_was_refused(sent, status):
    assert status_of_report(sent) == status


@pytest.mark.usefixtures("no_late_requests")
def test_nothing_is_sent_from_a_restored_copy_before_it_is_accepted(
    record, opened, tmp_path, vault, near_service, capsys
):
    record(1).close()
    (database,) = tmp_path.rglob("library.sqlite")
    yesterday = database.read_bytes()
    library = opened()
    library.change_settings(send_rule=SendRule.AT_ONCE)
    library.close()
    database.write_bytes(yesterday)
    with pytest.raises(typer.Exit) as ended:
        sync(tmp_path, vault)
    assert ended.value.exit_code == 4
    said = capsys.readouterr().err
    assert "An older copy of the list of recordings was put back." in said
    assert "vbdesk audit accept-copy" in said
    assert near_service.requests == []
    library = opened()
    library.accept_copy()
    library.close()
    assert sync(tmp_path, vault)["done"] == 1


def test_what_is_sent_by_hand_is_sent_and_a_pause_is_kept(record, opened, tmp_path, vault, near_service, capsys):
    library = record(1)
    library.change_settings(send_rule=SendRule.BY_HAND, paused=True)
    library.close()
    with pytest.raises(typer.Exit) as ended:
        sync(tmp_path, vault)
    assert ended.value.exit_code == 4
    assert "Sending is paused" in capsys.readouterr().err
    assert near_service.requests == []
    library = opened()
    library.change_settings(paused=False)
    library.close()
    assert sync(tmp_path, vault)["done"] == 1


def test_sounds_that_go_at_once_are_gone_when_the_command_ends(record, opened, tmp_path, vault):
    library = record(3)
    library.change_settings(retention=Retention(RetentionRule.AFTER_RESULT))
    library.close()
    assert sync(tmp_path, vault)["done"] == 3
    with closing(opened()) as library:
        assert all(item.audio_gone_at is not None for item in library.list())
        assert list(library.store.takes_folder.iterdir()) == []


def test_the_trash_is_destroyed_after_its_days_also_while_sending_is_paused(record, profile, tmp_path, vault):
    record(2).close()
    folder = library_folder(tmp_path, profile.profile_id)
    long_ago = ManualClock(utc_now() - timedelta(days=8))
    with closing(LockedLibrary(profile, folder, vault, long_ago)) as library:
        old, new = (item.take_id for item in library.list())
        library.discard(old)
        use_daily(library, 7)
        library.change_settings(paused=True)
    with closing(LockedLibrary(profile, folder, vault)) as library:
        library.discard(new)
        key = library.store.row(old)["take_key"]
    with pytest.raises(typer.Exit):
        sync(tmp_path, vault)
    with closing(LockedLibrary(profile, folder, vault)) as library:
        assert [each.take_id for each in library.trash.items()] == [new]
        assert [path.name for path in library.store.takes_folder.iterdir()] == [f"{new}.take"]
    assert not any(key in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_voices_are_compared_before_their_sound_goes(opened, male_speech_file, speech_file, tmp_path, vault):
    with closing(opened()) as library:
        library.change_settings(retention=Retention(RetentionRule.AFTER_RESULT))
        for number, path in enumerate((speech_file, male_speech_file)):
            facts = TakeMetadata("ward4-0172", MONDAY + timedelta(days=number), Wanted("sign", "stress"))
            library.queue(library.import_file(path, facts))
    assert sync(tmp_path, vault)["done"] == 2
    with closing(opened()) as library:
        assert [sounds_unlike(item) for item in library.list()] == [True, False]
        assert all(item.audio_gone_at is not None for item in library.list())


def test_a_failed_analysis_is_reported_with_its_reason(record, tmp_path, vault, near_service):
    record(1).close()
    near_service.ends_as = "failed"
    report = sync(tmp_path, vault, quiet=True)
    assert report["unsettled"] == 1
    assert report["recordings"][0]["state"] == "failed"
    assert "could not analyse" in report["recordings"][0]["reason"]


def test_a_desk_that_has_the_library_open_is_said(record, tmp_path, vault, capsys):
    library = record(1)
    with pytest.raises(typer.Exit) as ended:
        sync(tmp_path, vault)
    library.close()
    assert ended.value.exit_code == 3
    assert "open in another window" in capsys.readouterr().err


def test_a_wrong_key_needs_a_person_and_keeps_the_recordings(record, opened, profile, tmp_path, vault, capsys):
    record(1).close()
    vault.set(profile.api_key_name, "vbk_wrong-and-hidden")
    with pytest.raises(typer.Exit) as ended:
        sync(tmp_path, vault)
    assert ended.value.exit_code == 4
    said = capsys.readouterr()
    assert "API key" in said.err
    assert "hidden" not in said.err + said.out
    library = opened()
    assert [item.state for item in library.list()] == [OutboxState.WAITING]
    library.close()


def test_what_is_sent_and_what_is_fetched_share_one_budget(record, profile, tmp_path, vault, near_service):
    record(2).close()
    sent = send_waiting("Ward 4", tmp_path, vault, quiet=True)
    used = {bucket: sent.budget.used(bucket, time.monotonic()) for bucket in Bucket}
    assert used[Bucket.ANALYZE] == 4
    with open_client("Ward 4", tmp_path, vault=vault, budget=sent.budget) as connection:
        connection.client.account.credits()
    assert sent.budget.used(Bucket.GENERAL, time.monotonic()) == used[Bucket.GENERAL] + 1
    told = requests_file(desk_paths(tmp_path), service_of(profile), profile.account_id).recent()  # to the next command
    assert [bucket for bucket, _ in told].count(Bucket.ANALYZE) == 4
    again = send_waiting("Ward 4", tmp_path, vault, quiet=True)
    assert again.budget.used(Bucket.ANALYZE, time.monotonic()) == 4


def test_without_credits_the_results_of_what_was_accepted_are_awaited(
    record, opened, tmp_path, vault, near_service, capsys
):
    record(2).close()
    service, account_id = near_service.service, near_service.credentials.account_id
    queued, polls = service.queued, []
    service.queued = lambda: queued() if len(polls) > 1 else []

    def spend_all_after_the_first(request):
        if request.method == "GET" and "/jobs/" in request.url.path:
            polls.append(request)
        response = type(near_service).answer(near_service, request)
        if "/analyze" in request.url.path:
            balance, _ = service.records.ledger(account_id)
            if balance:
                service.spend(account_id, balance)
        return response

    near_service.answer = spend_all_after_the_first
    with pytest.raises(typer.Exit) as ended:
        sync(tmp_path, vault)
    assert ended.value.exit_code == 4
    said = capsys.readouterr()
    assert "Results of accepted recordings still come." in said.err
    assert ": Done." in said.out
    with closing(opened()) as library:
        assert sorted(item.state for item in library.list()) == [OutboxState.DONE, OutboxState.WAITING]


def test_a_service_out_of_reach_is_said_once_and_what_waits_goes_on_when_it_is_back(
    record, tmp_path, vault, near_service, capsys
):
    record(1).close()
    answer, outage = near_service.answer, [ConnectionResetError, ConnectionResetError]

    def hang_up_twice(request):
        if outage:
            raise outage.pop()
        return answer(request)

    near_service.answer = hang_up_twice
    assert sync(tmp_path, vault)["done"] == 1
    assert capsys.readouterr().err.count("cannot be reached") == 1


def test_ctrl_c_in_the_middle_stops_in_order_and_the_next_run_goes_on(
    record, opened, tmp_path, vault, near_service, capsys, monkeypatch
):
    record(3).close()
    answer, run, told_to_stop = near_service.answer, SyncWorker.run, []

    def note_stop(self, stop):
        told_to_stop.append(stop)
        return run(self, stop)

    monkeypatch.setattr(SyncWorker, "run", note_stop)

    def press_ctrl_c_after_the_first(request):
        response = answer(request)
        if "/analyze" in request.url.path:
            near_service.answer = answer
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            assert told_to_stop[0].wait(HANGS_S)
        return response

    near_service.answer = press_ctrl_c_after_the_first
    with pytest.raises(typer.Exit) as ended:
        sync(tmp_path, vault)
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err.endswith("\nStopped. What was done is kept.\n")
    library = opened()
    assert [item.state for item in library.list()].count(OutboxState.WAITING) == 2
    library.close()
    assert sync(tmp_path, vault, quiet=True)["done"] == 3
    assert sum("/analyze" in request for request in near_service.requests) == 3


def test_results_come_into_a_folder_once(vbdesk, near_service, speech_file, tmp_path):
    audio = AudioSource.from_path(speech_file)
    with near_service.client() as client:
        for number, group_id in enumerate(("subj-7", "subj-7", "subj-8")):
            when = MONDAY + timedelta(days=number)
            client.analyze(Target("sign", "stress"), audio, group_id=group_id, recorded_at=when)
    folder = tmp_path / "results"
    first = vbdesk("sync", "--results", folder, "--json")
    assert json.loads(first.stdout) == {"results": {"new": 3, "unfinished": 0, "kept": 3}}
    assert vbdesk("sync", "--results", folder).stdout == f"0 new results, 3 in {folder}.\n"
    with (folder / "signals.csv").open(newline="") as file:
        assert [row["group_id"] for row in csv.DictReader(file)] == ["subj-8", "subj-7", "subj-7"]
    only = tmp_path / "only"
    assert json.loads(vbdesk("sync", "--results", only, "--group", "subj-8", "--json").stdout)["results"]["kept"] == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "has no library to send from"),
        (["--no-send"], "has no library to send from"),
        (["--group", "subj-7"], "name their folder with --results"),
    ],
)
def test_a_wrong_command_line_is_said(vbdesk, arguments, sentence):
    done = vbdesk("sync", *arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr


def test_fetching_for_a_profile_without_a_folder_says_what_is_missing(vbdesk):
    done = vbdesk("sync", "--no-send", "--profile", "ward 4")
    assert done.exit_code == 2
    assert "With --no-send, only results are fetched: name their folder with --results." in done.stderr


def test_a_recording_that_somebody_changed_is_said_and_keeps_no_other_back(record, tmp_path, vault, capsys):
    library = record(2)
    folder, first = library.store.folder, library.list()[-1].take_id
    library.close()
    with list_by_hand(folder, library.store.key) as database:
        database.execute("UPDATE recordings SET group_id = 'x' WHERE take_id = ?", (first,))
    assert sync(tmp_path, vault)["done"] == 1
    assert "1 recording was changed by something other than vbdesk" in capsys.readouterr().err


def test_recordings_that_cannot_be_opened_end_the_command_with_one_sentence(profile, tmp_path, vault, capsys):
    folder = library_folder(tmp_path, profile.profile_id)
    folder.parent.mkdir()
    folder.write_text("in the way")
    with pytest.raises(typer.Exit):
        sync(tmp_path, vault)
    assert "cannot be opened" in capsys.readouterr().err


class IdleSyncWorker:
    """Tries a recording six times at once, then postpones it for a quarter of an hour."""

    status = SyncStatus(True, "Connected.", None, None)

    def __init__(self, library):
        self.line = UploadQueue(library.store)

    def forecast(self):
        return Forecast(1, None)

    def has_checked_service(self):
        return True

    def run(self, stop):
        (event,) = self.line.events()
        self.line.begin_upload(event)
        self.line.postpone(event, utc_now() + timedelta(minutes=15), "Tried 6 times in vain.")
        stop.wait(HANGS_S)


def test_what_was_tried_in_vain_ends_the_command_with_its_reason(record, profile, vault, capsys):
    library = record(1)
    with pytest.raises(typer.Exit) as ended:
        _Watch(
            LockedProfile(profile, library, vault), IdleSyncWorker(library), keep_trying=False, quiet=True
        ).until_settled()
    library.close()
    assert ended.value.exit_code == 3
    assert "Tried 6 times in vain." in capsys.readouterr().err


def test_what_the_service_may_have_is_sent_again_by_its_take_id(record, opened, tmp_path, vault, near_service, capsys):
    library = record(1)
    [item] = library.list()
    with library.store.changing():
        library.store.write_event_of(item.take_id, {"asked_at": library.store.now()})
        library.store.move(item.take_id, OutboxState.NEEDS_ATTENTION, "The service may have it.", Fix.SEND_AGAIN)
    library.close()
    with pytest.raises(typer.Exit) as ended:
        sync(tmp_path, vault, send_again=["nonesuch"])
    assert ended.value.exit_code == 2
    assert "There is no recording with the id nonesuch" in capsys.readouterr().err
    report = sync(tmp_path, vault, send_again=[item.take_id])
    assert (report["done"], report["unsettled"]) == (1, 0)
    with pytest.raises(typer.Exit):
        sync(tmp_path, vault, send_again=[item.take_id])
    assert "does not need to be sent again" in capsys.readouterr().err


@pytest.mark.parametrize(("fault", "uploads"), [("double_puts", 2), ("use_first_address", 3)])
def test_a_doubled_put_is_success_and_a_foreign_file_at_an_address_is_never_analysed(
    record, tmp_path, vault, near_service, fault, uploads
):
    getattr(near_service, fault)()
    record(2).close()
    assert sync(tmp_path, vault, quiet=True)["done"] == 2
    assert sum(request == "POST /v2/audio/uploads" for request in near_service.requests) == uploads
    assert sorted(near_service.analysed()) == sorted((tmp_path / f"{n}.flac").read_bytes() for n in range(2))


def is_one_plain_sentence(said):
    """Whether the terminal shows only sentences, the last with at most three short ones."""
    last = said.err.splitlines()[-1] if said.err else "."
    return "Traceback" not in said.err and "Error" not in said.err and last.endswith(".") and last.count(". ") <= 4


def test_a_disk_that_stays_full_ends_the_command_in_a_sentence_and_the_next_run_sends_each_once(
    record, opened, tmp_path, vault, near_service, monkeypatch, capfd
):
    record(2).close()
    with monkeypatch.context() as patch:
        disk = FailingDisk().under_databases(patch)
        answer = near_service.answer

        def fill_with_the_first_upload(request):
            disk.full = disk.full or "/analyze" in request.url.path
            return answer(request)

        near_service.answer = fill_with_the_first_upload
        with pytest.raises(typer.Exit) as ended:
            sync(tmp_path, vault, disk_timeout_s=1.0)
    near_service.answer = answer
    assert ended.value.exit_code == 3
    said = capfd.readouterr()
    assert is_one_plain_sentence(said)
    assert said.err.splitlines()[-1] == (
        "The disk is full. Nothing is lost. Make room, and the recordings go on automatically. "
        "This command stopped after 1 s: run it again."
    )
    assert sync(tmp_path, vault, quiet=True)["done"] == 2
    assert len(jobs_of(near_service)) == 2


@pytest.mark.parametrize("error", ["SQLITE_READONLY", "SQLITE_IOERR_WRITE"])
def test_a_disk_that_refuses_from_the_start_is_said_at_once(
    record, tmp_path, vault, near_service, monkeypatch, capfd, error
):
    record(1).close()
    with monkeypatch.context() as patch:
        disk = FailingDisk(error=error).under_databases(patch)
        disk.full = True
        with pytest.raises(typer.Exit) as ended:
            sync(tmp_path, vault)
    assert ended.value.exit_code == 3
    said = capfd.readouterr()
    assert is_one_plain_sentence(said)
    assert said.err.endswith("then run the command again.\n")
    assert near_service.requests == []


@pytest.fixture
def on_small_disk(disk_of, profile, vault, speech_file, tmp_path):
    """Two recordings in the queue of a library on a real disk of 4 MB; returns the disk's folder."""
    folder = disk_of("4m")
    ProfileStore(folder).save(profile)
    with closing(LockedLibrary(profile, library_folder(folder, profile.profile_id), vault)) as library:
        for number in range(2):
            path = tmp_path / f"{number}.flac"
            path.write_bytes(speech_file.read_bytes() + bytes(number))
            facts = TakeMetadata("ward4-0172", MONDAY + timedelta(days=number), Wanted("sign", "stress"))
            library.queue(library.import_file(path, facts))
    return folder


def test_a_disk_that_is_really_full_from_the_start_ends_the_command_in_a_sentence(
    on_small_disk, vault, near_service, capfd
):
    filler = fill(on_small_disk)
    with pytest.raises(typer.Exit) as ended:
        sync(on_small_disk, vault)
    assert ended.value.exit_code == 3
    said = capfd.readouterr()
    assert is_one_plain_sentence(said)
    assert "disk is full" in said.err
    filler.unlink()
    assert sync(on_small_disk, vault, quiet=True)["done"] == 2
    assert len(jobs_of(near_service)) == 2


@pytest.mark.parametrize("room_again", [False, True])
def test_a_disk_that_fills_up_in_the_middle_is_waited_for_and_each_is_sent_once(
    on_small_disk, vault, near_service, capfd, room_again
):
    answer, fillers = near_service.answer, []

    def fill_with_the_first_submit(request):
        if "/analyze" in request.url.path and not fillers:
            fillers.append(fill(on_small_disk))
            if room_again:
                threading.Timer(1.0, fillers[0].unlink).start()
        return answer(request)

    near_service.answer = fill_with_the_first_submit
    if not room_again:
        with pytest.raises(typer.Exit) as ended:
            sync(on_small_disk, vault, disk_timeout_s=1.0)
        assert ended.value.exit_code == 3
        said = capfd.readouterr()
        assert is_one_plain_sentence(said)
        assert "is full. Nothing is lost." in said.err
        fillers[0].unlink()
    assert sync(on_small_disk, vault)["unsettled"] == 0
    assert "Traceback" not in capfd.readouterr().err
    assert all(states(on_small_disk, vault, OutboxState.DONE))
    assert len(jobs_of(near_service)) == 2


def states(folder, vault, wanted):
    profile = ProfileStore(folder).current()
    with closing(LockedLibrary(profile, library_folder(folder, profile.profile_id), vault)) as library:
        return [item.state is wanted for item in library.list()]


@pytest.fixture
def doubtful(opened):
    """Two recordings in the queue whose clock was a day behind, of the same uptime."""
    library = opened()
    clock = library.store.clock
    made = []
    for number in range(2):
        at, boot = clock.now() - timedelta(days=1, minutes=number), clock.boot()
        path = library.recording_folder / f"{number}.take"
        about = {
            "recorded_at": at.isoformat(),
            "boot": {"boot_id": boot.boot_id, "seconds": boot.seconds - 60 * number},
        }
        writer = EncryptedTakeWriter(path, library.store.key, 8000, about)
        writer.append((np.sin(np.arange((16 + number) * 8000) / 20) * 9000).astype(np.int16))
        writer.close()
        made.append(library.add_take(path, TakeMetadata(f"ward4-{number}", at, Wanted("sign", "stress"))))
        library.queue(made[-1])
    library.close()
    return made


def analyses(near_service):
    return sum("/analyze" in request for request in near_service.requests)


def test_a_doubtful_time_is_said_with_what_to_do_and_nothing_is_sent(
    doubtful, opened, tmp_path, vault, near_service, capsys
):
    report = sync(tmp_path, vault)
    said = capsys.readouterr()
    assert "0 of 2 recordings have their result. 2 are not sent before you decide." in said.out
    assert said.err.count("The clock here was behind: it gave ") == 2
    for take_id in doubtful:
        assert f"--time {take_id}=suggested, --time {take_id}=keep, --time {take_id}=DATE-AND-TIME." in said.err
    assert sorted(report["undecided_times"]) == sorted(doubtful)
    assert analyses(near_service) == 0
    sync(tmp_path, vault)  # a later run reports it again
    assert capsys.readouterr().err.count("Use vbdesk sync with one of these") == 2


def test_what_is_decided_on_the_command_line_is_sent(doubtful, opened, tmp_path, vault, near_service):
    sync(tmp_path, vault, quiet=True)
    first, second = doubtful
    with closing(opened()) as library:
        told = {take_id: library.get(take_id) for take_id in doubtful}
    times = parse_times([f"{first}=keep", "all=suggested"])
    assert sync(tmp_path, vault, quiet=True, times=times)["done"] == 2
    with closing(opened()) as library:
        assert library.get(first).recorded_at == told[first].recorded_at
        assert library.get(second).recorded_at == told[second].time_doubt.suggested
    assert analyses(near_service) == 2


def test_an_entered_time_is_sent(doubtful, opened, tmp_path, vault):
    sync(tmp_path, vault, quiet=True)
    times = parse_times([f"{doubtful[0]}=2026-03-01T09:30+01:00", f"{doubtful[1]}=suggested"])
    assert sync(tmp_path, vault, quiet=True, times=times)["done"] == 2
    with closing(opened()) as library:
        recorded_at = library.get(doubtful[0]).recorded_at
        assert recorded_at.replace(microsecond=0) == datetime(2026, 3, 1, 8, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("all=tomorrow", "is not understood"),
        ("nonsense", "is not understood"),
        ("all=2026-03-01 09:30", "cannot all have one time"),
    ],
)
def test_a_decision_that_cannot_be_read_ends_the_command(option, sentence, capsys):
    with pytest.raises(typer.Exit) as ended:
        parse_times([option])
    assert ended.value.exit_code == 2
    assert sentence in capsys.readouterr().err


def test_a_decision_about_what_does_not_wait_for_one_changes_nothing(record, tmp_path, vault, near_service, capsys):
    record(1).close()
    with pytest.raises(typer.Exit) as ended:
        sync(tmp_path, vault, times=parse_times(["no-such-take=keep"]))
    assert ended.value.exit_code == 2
    assert "No recording no-such-take waits for a decision" in capsys.readouterr().err
    assert near_service.requests == []


def test_a_time_in_the_future_is_refused_with_its_reason(doubtful, tmp_path, vault, near_service, capsys):
    sync(tmp_path, vault, quiet=True)
    with pytest.raises(typer.Exit):
        sync(tmp_path, vault, times=parse_times([f"{doubtful[0]}=2099-01-01 00:00"]))
    assert "is in the future" in capsys.readouterr().err
    assert analyses(near_service) == 0


@pytest.mark.usefixtures("no_late_requests")
def test_what_waits_for_a_person_is_named_with_its_id_in_every_run(
    record, opened, tmp_path, vault, near_service, capsys
):
    library = record(1)
    [item] = library.list()
    with library.store.changing():
        library.store.write_event_of(item.take_id, {"asked_at": library.store.now()})
        library.store.move(item.take_id, OutboxState.NEEDS_ATTENTION, "The service may have it.", Fix.SEND_AGAIN)
    library.close()
    for _ in range(2):
        report = sync(tmp_path, vault)
        said = capsys.readouterr().out
        assert f"--send-again {item.take_id}" in said
        assert f"--look-again {item.take_id}" in said
        assert "1 is not sent before you decide." in said
        assert [entry["take_id"] for entry in report["attention"]] == [item.take_id]
    assert sync(tmp_path, vault, look_again=[item.take_id])["done"] == 1
    assert "attention" not in sync(tmp_path, vault)


def test_a_changed_entry_is_named_with_its_id_and_what_to_do(record, opened, tmp_path, vault, profile, capsys):
    library = record(2)
    changed = library.list()[0]
    library.close()
    with list_by_hand(library_folder(tmp_path, profile.profile_id), library.store.key) as database:
        database.execute("UPDATE recordings SET group_id = 'evil' WHERE take_id = ?", (changed.take_id,))
    report = sync(tmp_path, vault)
    said = capsys.readouterr().out
    assert [entry["take_id"] for entry in report["attention"]] == [changed.take_id]
    assert changed.take_id in said
    assert "was changed by something other than vbdesk" in said
    assert "Open the desk" in said


@pytest.fixture
def moved(doubtful, opened, tmp_path, vault):
    """The same two; a person moved the first to a service's time that was wrong."""
    sync(tmp_path, vault, quiet=True)
    with closing(opened()) as library:
        original = library.get(doubtful[0]).recorded_at
        suggested = original - timedelta(hours=1)
        with library.store.changing():
            library.times.mark(library.get(doubtful[0]), TimeDoubt(suggested))
        library.set_recorded_at(doubtful[0], suggested)
        library.retry(doubtful[0])
    sync(tmp_path, vault, quiet=True)
    return doubtful[0], original


def test_after_a_correction_each_choice_says_which_time_it_means(moved, opened, tmp_path, vault, capsys):
    take_id, original = moved
    sync(tmp_path, vault)
    said = " ".join(capsys.readouterr().err.split())
    options = [f"--time {take_id}={choice}" for choice in ("suggested", "clock", "keep", "DATE-AND-TIME")]
    assert f"{', '.join(options)}." in said
    before, now = (f"{each.astimezone():%Y-%m-%d %H:%M}" for each in (original, original - timedelta(hours=1)))
    assert f"clock means {before}, the time before the correction. keep means {now}." in said


@pytest.mark.parametrize("name", ["all", "one"])
def test_the_time_before_a_correction_can_be_chosen(moved, doubtful, opened, tmp_path, vault, name):
    _, original = moved
    with closing(opened()) as library:
        other = library.get(doubtful[1]).recorded_at
    options = ["all=clock"] if name == "all" else [f"{each}=clock" for each in doubtful]
    assert sync(tmp_path, vault, quiet=True, times=parse_times(options))["done"] == 2
    with closing(opened()) as library:
        assert [library.get(each).recorded_at for each in doubtful] == [original, other]


def test_a_corrected_recording_that_waits_can_be_decided_again(doubtful, opened, tmp_path, vault):
    sync(tmp_path, vault, quiet=True)
    take_id, other = doubtful
    with closing(opened()) as library:
        original = library.get(take_id).recorded_at
        library.set_recorded_at(take_id, original - timedelta(hours=1))
        library.retry(take_id)
    times = parse_times([f"{take_id}=clock", f"{other}=keep"])
    assert sync(tmp_path, vault, quiet=True, times=times)["done"] == 2
    with closing(opened()) as library:
        assert library.get(take_id).recorded_at == original


class ClockAhead(SystemClock):
    def now(self):
        return super().now() + timedelta(hours=3)


@pytest.fixture
def wrong_clock(monkeypatch):
    """The computer's clock is three hours ahead during sending."""
    monkeypatch.setattr("vbdesk.outbox.sync.sync_worker.SystemClock", ClockAhead)


@pytest.mark.parametrize(
    ("count", "sentence"),
    [
        (1, "Your decision about the time of 1 recording is kept, whenever it is sent."),
        (2, "Your decisions about the times of 2 recordings are kept, whenever they are sent."),
    ],
)
def test_a_decision_while_the_clock_is_wrong_is_said_to_be_kept_and_it_is(
    doubtful, opened, tmp_path, vault, near_service, capsys, request, count, sentence
):
    sync(tmp_path, vault, quiet=True)
    with closing(opened()) as library:
        suggested = {take_id: library.get(take_id).time_doubt.suggested for take_id in doubtful}
    chosen = doubtful[:count]
    capsys.readouterr()
    request.getfixturevalue("wrong_clock")
    with pytest.raises(typer.Exit) as ended:
        sync(tmp_path, vault, times=parse_times([f"{take_id}=suggested" for take_id in chosen]))
    assert ended.value.exit_code == 4
    said = capsys.readouterr().err
    assert sentence in said
    assert "The clock of this computer is wrong" in said
    assert analyses(near_service) == 0
    with closing(opened()) as library:
        assert [library.get(take_id).recorded_at for take_id in chosen] == [suggested[take_id] for take_id in chosen]
        assert all(library.get(take_id).fix is None for take_id in chosen)


def test_a_decision_that_changes_nothing_is_said(record, tmp_path, vault, capsys):
    record(1).close()
    sync(tmp_path, vault, times=parse_times(["all=suggested"]))
    assert "No time of a recording was decided." in capsys.readouterr().err


def test_decisions_before_one_that_is_refused_are_said_to_be_kept(doubtful, tmp_path, vault, capsys):
    sync(tmp_path, vault, quiet=True)
    capsys.readouterr()
    with pytest.raises(typer.Exit):
        sync(tmp_path, vault, times=parse_times([f"{doubtful[0]}=suggested", "no-such-take=keep"]))
    said = capsys.readouterr().err
    assert "Your decision about the time of 1 recording is kept" in said
    assert "No recording no-such-take waits" in said


def test_a_keyring_that_does_not_answer_ends_with_a_status_of_its_own_and_changes_nothing(
    record, profile, tmp_path, vault, monkeypatch, capsys
):
    record(1).close()
    folder = library_folder(tmp_path, profile.profile_id)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def silent(*_args):
        raise VaultWaiting("The keyring has not answered.")

    monkeypatch.setattr("vbdesk.outbox.profiles.vault.ASK_EVERY_S", 0.0)
    for name in ("get", "get_without_prompt"):
        monkeypatch.setattr(vault, name, silent)
    with pytest.raises(typer.Exit) as ended:
        sync(tmp_path, vault)
    assert ended.value.exit_code == 5
    assert "The keyring has not answered." in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

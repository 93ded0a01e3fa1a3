"""Keeping a folder of results up to date, on the real routes."""

import csv
import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from vbdesk.client import AudioSource, InUse, Target, WrongFolder, sync
from vbdesk.client.errors import ConnectionFailed, NotFound
from vbdesk.client.folder_lock import exclusive_lock
from vbdesk.contract.limits import Plan

MORNING = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)


@pytest.fixture
def record(desk, speech_file):
    """Make a job; returns its id."""
    audio = AudioSource.from_path(speech_file)

    def make(group_id=None, day=0, target=Target("sign", "stress")):
        desk.service.clock.moment += timedelta(minutes=20)
        when = None if group_id is None else MORNING + timedelta(days=day)
        with desk.client() as client:
            job = client.analyze(target, audio, group_id=group_id, recorded_at=when, longitudinal=group_id is not None)
        return job.job_id

    return make


def run(desk, folder, groups=None, **more):
    with desk.client() as client:
        return sync(client, folder, groups, **more)


def table(folder):
    with (folder / "signals.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def lines(folder):
    return [json.loads(line) for line in (folder / "jobs.jsonl").read_text().splitlines()]


def test_everything_of_the_account_comes_once_and_then_only_what_is_new(desk, record, tmp_path):
    ids = [
        record("subj-7", day=2),
        record("subj-7", day=1),
        record(),
        record("subj-8", target=Target("model", "breath")),
    ]
    folder = tmp_path / "results"
    report = run(desk, folder)
    assert (report.new, report.unfinished, report.kept) == (4, 0, 4)
    assert sorted(line["job_id"] for line in lines(folder)) == sorted(ids)
    desk.requests.clear()
    assert run(desk, folder).new == 0
    assert desk.asked("GET /v2/jobs/") == 0
    assert desk.asked("/jobs") == 1, "no group has changed; of the account's list the newest page is read"
    fifth = record("subj-7", day=3)
    desk.requests.clear()
    seen = []
    assert run(desk, folder, on_job=lambda job: seen.append(job.job_id)).new == 1
    assert seen == [fifth]
    assert desk.asked("GET /v2/jobs/") == 1
    assert desk.asked("groups/subj-8") == 0


def test_the_table_has_a_row_for_every_sign_with_its_place_in_the_history(desk, record, tmp_path):
    first, second, alone_ = record("subj-7", day=1), record("subj-7", day=0), record(target=Target("model", "breath"))
    run(desk, tmp_path)
    rows = table(tmp_path)
    assert [(row["job_id"], row["group_id"], row["target"], row["sign"]) for row in rows if row["group_id"]] == [
        (second, "subj-7", "stress", "stress"),
        (first, "subj-7", "stress", "stress"),
    ]
    assert rows[0]["recorded_at"] == "2026-03-01T08:30:00.000000Z"
    assert 0 <= float(rows[0]["score"]) <= 1
    assert rows[0]["flagged"] in {"true", "false"}
    assert {row["sign"] for row in rows if row["job_id"] == alone_} == {"airway-obstruction-pattern", "allergy"}


def test_unfinished_jobs_come_later_and_failed_ones_have_a_row_without_a_sign(desk, record, tmp_path):
    desk.ends_at_once = False
    job_id = record("subj-7")
    assert run(desk, tmp_path).unfinished == 1
    assert table(tmp_path) == []
    desk.finish("failed")
    assert run(desk, tmp_path).new == 1
    [row] = table(tmp_path)
    assert (row["job_id"], row["status"], row["sign"], row["score"]) == (job_id, "failed", "", "")


def test_a_job_that_moves_between_groups_moves_in_the_table(desk, record, tmp_path):
    job_id = record("subj-7")
    run(desk, tmp_path)
    with desk.client() as client:
        desk.service.clock.moment += timedelta(minutes=1)
        client.groups.create("cohort")
        client.groups.add_jobs("cohort", [job_id])
    run(desk, tmp_path)
    assert sorted(row["group_id"] for row in table(tmp_path)) == ["cohort", "subj-7"]
    with desk.client() as client:
        client.groups.delete("subj-7")
    run(desk, tmp_path)
    assert [row["group_id"] for row in table(tmp_path)] == ["cohort"]


def test_named_groups_alone_are_read(desk, record, tmp_path):
    wanted = record("subj-7")
    record("subj-8")
    assert run(desk, tmp_path, ["subj-7"]).kept == 1
    assert lines(tmp_path)[0]["job_id"] == wanted
    with pytest.raises(NotFound):
        run(desk, tmp_path, ["nobody"])


def test_a_broken_off_synchronisation_goes_on_where_it_was(desk, record, tmp_path):
    for day in range(4):
        record("subj-7", day)
    fetched = []

    def stop_after_two(job):
        fetched.append(job.job_id)
        if len(fetched) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(desk, tmp_path, on_job=stop_after_two)
    with (tmp_path / "jobs.jsonl").open("ab") as file:
        file.write(b'{"job_id": "cut off by the cra')
    desk.requests.clear()
    assert run(desk, tmp_path).new == 2
    assert desk.asked("GET /v2/jobs/") == 2
    assert len({line["job_id"] for line in lines(tmp_path)}) == 4


def test_a_lost_connection_keeps_what_came(desk, record, tmp_path):
    record("subj-7")
    record("subj-8")
    answer = desk.answer

    def break_off(request):
        if desk.asked("GET /v2/jobs/") == 1:
            raise httpx.ConnectError("gone")
        return answer(request)

    desk.answer = break_off
    with pytest.raises(ConnectionFailed):
        run(desk, tmp_path)
    assert len(lines(tmp_path)) == 1
    desk.answer = answer
    assert run(desk, tmp_path).kept == 2


def test_a_folder_belongs_to_one_account_and_one_program(desk, record, tmp_path):
    record("subj-7")
    run(desk, tmp_path)
    other = desk.service.add_account(Plan.ENTERPRISE, 0)
    with desk.client(other) as client, pytest.raises(WrongFolder, match="another account"):
        sync(client, tmp_path)
    with exclusive_lock(tmp_path / ".lock"), pytest.raises(InUse):
        run(desk, tmp_path)

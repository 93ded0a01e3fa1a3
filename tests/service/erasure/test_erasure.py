"""Erasure: what is removed, what stays, and erasure while a service runs."""

import json
import threading
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
import sqlalchemy as sa
from sample_results import result_json
from typer.testing import CliRunner
from worker_tasks import analyse_at_once, nothing_to_prepare

from patience import HANGS_S
from vbdesk.cli.admin import app
from vbdesk.contract.ids import new_id
from vbdesk.service.composition.eraser import open_eraser
from vbdesk.service.engine.job_runner import JobRunner
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.db.tables import cohort_snapshots, credit_entries
from vbdesk.service.kernel.errors import Conflict, NotFound
from vbdesk.service.maintenance.orphans import sweep_orphans
from vbdesk.service.maintenance.retention import remove_erased_audio

SPEECH = Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac"


@pytest.fixture
def eraser(bench):
    context = bench.service.context
    return open_eraser(context.settings, context.database, context.clock)


def rows_with(bench, text: str) -> set[str]:
    """Return the tables in which any row contains the text."""
    with bench.service.context.database.reading() as connection:
        return {
            table.name
            for table in metadata.sorted_tables
            for row in connection.execute(sa.select(table))
            if text in repr(tuple(row))
        }


def ledger(bench) -> list[tuple[str, int]]:
    with bench.service.context.database.reading() as connection:
        mine = credit_entries.c.account_id == bench.account.account_id
        query = sa.select(credit_entries.c.kind, credit_entries.c.delta).where(mine)
        return [tuple(row) for row in connection.execute(query.order_by(credit_entries.c.entry_id))]


def hook(bench) -> None:
    body = {"url": "https://example.org/hook", "secret_key": "secret"}
    assert bench.client.post("/v2/account/webhook", json=body).status_code == 200


def test_an_erased_job_leaves_only_ledger_entries_and_an_audit_entry(bench, eraser):
    hook(bench)
    job_id = bench.submit_to("subj", headers={"Idempotency-Key": "take-1"})
    bench.finish(job_id)
    before = ledger(bench)
    erasure = eraser.erase_job(bench.account.account_id, job_id)
    assert (erasure.kind, erasure.jobs) == ("job", 1)
    assert bench.client.get(f"/v2/jobs/{job_id}").status_code == 404
    assert bench.stored_audio() == []
    assert rows_with(bench, job_id) == {"credit_entries"}
    assert rows_with(bench, erasure.erasure_id) == {"erasures"}
    assert ledger(bench) == before
    assert bench.credits() == 100_000 - 60
    assert bench.get("/v2/groups")["groups"][0]["job_count"] == 0


def test_a_groups_results_are_computed_again_without_the_erased_job(bench, eraser):
    jobs = [bench.submit_to("subj", longitudinal=True, recorded_at=f"2026-02-0{day}T08:00:00Z") for day in (1, 2, 3)]
    for job_id in jobs:
        bench.finish(job_id)
    assert len(bench.get("/v2/groups/subj/longitudinal")["data_points"]) == 3
    assert bench.get("/v2/groups/subj/aggregate")["job_counts"]["done"] == 3
    eraser.erase_job(bench.account.account_id, jobs[1])
    assert rows_with(bench, jobs[1]) == {"credit_entries"}
    points = bench.get("/v2/groups/subj/longitudinal")["data_points"]
    assert [point["job_id"] for point in points] == [jobs[0], jobs[2]]
    assert bench.get("/v2/groups/subj/aggregate")["job_counts"]["done"] == 2


def test_the_upload_of_an_erased_job_is_removed(bench, eraser):
    grant = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    bench.service.client().put(grant["upload_url"], content=SPEECH.read_bytes(), headers=grant["required_headers"])
    erased, kept = (bench.submit(audio=None, audio_upload_ref=grant["upload_ref"]) for _ in range(2))
    eraser.erase_job(bench.account.account_id, erased)
    assert not bench.service.context.storage.exists(f"uploads/{grant['upload_ref']}")
    assert bench.stored_audio() == [kept]  # another job on the same recording is another request
    again = bench.post(audio=None, audio_upload_ref=grant["upload_ref"])
    assert (again.status_code, again.json()["message"]) == (400, "Invalid audio_upload_ref")


def put(bench, grant, content=None):
    """PUT the recording to the granted address."""
    content = SPEECH.read_bytes() if content is None else content
    return bench.service.client().put(grant["upload_url"], content=content, headers=grant["required_headers"])


def uploads_left(bench) -> list[str]:
    """Return objects and half-written files of uploads, in any folder of the store."""
    storage = bench.service.context.storage
    return [*storage.keys("uploads"), *storage.keys("quarantine"), *map(str, storage.incoming.iterdir())]


@pytest.fixture
def emptied(bench):
    """A bench whose store contains nothing of earlier tests."""
    storage = bench.service.context.storage
    for key in [*storage.keys("uploads"), *storage.keys("quarantine")]:
        storage.delete(key)
    return bench


@pytest.mark.parametrize("kind", ["job", "group"])
def test_the_address_of_an_erased_upload_refuses_a_later_file(emptied, eraser, kind):
    bench = emptied
    grant = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    assert put(bench, grant).status_code == 200
    job_id = bench.submit_to("subj", audio=None, audio_upload_ref=grant["upload_ref"])
    if kind == "job":
        eraser.erase_job(bench.account.account_id, job_id)
    else:
        eraser.erase_group(bench.account.account_id, "subj")
    refused = put(bench, grant)
    assert (refused.status_code, ET.fromstring(refused.content).findtext("Code")) == (403, "AccessDenied")
    assert uploads_left(bench) == []
    other = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    assert put(bench, other).status_code == 200, "other addresses of the account go on"


def test_a_file_in_transit_while_its_job_is_erased_is_refused(emptied, eraser):
    """Send two files to one address; the fast one is stored, submitted and erased during the slow one."""
    bench = emptied
    grant = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    begun, erased = threading.Event(), threading.Event()

    def slowly():
        yield b"first"
        begun.set()
        assert erased.wait(HANGS_S)
        yield b"last"

    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(put, bench, grant, slowly())
        assert begun.wait(HANGS_S)
        assert put(bench, grant).status_code == 200
        job_id = bench.submit(audio=None, audio_upload_ref=grant["upload_ref"])
        eraser.erase_job(bench.account.account_id, job_id)
        erased.set()
        assert late.result(HANGS_S).status_code == 403
    assert uploads_left(bench) == []


@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_erasure_while_a_file_is_stored_leaves_nothing(emptied, eraser, monkeypatch, moment):
    bench, storage = emptied, emptied.service.context.storage
    grant = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    assert put(bench, grant).status_code == 200
    job_id = bench.submit(audio=None, audio_upload_ref=grant["upload_ref"])
    storage.delete(f"uploads/{grant['upload_ref']}")  # so that the address accepts another file
    adopt = type(storage).adopt

    def adopt_while_erasing(store, key, path):
        if moment == "before":
            eraser.erase_job(bench.account.account_id, job_id)
        adopt(store, key, path)
        if moment == "after":
            eraser.erase_job(bench.account.account_id, job_id)

    monkeypatch.setattr(type(storage), "adopt", adopt_while_erasing)
    assert put(bench, grant).status_code == 403
    assert uploads_left(bench) == []


def test_a_file_stored_by_a_killed_service_during_an_erasure_is_removed_later(emptied, eraser):
    """The process is killed before it sees the erasure; the object is removed without quarantine."""
    bench, context = emptied, emptied.service.context
    grant = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    assert put(bench, grant).status_code == 200
    job_id = bench.submit(audio=None, audio_upload_ref=grant["upload_ref"])
    eraser.erase_job(bench.account.account_id, job_id)
    left = context.storage.incoming / "left"
    left.write_bytes(b"sound")
    context.storage.adopt(f"uploads/{grant['upload_ref']}", left)
    bench.service.clock.advance(2 * 24 * 3600)
    assert sweep_orphans(context).quarantined == 0
    assert remove_erased_audio(context)  # with those of earlier tests
    assert uploads_left(bench) == []
    bench.service.clock.advance(8 * 24 * 3600)
    remove_erased_audio(context)
    assert rows_with(bench, grant["upload_ref"]) == set()


def test_erasing_a_waiting_job_releases_its_credits_and_lets_others_continue(bench, eraser):
    first, second = (
        bench.submit_to("subj", longitudinal=True, recorded_at=f"2026-02-0{day}T08:00:00Z") for day in (1, 2)
    )
    bench.finish(second)
    assert bench.status(second) == "running"  # waits for its turn
    eraser.erase_job(bench.account.account_id, first)
    assert bench.status(second) == "done"
    assert bench.credits() == 100_000 - 60


def test_the_analysis_of_an_erased_job_is_dropped(bench, eraser):
    job_id = bench.submit()
    slots = SlotPool(1, nothing_to_prepare)
    runner = JobRunner(bench.service.context, slots, analyse_at_once, "test")
    begun, erased, analyse = threading.Event(), threading.Event(), runner._analyse

    def analyse_until_erased(*arguments):
        analysed = analyse(*arguments)
        begun.set()
        assert erased.wait(HANGS_S)
        return analysed

    runner._analyse = analyse_until_erased
    run = threading.Thread(target=runner.run, args=(job_id,))
    run.start()
    assert begun.wait(HANGS_S)
    eraser.erase_job(bench.account.account_id, job_id)
    erased.set()
    run.join(HANGS_S)
    runner.stop()
    assert bench.client.get(f"/v2/jobs/{job_id}").status_code == 404
    assert rows_with(bench, job_id) == {"credit_entries"}
    assert (bench.stored_audio(), bench.credits()) == ([], 100_000)


def test_erasing_a_group_erases_all_its_jobs(bench, eraser):
    hook(bench)
    inside, elsewhere, queued = bench.submit_to("mr-x"), bench.submit_to("mr-x"), bench.submit_to("mr-x")
    taken_out = bench.submit_to("mr-x", longitudinal=True)
    other = bench.submit_to("other")
    for job_id in (inside, elsewhere, other):
        bench.finish(job_id)
    bench.client.post("/v2/groups/other/jobs", json={"job_ids": [elsewhere]}).raise_for_status()
    bench.client.delete(f"/v2/groups/mr-x/jobs/{taken_out}").raise_for_status()
    bench.get("/v2/groups/mr-x/longitudinal")
    erasure = eraser.erase_group(bench.account.account_id, "mr-x")
    assert (erasure.kind, erasure.jobs) == ("group", 4)
    assert rows_with(bench, "mr-x") == set()
    for job_id in (inside, elsewhere, queued, taken_out):
        assert rows_with(bench, job_id) == {"credit_entries"}
    assert bench.stored_audio() == [other]
    assert [group["group_id"] for group in bench.get("/v2/groups")["groups"]] == ["other"]
    assert bench.get("/v2/groups/other/jobs")["total_jobs"] == 1
    assert bench.credits() == 100_000 - 3 * 60


def test_a_groups_levels_are_removed_from_the_cohort_snapshot(bench, eraser):
    bench.finish(bench.submit_to("subj"))
    context = bench.service.context
    with context.database.writing() as connection:
        mine = connection.execute(
            sa.text("SELECT group_key FROM groups WHERE group_id = 'subj' AND account_id = :account"),
            {"account": bench.account.account_id},
        ).scalar_one()
        body = json.dumps({mine: {"stress": 0.4}, "another": {"stress": 0.1}})
        connection.execute(
            sa.insert(cohort_snapshots).values(
                account_id=bench.account.account_id, taken_at=context.clock.now(), body=body
            )
        )
    eraser.erase_group(bench.account.account_id, "subj")
    assert rows_with(bench, mine) == set()
    assert rows_with(bench, "another") == {"cohort_snapshots"}


def test_a_recording_that_is_erased_while_it_is_put_back_from_quarantine_is_gone(bench, eraser, monkeypatch):
    job_id = bench.submit()
    storage = bench.service.context.storage
    storage.link(f"audio/{job_id}", f"quarantine/audio/{job_id}")
    storage.delete(f"audio/{job_id}")
    link = storage.link

    def link_after_its_place_was_cleared(source_key, key):
        with monkeypatch.context() as patch:
            patch.setattr(type(eraser._storage), "delete", delete_and_go_on(lambda: link(source_key, key)))
            eraser.erase_job(bench.account.account_id, job_id)

    def delete_and_go_on(go_on):
        delete = type(eraser._storage).delete

        def delete_first(store, key):
            delete(store, key)
            if key == f"audio/{job_id}":
                go_on()

        return delete_first

    monkeypatch.setattr(storage, "link", link_after_its_place_was_cleared)
    sweep_orphans(bench.service.context)
    assert not storage.exists(f"audio/{job_id}")
    assert not storage.exists(f"quarantine/audio/{job_id}")


def test_only_the_accounts_own_resources_can_be_erased(bench, eraser):
    job_id = bench.submit_to("subj")
    stranger = bench.service.add_account().account_id
    for account_id, job, group in ((stranger, job_id, "subj"), (bench.account.account_id, new_id(), "none")):
        with pytest.raises(NotFound):
            eraser.erase_job(account_id, job)
        with pytest.raises(NotFound):
            eraser.erase_group(account_id, group)
    assert bench.status(job_id) == "queued"


def test_a_state_computed_during_an_erasure_is_not_kept(bench, eraser):
    """Reads and erasures run concurrently; in any order, no cached state names the erased job."""
    jobs = [bench.submit_to("subj") for _ in range(6)]
    for job_id in jobs:
        bench.finish(job_id)
    with ThreadPoolExecutor(4) as threads:
        reads = [threads.submit(bench.client.get, "/v2/groups/subj/longitudinal") for _ in range(12)]
        for job_id in jobs[:4]:
            eraser.erase_job(bench.account.account_id, job_id)
        assert {read.result().status_code for read in reads} == {200}
    for job_id in jobs[:4]:
        assert rows_with(bench, job_id) == {"credit_entries"}


def test_an_audio_file_that_could_not_be_removed_is_swept_later(bench, eraser):
    job_id = bench.submit()
    eraser.erase_job(bench.account.account_id, job_id)
    storage = bench.service.context.storage
    left = storage.incoming / "left"
    left.write_bytes(b"sound")
    storage.adopt(f"audio/{job_id}", left)  # as if it had been in use
    bench.service.clock.advance(1000 * 24 * 3600)
    assert sweep_orphans(bench.service.context).quarantined == 1
    assert bench.stored_audio() == []


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_operator_erases_while_a_service_runs_and_reads_the_audit(make_bench):
    bench = make_bench()
    settings = bench.service.context.settings
    data_dir = settings.data_dir
    (data_dir / "vbdesk.toml").write_text(f'database_url = "{settings.database_url}"')
    who = ("--data-dir", data_dir, "--account", bench.account.account_id)
    job_id = bench.submit_to("mrs-example-1931")
    alone = bench.submit()
    bench.finish(job_id)
    deleted = json.loads(run("job", "delete", *who, "--job", alone, "--json").stdout)
    erased = json.loads(run("group", "erase", *who, "--group", "mrs-example-1931", "--json").stdout)
    assert (deleted["kind"], deleted["jobs"], erased["kind"], erased["jobs"]) == ("job", 1, "group", 1)
    assert json.loads(run("erasure", "list", "--data-dir", data_dir, "--json").stdout) == [deleted, erased]
    assert bench.get("/v2/jobs")["jobs"] == []
    assert bench.stored_audio() == []
    for file in data_dir.rglob("*"):
        if file.is_file():
            assert b"mrs-example-1931" not in file.read_bytes(), file.name  # not even in the database's free pages
    refused = run("job", "delete", *who, "--job", alone)
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    assert "no job with this id" in refused.stderr


def test_a_job_that_ends_while_it_is_erased_is_settled_once(make_bench, postgresql):
    bench = make_bench(**postgresql.make(None))
    context = bench.service.context
    job_id = bench.submit()
    assert bench.start(job_id)
    with ThreadPoolExecutor(1) as pool:
        with context.database.writing() as connection:
            bench._lifecycle.analysed(connection, job_id, result_json("model", "pulse", 0.4))
            eraser = open_eraser(context.settings, context.database, context.clock)
            erasing = pool.submit(eraser.erase_job, bench.account.account_id, job_id)
            wait([erasing], 0.5)
        assert erasing.result().jobs == 1
    assert [kind for kind, _ in ledger(bench)] == ["grant", "hold", "capture"]


def test_the_recording_of_an_ended_job_is_erased_and_its_result_stays(bench, eraser):
    grant = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    bench.service.client().put(grant["upload_url"], content=SPEECH.read_bytes(), headers=grant["required_headers"])
    job_id, other = bench.submit(audio=None, audio_upload_ref=grant["upload_ref"]), bench.submit()
    for each in (job_id, other):
        bench.finish(each)
    before = bench.get(f"/v2/jobs/{job_id}")
    for _ in range(2):  # also after a crash before it was recorded
        assert eraser.erase_sounds(bench.account.account_id, [job_id]) == 1
    assert bench.get(f"/v2/jobs/{job_id}") == before
    assert bench.stored_audio() == [other]
    assert not bench.service.context.storage.exists(f"uploads/{grant['upload_ref']}")
    assert eraser.count_left() == 0


def test_a_recording_that_is_needed_or_of_another_account_stays(bench, eraser):
    job_id, ended = bench.submit(), bench.submit()
    bench.finish(ended)
    with pytest.raises(Conflict, match="Wait for its end"):
        eraser.erase_sounds(bench.account.account_id, [ended, job_id])
    assert eraser.erase_sounds("acc-other", [ended]) == 0
    assert sorted(bench.stored_audio()) == sorted([job_id, ended])


def test_an_upload_without_a_job_is_erased(bench, eraser):
    grant = bench.client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).json()
    bench.service.client().put(grant["upload_url"], content=SPEECH.read_bytes(), headers=grant["required_headers"])
    stored = f"uploads/{grant['upload_ref']}"
    eraser.erase_sounds("acc-other", [], [grant["upload_ref"]])
    assert bench.service.context.storage.exists(stored)
    eraser.erase_sounds(bench.account.account_id, [], [grant["upload_ref"]])
    assert not bench.service.context.storage.exists(stored)
    assert bench.post(audio=None, audio_upload_ref=grant["upload_ref"]).status_code == 400


def test_recordings_that_the_store_cannot_remove_are_counted(bench, eraser, monkeypatch):
    job_id = bench.submit()
    bench.finish(job_id)

    def in_use(key):
        raise PermissionError("somebody reads it")

    monkeypatch.setattr(eraser._storage, "delete", in_use)
    eraser.erase_sounds(bench.account.account_id, [job_id])
    assert eraser.count_left() == 1
    monkeypatch.undo()
    eraser.erase_sounds(bench.account.account_id, [job_id])
    assert eraser.count_left() == 0
    assert bench.stored_audio() == []


def test_the_operator_erases_several_jobs_at_once_and_again(bench):
    jobs = [bench.submit() for _ in range(2)]
    for job_id in jobs:
        bench.finish(job_id)
    settings, account = bench.service.context.settings, bench.account.account_id
    data_dir, environment = str(settings.data_dir), {"VBDESK_DATABASE_URL": settings.database_url}
    chosen = [part for job_id in jobs for part in ("--job", job_id)]
    for options, told in ((["--sound-only"], 2), ([], 2), ([], 0)):
        command = ["job", "erase", "--data-dir", data_dir, "--account", account, *chosen, *options, "--json"]
        done = CliRunner().invoke(app, command, env=environment)
        assert json.loads(done.stdout)["left"] == 0, done.output
        assert json.loads(done.stdout)["erased"] == told
        assert bench.client.get(f"/v2/jobs/{jobs[0]}").status_code == (200 if options else 404)
        assert bench.stored_audio() == []


def test_the_operator_erases_groups_without_a_job(bench):
    kept, gone = bench.submit_to("kept"), bench.submit_to("gone")
    for job_id in (kept, gone):
        bench.finish(job_id)
    settings, account = bench.service.context.settings, bench.account.account_id
    environment = {"VBDESK_DATABASE_URL": settings.database_url}
    command = ["job", "erase", "--data-dir", str(settings.data_dir), "--account", account, "--json", "--job", gone]
    for options, groups in (([], {"kept", "gone"}), (["--empty-groups"], {"kept"})):
        done = CliRunner().invoke(app, [*command, *options], env=environment)
        assert done.exit_code == 0, done.output
        assert {group["group_id"] for group in bench.get("/v2/groups")["groups"]} == groups
    assert bench.get("/v2/groups/kept/jobs")["total_jobs"] == 1

"""Accounts that are suspended, resumed, deleted or signed out."""

import http.server
import json
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import ClassVar

import httpx
import pytest
import sqlalchemy as sa
from console_person import Person
from sample_audio import noise_wav
from sample_results import result_json
from typer.testing import CliRunner

from patience import HANGS_S, until
from vbdesk.cli.admin import app
from vbdesk.contract.errors import ErrorCode
from vbdesk.service.credits.service import read_ledger
from vbdesk.service.erasure import repository as erasure_rows
from vbdesk.service.erasure.service import PUT_LASTS, Eraser
from vbdesk.service.groups import repository as group_rows
from vbdesk.service.groups.waiting_jobs import GroupHistories
from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.tables import accounts, erased_objects, webhook_deliveries
from vbdesk.service.maintenance import orphans
from vbdesk.service.maintenance.retention import remove_erased_audio
from vbdesk.service.storage.local import LocalObjectStore
from vbdesk.service.storage.store import StoreUnavailable
from vbdesk.service.webhooks import repository as deliveries
from vbdesk.service.webhooks.delivery_worker import DeliveryWorker
from vbdesk.service.webhooks.sender import WebhookSender

AUDIO = noise_wav(16)
V2 = ["/v2/models", "/v2/jobs", "/v2/account/credits", "/v2/groups", "/v2/jobs/x"]
V1 = ["/api/v1/account/credits", "/api/v1/account/jobs"]
RETENTION = {"accounts", "credit_balances", "credit_entries", "erasures"}
"""Tables that keep a deleted account's id: the ledger, and the audit of its deletion."""


@pytest.fixture
def service(start_service):
    return start_service(allow_private_addresses=True)


@pytest.fixture
def account(service):
    return service.add_account()


@pytest.fixture
def client(service, account):
    return service.client(account)


def operate(service, *arguments: str, stdin: str | None = None, fails: bool = False):
    """Run an operator's command in a separate process."""
    settings = service.context.settings
    environment = {"VBDESK_DATABASE_URL": settings.database_url} if settings.database_url else {}
    command = [*arguments, "--data-dir", str(settings.data_dir)]
    done = CliRunner().invoke(app, command, env=environment, input=stdin)
    assert (done.exit_code != 0) == fails, done.output
    return done


def on_account(service, account, *command: str, **more):
    return operate(service, "account", command[0], "--account", account.account_id, *command[1:], **more)


def submit(client, path: str = "/v2/signs/stress/analyze", **fields: str) -> str:
    answer = client.post(path, files={"audio": AUDIO}, data=fields)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["job_id"])


def finish(service, job_id: str) -> None:
    lifecycle = JobLifecycle.of(service.context)
    with service.context.database.writing() as connection:
        assert lifecycle.start(connection, job_id, "test", 120) is not None
        lifecycle.analysed(connection, job_id, result_json("sign", "stress", 0.4))


def mint(client) -> dict:
    answer = client.post("/v2/audio/uploads", json={"content_type": "audio/wav"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def put(grant: dict) -> httpx.Response:
    return httpx.put(
        grant["upload_url"], content=AUDIO, headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
    )


def assert_refused(answer: httpx.Response) -> None:
    assert answer.status_code == 401, answer.text
    body = answer.json()
    assert (body["code"], body["status"]) == ("UNAUTHORIZED", 401)
    # the message of a wrong key, which reveals nothing
    assert body["message"] == ErrorCode.UNAUTHORIZED.facts.sentence


def assert_no_access(service, account) -> None:
    client = service.client()
    for path in V2:
        assert_refused(client.get(path, headers=account.headers))
    for path in V1:
        assert_refused(client.get(path, headers=account.v1_headers))
    for path in ("/v2/signs/stress/analyze", "/v2/use-case/analyze", "/v2/conditions/anxiety/groups/g/analyze"):
        assert_refused(client.post(path, files={"audio": AUDIO}, headers=account.headers))
    assert_refused(client.post("/api/v1/wellness/analyze-audio", files={"audio": AUDIO}, headers=account.v1_headers))
    assert_refused(client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}, headers=account.headers))
    person = Person(service.client())
    assert person.sign_in(account).status_code == 401


# Suspended


def test_a_suspended_account_is_refused_everywhere_and_resumed_unchanged(service, account, client):
    job_id = submit(client, "/v2/signs/stress/groups/g/analyze")
    finish(service, job_id)
    grant = mint(client)
    person = Person(service.client())
    assert person.sign_in(account).status_code == 200

    on_account(service, account, "suspend")
    assert_no_access(service, account)
    refused = put(grant)
    assert (refused.status_code, "<Code>AccessDenied</Code>" in refused.text) == (403, True)
    assert str(person.open("/console/keys").url).split("?")[0].endswith("/console/sign-in")
    listed = operate(service, "account", "list", "--json").stdout
    assert '"state": "suspended"' in listed

    on_account(service, account, "resume")
    assert client.get(f"/v2/jobs/{job_id}").json()["status"] == "done"
    assert client.get("/v2/groups/g/jobs").json()["total_jobs"] == 1
    assert put(grant).status_code == 200
    upload = {"audio_upload_ref": grant["upload_ref"]}
    assert client.post("/v2/signs/stress/analyze", data=upload, files={"x": b""}).status_code == 200
    again = Person(service.client())
    assert again.sign_in(account).status_code == 200


def test_an_earlier_session_is_valid_again_after_a_short_suspension(service, account):
    person = Person(service.client())
    person.sign_in(account)
    cookies = dict(person.client.cookies)
    on_account(service, account, "suspend")
    on_account(service, account, "resume")
    visitor = Person(service.client())
    visitor.client.cookies.update(cookies)
    assert str(visitor.open("/console/keys").url).endswith("/console/keys")


def test_another_account_is_not_affected(service, account):
    other = service.add_account()
    on_account(service, account, "suspend")
    assert service.client(other).get("/v2/jobs").status_code == 200
    assert mint(service.client(other))


def test_accepted_jobs_of_a_suspended_account_finish_and_are_charged(service, account, client):
    job_id = submit(client)
    on_account(service, account, "suspend")
    finish(service, job_id)
    on_account(service, account, "resume")
    assert client.get(f"/v2/jobs/{job_id}").json()["status"] == "done"
    assert client.get("/v2/account/credits").json() == {"credits": 100_000 - 10}


class Receiver(http.server.BaseHTTPRequestHandler):
    received: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_args) -> None:
        pass


@pytest.fixture
def receiver():
    Receiver.received.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def delivery_worker_of(service) -> DeliveryWorker:
    context = service.context
    sender = WebhookSender(AddressGuard(allow_private=True))
    return DeliveryWorker(context.database, context.clock, context.secrets, sender)


def test_webhooks_of_a_suspended_account_wait_until_it_is_resumed(service, account, client, receiver):
    client.post("/v2/account/webhook", json={"url": receiver, "secret_key": "s"})
    of_account = submit(client)
    of_job = submit(client, webhook_url=receiver + "own", webhook_secret_key="t")
    on_account(service, account, "suspend")
    finish(service, of_account)
    finish(service, of_job)
    delivery_worker = delivery_worker_of(service)
    for _ in range(20):
        assert delivery_worker.deliver_due() == 0
        service.clock.advance(3600)
    assert Receiver.received == []
    on_account(service, account, "resume")
    assert delivery_worker.deliver_due() == 2
    assert len(Receiver.received) == 2


def test_a_delivery_found_just_before_a_suspension_is_not_claimed(service, account, client, receiver, monkeypatch):
    client.post("/v2/account/webhook", json={"url": receiver, "secret_key": "s"})
    finish(service, submit(client))
    list_due = deliveries.list_due

    def list_and_suspend(*args, **options):
        due = list_due(*args, **options)
        on_account(service, account, "suspend")
        return due

    monkeypatch.setattr(deliveries, "list_due", list_and_suspend)
    delivery_worker_of(service).deliver_due()
    assert Receiver.received == []


def test_a_suspension_takes_effect_at_once_in_every_process(start_service, postgresql):
    settings = postgresql.make(None)
    one, other = start_service(**settings), start_service(**settings)
    account = one.add_account()
    clients = [one.client(account), other.client(account)]
    for client in clients:
        assert client.get("/v2/jobs").status_code == 200
    grants = [mint(client) for client in clients]
    on_account(one, account, "suspend")
    for process in (one, other):
        assert_no_access(process, account)
    on_account(one, account, "resume")
    assert [client.get("/v2/jobs").status_code for client in clients] == [200, 200]
    on_account(other, account, "delete", "--yes")
    for process in (one, other):
        assert_no_access(process, account)
    for grant in grants:
        assert put(grant).status_code == 403


def test_a_submit_whose_recording_arrives_after_the_suspension_leaves_nothing(service, account):
    answer = slow_submit(service, account, lambda: on_account(service, account, "suspend"))
    assert_refused(answer)
    assert stored(service) == []


def test_a_put_that_arrives_after_the_suspension_leaves_nothing(service, account, client):
    grant = mint(client)

    def body():
        yield AUDIO[:1000]
        on_account(service, account, "suspend")
        yield AUDIO[1000:]

    answer = httpx.put(
        grant["upload_url"], content=body(), headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
    )
    assert (answer.status_code, "<Code>AccessDenied</Code>" in answer.text) == (403, True)
    assert stored(service) == []


def test_a_put_stored_while_its_account_is_deleted_is_removed(service, account, client, monkeypatch):
    grant = mint(client)
    adopt = LocalObjectStore.adopt

    def adopt_late(store, key, path):
        if key.startswith("uploads/"):
            monkeypatch.undo()
            on_account(service, account, "delete", "--yes")
        adopt(store, key, path)

    monkeypatch.setattr(LocalObjectStore, "adopt", adopt_late)
    assert put(grant).status_code == 403
    assert stored(service) == []


def slow_submit(service, account, meanwhile) -> httpx.Response:
    """Submit a job and call `meanwhile` while the body is sent."""
    head = b'--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'

    def body():
        yield head + AUDIO[:1000]
        time.sleep(0.2)
        meanwhile()
        yield AUDIO[1000:] + b"\r\n--b--\r\n"

    headers = account.headers | {"Content-Type": "multipart/form-data; boundary=b"}
    url = f"{service.base_url}/v2/signs/stress/groups/late/analyze"
    return httpx.post(url, content=body(), headers=headers, trust_env=False, timeout=HANGS_S)


def stored(service) -> list[str]:
    """Return every object of the store except its id, in any folder, and half-received files."""
    root = service.context.settings.data_dir / "objects"
    return [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and path.name != "store-id"]


# Sessions


def test_end_sessions_signs_out_everywhere_and_keeps_keys(service, account, client):
    people = [Person(service.client()) for _ in range(2)]
    other = service.add_account()
    stranger = Person(service.client())
    for person in people:
        person.sign_in(account)
    stranger.sign_in(other)
    assert '"sessions_ended": 2' in on_account(service, account, "end-sessions", "--json").stdout
    for person in people:
        assert "/console/sign-in" in str(person.open("/console/keys").url)
    assert str(stranger.open("/console/keys").url).endswith("/console/keys")
    assert client.get("/v2/jobs").status_code == 200
    assert people[0].sign_in(account).status_code == 200


def test_a_new_secret_key_ends_earlier_sessions(service, account):
    person = Person(service.client())
    person.sign_in(account)
    on_account(service, account, "rotate-secret")
    assert "/console/sign-in" in str(person.open("/console/keys").url)
    assert person.sign_in(account).status_code == 401


# Deleted


def fill(service, account, client) -> None:
    """Create a row of every kind."""
    person = Person(service.client())
    person.sign_in(account)
    client.post("/v2/account/webhook", json={"url": "https://example.org/", "secret_key": "s"})
    done = submit(client, "/v2/signs/stress/groups/a/analyze")
    finish(service, done)
    submit(client, "/v2/signs/stress/groups/a/analyze/longitudinal")
    client.get("/v2/groups/a/longitudinal")
    grant = mint(client)
    put(grant)
    client.post(
        "/v2/signs/stress/analyze",
        data={"audio_upload_ref": grant["upload_ref"], "client_ref": "reference-of-a-take"},
        files={"x": b""},
        headers={"Idempotency-Key": "k"},
    )
    put(mint(client))
    mint(client)
    running = submit(client)
    with service.context.database.writing() as connection:
        assert JobLifecycle.of(service.context).start(connection, running, "test", 120) is not None


def rows_of(service, account_id: str) -> Counter:
    """Return the number of rows per table that name the account."""
    with service.context.database.reading() as connection:
        return Counter(
            {
                table.name: connection.execute(
                    sa.select(sa.func.count()).select_from(table).where(table.c.account_id == account_id)
                ).scalar_one()
                for table in metadata.sorted_tables
                if "account_id" in table.c
            }
        )


def test_a_deletion_removes_every_row_and_object_of_its_account_only(service, account, client):
    other = service.add_account()
    fill(service, account, client)
    fill(service, other, service.client(other))
    before, objects = rows_of(service, other.account_id), len(stored(service))
    mine = rows_of(service, account.account_id)
    assert all(mine[name] for name in mine if name not in ("erasures", "cohort_snapshots")), mine

    printed = on_account(service, account, "delete", "--yes", "--json").stdout
    assert '"jobs": 4' in printed

    left = rows_of(service, account.account_id)
    assert {name for name, count in left.items() if count} == RETENTION
    assert rows_of(service, other.account_id) == before
    assert len(stored(service)) == objects / 2
    with service.context.database.reading() as connection:
        row = connection.execute(sa.select(accounts).where(accounts.c.account_id == account.account_id)).one()
        assert (row.name, row.state, row.secret_key_hash) == ("", "deleted", bytes(32))
        assert read_ledger(connection).mismatch == 0
    balance = operate(service, "account", "list", "--json").stdout
    assert '"credits": 99990' in balance  # one analysis was charged, the held credits were released
    assert_no_access(service, account)


def test_a_deletion_lists_its_effects_and_needs_a_confirmation(service, account, client):
    fill(service, account, client)
    before = rows_of(service, account.account_id)
    asked = on_account(service, account, "delete", stdin="n\n", fails=True)
    assert "jobs: 4" in asked.output
    assert "groups: 1" in asked.output
    assert "recordings: 4" in asked.output
    assert rows_of(service, account.account_id) == before
    on_account(service, account, "delete", stdin="", fails=True)
    assert rows_of(service, account.account_id) == before
    on_account(service, account, "delete", stdin="y\n")
    assert not rows_of(service, account.account_id)["jobs"]


def test_the_operator_cannot_use_a_deleted_account(service, account):
    on_account(service, account, "delete", "--yes")
    for command in ("suspend", "resume", "end-sessions", "rotate-secret"):
        assert "was deleted" in on_account(service, account, command, fails=True).output
    key = operate(service, "key", "create", "--account", account.account_id, "--name", "x", fails=True)
    assert "was deleted" in key.output
    granted = operate(service, "credits", "grant", "--account", account.account_id, "--amount", "1", fails=True)
    assert "was deleted" in granted.output
    on_account(service, account, "delete", "--yes")  # again: nothing is left to delete
    unknown = operate(service, "account", "delete", "--account", "nobody", "--yes", fails=True)
    assert "There is no account with this id." in unknown.output


def eraser_of(service) -> Eraser:
    context = service.context
    return Eraser(context.database, context.storage, GroupHistories.of(context), context.clock)


class Killed(BaseException):
    """Simulates a kill at any statement."""


@pytest.mark.parametrize("at", range(1, 9))
def test_the_service_completes_a_deletion_interrupted_anywhere(service, account, client, monkeypatch, at):
    monkeypatch.setattr("vbdesk.service.erasure.service.AT_ONCE", 1)
    fill(service, account, client)
    steps = 0
    writing = type(service.context.database).writing

    def cut_short(database):
        nonlocal steps
        steps += 1
        if steps == at:
            raise Killed
        return writing(database)

    eraser = eraser_of(service)
    monkeypatch.setattr(type(service.context.database), "writing", cut_short)
    with suppress(Killed):
        eraser.erase_account(account.account_id)
    monkeypatch.setattr(type(service.context.database), "writing", writing)
    if at > 1:
        assert_no_access(service, account)
        eraser.finish_accounts()
        remove_erased_audio(service.context)
    else:
        assert client.get("/v2/jobs").status_code == 200  # nothing had begun
        eraser.erase_account(account.account_id)
    left = rows_of(service, account.account_id)
    assert {name for name, count in left.items() if count} == RETENTION
    assert stored(service) == []
    with service.context.database.reading() as connection:
        line = erasure_rows.find_of_account(connection, account.account_id)
        assert (line.jobs, left["erasures"]) == (4, 1)


def test_additions_of_a_late_request_to_a_deleted_account_are_swept(service, account, client):
    fill(service, account, client)
    eraser = eraser_of(service)
    eraser.erase_account(account.account_id)
    with service.context.database.writing() as connection:  # authenticated before the deletion, written after it
        group_rows.insert(connection, "key", account.account_id, "jane-doe", service.clock.now())
    eraser.finish_accounts()
    assert not rows_of(service, account.account_id)["groups"]


def test_a_submit_that_arrives_while_its_account_is_deleted_leaves_nothing(service, account):
    answer = slow_submit(service, account, lambda: on_account(service, account, "delete", "--yes"))
    assert_refused(answer)
    assert stored(service) == []
    left = rows_of(service, account.account_id)
    assert not left["jobs"] + left["groups"]


def test_a_running_job_of_a_deleted_account_writes_nothing(service, account, client):
    job_id = submit(client, "/v2/signs/stress/groups/a/analyze/longitudinal")
    lifecycle = JobLifecycle.of(service.context)
    with service.context.database.writing() as connection:
        run = lifecycle.start(connection, job_id, "test", 120)
    on_account(service, account, "delete", "--yes")
    with service.context.database.writing() as connection:
        lifecycle.analysed(connection, job_id, result_json("sign", "stress", 0.4), run.hold)
        lifecycle.fail(connection, job_id, run.hold)
    left = rows_of(service, account.account_id)
    assert {name for name, count in left.items() if count} == RETENTION
    with service.context.database.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(jobs)).scalar_one() == 0
        assert connection.execute(sa.select(sa.func.count()).select_from(webhook_deliveries)).scalar_one() == 0
        assert read_ledger(connection).mismatch == 0
    assert stored(service) == []


def test_objects_the_store_cannot_remove_now_are_removed_later_without_quarantine(
    service, account, client, monkeypatch
):
    fill(service, account, client)

    def away(_store, _key):
        raise StoreUnavailable("The store is away.")

    monkeypatch.setattr(LocalObjectStore, "delete", away)
    on_account(service, account, "delete", "--yes")
    monkeypatch.undo()
    assert stored(service)
    service.clock.advance(7200)
    swept = orphans.sweep_orphans(service.context)
    assert swept.quarantined == 0
    remove_erased_audio(service.context)
    assert stored(service) == []


def test_a_repeated_deletion_removes_what_the_store_kept_and_counts_the_rest(service, account, client, monkeypatch):
    fill(service, account, client)

    def away(_store, _key):
        raise StoreUnavailable("The store is away.")

    monkeypatch.setattr(LocalObjectStore, "delete", away)
    first = json.loads(on_account(service, account, "delete", "--yes", "--json").stdout)
    monkeypatch.undo()
    assert first["files_left"] == len(stored(service)) > 0
    again = json.loads(on_account(service, account, "delete", "--yes", "--json").stdout)
    assert (again["files_left"], stored(service)) == (0, [])


def test_a_file_put_to_a_bucket_after_the_deletion_is_removed_without_quarantine(service, account, client, tmp_path):
    """A bucket does not know accounts: an address signed before accepts a file until it expires."""
    grant = mint(client)
    eraser_of(service).erase_account(account.account_id)
    late = tmp_path / "late"
    for _ in range(2):
        remove_erased_audio(service.context)
        late.write_bytes(AUDIO)
        service.context.storage.adopt(f"uploads/{grant['upload_ref']}", late)
        assert orphans.search_orphans(service.context).orphans == []
        service.clock.advance(1000)
    remove_erased_audio(service.context)
    assert stored(service) == []
    service.clock.advance(PUT_LASTS.total_seconds())
    remove_erased_audio(service.context)
    with service.context.database.reading() as connection:
        assert connection.execute(sa.select(erased_objects)).all() == []


def test_a_deletion_includes_the_quarantine(service, account, client):
    job_id = submit(client)
    store = service.context.storage
    store.link(f"audio/{job_id}", f"quarantine/audio/{job_id}")
    eraser_of(service).erase_account(account.account_id)
    assert stored(service) == []


def test_two_concurrent_deletions_remove_everything_and_count_every_job_once(start_service, postgresql, monkeypatch):
    monkeypatch.setattr("vbdesk.service.erasure.service.AT_ONCE", 2)
    service = start_service(**postgresql.make(None), allow_private_addresses=True)
    account = service.add_account()
    client = service.client(account)
    fill(service, account, client)
    for _ in range(12):
        submit(client, "/v2/signs/stress/groups/b/analyze")
    threads = [threading.Thread(target=eraser_of(service).erase_account, args=(account.account_id,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = rows_of(service, account.account_id)
    assert {name for name, count in left.items() if count} == RETENTION
    assert left["erasures"] == 1
    with service.context.database.reading() as connection:
        assert erasure_rows.find_of_account(connection, account.account_id).jobs == 16
        assert read_ledger(connection).mismatch == 0
    assert stored(service) == []


def test_a_deletion_removes_every_row_and_object_on_postgresql(start_service, postgresql):
    service = start_service(**postgresql.make(None), allow_private_addresses=True)
    account = service.add_account()
    test_a_deletion_removes_every_row_and_object_of_its_account_only(service, account, service.client(account))


def test_submits_during_a_deletion_leave_nothing(start_service, postgresql):
    service = start_service(**postgresql.make(None))
    account = service.add_account()
    stop = threading.Event()
    seen: Counter = Counter()

    def submit_on() -> None:
        with httpx.Client(
            base_url=service.base_url, headers=account.headers, trust_env=False, timeout=HANGS_S
        ) as client:
            while not stop.is_set():
                seen[client.post("/v2/signs/stress/groups/g/analyze", files={"audio": AUDIO}).status_code] += 1
                seen[client.post("/v2/audio/uploads", json={"content_type": "audio/wav"}).status_code] += 1

    threads = [threading.Thread(target=submit_on) for _ in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: seen[200] >= 10, "10 answers")
    on_account(service, account, "delete", "--yes")
    stop.set()
    for thread in threads:
        thread.join()
    assert set(seen) <= {200, 401, 429}, seen
    left = rows_of(service, account.account_id)
    assert not left["jobs"] + left["uploads"]
    assert stored(service) == []
    eraser_of(service).finish_accounts()
    assert {name for name, count in rows_of(service, account.account_id).items() if count} == RETENTION


def test_the_commands_work_on_a_folder_without_a_service(tmp_path):
    made = CliRunner().invoke(app, ["account", "create", "--name", "x", "--data-dir", str(tmp_path), "--json"])
    account_id = made.stdout.split('"account_id": "')[1][:36]
    for command in ("suspend", "resume", "end-sessions"):
        done = CliRunner().invoke(app, ["account", command, "--account", account_id, "--data-dir", str(tmp_path)])
        assert done.exit_code == 0, done.output
        assert account_id in done.stdout

"""Shared id of database and store: a wrong pair loses no recording."""

import errno
import json
import logging
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
import typer
from typer.testing import CliRunner

from patience import HANGS_S
from vbdesk.cli.admin import app as admin
from vbdesk.cli.serve import serve as serve_command
from vbdesk.clock import SystemClock
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.composition.eraser import open_eraser
from vbdesk.service.composition.process import StartRefused, opened
from vbdesk.service.engine.sweeper import Sweeper
from vbdesk.service.health.doctor import run_checks
from vbdesk.service.health.findings import Health
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import Database, open_database
from vbdesk.service.kernel.db.tables import erased_objects, uploads
from vbdesk.service.kernel.db.tables import store_identity as identity_table
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.maintenance import store_identity
from vbdesk.service.maintenance.store_identity import adopt_store, require_match
from vbdesk.service.storage.opening import open_store
from vbdesk.service.storage.store import StoreMismatch, StoreUnavailable
from vbdesk.service.uploads import repository
from vbdesk.service.uploads.service import UploadService

OLD_FOLDER = Path(__file__).parents[2] / "data" / "service_6.zip"
LONG_AGO = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def data_dir(tmp_path) -> Path:
    """Data folder of an earlier release: two recordings of last March, a store without an id."""
    folder = tmp_path / "service"
    with zipfile.ZipFile(OLD_FOLDER) as archive:
        archive.extractall(folder)
    (folder / "vbdesk.toml").write_text("audio_retention_days = 10000\n")
    made, before = "01a20361", "019cad00"  # the first digits of an id are its time
    for path in (folder / "objects" / "audio").iterdir():
        path.rename(path.with_name(path.name.replace(made, before)))
    with closing(sqlite3.connect(folder / "vbdesk.db")) as connection, connection:
        for table in ("jobs", "credit_entries", "idempotency_keys", "memberships"):
            connection.execute(f"UPDATE {table} SET job_id = replace(job_id, '{made}', '{before}')")
        connection.execute(f"UPDATE jobs SET audio_key = replace(audio_key, '{made}', '{before}')")
    return folder


def serve(folder: Path) -> None:
    """Start on `folder` as `vbdesk serve` does, search for orphans once, and end."""
    with opened(load_settings(folder), None, "") as (context, _):  # type: ignore[arg-type]
        Sweeper(context, NoRuns()).tidy()


def refusal(folder: Path) -> str:
    """What `vbdesk serve` says when it does not start."""
    ports = ["--port", "0", "--storage-port", "0", "--workers", "0"]
    app = typer.Typer()
    app.command()(serve_command)
    done = CliRunner().invoke(app, ["--data-dir", str(folder), *ports])
    assert done.exit_code == 1, done.output
    return done.output


def recordings(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("objects/audio/*")}


def operate(folder: Path, *arguments: object):
    return CliRunner().invoke(admin, [*map(str, arguments), "--data-dir", str(folder)])


def answer(folder: Path, *arguments: object):
    done = operate(folder, *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def another_database(folder: Path, tmp_path: Path) -> None:
    """Replace the folder's database by that of another service."""
    answer(tmp_path / "another", "account", "create", "--name", "Another")
    shutil.copy(tmp_path / "another" / "vbdesk.db", folder / "vbdesk.db")


WRONG = {
    "missing": lambda folder, _: None,
    "empty": lambda folder, _: (folder / "vbdesk.db").touch(),
    "another": another_database,
}


@pytest.mark.parametrize("upgraded", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("wrong", WRONG)
def test_serve_refuses_to_start_with_a_database_that_lacks_the_recordings(data_dir, tmp_path, wrong, upgraded):
    if upgraded:
        serve(data_dir)
        assert (data_dir / "objects" / "store-id").exists()
    kept = recordings(data_dir)
    assert len(kept) == 2
    right = tmp_path / "right.db"
    (data_dir / "vbdesk.db").rename(right)
    WRONG[wrong](data_dir, tmp_path)
    said = refusal(data_dir)
    assert recordings(data_dir) == kept
    assert said.count("\n") == 1
    assert "vbdesk admin database adopt-store" in said
    assert "backup" in said
    right.replace(data_dir / "vbdesk.db")
    serve(data_dir)
    assert recordings(data_dir) == kept


def copy_of_a_killed_service(folder: Path, to: Path, job_id: str) -> None:
    """Copy the folder at a moment when the log holds a change to `job_id` that the database lacks."""
    with closing(sqlite3.connect(folder / "vbdesk.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            connection.execute("UPDATE jobs SET audio_size_bytes = 4711 WHERE job_id = ?", (job_id,))
        shutil.copytree(folder, to)


@pytest.mark.parametrize("empty", [False, True], ids=["missing", "empty"])
def test_the_log_of_a_database_that_was_moved_away_is_kept(data_dir, tmp_path, empty):
    serve(data_dir)
    with closing(sqlite3.connect(data_dir / "vbdesk.db")) as connection:
        [job_id] = connection.execute("SELECT job_id FROM jobs LIMIT 1").fetchone()
    killed = tmp_path / "killed"
    copy_of_a_killed_service(data_dir, killed, job_id)
    database, log = killed / "vbdesk.db", killed / "vbdesk.db-wal"
    database.rename(killed / "away.db")
    if empty:
        database.touch()
    before = log.read_bytes()
    assert before

    said = refusal(killed)
    assert "Put the database back" in said
    assert said.count("\n") == 1
    [finding] = [finding for finding in run_checks(killed) if finding.topic == "database"]
    assert finding.health is Health.REPAIR
    assert "Put the database back" in finding.sentence
    assert operate(killed, "account", "list").exit_code == 1
    assert operate(killed, "database", "upgrade").exit_code == 1
    assert log.read_bytes() == before
    assert database.exists() == empty

    (killed / "away.db").replace(database)
    with closing(sqlite3.connect(database)) as connection:
        sizes = connection.execute("SELECT audio_size_bytes FROM jobs WHERE job_id = ?", (job_id,)).fetchone()
    assert sizes == (4711,)


@pytest.mark.parametrize("empty", [False, True], ids=["missing", "empty"])
def test_doctor_does_not_create_a_database_beside_recordings(data_dir, empty):
    database = data_dir / "vbdesk.db"
    database.rename(data_dir / "away.db")
    if empty:
        database.touch()
    [finding] = [finding for finding in run_checks(data_dir) if finding.topic in ("database", "schema")]
    assert finding.health is Health.REPAIR
    assert "restore it from a backup" in finding.sentence
    assert [path.name for path in data_dir.glob("vbdesk.db*")] == (["vbdesk.db"] if empty else [])


class Place:
    """A data folder with its own database and store, or with those of another folder."""

    def __init__(self, folder: Path, **flags: str) -> None:
        folder.mkdir(exist_ok=True)
        self.settings = load_settings(folder, **flags)
        self.database = open_database(self.settings)
        upgrade(self.database, folder)
        self.store = open_store(self.settings)
        with self.database.writing() as connection:
            self.account_id = AccountService(SystemClock()).create(connection, "Test", Plan.STANDARD, 0).account_id

    def put(self, key: str) -> str:
        path = self.store.incoming / new_id()
        path.write_bytes(b"sound")
        self.store.adopt(key, path)
        return key

    def put_upload(self, *, known: bool = True) -> str:
        upload_ref = new_id()
        if known:
            self.know(upload_ref)
        return self.put(f"uploads/{upload_ref}")

    def know(self, upload_ref: str) -> None:
        later = LONG_AGO + timedelta(days=10_000)
        with self.database.writing() as connection:
            repository.insert(
                connection,
                upload_ref=upload_ref,
                account_id=self.account_id,
                content_type="audio/wav",
                created_at=LONG_AGO,
                expires_at=later,
                usable_until=later,
            )

    def id(self) -> str | None:
        path = self.settings.data_dir / "objects" / "store-id"
        return path.read_text().strip() if path.exists() else None

    def id_in_database(self) -> str | None:
        with self.database.reading() as connection:
            return connection.execute(sa.select(identity_table.c.store_id)).scalar_one_or_none()


@pytest.fixture
def make_place(tmp_path, make_database) -> Iterator[Callable[[str], Place]]:
    places: list[Place] = []

    def make(name: str) -> Place:
        folder = tmp_path / name
        folder.mkdir()
        places.append(Place(folder, **make_database(folder)))
        return places[-1]

    yield make
    for place in places:
        place.database.close()


def test_a_new_database_and_a_new_store_get_one_id(make_place):
    place = make_place("one")
    require_match(place.database, place.store)
    assert place.id() == place.id_in_database()
    before = place.id()
    require_match(place.database, place.store)
    assert place.id() == before


def test_a_store_without_an_id_is_adopted_only_by_the_database_that_knows_it(make_place):
    right, wrong = make_place("right"), make_place("wrong")
    for _ in range(3):
        right.put_upload()
    right.put_upload(known=False)
    right.put("audio/not-ours")
    with pytest.raises(StoreMismatch, match="of 4 objects of the store the database knows 0"):
        require_match(wrong.database, right.store)
    assert (right.id(), wrong.id_in_database()) == (None, None)
    require_match(right.database, right.store)
    assert right.id() == right.id_in_database()
    with pytest.raises(StoreMismatch, match="this database has none"):
        require_match(wrong.database, right.store)


def test_a_mistyped_database_on_a_server_is_refused(make_place, postgresql, tmp_path):
    right = make_place("right")
    right.put_upload()
    require_match(right.database, right.store)
    mistyped = Place(tmp_path / "typo", database_url=postgresql.make_empty("vbdesk_typo"))
    with closing(mistyped.database), pytest.raises(StoreMismatch):
        require_match(mistyped.database, right.store)


def test_no_process_starts_on_the_store_of_another_database(make_place):
    right, wrong = make_place("right"), make_place("wrong")
    right.put_upload()
    with opened(right.settings, None, ""):  # type: ignore[arg-type]
        pass
    (wrong.settings.data_dir / "objects").rename(wrong.settings.data_dir / "aside")
    shutil.copytree(right.settings.data_dir / "objects", wrong.settings.data_dir / "objects")
    with pytest.raises(StartRefused, match=r"do not belong together.*adopt-store"), opened(wrong.settings, None, ""):  # type: ignore[arg-type]
        pass
    with pytest.raises(StoreMismatch):
        open_eraser(wrong.settings, wrong.database, SystemClock())


@pytest.fixture
def shared_database(tmp_path, postgresql) -> Iterator[Callable[[str], Place]]:
    """Create separate folders for one database on a server."""
    settings = postgresql.make(None)
    with ExitStack() as stack:

        def make(name: str) -> Place:
            place = Place(tmp_path / name, **settings)
            stack.callback(place.database.close)
            return place

        yield make


def start_worker(place: Place):
    return opened(place.settings, None, "", is_api=False)  # type: ignore[arg-type]


def test_a_worker_with_its_own_folder_does_not_start(shared_database, monkeypatch):
    monkeypatch.setattr(store_identity, "CHECK_INTERVAL_S", 0.01)
    api, other = shared_database("api"), shared_database("other")
    with opened(api.settings, None, ""):  # type: ignore[arg-type]
        pass
    store_id = api.id()
    with pytest.raises(StartRefused) as refused, start_worker(other):
        pass
    assert "is not the one in which the API of this database keeps them" in str(refused.value)
    assert (other.id(), other.id_in_database()) == (None, store_id)
    with start_worker(api):
        pass


def test_the_worker_command_reports_its_own_folder_in_one_line(shared_database, monkeypatch):
    api, other = shared_database("api"), shared_database("other")
    with opened(api.settings, None, ""):  # type: ignore[arg-type]
        pass
    monkeypatch.setenv("VBDESK_DATABASE_URL", other.settings.database_url)
    command = [sys.executable, "-m", "vbdesk", "worker", "--data-dir", str(other.settings.data_dir)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert done.returncode == 1
    assert "Give this process the data folder of vbdesk serve" in done.stderr.strip().split("\n")[-1]
    assert "Traceback" not in done.stderr


def test_a_worker_writes_no_id_and_waits_for_the_api(shared_database, monkeypatch):
    monkeypatch.setattr(store_identity, "CHECK_INTERVAL_S", 0.01)
    place, other = shared_database("one"), shared_database("other")
    with pytest.raises(StartRefused), start_worker(place):
        pass
    assert (place.id(), place.id_in_database()) == (None, None)

    def begin_api(_seconds: float) -> None:
        monkeypatch.undo()
        require_match(place.database, place.store)

    monkeypatch.setattr(store_identity.time, "sleep", begin_api)
    with start_worker(place):
        pass
    assert place.id() == place.id_in_database() != other.id()


def test_a_worker_starts_on_a_folder_whose_recordings_the_database_knows(shared_database):
    """For example a folder from a release without ids, or one that was restored from copies."""
    place = shared_database("one")
    place.put_upload()
    with start_worker(place):
        pass
    assert place.id() == place.id_in_database() is not None


def test_an_operator_with_another_folder_erases_nothing(shared_database, monkeypatch):
    monkeypatch.setattr(store_identity, "CHECK_INTERVAL_S", 0.01)
    api, other = shared_database("api"), shared_database("other")
    require_match(api.database, api.store)
    with pytest.raises(StoreMismatch):
        open_eraser(other.settings, other.database, SystemClock())
    assert other.id() is None
    open_eraser(api.settings, api.database, SystemClock())


def test_an_id_that_cannot_be_written_or_read_means_an_unavailable_store(make_place, monkeypatch):
    place = make_place("one")

    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(StoreUnavailable, match="No space left on device"):
        patch.setattr(type(place.store), "adopt", full)
        require_match(place.database, place.store)
    with monkeypatch.context() as patch, pytest.raises(StoreUnavailable, match="cannot be read"):
        patch.setattr(type(place.store), "open", full)
        require_match(place.database, place.store)
    require_match(place.database, place.store)
    assert place.id() == place.id_in_database()


def test_adopting_reports_another_process_that_takes_the_store_meanwhile(make_place, monkeypatch):
    place = make_place("one")
    write = store_identity._write_id
    monkeypatch.setattr(store_identity, "_write_id", lambda store, _: write(store, "of another"))
    with pytest.raises(StoreMismatch, match="Stop that process"):
        adopt_store(place.database, place.store, force=False)


def test_an_empty_store_is_refused_if_jobs_of_the_database_have_recordings(data_dir, tmp_path):
    """The disk of the recordings is not mounted, or the bucket's name is wrong."""
    (data_dir / "objects").rename(tmp_path / "not-mounted")
    place = Place(data_dir)
    with closing(place.database):
        with pytest.raises(StoreMismatch, match="the store is empty, but jobs of the database have recordings"):
            require_match(place.database, place.store)
        done = operate(data_dir, "audio", "save", "--to", tmp_path / "copies", "--prune")
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
        assert place.id() is None


def test_processes_that_start_together_agree_on_one_id(make_place):
    place = make_place("one")
    stores = [open_store(place.settings) for _ in range(6)]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda store: require_match(place.database, store), stores))
    assert place.id() == place.id_in_database()


def test_of_two_new_databases_with_one_new_store_one_is_refused(make_place):
    first, second = make_place("first"), make_place("second")
    refused = []

    def start(database: Database) -> None:
        try:
            require_match(database, first.store)
        except StoreMismatch as mismatch:
            refused.append(str(mismatch))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(start, [first.database, second.database]))
    assert len(refused) == 1
    assert first.id() in {first.id_in_database(), second.id_in_database()}


def test_after_a_kill_before_the_store_has_its_id_the_next_start_writes_it(make_place, monkeypatch):
    place = make_place("one")

    def killed(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(store_identity, "_write_id", killed)
        require_match(place.database, place.store)
    made = place.id_in_database()
    assert (made is not None, place.id()) == (True, None)
    require_match(place.database, place.store)
    assert (place.id_in_database(), place.id()) == (made, made)


@pytest.mark.parametrize("content", ["", "\0\0\0", "another"])
def test_a_truncated_or_changed_id_is_another_one(make_place, content):
    place = make_place("one")
    require_match(place.database, place.store)
    (place.settings.data_dir / "objects" / "store-id").write_text(content)
    with pytest.raises(StoreMismatch):
        require_match(place.database, place.store)


def test_adopting_excludes_every_other_database_also_a_copy(make_place):
    place, other = make_place("one"), make_place("other")
    place.put_upload()
    require_match(place.database, place.store)
    copied = place.id_in_database()
    other.know(next(place.store.keys("uploads")).removeprefix("uploads/"))
    with other.database.writing() as connection:
        connection.execute(sa.insert(identity_table).values(only_row=1, store_id=copied))
    require_match(other.database, place.store)
    adopted = adopt_store(place.database, place.store, force=False)
    assert (adopted.objects_looked_at, adopted.objects_known) == (1, 1)
    assert adopted.store_id == place.id() == place.id_in_database() != copied
    require_match(place.database, place.store)
    with pytest.raises(StoreMismatch, match="their ids differ"):
        require_match(other.database, place.store)


def test_only_force_adopts_the_wrong_store_and_its_recordings_are_kept(data_dir, tmp_path, caplog):
    kept = recordings(data_dir)
    (data_dir / "vbdesk.db").rename(tmp_path / "right.db")
    another_database(data_dir, tmp_path)
    refused = operate(data_dir, "database", "adopt-store")
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    assert refused.stderr.startswith(
        "The database and the object store do not belong together: of 2 objects of the store the database knows 0."
    )
    assert "--force" in refused.stderr
    assert not (data_dir / "objects" / "store-id").exists()
    assert answer(data_dir, "database", "adopt-store", "--force")["objects_known"] == 0
    counted = answer(data_dir, "audio", "orphans", "--quarantine")
    assert counted == {"objects": 2, "orphans": 2, "too_many": False, "quarantined": 2}
    assert recordings(data_dir) == set()
    listed = answer(data_dir, "audio", "quarantined")
    assert {one["key"] for one in listed} == {f"audio/{name}" for name in kept}
    assert answer(data_dir, "audio", "put-back") == {"put_back": 0}
    assert answer(data_dir, "audio", "put-back", "--all") == {"put_back": 2}
    assert recordings(data_dir) == kept
    assert answer(data_dir, "audio", "orphans", "--quarantine")["quarantined"] == 2
    shutil.copy(tmp_path / "right.db", data_dir / "vbdesk.db")
    assert answer(data_dir, "database", "adopt-store", "--force")["objects_looked_at"] == 0
    assert answer(data_dir, "audio", "put-back") == {"put_back": 2}
    assert recordings(data_dir) == kept
    assert answer(data_dir, "audio", "quarantined") == []


def test_recordings_newer_than_a_restored_database_are_restored_or_can_be_copied(data_dir, tmp_path):
    """The database is an older backup, which lacks the jobs of the newest recordings."""
    answer(data_dir, "database", "upgrade")
    answer(data_dir, "audio", "orphans")  # pairs them, as a start does
    kept = recordings(data_dir)
    shutil.copy(data_dir / "vbdesk.db", tmp_path / "newer.db")
    newest = max(kept)
    with closing(open_database(load_settings(data_dir))) as database, database.writing() as connection:
        connection.execute(sa.text("PRAGMA defer_foreign_keys=ON"))
        connection.execute(sa.text("DELETE FROM idempotency_keys WHERE job_id = :job"), {"job": newest})
        connection.execute(sa.text("DELETE FROM jobs WHERE job_id = :job"), {"job": newest})
    assert answer(data_dir, "audio", "orphans", "--quarantine")["quarantined"] == 1
    assert recordings(data_dir) == kept - {newest}
    copies = tmp_path / "copies"
    assert answer(data_dir, "audio", "save", "--to", copies, "--quarantined")["copied"] == 1
    assert (copies / "quarantine" / "audio" / newest).stat().st_size > 1000
    (copies / "audio").mkdir()
    shutil.copy(copies / "quarantine" / "audio" / newest, copies / "audio")
    assert answer(data_dir, "audio", "save", "--to", copies, "--prune")["removed"] == 0, "its backup stays meanwhile"
    shutil.copy(tmp_path / "newer.db", data_dir / "vbdesk.db")
    assert answer(data_dir, "audio", "put-back") == {"put_back": 1}
    assert recordings(data_dir) == kept


@pytest.mark.parametrize(
    "arguments",
    [
        ("job", "delete", "--account", "x", "--job", "x"),
        ("group", "erase", "--account", "x", "--group", "x"),
        ("audio", "save", "--prune"),
        ("audio", "orphans", "--quarantine"),
        ("audio", "quarantined"),
        ("audio", "put-back", "--all"),
        ("reconcile", "--apply"),
    ],
)
def test_the_operators_commands_refuse_a_store_of_another_database(data_dir, tmp_path, arguments):
    another_database(data_dir, tmp_path)
    kept = recordings(data_dir)
    if "save" in arguments:
        arguments = (*arguments, "--to", tmp_path / "copies")
    done = operate(data_dir, *arguments)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "do not belong together" in done.stderr
    assert recordings(data_dir) == kept


def test_nothing_is_restored_into_the_store_of_another_database(data_dir, tmp_path):
    answer(data_dir, "audio", "orphans")  # pairs them, as a start does
    another_database(data_dir, tmp_path)
    (tmp_path / "copies" / "audio").mkdir(parents=True)
    (tmp_path / "copies" / "audio" / new_id()).write_bytes(b"sound")
    kept = recordings(data_dir)
    done = operate(data_dir, "audio", "restore", "--from", tmp_path / "copies")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert recordings(data_dir) == kept


class NoRuns:
    def purge(self, *_arguments: object) -> None:
        """Return none."""


@contextmanager
def exchanged(data_dir: Path) -> Iterator[None]:
    """Replace the service's store, as when a disk is mounted over its folder."""
    file = data_dir / "objects" / "store-id"
    before = file.read_text()
    file.write_text("another")
    yield
    file.write_text(before)


def test_a_running_service_whose_store_is_replaced_removes_nothing(start_service, caplog):
    service = start_service(audio_retention_days=1)
    context = service.context
    store, data_dir = context.storage, context.settings.data_dir
    orphan = f"uploads/{new_id()}"
    path = store.incoming / "new"
    path.write_bytes(b"sound")
    store.adopt(orphan, path)
    service.clock.advance(1000 * 24 * 3600)
    sweeper = Sweeper(context, NoRuns())
    with exchanged(data_dir):
        sweeper.tidy()
    assert store.exists(orphan)
    assert context.metrics.registry.get_sample_value("vbdesk_store_mismatch") == 1
    assert any(
        record.levelno == logging.ERROR and "Nothing is removed" in record.getMessage() for record in caplog.records
    )
    sweeper.tidy()
    assert (store.exists(orphan), store.exists(f"quarantine/{orphan}")) == (False, True)
    assert context.metrics.registry.get_sample_value("vbdesk_store_mismatch") == 0
    assert context.metrics.registry.get_sample_value("vbdesk_orphans_quarantined_total") == 1


def test_the_sweeper_reports_how_many_orphans_it_left(start_service):
    service = start_service()
    context = service.context
    for _ in range(21):
        path = context.storage.incoming / "new"
        path.write_bytes(b"sound")
        context.storage.adopt(f"audio/{new_id()}", path)
    service.clock.advance(1000 * 24 * 3600)
    Sweeper(context, NoRuns()).tidy()
    assert len(list(context.storage.keys("audio"))) == 21
    assert context.metrics.registry.get_sample_value("vbdesk_orphans_left") == 21
    assert context.metrics.registry.get_sample_value("vbdesk_orphans_quarantined_total") == 0


def test_the_doctor_finds_a_mismatch_and_too_many_orphans_and_changes_nothing(data_dir, tmp_path):
    (data_dir / "vbdesk.db").rename(tmp_path / "right.db")
    another_database(data_dir, tmp_path)
    found = {finding.topic: finding for finding in run_checks(data_dir, whole=False)}["database and object store"]
    assert found.health is Health.REPAIR
    assert "adopt-store" in found.sentence
    shutil.copy(tmp_path / "right.db", data_dir / "vbdesk.db")
    answer(data_dir, "database", "upgrade")
    found = {finding.topic: finding for finding in run_checks(data_dir, whole=False)}["database and object store"]
    assert (found.health, "The next start pairs them" in found.sentence) == (Health.OK, True)
    assert not (data_dir / "objects" / "store-id").exists()
    for number in range(40):
        name = f"019ca000-0000-7000-8000-{number:012}"
        (data_dir / "objects" / "audio" / name).write_bytes(b"sound")
    found = {finding.topic: finding for finding in run_checks(data_dir)}["orphans"]
    assert found.health is Health.REPAIR
    assert found.sentence.startswith("40 of 42 objects in the store belong to no job or upload.")


@pytest.fixture
def erasing(start_service):
    """A service with one finished job that has a recording."""
    service = start_service()
    account = service.add_account()
    speech = Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac"
    with speech.open("rb") as audio:
        sent = service.client(account).post("/v2/signs/stress/analyze", files={"audio": ("a.flac", audio)})
    return service, account.account_id, sent.raise_for_status().json()["job_id"]


def owed(context) -> list[str]:
    with context.database.reading() as connection:
        return list(connection.execute(sa.select(erased_objects.c.object_key)).scalars())


def test_objects_that_an_erasure_cannot_remove_are_removed_later_without_quarantine(erasing, monkeypatch):
    service, account_id, job_id = erasing
    context = service.context
    eraser = open_eraser(context.settings, context.database, context.clock)

    def away(*_arguments: object) -> None:
        raise StoreUnavailable("The object store cannot be reached.")

    with monkeypatch.context() as patch:
        patch.setattr(type(eraser._storage), "delete", away)
        eraser.erase_job(account_id, job_id)
    assert owed(context) == [f"audio/{job_id}"]
    assert context.storage.exists(f"audio/{job_id}")
    service.clock.advance(1000 * 24 * 3600)
    Sweeper(context, NoRuns()).tidy()
    assert owed(context) == []
    assert not context.storage.exists(f"audio/{job_id}")
    assert list(context.storage.keys("quarantine")) == []


def test_erasure_and_retention_include_the_quarantine(erasing):
    service, account_id, job_id = erasing
    context = service.context
    context.storage.link(f"audio/{job_id}", f"quarantine/audio/{job_id}")
    open_eraser(context.settings, context.database, context.clock).erase_job(account_id, job_id)
    assert list(context.storage.keys("quarantine")) == []
    assert list(context.storage.keys("audio")) == []


def test_retention_includes_the_quarantine(erasing):
    service, _, job_id = erasing
    context = service.context
    with context.database.writing() as connection:
        connection.execute(sa.update(jobs).values(status="failed"))
    context.storage.link(f"audio/{job_id}", f"quarantine/audio/{job_id}")
    service.clock.advance(40 * 24 * 3600)
    Sweeper(context, NoRuns()).tidy()
    assert list(context.storage.keys("quarantine")) == []
    assert list(context.storage.keys("audio")) == []


def test_an_expired_recording_in_a_restored_store_is_quarantined(erasing):
    service, _, job_id = erasing
    context = service.context
    with context.database.writing() as connection:
        connection.execute(sa.update(jobs).values(status="failed", audio_key=None))
    service.clock.advance(1000 * 24 * 3600)
    Sweeper(context, NoRuns()).tidy()
    assert list(context.storage.keys("audio")) == []
    assert list(context.storage.keys("quarantine")) == [f"quarantine/audio/{job_id}"]


def test_expired_uploads_are_removed_from_the_quarantine_too(make_place):
    place = make_place("one")
    key = place.put_upload()
    place.store.link(key, f"quarantine/{key}")
    with place.database.writing() as connection:
        connection.execute(sa.update(uploads).values(usable_until=LONG_AGO))
    service = UploadService(place.database, place.store, None, SystemClock(), 900)  # type: ignore[arg-type]
    assert service.remove_past() == 1
    assert list(place.store.keys("quarantine")) == []

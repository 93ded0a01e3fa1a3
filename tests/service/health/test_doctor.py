"""`vbdesk doctor --service` finds what is wrong and says what to do; copies of recordings go out and come back."""

import json
import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner, Result

from vbdesk.cli.admin import app as admin
from vbdesk.cli.main import app
from vbdesk.contract.ids import new_id
from vbdesk.language import language_of, reading_in
from vbdesk.service.health.doctor import run_checks
from vbdesk.service.health.endpoint_checks import check_host_address
from vbdesk.service.health.findings import Health
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.tables import credit_balances
from vbdesk.service.kernel.settings import load_settings

SPEECH = Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac"


@pytest.fixture
def submitted(service, client) -> str:
    """A job that waits, with its audio."""
    with SPEECH.open("rb") as audio:
        answer = client.post("/v2/signs/stress/analyze", files={"audio": ("take.flac", audio, "audio/flac")})
    job_id: str = answer.raise_for_status().json()["job_id"]
    return job_id


@pytest.fixture
def data_dir(service) -> Path:
    folder: Path = service.context.settings.data_dir
    return folder


def doctor(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["doctor", "--service", *map(str, arguments)])


def to_mend(data_dir: Path) -> dict[str, str]:
    return {finding.topic: finding.sentence for finding in run_checks(data_dir) if finding.health is Health.REPAIR}


def test_a_service_that_is_well_needs_no_mending(start_service):
    data_dir = start_service().context.settings.data_dir
    done = doctor("--data-dir", data_dir)
    assert done.exit_code == 0, done.stdout
    assert done.stdout.endswith("Nothing needs to be fixed.\n")
    found = json.loads(doctor("--data-dir", data_dir, "--json").stdout)
    assert found["to_mend"] == 0
    topics = {finding["topic"] for finding in found["findings"]}
    assert {"secrets", "object store", "database", "schema", "queue", "ledger", "settlements", "audio"} <= topics
    quick = json.loads(doctor("--data-dir", data_dir, "--quick", "--json").stdout)
    left_out = topics - {finding["topic"] for finding in quick["findings"]}
    assert left_out == {"ledger", "settlements", "audio", "earlier readings"}


def test_what_it_finds_is_in_the_language_of_the_reader_and_english_for_programs(data_dir, submitted):
    with reading_in(language_of("de")):
        told = " ".join(doctor("--data-dir", data_dir).stdout.split())
        found = json.loads(doctor("--data-dir", data_dir, "--json").stdout)["findings"]
    jobs = r"(1 Auftrag wartet|\d+ Aufträge warten)"  # other tests of this file submit to the same service
    assert re.search(
        rf"BEHEBEN Arbeitsprozesse: Kein Arbeitsprozess läuft, und {jobs}\. Starten Sie einen Arbeitsprozess\.", told
    )
    english = next(finding for finding in found if finding["topic"] == "workers")
    assert re.fullmatch(r"No worker runs, and (1 job waits|\d+ jobs wait)\. Start a worker\.", english["sentence"])


def test_nothing_that_is_told_is_a_secret(data_dir, service, account):
    output = doctor("--data-dir", data_dir).output + doctor("--data-dir", data_dir, "--json").output
    assert json.loads((data_dir / "secrets").read_text())["root_key"] not in output
    assert account.account_id not in output


def test_jobs_that_wait_while_nobody_works_are_found(data_dir, submitted):
    assert "No worker runs" in to_mend(data_dir)["workers"]


def test_books_that_do_not_fit_are_found(data_dir, service, account, submitted):
    database = service.context.database
    with database.writing() as connection:
        mine = credit_balances.c.account_id == account.account_id
        connection.execute(sa.update(credit_balances).where(mine).values(credits=credit_balances.c.credits + 1))
        connection.execute(sa.update(jobs).where(jobs.c.job_id == submitted).values(status="failed"))
    found = to_mend(data_dir)
    with database.writing() as connection:
        connection.execute(sa.update(credit_balances).where(mine).values(credits=credit_balances.c.credits - 1))
        connection.execute(sa.update(jobs).where(jobs.c.job_id == submitted).values(status="queued"))
    assert found["ledger"].startswith("1 balance is not the sum")
    assert found["settlements"].startswith("1 job is not charged")
    assert not {"ledger", "settlements"} & to_mend(data_dir).keys()


def test_audio_goes_out_and_comes_back_and_what_is_missing_is_found(tmp_path, data_dir, service, submitted):
    copies, store = tmp_path / "copies", service.context.storage
    where = ["--data-dir", str(data_dir), "--json"]

    def operate(*arguments: object) -> dict:
        return json.loads(CliRunner().invoke(admin, [*map(str, arguments), *where]).stdout)

    saved = operate("audio", "save", "--to", copies)
    assert saved["copied"] >= 1
    assert operate("audio", "save", "--to", copies) == {"copied": 0, "present": saved["copied"], "removed": 0}
    store.delete(f"audio/{submitted}")
    assert submitted in operate("reconcile")["waiting_without_audio"]
    assert "audio of 1 waiting job is missing" in to_mend(data_dir)["audio"]
    assert operate("audio", "restore", "--from", copies)["copied"] == 1
    assert store.size(f"audio/{submitted}") == SPEECH.stat().st_size
    assert "audio" not in to_mend(data_dir)
    store.delete(f"audio/{submitted}")  # as an erasure does
    assert operate("audio", "save", "--to", copies, "--prune")["removed"] == 1
    assert not (copies / "audio" / submitted).exists()


def test_only_jobs_that_have_ended_forget_audio_that_is_gone(data_dir, service, submitted):
    with service.context.database.writing() as connection:
        stray = new_id()
        row = connection.execute(sa.select(jobs).where(jobs.c.job_id == submitted)).mappings().one()
        values = {**row, "job_id": stray, "status": "done", "audio_key": f"audio/{stray}", "history_key": None}
        connection.execute(sa.insert(jobs).values(values))
    found = CliRunner().invoke(admin, ["reconcile", "--apply", "--data-dir", str(data_dir), "--json"])
    assert json.loads(found.stdout)["ended_without_audio"] == [stray]
    with service.context.database.writing() as connection:
        keys = sa.select(jobs.c.audio_key).where(jobs.c.job_id.in_([stray, submitted])).order_by(jobs.c.status)
        assert connection.execute(keys).scalars().all() == [None, f"audio/{submitted}"]
        connection.execute(sa.delete(jobs).where(jobs.c.job_id == stray))


def test_without_a_folder_or_a_service_it_says_so(tmp_path):
    assert "Say which service" in doctor().stderr
    missing = doctor("--data-dir", tmp_path / "none")
    assert missing.exit_code == 1
    assert "There is no service" in missing.stdout


def test_settings_that_do_not_fit_are_a_finding(tmp_path):
    (tmp_path / "vbdesk.toml").write_text("port = 99999999")
    [finding] = run_checks(tmp_path)
    assert (finding.topic, finding.health) == ("settings", Health.REPAIR)


def test_a_database_that_does_not_answer_is_a_finding_without_its_password(tmp_path):
    (tmp_path / "vbdesk.toml").write_text('database_url = "postgresql+psycopg://me:pass-word@127.0.0.1:9/none"\n')
    (tmp_path / "vbdesk.toml").chmod(0o644)
    done = doctor("--data-dir", tmp_path)
    assert done.exit_code == 1
    assert done.stdout.count("MEND  database: The database does not answer") == 1
    assert "MEND  settings: Others may read" in done.stdout
    assert "pass-word" not in done.output


def test_the_public_address_is_asked_for_tls_health_and_version(service, tmp_path):
    findings = {finding.topic: finding for finding in check_host_address(service.base_url, load_settings(tmp_path))}
    assert findings["public address"].health is Health.OK, findings
    assert findings["certificate"].health is Health.REPAIR
    [wrong] = check_host_address("voice.example.org", load_settings(tmp_path))
    assert wrong.health is Health.REPAIR
    away = check_host_address("http://127.0.0.1:9", load_settings(tmp_path, storage_url="http://127.0.0.1:9"))
    assert [finding.health for finding in away] == [Health.REPAIR] * 3

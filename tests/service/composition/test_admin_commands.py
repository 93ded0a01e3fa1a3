"""The operator's commands, in their exact forms."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from patience import HANGS_S
from vbdesk.cli.admin import app
from vbdesk.clock import SystemClock
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.kernel.db.migrate import REVISION
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.errors import Unauthorized
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.ports.identity import Credential


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def answer(*arguments: str | Path):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def account(tmp_path) -> dict:
    return answer(
        "account", "create", "--data-dir", tmp_path, "--name", "Desk", "--plan", "enterprise", "--credits", 10**9
    )


def opens(data_dir: Path, kind: Credential, account_id: str, token: str) -> bool:
    database = open_database(load_settings(data_dir))
    try:
        with database.reading() as connection:
            AccountService(SystemClock()).authenticate(connection, kind, account_id, token)
    except Unauthorized:
        return False
    finally:
        database.close()
    return True


def test_an_account_is_made_on_an_empty_folder(tmp_path, account):
    assert account.keys() == {"account_id", "secret_key", "plan", "credits"}
    assert (account["plan"], account["credits"]) == ("enterprise", 1_000_000_000)
    assert opens(tmp_path, Credential.SECRET_KEY, account["account_id"], account["secret_key"])


def test_an_account_is_standard_and_empty_unless_told(tmp_path):
    account = answer("account", "create", "--data-dir", tmp_path, "--name", "Desk")
    assert (account["plan"], account["credits"]) == ("standard", 0)


def test_an_account_is_made_with_a_key(tmp_path):
    made = answer("account", "create", "--data-dir", tmp_path, "--name", "Desk", "--with-key")
    assert made.keys() == {"account_id", "secret_key", "plan", "credits", "key_id", "api_key", "name"}
    assert opens(tmp_path, Credential.SECRET_KEY, made["account_id"], made["secret_key"])
    assert opens(tmp_path, Credential.API_KEY, made["account_id"], made["api_key"])
    [listed] = answer("key", "list", "--data-dir", tmp_path, "--account", made["account_id"])
    assert (listed["key_id"], listed["name"]) == (made["key_id"], "Desk")


def test_a_key_is_made_listed_and_revoked(tmp_path, account):
    who = ("--data-dir", tmp_path, "--account", account["account_id"])
    key = answer("key", "create", *who, "--name", "laptop")
    assert key.keys() == {"key_id", "api_key", "name"}
    assert opens(tmp_path, Credential.API_KEY, account["account_id"], key["api_key"])
    [listed] = answer("key", "list", *who)
    assert (listed["key_id"], listed["name"], listed["revoked_at"]) == (key["key_id"], "laptop", None)
    answer("key", "revoke", *who, "--key", key["key_id"])
    assert not opens(tmp_path, Credential.API_KEY, account["account_id"], key["api_key"])
    assert answer("key", "list", *who)[0]["revoked_at"] is not None


def test_secrets_are_shown_once(tmp_path, account):
    key = answer("key", "create", "--data-dir", tmp_path, "--account", account["account_id"], "--name", "laptop")
    listed = run("account", "list", "--data-dir", tmp_path, "--json").stdout
    listed += run("key", "list", "--data-dir", tmp_path, "--account", account["account_id"]).stdout
    assert key["key_id"] in listed
    assert key["api_key"] not in listed
    assert account["secret_key"] not in listed
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert key["api_key"].encode() not in stored
    assert account["secret_key"].encode() not in stored


def test_a_secret_key_is_replaced_and_the_one_before_ends(tmp_path, account):
    who = ("--data-dir", tmp_path, "--account", account["account_id"])
    rotated = answer("account", "rotate-secret", *who)
    assert rotated["secret_key"] != account["secret_key"]
    assert opens(tmp_path, Credential.SECRET_KEY, account["account_id"], rotated["secret_key"])
    assert not opens(tmp_path, Credential.SECRET_KEY, account["account_id"], account["secret_key"])


def test_the_schema_is_told_without_being_changed_and_brought_up_to_date(tmp_path):
    (tmp_path / "vbdesk.toml").write_text("")
    assert answer("database", "status", "--data-dir", tmp_path)["state"] == "empty"
    upgraded = answer("database", "upgrade", "--data-dir", tmp_path)
    assert (upgraded["state"], upgraded["revision"]) == ("current", REVISION)
    assert answer("database", "status", "--data-dir", tmp_path) == upgraded


def test_queue_and_workers_are_told(tmp_path, account):
    assert answer("queue", "--data-dir", tmp_path)["waiting"] == 0
    assert answer("worker", "list", "--data-dir", tmp_path) == []


def test_readings_are_recomputed_for_all_groups_of_an_account_or_one(tmp_path, account):
    who = ("--data-dir", tmp_path, "--account", account["account_id"])
    nothing = answer("group", "recompute", *who)
    assert nothing.pop("calibration")
    assert set(nothing.values()) == {0}
    assert answer("group", "recompute", *who, "--group", "ward4-0172").items() > nothing.items()


def test_credits_are_granted(tmp_path, account):
    granted = answer("credits", "grant", "--data-dir", tmp_path, "--account", account["account_id"], "--amount", 5)
    assert granted == {"account_id": account["account_id"], "credits": 1_000_000_005}


def test_accounts_are_listed_for_people_and_programs(tmp_path, account):
    [listed] = answer("account", "list", "--data-dir", tmp_path)
    assert listed["name"] == "Desk"
    headings, line = run("account", "list", "--data-dir", tmp_path).stdout.splitlines()
    assert headings.split() == ["account_id", "name", "plan", "credits", "created_at", "state"]
    assert line.split()[:4] == [account["account_id"], "Desk", "enterprise", "1000000000"]
    assert headings.index("plan") == line.index("enterprise")


def test_an_empty_list_says_so(tmp_path, account):
    assert run("erasure", "list", "--data-dir", tmp_path).stdout == "There are none.\n"
    assert answer("erasure", "list", "--data-dir", tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("key", "create", "--account", "nobody", "--name", "x"),
        ("key", "list", "--account", "nobody"),
        ("account", "rotate-secret", "--account", "nobody"),
        ("key", "revoke", "--account", "nobody", "--key", "none"),
        ("credits", "grant", "--account", "nobody", "--amount", "5"),
        ("account", "create", "--name", " "),
        ("account", "create", "--name", "x" * 201),
        ("account", "create", "--name", "two\nlines"),
    ],
)
def test_bad_input_gives_one_line_and_a_status(tmp_path, account, arguments):
    result = run(*arguments, "--data-dir", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("account", "create", "--name", "x", "--credits", "-1"),
        ("account", "create", "--name", "x", "--plan", "gold"),
        ("account", "create", "--name", "x", "--credits", str(10**20)),
        ("credits", "grant", "--account", "x", "--amount", "0"),
        ("credits", "grant", "--account", "x", "--amount", str(2**63 - 1)),
        ("account", "create"),
    ],
)
def test_wrong_options_are_refused(tmp_path, arguments):
    assert run(*arguments, "--data-dir", tmp_path).exit_code == 2


def test_a_folder_that_cannot_be_used_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("account", "create", "--data-dir", tmp_path / "file", "--name", "Desk")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "cannot be used" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("account", "list"),
        ("erasure", "list"),
        ("key", "create", "--account", "x", "--name", "x"),
        ("job", "delete", "--account", "x", "--job", "x"),
    ],
)
def test_a_mistyped_folder_is_told_and_left_alone(tmp_path, arguments):
    result = run(*arguments, "--data-dir", tmp_path / "srv")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "There is no service in" in result.stderr
    assert not (tmp_path / "srv").exists()


def test_a_damaged_database_is_told(tmp_path):
    (tmp_path / "vbdesk.db").write_bytes(b"not a database" * 1000)
    result = run("account", "list", "--data-dir", tmp_path)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


def test_the_commands_work_while_the_service_runs(service):
    data_dir = service.context.settings.data_dir
    made = answer("account", "create", "--data-dir", data_dir, "--name", "Desk", "--credits", 7)
    key = answer("key", "create", "--data-dir", data_dir, "--account", made["account_id"], "--name", "laptop")
    headers = {"X-Account-ID": made["account_id"], "X-API-Key": key["api_key"]}
    assert service.client().get("/v2/account/credits", headers=headers).json() == {"credits": 7}


LISTS_ACCOUNTS = """
import sys
from vbdesk.cli.main import app
try:
    app(["admin", "account", "list", "--data-dir", sys.argv[1]])
finally:
    print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


def test_a_command_starts_without_what_analyses_servers_and_migrations_need(tmp_path):
    answer("account", "create", "--data-dir", tmp_path, "--name", "Desk")  # makes the tables
    command = [sys.executable, "-c", LISTS_ACCOUNTS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_S, check=True)
    loaded = set(done.stdout.split())
    assert "sqlalchemy" in loaded
    assert not loaded & {"numpy", "scipy", "onnxruntime", "av", "fastapi", "uvicorn", "dbos", "alembic"}

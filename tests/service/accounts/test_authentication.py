"""Authentication: valid credentials, and the order of the checks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from patience import HANGS_S, until
from vbdesk.contract.limits import Bucket, Plan
from vbdesk.service.accounts import repository
from vbdesk.service.accounts import service as accounts_service
from vbdesk.service.accounts.service import AccountService, KeyUses
from vbdesk.service.http.error_responses import install_error_handlers
from vbdesk.service.http.guard import CurrentAccount, guard
from vbdesk.service.kernel.db.metadata import metadata
from vbdesk.service.ports.identity import Account, Credential


def test_a_key_authenticates_its_account(client, account):
    assert client.get("/v2/account/credits").json() == {"credits": 100_000}


@contextmanager
def written_by_another(service) -> Iterator[None]:
    """Write from another process, so that this one cannot record the use of a key."""
    engine = sa.create_engine(service.context.settings.resolved_database_url)
    with engine.connect() as connection:
        sqlite = engine.dialect.name == "sqlite"
        connection.exec_driver_sql("BEGIN IMMEDIATE" if sqlite else "LOCK TABLE api_keys IN EXCLUSIVE MODE")
        yield
        connection.rollback()
    engine.dispose()


def last_used(service, account):
    with service.context.database.reading() as connection:
        [key] = AccountService(service.clock).list_keys(connection, account.account_id)
    return key.last_used_at


def wait_until_noted(service, account):
    return until(lambda: last_used(service, account), "the use to be noted")


def test_a_read_does_not_wait_for_the_record_of_its_keys_use(start_service):
    service = start_service()
    account = service.add_account()
    with written_by_another(service):
        assert service.client(account).get("/v2/jobs").status_code == 200
        assert last_used(service, account) is None
    assert wait_until_noted(service, account) == service.clock.now()


def test_a_read_does_not_fail_when_the_use_of_its_key_cannot_be_recorded(start_service, monkeypatch, caplog):
    monkeypatch.setattr(accounts_service, "RETRY_S", 0.05)
    service = start_service()
    account = service.add_account()
    write = repository.note_use

    def fail(connection, *_arguments):
        connection.execute(sa.text("UPDATE nowhere SET nothing = 1"))

    monkeypatch.setattr(repository, "note_use", fail)
    assert service.client(account).get("/v2/jobs").status_code == 200
    until(lambda: "Uses of API keys cannot be noted" in caplog.text, "the log")
    monkeypatch.setattr(repository, "note_use", write)
    assert wait_until_noted(service, account) == service.clock.now()


def test_recorded_uses_are_written_before_the_end(start_service):
    context = start_service().context
    made = AccountService(context.clock)
    with context.database.writing() as connection:
        account = made.create(connection, "Test", Plan.STANDARD, 0)
        key = made.create_key(connection, account.account_id, "test")
    uses = KeyUses(context.database, context.clock)
    uses.note(Account(account.account_id, Plan.STANDARD), key.api_key)
    uses.close()
    with context.database.reading() as connection:
        [listed] = made.list_keys(connection, account.account_id)
    assert listed.last_used_at == context.clock.now()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda headers: headers.pop("X-Account-ID"),
        lambda headers: headers.pop("X-API-Key"),
        lambda headers: headers.update({"X-Account-ID": "019aa000-0000-7000-8000-000000000000"}),
        lambda headers: headers.update({"X-API-Key": "vbk_nothing_at-all"}),
        lambda headers: headers.update({"X-API-Key": headers["X-API-Key"] + "x"}),
        lambda headers: headers.update({"X-API-Key": headers["X-API-Key"][:-1]}),
        lambda headers: headers.update({"X-API-Key": ""}),
        lambda headers: headers.update({"X-API-Key": "ÿ"}),
    ],
)
def test_anything_else_is_401(service, account, spoil: Callable[[dict], object]):
    headers = dict(account.headers)
    spoil(headers)
    raw = [(name, value.encode("latin-1")) for name, value in headers.items()]
    answer = service.client().get("/v2/account/credits", headers=raw)
    assert answer.status_code == 401
    assert answer.json()["code"] == "UNAUTHORIZED"
    assert not any(value and value in answer.text for value in headers.values())


def test_a_key_does_not_authenticate_another_account(service, account):
    other = service.add_account()
    headers = {"X-Account-ID": other.account_id, "X-API-Key": account.api_key}
    assert service.client().get("/v2/account/credits", headers=headers).status_code == 401


def test_the_secret_key_is_not_valid_for_v2(service, account):
    headers = {"X-Account-ID": account.account_id, "X-API-Key": account.secret_key}
    assert service.client().get("/v2/account/credits", headers=headers).status_code == 401


def test_a_revoked_key_is_refused_at_once(service, client, account):
    assert client.get("/v2/models").status_code == 200
    accounts = AccountService(service.clock)
    with service.context.database.writing() as connection:
        [key] = accounts.list_keys(connection, account.account_id)
        accounts.revoke_key(connection, account.account_id, key.key_id)
    assert client.get("/v2/models").status_code == 401


def test_only_hashes_of_keys_are_stored(service, account):
    with service.context.database.reading() as connection:
        rows = [row for table in metadata.sorted_tables for row in connection.execute(sa.select(table))]
    service.context.database.close()
    files = [path.read_bytes() for path in service.context.settings.data_dir.glob("vbdesk.db*")]  # none on a server
    stored = repr(rows).encode() + b"".join(files)
    assert account.account_id.encode() in stored
    assert account.api_key[-32:].encode() not in stored
    assert account.secret_key.encode() not in stored


def test_credentials_are_checked_before_the_body(service):
    answer = service.client().post("/v2/audio/uploads", content=b"{broken", headers={"Content-Type": "text/json"})
    assert answer.status_code == 401


def test_the_61st_refusal_of_an_address_is_429_and_good_keys_still_work(service, client):
    stranger = service.client()
    assert {stranger.get("/v2/models").status_code for _ in range(60)} == {401}
    refused = stranger.get("/v2/models")
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert refused.headers["retry-after"] == "60"
    assert client.get("/v2/models").status_code == 200
    service.clock.advance(60)
    assert stranger.get("/v2/models").status_code == 401


def test_refused_requests_do_not_count_against_the_account_they_name(service):
    account = service.add_account(Plan.STANDARD)
    stranger = service.client()
    for _ in range(20):
        stranger.get("/v2/models", headers={"X-Account-ID": account.account_id, "X-API-Key": "guess"})
    assert service.client(account).get("/v2/models").status_code == 200


def test_the_rate_limit_is_checked_before_the_body(service):
    client = service.client(service.add_account(Plan.STANDARD))
    answers = [client.post("/v2/audio/uploads", json={}).status_code for _ in range(6)]
    assert answers == [422] * 5 + [429]


def test_v1_routes_accept_the_secret_key_only(service, account, serve_app):
    app = FastAPI()
    app.state.context = service.context
    install_error_handlers(app)

    @app.get("/who", dependencies=guard(Bucket.GENERAL, Credential.SECRET_KEY))
    def who(account: CurrentAccount) -> str:
        return account.account_id

    url = serve_app(app) + "/who"
    assert httpx.get(url, headers=account.v1_headers, trust_env=False, timeout=HANGS_S).json() == account.account_id
    assert httpx.get(url, headers=account.headers, trust_env=False, timeout=HANGS_S).status_code == 401

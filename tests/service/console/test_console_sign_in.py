"""Who gets into the console, for how long, and what no other page can make it do."""

import sqlite3
import threading
from contextlib import closing, contextmanager

import pytest
import sqlalchemy as sa

from patience import HANGS_S, until
from vbdesk.service.accounts import sessions as account_sessions
from vbdesk.service.http.security_headers import PROTECTION
from vbdesk.service.kernel.db.tables import console_sessions


def sessions(service) -> list[tuple]:
    with closing(sqlite3.connect(service.context.settings.data_dir / "vbdesk.db")) as database:
        return database.execute("SELECT * FROM console_sessions").fetchall()


def test_account_id_and_secret_key_open_the_overview(person, account):
    assert str(person.page.url).endswith("/console")
    assert account.account_id in person.page.text
    assert "100,000" in person.page.text


def test_without_a_session_every_page_leads_to_the_sign_in(make_person):
    person = make_person()
    for path in ("", "/", "/keys", "/keys/x/revoke", "/webhook", "/webhook/remove"):
        assert str(person.open(f"/console{path}").url).endswith("/console/sign-in")


@pytest.mark.parametrize(
    ("account_id", "secret_key"),
    [("{id}", "vbs_wrong"), ("{id}", ""), ("{id}", "{api}"), ("019aa000-0000-7000-8000-000000000000", "{secret}")],
)
def test_anything_else_is_refused_and_no_secret_echoed(make_person, account, account_id, secret_key):
    values = {"id": account.account_id, "api": account.api_key, "secret": account.secret_key}
    person = make_person()
    person.open("/console/sign-in")
    secret = secret_key.format(**values)
    answer = person.send("/console/sign-in", account_id=account_id.format(**values), secret_key=secret)
    assert answer.status_code == 401
    assert "The account id or the secret key is not right." in answer.text
    assert not secret or secret not in answer.text
    assert str(person.open().url).endswith("/console/sign-in")


def test_the_secret_of_one_account_does_not_open_another(service, make_person, account):
    person = make_person()
    person.open("/console/sign-in")
    other = service.add_account()
    answer = person.send("/console/sign-in", account_id=other.account_id, secret_key=account.secret_key)
    assert answer.status_code == 401


def test_the_throttle_is_the_one_of_the_api(service, make_person, account):
    stranger = service.client()
    for _ in range(59):
        stranger.get("/v2/models")
    person = make_person()
    person.open("/console/sign-in")
    assert person.send("/console/sign-in", account_id="x", secret_key="y").status_code == 401
    refused = person.send("/console/sign-in", account_id="x", secret_key="y")
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "60"
    assert "Too many requests. Try again in 60 s." in refused.text
    assert stranger.get("/v2/models").status_code == 429
    assert person.sign_in(account).status_code == 200


def test_the_cookie_is_out_of_reach_and_the_session_stored_hashed(service, person):
    [cookie] = [cookie for cookie in person.client.cookies.jar if cookie.name == "vbdesk-console"]
    person.open("/console/sign-in")
    answer = person.client.post("/console/sign-in", data={**person.form("/console/sign-in").fields, "account_id": "x"})
    assert answer.status_code == 401
    service.context.database.engine.dispose()
    stored = b"".join(path.read_bytes() for path in service.context.settings.data_dir.glob("vbdesk.db*"))
    assert cookie.value.encode() not in stored
    assert len(sessions(service)[-1][0]) == 32


def test_cookies_are_strict_http_only_and_secure_over_https(service, make_person, account):
    person = make_person()
    person.open("/console/sign-in")
    fields = person.form("/console/sign-in").fields
    fields |= {"account_id": account.account_id, "secret_key": account.secret_key}
    plain = person.client.post("/console/sign-in", data=fields).headers.get_list("set-cookie")
    [session] = [cookie for cookie in plain if cookie.startswith("vbdesk-console=")]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(session.split("; "))
    assert "Secure" not in session
    # uvicorn believes a proxy on this computer
    [secure] = (
        service.client().get("/console/sign-in", headers={"X-Forwarded-Proto": "https"}).headers.get_list("set-cookie")
    )
    assert secure.startswith("__Host-vbdesk-visitor=")
    assert {"HttpOnly", "SameSite=strict", "Path=/", "Secure"} <= set(secure.split("; "))


def test_signing_in_again_ends_the_session_before(service, person, account):
    before = person.client.cookies["vbdesk-console"]
    person.sign_in(account)
    assert person.client.cookies["vbdesk-console"] != before
    other = service.client()
    other.cookies.set("vbdesk-console", before)
    assert other.get("/console").headers["location"] == "/console/sign-in?notice=ended"


def test_a_session_ends_when_it_is_not_used(service, person):
    service.clock.advance(29 * 60)
    assert str(person.open().url).endswith("/console")
    service.clock.advance(29 * 60)
    assert str(person.open().url).endswith("/console")
    service.clock.advance(30 * 60)
    assert "Your session has ended. Sign in again." in person.open().text


def test_a_session_ends_after_half_a_day_in_any_case(service, person):
    for _ in range(36):
        assert str(person.open().url).endswith("/console")
        service.clock.advance(20 * 60)
    assert "Your session has ended. Sign in again." in person.open().text


def test_past_sessions_are_forgotten_at_the_next_sign_in(service, person, make_person, account):
    service.clock.advance(13 * 3600)
    make_person().sign_in(account)
    assert len(sessions(service)) == 1


def test_signing_out_ends_the_session_wherever_its_cookie_is(service, person):
    token = person.client.cookies["vbdesk-console"]
    answer = person.send("/console/sign-out")
    assert "You are signed out." in answer.text
    assert "vbdesk-console" not in person.client.cookies
    thief = service.client()
    thief.cookies.set("vbdesk-console", token)
    assert thief.get("/console").status_code == 303


def test_a_revoked_api_key_does_not_end_the_session_but_an_api_key_never_begins_one(person, account):
    headers = {"X-Account-ID": account.account_id, "X-API-Key": account.api_key}
    assert person.client.get("/console/keys").status_code == 200
    anonymous = type(person.client)(base_url=person.client.base_url, headers=headers, trust_env=False)
    with anonymous:
        assert anonymous.get("/console/keys").status_code == 303


@pytest.mark.parametrize("token", [None, "", "0" * 64, "ÿ"])
@pytest.mark.parametrize(
    "path",
    [
        "/console/sign-out",
        "/console/keys",
        "/console/keys/x/revoke",
        "/console/webhook",
        "/console/webhook/remove",
        "/console/webhook/deliveries/019aa000-0000-7000-8000-000000000000/redeliver",
    ],
)
def test_a_form_without_its_token_does_nothing(person, path, token):
    fields = {"name": "x", "url": "https://93.184.216.34/", "secret_key": "s"}
    answer = person.post(path, fields | ({} if token is None else {"form_token": token}))
    assert answer.status_code == 403
    assert str(person.open().url).endswith("/console")


def test_the_token_of_another_session_is_refused(person, make_person, account):
    other = make_person()
    other.sign_in(account)
    other.open("/console/keys")
    stolen = other.form("/console/keys").fields["form_token"]
    assert person.post("/console/keys", {"name": "x", "form_token": stolen}).status_code == 403


def test_a_sign_in_form_from_elsewhere_is_refused(make_person, account):
    person, attacker = make_person(), make_person()
    attacker.open("/console/sign-in")
    fields = attacker.form("/console/sign-in").fields
    fields |= {"account_id": account.account_id, "secret_key": account.secret_key}
    assert person.post("/console/sign-in", fields).status_code == 403
    person.open("/console/sign-in")
    assert person.post("/console/sign-in", fields).status_code == 403
    assert "vbdesk-console" not in person.client.cookies


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"x=" + b"y" * 20_000, "application/x-www-form-urlencoded", 400),
        (b"&".join(b"a=b" for _ in range(30)), "application/x-www-form-urlencoded", 400),
        (b"form_token=%00", "application/x-www-form-urlencoded", 400),
        (b"form_token=%ff", "application/x-www-form-urlencoded", 400),
        (b"{}", "application/json", 400),
        (b"", "application/x-www-form-urlencoded", 403),
    ],
)
@pytest.mark.parametrize("path", ["/console/keys", "/console/sign-in"])
def test_what_is_no_form_of_ours_is_refused(person, path, content, kind, status):
    assert person.client.post(path, content=content, headers={"Content-Type": kind}).status_code == status


def test_one_account_cannot_flood_the_console(person):
    statuses = [person.client.get("/console/keys").status_code for _ in range(120)]
    assert statuses[:110] == [200] * 110
    refused = person.client.get("/console/keys")
    assert (refused.status_code, statuses[-1]) == (429, 429)
    assert int(refused.headers["Retry-After"]) > 0


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/console", 200),
        ("GET", "/console/", 303),
        ("GET", "/console/keys", 200),
        ("GET", "/console/webhook", 200),
        ("GET", "/console/sign-in", 200),
        ("GET", "/console/style.css", 200),
        ("GET", "/console/mark.svg", 200),
        ("GET", "/console/nothing", 404),
        ("GET", "/console/keys/nothing/revoke", 404),
        ("GET", "/console/webhook?before=nothing", 404),
        ("GET", "/console/webhook/remove", 404),
        ("PUT", "/console/keys", 405),
        ("POST", "/console/keys", 400),
        ("OPTIONS", "/console", 405),
        ("NONSENSE", "/console", 405),
    ],
)
def test_every_answer_carries_the_protective_headers(person, method, path, status):
    answer = person.client.request(method, path)
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in PROTECTION} == PROTECTION
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in str(policy)


def test_a_crash_is_a_page_too(start_service, caplog):
    service = start_service()
    service.context.database.engine.dispose()
    (service.context.settings.data_dir / "vbdesk.db").write_bytes(b"nothing of a database" * 400)
    for leftover in service.context.settings.data_dir.glob("vbdesk.db-*"):
        leftover.unlink()
    answer = service.client().get("/console", headers={"Cookie": "vbdesk-console=x"})
    assert answer.status_code == 500
    assert "<h1>" in answer.text
    assert {name: answer.headers[name] for name in PROTECTION} == PROTECTION


@pytest.mark.parametrize("path", ["", "/keys", "/webhook", "/sign-in"])
def test_pages_hold_no_script_and_no_style_of_their_own(person, path):
    text = person.open(f"/console{path}").text
    assert "<script" not in text
    assert "<style" not in text
    assert " style=" not in text
    assert " onclick" not in text


def test_the_console_is_not_in_the_description_of_the_api(client):
    assert not any("console" in path for path in client.get("/openapi.json").json()["paths"])


@contextmanager
def sessions_written_by_another(service):
    """Another process writes to the table, so that the use of a session cannot be noted."""
    engine = sa.create_engine(service.context.settings.resolved_database_url)
    with engine.connect() as connection:
        sqlite = engine.dialect.name == "sqlite"
        connection.exec_driver_sql("BEGIN IMMEDIATE" if sqlite else "LOCK TABLE console_sessions IN EXCLUSIVE MODE")
        yield
        connection.rollback()
    engine.dispose()


def last_seen(service):
    with service.context.database.reading() as connection:
        return connection.execute(sa.select(console_sessions.c.last_seen_at)).scalar_one()


def wait_until_seen(service, moment):
    until(lambda: last_seen(service) == moment)


def test_a_page_does_not_wait_for_the_note_that_its_session_is_used(own_person):
    service, person = own_person.service, own_person
    service.clock.advance(120)
    before = last_seen(service)
    with sessions_written_by_another(service):
        for page in ("/console", "/console/keys", "/console/webhook"):
            assert person.open(page).status_code == 200
        assert last_seen(service) == before
    wait_until_seen(service, service.clock.now())


def test_a_session_in_use_lasts_while_its_use_cannot_be_written(own_person):
    service, person = own_person.service, own_person
    with sessions_written_by_another(service):
        for _ in range(3):
            service.clock.advance(29 * 60)
            assert str(person.open().url).endswith("/console")
    wait_until_seen(service, service.clock.now())
    service.clock.advance(30 * 60)
    assert "Your session has ended" in person.open().text


def test_a_page_does_not_fail_when_the_use_of_its_session_cannot_be_noted(own_person, monkeypatch, caplog):
    service, person = own_person.service, own_person
    monkeypatch.setattr(service.context.session_uses._notes, "_retry_s", 0.05)
    write = account_sessions.touch_session

    def fail(connection, *_arguments):
        connection.execute(sa.text("UPDATE nowhere SET nothing = 1"))

    monkeypatch.setattr(account_sessions, "touch_session", fail)
    service.clock.advance(120)
    assert person.open().status_code == 200
    until(lambda: "Uses of console sessions cannot be noted" in caplog.text, "the log")
    monkeypatch.setattr(account_sessions, "touch_session", write)
    wait_until_seen(service, service.clock.now())


def test_signing_out_ends_a_session_whose_use_is_not_written_yet(own_person, monkeypatch):
    service, person = own_person.service, own_person
    goes_on = threading.Event()
    monkeypatch.setattr(service.context.session_uses._notes, "_write_times", lambda *_: goes_on.wait(HANGS_S))
    token = person.client.cookies["vbdesk-console"]
    service.clock.advance(120)
    assert person.open().status_code == 200
    goes_on.set()
    person.send("/console/sign-out")
    other = service.client()
    other.cookies.set("vbdesk-console", token)
    assert other.get("/console").headers["location"] == "/console/sign-in?notice=ended"

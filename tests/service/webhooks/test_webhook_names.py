"""Names whose server does not answer: they stall only the account that named them."""

import asyncio
import shutil
import socket
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from slow_names import SlowNames

from patience import HANGS_S, until
from vbdesk.service.kernel import name_resolver
from vbdesk.service.kernel.address_guard import AddressGuard, AddressNotAllowed
from vbdesk.service.kernel.name_resolver import Resolver
from vbdesk.service.webhooks.delivery_worker import DeliveryWorker
from vbdesk.service.webhooks.sender import WebhookSender

POOL_SIZE = 40  # threads that every request's admission needs


@pytest.fixture
def slow_names(monkeypatch):
    """A name server whose callers wait as long as it takes."""
    names = SlowNames(monkeypatch)
    yield names
    names.release.set()


@pytest.fixture
def impatient(slow_names, monkeypatch):
    """The same names, whose callers wait a moment only."""
    monkeypatch.setattr(name_resolver, "TIMEOUT_S", 0.05)
    return slow_names


@pytest.fixture
def in_background(slow_names):
    """`in_background(calls)` runs the calls at the same time, each in a thread; all end with the test."""
    with ThreadPoolExecutor(200) as threads:
        yield lambda calls: [threads.submit(call) for call in calls]
        slow_names.release.set()


def set_webhook(service, account, number):
    url = f"https://name-{number}.slow.example/hook"
    hook = {"url": url, "secret_key": "s"}
    return httpx.post(
        f"{service.base_url}/v2/account/webhook", json=hook, headers=account.headers, timeout=HANGS_S, trust_env=False
    )


def submit(service, account, number):
    parts = {
        "audio": ("take.wav", b"RIFF", "audio/wav"),
        "webhook_url": (None, f"https://name-{number}.slow.example/hook"),
        "webhook_secret_key": (None, "s"),
    }
    url = f"{service.base_url}/v2/signs/stress/analyze"
    return httpx.post(url, files=parts, headers=account.headers, timeout=HANGS_S, trust_env=False)


def fetch(service, account, number):
    url = f"{service.base_url}/api/v1/wellness/analyze-audio-url"
    body = {"url": f"https://name-{number}.slow.example/take.wav"}
    return httpx.post(url, json=body, headers=account.v1_headers, timeout=HANGS_S, trust_env=False)


@pytest.mark.parametrize("call", [set_webhook, submit, fetch])
def test_another_accounts_read_is_answered_while_a_hundred_names_hang(start_service, slow_names, in_background, call):
    service = start_service()
    account, other = service.add_account(), service.client(service.add_account())
    calls = in_background([lambda number=number: call(service, account, number) for number in range(100)])
    until(lambda: len(slow_names.checked) >= POOL_SIZE and slow_names.asked)
    for _ in range(5):
        assert other.get("/v2/jobs").status_code == 200
    assert other.post("/v2/account/webhook", json={"url": "http://localhost/", "secret_key": "s"}).status_code == 422
    assert not any(call.done() for call in calls)
    assert len(slow_names.asked) == 2, "one account has two places"
    slow_names.release.set()
    assert {call.result().status_code for call in calls} <= {200, 400}, "an unresolved name is not an error of ours"


def test_many_accounts_that_hang_together_stop_neither_reads_nor_a_newcomers_check(
    start_service, slow_names, in_background
):
    service = start_service()
    accounts = [service.add_account() for _ in range(30)]
    newcomer = service.client(service.add_account())
    calls = in_background(
        [lambda account=account, n=n: set_webhook(service, account, n) for account in accounts for n in range(3)]
    )
    until(lambda: len(slow_names.asked) == 60)
    assert newcomer.get("/v2/jobs").status_code == 200
    assert newcomer.post("/v2/account/webhook", json={"url": "http://localhost/", "secret_key": "s"}).status_code == 422
    assert not any(call.done() for call in calls)
    slow_names.release.set()
    assert {call.result().status_code for call in calls} == {200}


def test_one_accounts_webhooks_are_stored_one_at_a_time_so_that_a_slow_disk_leaves_threads_to_others(
    start_service, tmp_path, migrated_database, slow_names, in_background
):
    service = start_service(database_url=f"sqlite:///{shutil.copy(migrated_database, tmp_path / 'own.db')}")
    account, other = service.add_account(), service.client(service.add_account())

    def set_public_webhook():
        hook = {"url": "https://93.184.216.34/hook", "secret_key": "s"}
        url = f"{service.base_url}/v2/account/webhook"
        return httpx.post(url, json=hook, headers=account.headers, timeout=HANGS_S, trust_env=False)

    with service.context.database.writing():  # a commit that takes its time: SQLite lets one write at once
        calls = in_background([set_public_webhook] * 60)
        until(lambda: len(slow_names.checked) >= POOL_SIZE)
        assert [other.get("/v2/jobs").status_code for _ in range(5)] == [200] * 5
    assert {call.result().status_code for call in calls} == {200}


def test_a_number_is_refused_while_all_names_of_its_account_hang(start_service, slow_names, in_background):
    service = start_service()
    account = service.add_account()
    in_background([lambda number=number: set_webhook(service, account, number) for number in range(5)])
    until(lambda: len(slow_names.asked) == 2)
    for url in ("http://10.0.0.1/", "http://2130706433/", "http://127.1/", "http://[::1]/"):
        hook = {"url": url, "secret_key": "s"}
        assert service.client(account).post("/v2/account/webhook", json=hook).status_code == 422


def test_an_account_has_two_places_and_its_further_lookups_wait(slow_names, in_background):
    names = Resolver(slow_names.look_up)
    lookups = in_background([lambda n=n: names.resolve_blocking(f"{n}.slow.example", 443, "account") for n in range(6)])
    until(lambda: len(slow_names.asked) == 2)
    assert names.resolve_blocking("quick.example", 443, "other") == ["127.0.0.1"]
    assert len(slow_names.asked) == 3
    slow_names.release.set()
    assert all(isinstance(lookup.exception(), socket.gaierror) for lookup in lookups)
    assert len(slow_names.asked) == 7


def test_lookups_of_all_accounts_together_are_bounded_and_those_beyond_wait(slow_names, in_background):
    names = Resolver(slow_names.look_up)
    waiting = in_background(
        [
            lambda a=a, n=n: names.resolve_blocking(f"{n}.slow.example", 443, f"account {a}")
            for a in range(50)
            for n in range(2)
        ]
    )
    until(lambda: len(slow_names.asked) == name_resolver.AT_ONCE)
    last = in_background([lambda: names.resolve_blocking("quick.example", 443, "newcomer")])
    assert not last[0].done()
    assert len(slow_names.asked) == name_resolver.AT_ONCE
    slow_names.release.set()
    assert last[0].result(HANGS_S) == ["127.0.0.1"]
    assert all(isinstance(lookup.exception(), socket.gaierror) for lookup in waiting)
    assert Counter(slow_names.asked) == {**{f"{n}.slow.example": 50 for n in range(2)}, "quick.example": 1}


def test_a_caller_that_goes_leaves_the_queue_but_a_lookup_that_hangs_keeps_its_place(slow_names):
    names = Resolver(slow_names.look_up)

    async def come_and_go():
        calls = [asyncio.ensure_future(names.resolve(f"{n}.slow.example", 443, "account")) for n in range(5)]
        await asyncio.to_thread(until, lambda: len(slow_names.asked) >= 2)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        late = asyncio.ensure_future(names.resolve("late.example", 443, "account"))
        await names.resolve("quick.example", 443, "other")
        assert slow_names.asked[2:] == ["quick.example"]
        slow_names.release.set()
        return await late

    assert asyncio.run(come_and_go()) == ["127.0.0.1"]
    assert slow_names.asked[2:] == ["quick.example", "late.example"]


def test_a_name_without_an_answer_is_accepted_at_set_up_and_asked_again_at_delivery(make_bench, impatient):
    bench = make_bench()
    url = "https://receiver.slow.example/hook"
    assert bench.client.post("/v2/account/webhook", json={"url": url, "secret_key": "s"}).status_code == 200
    bench.finish(bench.submit())
    context = bench.service.context
    delivery_worker = DeliveryWorker(context.database, context.clock, context.secrets, WebhookSender(context.guard))
    assert delivery_worker.deliver_due() == 1
    [delivery] = bench.deliveries()
    assert (delivery.state, delivery.attempts, delivery.last_error) == ("pending", 1, "gaierror")


def test_audio_at_a_name_without_an_answer_cannot_be_reached(start_service, impatient):
    service = start_service()
    answer = fetch(service, service.add_account(), 1)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert "cannot be reached" in answer.json()["message"]


def test_a_name_that_answers_late_with_a_private_address_is_not_called(monkeypatch):
    late, answers = threading.Event(), []

    def look_up(host, port):
        answers.append(late.wait(HANGS_S))
        return ["10.0.0.1"]

    guard = AddressGuard(allow_private=False, look_up=look_up)
    monkeypatch.setattr(name_resolver, "TIMEOUT_S", 0.05)
    asyncio.run(guard.check_url("http://late.example/", "account"))
    late.set()
    monkeypatch.setattr(name_resolver, "TIMEOUT_S", HANGS_S)
    with pytest.raises(AddressNotAllowed):
        WebhookSender(guard).post("http://late.example/", b"{}", {}, "account")


def test_names_that_hang_do_not_hold_up_the_end_of_the_process():
    program = """
import socket, threading
from vbdesk.service.kernel import name_resolver
name_resolver.TIMEOUT_S = 0.05
names = name_resolver.Resolver(lambda host, port: threading.Event().wait())
try:
    names.resolve_blocking("hangs.example", 443, "account")
except socket.gaierror:
    print("unresolved")
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANGS_S, check=True)
    assert ended.stdout == "unresolved\n"

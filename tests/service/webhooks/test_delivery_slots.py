"""Receivers that do not answer delay the deliveries of nobody else."""

import http.server
import socket
import threading
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from dead_receivers import DeadReceiver
from sqlalchemy.exc import OperationalError

from patience import HANGS_S, until
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.periodic import PeriodicWorker
from vbdesk.service.webhooks import delivery_worker, repository
from vbdesk.service.webhooks import delivery_worker as delivery_worker_module
from vbdesk.service.webhooks.delivery_worker import DeliverySlots, DeliveryWorker, receiver_of
from vbdesk.service.webhooks.sender import WebhookSender

DEAD = 30


@pytest.fixture(autouse=True)
def names_of_this_computer(monkeypatch):
    """Every name below `example` is this computer's."""
    ask_system = socket.getaddrinfo

    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        return ask_system("127.0.0.1" if str(host).endswith(".example") else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture
def make_dead():
    receivers: list[DeadReceiver] = []

    def make(*, drips: bool = False) -> DeadReceiver:
        receivers.append(DeadReceiver(drips=drips))
        return receivers[-1]

    yield make
    for receiver in receivers:
        receiver.close()


@pytest.fixture
def silent(make_dead):
    return make_dead()


@pytest.fixture
def living():
    """A receiver whose path `/hangs` is dead; `received` counts the deliveries on other paths by their id."""
    received: Counter[str] = Counter()
    hung: list[str] = []
    over = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/hangs":
                hung.append(self.path)
                over.wait(HANGS_S)
                return
            received[self.headers["X-Webhook-Delivery"]] += 1
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 200

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield SimpleNamespace(origin=f"http://127.0.0.1:{server.server_port}", received=received, hung=hung)
    over.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(params=["sqlite", "postgresql"])
def bench(request, make_bench):
    """A service on either database whose operator allows private addresses."""
    stands_on = request.getfixturevalue("postgresql").make(None) if request.param == "postgresql" else {}
    return make_bench(allow_private_addresses=True, **stands_on)


@pytest.fixture
def make_delivery_worker():
    """`make_delivery_worker(bench)`: a delivery_worker that runs, with senders that wait longer than any test."""
    running: list[PeriodicWorker] = []

    def make(bench: Any) -> DeliveryWorker:
        context = bench.service.context
        sender = WebhookSender(AddressGuard(allow_private=True), timeout_s=2 * HANGS_S)
        delivery_worker = DeliveryWorker(context.database, context.clock, context.secrets, sender)
        running.append(PeriodicWorker([delivery_worker.job()]))
        running[-1].start()
        return delivery_worker

    yield make
    for worker in running:
        worker.stop()


def owe(bench: Any, account: Any, url: str) -> str:
    """End a job of the account, which is to be reported to `url`; the id of the delivery."""
    client = bench.client
    try:
        bench.client = bench.service.client(account)
        job_id = bench.submit("/v2/signs/stress/analyze", webhook_url=url, webhook_secret_key="s")
    finally:
        bench.client = client
    bench.finish(job_id)
    [delivery_id] = [delivery.delivery_id for delivery in bench.deliveries() if delivery.job_id == job_id]
    return str(delivery_id)


def one_account_one_receiver(bench: Any, port: int, account: Any) -> None:
    for _ in range(DEAD):
        owe(bench, account, f"http://127.0.0.1:{port}/")


def one_account_many_receivers(bench: Any, port: int, account: Any) -> None:
    for number in range(DEAD):
        owe(bench, account, f"http://host-{number}.example:{port}/")


def many_accounts_one_receiver(bench: Any, port: int, account: Any) -> None:
    others = [bench.service.add_account() for _ in range(DEAD // 3 - 1)]
    for enemy in [account, *others]:
        for number in range(3):
            owe(bench, enemy, f"http://127.0.0.1:{port}/{number}")


def many_accounts_many_receivers(bench: Any, port: int, account: Any) -> None:
    for number in range(DEAD):
        owe(bench, account, f"http://host-{number}.example:{port}/")
        account = bench.service.add_account()


@pytest.mark.parametrize(
    ("owe_dead", "drips", "under_way"),
    [
        (one_account_one_receiver, False, delivery_worker.OF_ONE_ACCOUNT_AT_ONE_RECEIVER),
        (one_account_one_receiver, True, delivery_worker.OF_ONE_ACCOUNT_AT_ONE_RECEIVER),
        (one_account_many_receivers, False, delivery_worker.OF_ONE_ACCOUNT),
        (many_accounts_one_receiver, False, delivery_worker.OF_ONE_RECEIVER),
        (many_accounts_many_receivers, False, DEAD),
    ],
)
def test_thirty_deliveries_to_dead_receivers_hold_up_nobody_else(
    bench, make_dead, living, make_delivery_worker, owe_dead: Callable[..., None], drips: bool, under_way: int
):
    dead = make_dead(drips=drips)
    enemy = bench.service.add_account()
    owe_dead(bench, dead.port, enemy)
    make_delivery_worker(bench)
    until(lambda: dead.calls == under_way)
    others = owe(bench, bench.account, f"{living.origin}/")
    until(lambda: living.received[others] == 1)
    own = owe(bench, enemy, f"{living.origin}/") if under_way != delivery_worker.OF_ONE_ACCOUNT else None
    until(lambda: own is None or living.received[own] == 1)
    assert dead.calls == under_way
    until(lambda: {row.delivery_id for row in bench.deliveries() if row.state == "sent"} == {others, own} - {None})
    assert sum(row.attempts == 0 for row in bench.deliveries()) == DEAD, "every dead one is under way or waits"


def test_an_accounts_hanging_deliveries_leave_places_at_the_same_host_to_others(bench, living, make_delivery_worker):
    enemy = bench.service.add_account()
    for _ in range(10):
        owe(bench, enemy, f"{living.origin}/hangs")
    make_delivery_worker(bench)
    until(lambda: len(living.hung) == delivery_worker.OF_ONE_ACCOUNT_AT_ONE_RECEIVER)
    others = owe(bench, bench.account, f"{living.origin}/")
    until(lambda: living.received[others] == 1)
    assert len(living.hung) == delivery_worker.OF_ONE_ACCOUNT_AT_ONE_RECEIVER


@pytest.mark.parametrize("one_url", [True, False])
def test_a_delivery_is_found_behind_any_number_that_waits(
    bench, silent, living, make_delivery_worker, monkeypatch, one_url: bool
):
    monkeypatch.setattr(delivery_worker_module, "PAGE", 3)
    enemies = [bench.account, *(bench.service.add_account() for _ in range(2))]
    for enemy in enemies:  # two fill the places of the receiver, and the third has places of its own but none there
        for number in range(8):
            owe(bench, enemy, f"http://127.0.0.1:{silent.port}/{0 if one_url else number}")
            bench.service.clock.advance(0.001 if number % 2 else 0)  # some are due at the very same time
    bench.service.clock.advance(1)
    owner = enemies[-1] if one_url else bench.service.add_account()
    last = owe(bench, owner, f"{living.origin}/")
    make_delivery_worker(bench)
    until(lambda: living.received[last] == 1)
    until(lambda: silent.calls == delivery_worker.OF_ONE_RECEIVER)


def test_two_processes_deliver_each_report_once_beside_dead_receivers(bench, silent, living, make_delivery_worker):
    enemy = bench.service.add_account()
    one_account_many_receivers(bench, silent.port, enemy)
    owed = {owe(bench, bench.account, f"{living.origin}/") for _ in range(20)}
    for _ in range(2):
        make_delivery_worker(bench)
    until(lambda: living.received.keys() == owed)
    until(lambda: sum(row.state == "sent" for row in bench.deliveries()) == 20)
    assert set(living.received.values()) == {1}
    assert silent.calls <= 2 * delivery_worker.OF_ONE_ACCOUNT


def test_an_answer_is_recorded_once_the_database_is_back_and_not_asked_for_again(
    bench, living, make_delivery_worker, monkeypatch
):
    record, failures = repository.record_attempt, [OperationalError("", {}, Exception("away")) for _ in range(2)]

    def record_attempt(*arguments: Any, **values: Any) -> None:
        if failures:
            raise failures.pop()
        record(*arguments, **values)

    monkeypatch.setattr(repository, "record_attempt", record_attempt)
    delivery_id = owe(bench, bench.account, f"{living.origin}/")
    make_delivery_worker(bench)
    until(lambda: bench.deliveries()[0].state == "sent")
    assert living.received == {delivery_id: 1}


def test_a_receiver_that_takes_a_body_in_single_bytes_is_left_in_time():
    ended = threading.Event()

    def take_slowly(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            while not ended.wait(0.05):
                connection.recv(1)

    def post() -> None:
        with pytest.raises(Exception, match="time is over"):
            WebhookSender(AddressGuard(allow_private=True), timeout_s=1).post(url, bytes(50_000_000), {}, "account")
        ended.set()

    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        server.bind(("127.0.0.1", 0))
        server.listen()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        reader = threading.Thread(target=take_slowly, args=(server,), daemon=True)
        reader.start()
        threading.Thread(target=post, daemon=True).start()
        assert ended.wait(HANGS_S)
        reader.join()


def delivery(account_id: str = "account", url: str = "https://receiver.example/hook") -> Any:
    return SimpleNamespace(account_id=account_id, url=url)


def test_places_are_counted_for_accounts_receivers_and_both():
    one_receiver = DeliverySlots()
    assert [one_receiver.take(delivery()) for _ in range(6)] == [True] * 4 + [False] * 2
    assert one_receiver.take(delivery("other"))
    many_receivers = DeliverySlots()
    hosts = [f"https://{number}.example/" for number in range(8)]
    assert [many_receivers.take(delivery(url=url)) for url in hosts] == [True] * 6 + [False] * 2
    assert many_receivers.full_accounts == ["account"]
    assert many_receivers.take(delivery("other", hosts[0]))
    many_accounts = DeliverySlots()
    assert [many_accounts.take(delivery(f"account {number}")) for number in range(10)] == [True] * 8 + [False] * 2
    full = DeliverySlots(
        delivery(f"account {number}", f"https://{number}.example/") for number in range(delivery_worker.AT_ONCE)
    )
    assert full.free == 0
    assert not full.take(delivery("one more", "https://one.more.example/"))


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://receiver.example/a", "http://Receiver.EXAMPLE:80/b?c"),
        ("https://receiver.example/", "https://user:word@receiver.example.:443/"),
        ("http://127.0.0.1/", "http://127.1/"),
        ("http://[::1]/", "http://[0:0:0:0:0:0:0:1]:80/"),
    ],
)
def test_a_receiver_is_a_host_and_a_port_however_they_are_written(url, same):
    assert receiver_of(url) == receiver_of(same)


def test_other_hosts_and_ports_are_other_receivers():
    urls = ["http://a.example/", "https://a.example/", "http://a.example:81/", "http://b.example/", "nonsense"]
    assert len(set(map(receiver_of, urls))) == len(urls)

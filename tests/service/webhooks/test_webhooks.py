"""Webhooks: set-up, who is told what, signature, retries, and addresses that are never called."""

import asyncio
import http.server
import ipaddress
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpcore
import pytest

from free_ports import free_port
from patience import HANGS_S
from vbdesk.contract.webhooks import signature_matches
from vbdesk.service.kernel.address_guard import AddressGuard, AddressNotAllowed, is_public
from vbdesk.service.kernel.periodic import PeriodicWorker
from vbdesk.service.webhooks.delivery_worker import RETRY_DELAYS_S, DeliveryWorker
from vbdesk.service.webhooks.sender import WebhookSender
from vbdesk.service.webhooks.service import WebhookService

PRIVATE = [
    "http://127.0.0.1/",
    "http://localhost/",
    "http://169.254.169.254/latest/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://0.0.0.0/",
    "http://10.1.2.3/",
    "http://100.64.1.1/",
    "http://[64:ff9b::7f00:1]/",
    "http://[fe80::1]/",
    "http://[2002:7f00:1::]/",
    "http://127.1/",
    "http://[::10.0.0.1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[3fff::1]/",
    "http://[5f00::1]/",
    "http://192.88.99.1/",
    "https://192.168.1.1/hook",
]


@dataclass
class Receiver:
    url: str
    answers: list[int] = field(default_factory=list)
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Answers with `answers` one after the other, then with 200."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.received.append((dict(self.headers), body))
            self.send_response(heard.answers.pop(0) if heard.answers else 200)
            self.send_header("Location", heard.url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    heard = Receiver(f"http://127.0.0.1:{server.server_port}/hook")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield heard
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def open_bench(make_bench):
    """A service whose operator allows private addresses."""
    return make_bench(allow_private_addresses=True)


@pytest.fixture
def deliver(open_bench):
    """Carries what is due by the bench's clock; no thread does."""
    context = open_bench.service.context
    sender = WebhookSender(AddressGuard(allow_private=True), timeout_s=HANGS_S)
    delivery_worker = DeliveryWorker(context.database, context.clock, context.secrets, sender)
    yield delivery_worker.deliver_due
    delivery_worker.finish()


def configure(bench, url, secret_key="account secret"):
    return bench.client.post("/v2/account/webhook", json={"url": url, "secret_key": secret_key})


def test_a_public_address_is_taken(bench):
    answer = configure(bench, "http://93.184.216.34/hook")
    assert answer.status_code == 200
    assert answer.json()["success"] is True


@pytest.mark.parametrize("url", [*PRIVATE, "ftp://93.184.216.34/", "nonsense", "", "https://x/" + "y" * 2083])
def test_a_private_or_malformed_address_is_refused(bench, url):
    answer = configure(bench, url)
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "url"]
    assert "account secret" not in answer.text


@pytest.mark.parametrize("body", [{}, {"url": "https://93.184.216.34"}, {"secret_key": "x"}])
def test_both_fields_are_needed(bench, body):
    assert bench.client.post("/v2/account/webhook", json=body).status_code == 422


@pytest.mark.parametrize(("end", "status"), [("finish", "done"), ("fail", "failed"), ("time_out", "timed-out")])
def test_every_terminal_state_is_reported_signed_and_as_read(open_bench, receiver, deliver, end, status):
    configure(open_bench, receiver.url)
    job_id = open_bench.submit()
    assert deliver() == 0
    getattr(open_bench, end)(job_id)
    assert deliver() == 1
    [(headers, body)] = receiver.received
    assert headers["Content-Type"] == "application/json"
    assert signature_matches(body, "account secret", headers["X-Webhook-Signature"])
    assert json.loads(body) == open_bench.read(job_id)
    assert json.loads(body)["status"] == status
    assert deliver() == 0


def test_a_jobs_own_webhook_goes_before_the_accounts(open_bench, receiver, deliver):
    configure(open_bench, "http://127.0.0.1:9/never")
    job_id = open_bench.submit(webhook_url=receiver.url, webhook_secret_key="job secret")
    open_bench.finish(job_id)
    assert deliver() == 1
    [(headers, body)] = receiver.received
    assert signature_matches(body, "job secret", headers["X-Webhook-Signature"])


def test_without_a_webhook_nothing_is_owed(open_bench, deliver):
    open_bench.finish(open_bench.submit())
    assert deliver() == 0
    assert open_bench.deliveries() == []


def test_a_delivery_is_tried_on_the_schedule_until_it_succeeds(open_bench, receiver, deliver):
    configure(open_bench, receiver.url)
    open_bench.finish(open_bench.submit())
    receiver.answers = [500, 302, 404]
    assert deliver() == 1
    for delay_s in RETRY_DELAYS_S[:3]:
        open_bench.service.clock.advance(delay_s - 0.5)
        assert deliver() == 0
        open_bench.service.clock.advance(0.5)
        assert deliver() == 1
    [delivery] = open_bench.deliveries()
    assert (delivery.state, delivery.attempts, delivery.last_status) == ("sent", 4, 200)
    assert len({headers["X-Webhook-Delivery"] for headers, _ in receiver.received}) == 1
    assert len({body for _, body in receiver.received}) == 1


def test_the_answer_of_an_earlier_receiver_is_not_taken_for_that_of_the_new_one(open_bench, receiver, deliver):
    bench, context = open_bench, open_bench.service.context
    webhooks = WebhookService.of(context)
    configure(bench, receiver.url)
    bench.finish(bench.submit())
    [owed] = bench.deliveries()

    class ReplacedMeanwhile(WebhookSender):
        """While the first receiver takes the report, the account names another and delivers again."""

        def post(self, url, body, headers, account_id):
            with context.database.writing() as connection:
                webhooks.remove(connection, account_id)
                webhooks.configure(connection, account_id, f"{receiver.url}/new", "new secret")
                webhooks.redeliver(connection, account_id, owed.delivery_id)
            return 200

    sender = ReplacedMeanwhile(AddressGuard(allow_private=True), timeout_s=HANGS_S)
    earlier = DeliveryWorker(context.database, context.clock, context.secrets, sender)
    assert earlier.deliver_due() == 1
    [delivery] = bench.deliveries()
    assert (delivery.state, delivery.attempts) == ("pending", 0)
    assert deliver() == 1
    [(headers, body)] = receiver.received
    assert signature_matches(body, "new secret", headers["X-Webhook-Signature"])
    [delivery] = bench.deliveries()
    assert (delivery.state, delivery.attempts, delivery.url) == ("sent", 1, f"{receiver.url}/new")


def test_a_delivery_is_given_up_after_the_last_try(open_bench, deliver):
    configure(open_bench, f"http://127.0.0.1:{free_port()}/")
    open_bench.finish(open_bench.submit())
    for delay_s in (0, *RETRY_DELAYS_S):
        open_bench.service.clock.advance(delay_s)
        assert deliver() == 1
    open_bench.service.clock.advance(10**7)
    assert deliver() == 0
    assert open_bench.deliveries()[0].state == "given_up"


def test_a_receiver_that_drips_bytes_is_left_in_time(open_bench, deliver, monkeypatch):
    monkeypatch.setattr(deliver.__self__._sender, "_timeout_s", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_drip, args=(server,), daemon=True).start()
        configure(open_bench, f"http://127.0.0.1:{server.getsockname()[1]}/")
        open_bench.finish(open_bench.submit())
        assert deliver() == 1
    assert open_bench.deliveries()[0].last_error == "ReadTimeout"


def _drip(server):
    connection, _ = server.accept()
    with connection:
        try:
            for _ in range(600):  # then it would be another error
                connection.sendall(b"H")
                time.sleep(0.1)
        except OSError:
            return


def test_a_delivery_whose_secret_no_key_opens_is_logged_and_shown(open_bench, receiver, deliver, caplog):
    configure(open_bench, receiver.url)
    open_bench.finish(open_bench.submit())
    secrets = open_bench.service.context.settings.data_dir / "secrets"
    secrets.write_text(json.dumps({"root_key": "ab" * 32}))  # another one, as from another service
    assert deliver() == 1
    assert receiver.received == []
    [delivery] = open_bench.deliveries()
    assert (delivery.state, delivery.attempts) == ("pending", 1), "the right key may come back"
    assert delivery.last_error == "The webhook's secret cannot be read with the keys of this service."
    assert f"The webhook delivery {delivery.delivery_id} is not sent" in caplog.text


def test_secrets_are_not_in_the_database_in_the_clear(open_bench, receiver):
    configure(open_bench, receiver.url, "account secret")
    open_bench.submit(webhook_url=receiver.url, webhook_secret_key="job secret")
    open_bench.service.context.database.engine.dispose()
    stored = b"".join(path.read_bytes() for path in open_bench.service.context.settings.data_dir.glob("*.db*"))
    assert b"account secret" not in stored
    assert b"job secret" not in stored


@pytest.mark.parametrize("url", PRIVATE)
def test_the_sender_itself_never_connects_to_a_private_address(url):
    with pytest.raises((AddressNotAllowed, httpcore.ConnectError, OSError)) as refusal:
        WebhookSender(AddressGuard(allow_private=False), timeout_s=2).post(url, b"{}", {}, "account")
    assert refusal.type is AddressNotAllowed


def test_a_name_that_does_not_resolve_yet_is_accepted_at_set_up():
    asyncio.run(AddressGuard(allow_private=False).check_url("https://receiver.invalid/hook", "account"))


@pytest.mark.parametrize("number", ["93.184.216.34", "2606:4700::1111"])
def test_public_numbers_are_public(number):
    assert is_public(number)


@pytest.mark.parametrize(
    "network",
    [
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "2001::/23",
        "2001:db8::/32",
        "3fff::/20",
    ],
)
def test_a_reserved_network_ends_where_its_public_neighbours_begin(network):
    reserved = ipaddress.ip_network(network)
    assert not any(is_public(str(reserved[place])) for place in (0, 1, reserved.num_addresses // 2, -1))
    assert is_public(str(reserved[0] - 1))
    assert is_public(str(reserved[-1] + 1))


@pytest.mark.parametrize(
    "network",
    [
        "0.0.0.0/8",
        "224.0.0.0/3",
        "::/96",
        "::ffff:0:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    ],
)
def test_a_reserved_network_among_others_is_not_public(network):
    reserved = ipaddress.ip_network(network)
    assert not any(is_public(str(reserved[place])) for place in (0, 1, reserved.num_addresses // 2, -1))


@pytest.mark.parametrize(("address", "public"), [("1fff:ffff::", False), ("2000::", True), ("4000::", False)])
def test_ipv6_is_public_where_addresses_are_given_out(address, public):
    assert is_public(address) == public


@pytest.mark.parametrize("private", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "192.168.1.1"])
def test_a_private_address_inside_an_ipv6_address_is_not_public(private):
    number = int(ipaddress.IPv4Address(private))
    hidden = {
        "IPv4-compatible": number,
        "IPv4-mapped": (0xFFFF << 32) | number,
        "IPv4-translated": (0xFFFF << 48) | number,
        "NAT64": (0x64_FF9B << 96) | number,
        "NAT64 of a site": (0x64_FF9B_0001 << 80) | number,
        "6to4": (0x2002 << 112) | (number << 80) | 1,
        "Teredo server": (0x2001 << 112) | (number << 64),
        "Teredo client": (0x2001 << 112) | (0x5DB8D822 << 64) | (number ^ 0xFFFFFFFF),
    }
    for form, address in hidden.items():
        assert not is_public(str(ipaddress.IPv6Address(address))), form
    assert is_public("::ffff:93.184.216.34"), "mapped addresses are judged by the IPv4 address in them"


def test_a_name_with_one_private_number_among_its_numbers_is_refused():
    guard = AddressGuard(allow_private=False, look_up=lambda *_: ["93.184.216.34", "10.0.0.1"])
    with pytest.raises(AddressNotAllowed):
        asyncio.run(guard.check_url("https://receiver.example/hook", "account"))


def test_a_name_that_turns_private_after_set_up_is_not_called():
    answers = [["93.184.216.34"], ["127.0.0.1"]]
    guard = AddressGuard(allow_private=False, look_up=lambda *_: answers.pop(0))
    asyncio.run(guard.check_url("http://receiver.example/hook", "account"))
    with pytest.raises(AddressNotAllowed):
        WebhookSender(guard, timeout_s=2).post("http://receiver.example/hook", b"{}", {}, "account")


def test_the_connection_goes_to_the_number_that_was_checked(receiver):
    looked_up = []

    def look_up(host, port):
        looked_up.append(host)
        return ["127.0.0.1"]

    url = receiver.url.replace("127.0.0.1", "receiver.example")
    status = WebhookSender(AddressGuard(allow_private=True, look_up=look_up)).post(url, b"{}", {}, "account")
    assert (status, looked_up) == (200, ["receiver.example"])
    assert receiver.received[0][0]["Host"].startswith("receiver.example:")


def test_a_hanging_receiver_does_not_hold_up_the_stop(open_bench):
    context = open_bench.service.context
    sender = WebhookSender(AddressGuard(allow_private=True), timeout_s=60)
    delivery_worker = DeliveryWorker(context.database, context.clock, context.secrets, sender)
    with socket.create_server(("127.0.0.1", 0)) as server:
        configure(open_bench, f"http://127.0.0.1:{server.getsockname()[1]}/")
        open_bench.finish(open_bench.submit())
        worker = PeriodicWorker([delivery_worker.job()])
        worker.start()
        connection, _ = server.accept()
        worker.stop()
        assert open_bench.deliveries()[0].attempts == 0, "the sender still waits for the receiver"
        connection.close()

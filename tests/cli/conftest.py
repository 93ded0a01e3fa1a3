"""A service for commands, and a way to run them.

It is the product's, in this process, and jobs end at once. Commands reach it through a proxy, by names that only the
proxy knows.
"""

import signal
import sys
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app
from vbdesk.client import Client, Credentials
from vbdesk.clock import utc_now
from vbdesk.contract.limits import Plan
from vbdesk.service.erasure.service import Eraser
from vbdesk.service.groups.waiting_jobs import GroupHistories

sys.path.append(str(Path(__file__).parents[1] / "outbox"))

from service_in_process import API, Clock, ServiceInProcess, without_fields


class SystemTime(Clock):
    """The real time of day."""

    def __init__(self):
        super().__init__(utc_now())

    def now(self):
        return utc_now()


@dataclass
class NearService:
    """A service, one account on it, and the proxy in front of it.

    Attributes:
        ends_as: final status of jobs.
        reads_refs: whether it reads references of submissions and keeps keys, and says so.
        loses: number of submits that are done without an answer.
    """

    service: ServiceInProcess
    credentials: Credentials
    proxy: str = ""
    ends_as: str = "done"
    reads_refs: bool = True
    loses: int = 0
    requests: list[str] = field(default_factory=list)

    @property
    def environment(self):
        """The environment variables of the account."""
        return {
            "HTTP_PROXY": self.proxy,
            "VBDESK_BASE_URL": API,
            "VBDESK_ACCOUNT_ID": self.credentials.account_id,
            "VBDESK_API_KEY": self.credentials.api_key,
            "VBDESK_PLAN": "enterprise",
        }

    def client(self):
        return Client(API, self.credentials, transport=httpx.MockTransport(self.answer))

    def answer(self, request):
        self.requests.append(f"{request.method} {request.url.path}")
        if not self.reads_refs:
            request.headers.pop("Idempotency-Key", None)
        response = self.service.exchange(request, request.read())
        if not self.reads_refs:
            without_fields(response, "client_ref")
        if "/analyze" in request.url.path and self.loses:
            self.loses -= 1
            return httpx.Response(502, html="<h1>Bad gateway</h1>")
        for job_id in self.service.queued():
            self.service.finish(job_id, self.ends_as)
        return response

    def double_puts(self):
        """Deliver every PUT twice, and return the second answer."""
        answer = self.answer

        def doubled(request):
            if request.method == "PUT":
                answer(request)
            return answer(request)

        self.answer = doubled

    def use_first_address(self):
        """Put other bytes of the same length to the first upload address, before the caller does."""
        answer, used = self.answer, []

        def used_before(request):
            if request.method == "PUT" and not used:
                used.append(request)
                others = httpx.Request("PUT", request.url, headers=request.headers, content=request.content[::-1])
                assert answer(others).status_code == 200
            return answer(request)

        self.answer = used_before

    def erase(self, job_id):
        context = self.service.context
        eraser = Eraser(context.database, context.storage, GroupHistories.of(context), context.clock)
        eraser.erase_job(self.credentials.account_id, job_id)

    def analysed(self):
        """The bytes of every analysed recording."""
        storage = self.service.context.storage
        found = []
        for key in storage.keys("audio"):
            with storage.open(key) as file:
                found.append(file.read())
        return found


def proxy_to(near):
    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            response = near.answer(httpx.Request(self.command, self.path, headers=dict(self.headers), content=body))
            self.send_response(response.status_code)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(response.content)

        do_POST = do_PUT = do_DELETE = do_GET

        def log_message(self, *arguments):
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Proxy)


@pytest.fixture
def near_service(tmp_path_factory, monkeypatch):
    """The service; the test's environment points to it."""
    service = ServiceInProcess(tmp_path_factory.mktemp("service"), SystemTime())
    near = NearService(service, service.add_account(Plan.ENTERPRISE, 1_000_000))
    with proxy_to(near) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        near.proxy = f"http://127.0.0.1:{server.server_port}"
        for name, value in near.environment.items():
            monkeypatch.setenv(name, value)
        yield near
        server.shutdown()
        thread.join()
    service.close()


@pytest.fixture
def vbdesk(near_service):
    """Run a command on the service's account; returns its output and status."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(*arguments, **environment):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], env=environment)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)

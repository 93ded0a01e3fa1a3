"""The real service behind a client, without sockets."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx

from vbdesk.client import Client, ManualClock, RetryRule
from vbdesk.contract.limits import Plan

sys.path.append(str(Path(__file__).parents[1] / "outbox"))

from service_in_process import API, Clock, ServiceInProcess, without_fields

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Desk:
    """A service, one account on it, and clients of that account.

    Attributes:
        requests: the received requests, such as `GET /v2/jobs`.
        faults: of the next submits, in order: None: answered; "lost": done, but its answer is lost; "cut": does not
            arrive; an exception: done, then the program ends.
    """

    def __init__(self, folder):
        self.service = ServiceInProcess(folder, Clock(NOW))
        self.credentials = self.service.add_account(Plan.ENTERPRISE, 1_000_000)
        self.requests, self.faults = [], []
        self.clock = ManualClock()
        self.ends_at_once = True
        self.digits = 6  # fractional digits of a second that the service keeps
        self.reads_refs = False  # the interface does not require references or keys
        self.reads_language = True  # an addition of our service
        self.asked_language = []  # of each submit: whether it said the language

    def client(self, credentials=None):
        return Client(
            API,
            credentials or self.credentials,
            retries=RetryRule(max_retries=0),
            clock=self.clock,
            transport=httpx.MockTransport(self.answer),
        )

    def answer(self, request):
        self.requests.append(f"{request.method} {request.url.path}")
        submit = "/analyze" in request.url.path
        if not self.reads_refs:
            request.headers.pop("Idempotency-Key", None)
        fault = self.faults.pop(0) if submit and self.faults else None
        if submit:
            self.asked_language.append(b'name="language"' in request.read())
        if fault == "cut":
            raise httpx.ConnectError("cut")
        if fault == "never arrived":  # unknown to the caller
            raise httpx.ReadTimeout("lost")
        if fault == "conflict":
            body = {"code": "CONFLICT", "message": "This key was used.", "status": 409}
            return httpx.Response(409, json=body)
        if submit and self.digits < 6:
            request = with_fewer_digits(request, self.digits)
        response = self.service.exchange(request, request.read())
        if not self.reads_refs:
            without_fields(response, "client_ref")
        if not self.reads_language:
            without_fields(response, "language", "second_language")
        if submit and self.ends_at_once:
            self.finish()
        if isinstance(fault, BaseException):
            raise fault
        if fault == "lost":
            raise httpx.ReadTimeout("lost")
        if fault == "failed after":
            body = {"code": "PROCESSING_ERROR", "message": "No.", "status": 500}
            return httpx.Response(500, json=body, headers={"Date": response.headers["Date"]})
        return response

    def finish(self, ends_as="done"):
        for job_id in self.service.queued():
            self.service.finish(job_id, ends_as)

    def jobs(self):
        return self.service.records.jobs(self.credentials.account_id)

    def asked(self, part):
        return sum(part in request for request in self.requests)

    def close(self):
        self.service.close()


def with_fewer_digits(request, digits):
    """The request as seen by a service that keeps fewer digits of `recorded_at`."""
    found = re.sub(
        rb"(T\d\d:\d\d:\d\d)\.(\d{%d})\d*Z" % digits,
        lambda found: found[1] + (b"." + found[2] if digits else b"") + b"Z",
        request.read(),
    )
    headers = {name: value for name, value in request.headers.items() if name != "content-length"}
    return httpx.Request(request.method, request.url, headers=headers, content=found)

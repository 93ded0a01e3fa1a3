"""The test delivery to a webhook's receiver."""

import httpx
import pytest

from vbdesk.client import read_delivery
from vbdesk.client.trial_delivery import TrialFailed, send_trial_delivery, webhook_faults
from vbdesk.contract.jobs import JobStatus

URL, SECRET = "https://receiver.example/hook", "a-secret"


def test_a_receiver_can_read_the_trial_as_it_reads_a_delivery():
    taken = []

    def receive(request):
        job = read_delivery(request.content, request.headers["X-Webhook-Signature"], SECRET)
        taken.append((request.method, str(request.url), request.headers["Content-Type"], job))
        return httpx.Response(204)

    assert send_trial_delivery(URL, SECRET, httpx.MockTransport(receive)) == 204
    method, url, kind, job = taken[0]
    assert (method, url, kind) == ("POST", URL, "application/json")
    assert job.status is JobStatus.FAILED
    assert job.result is None


def test_a_redirect_is_not_followed():
    answer = httpx.Response(302, headers={"Location": "https://elsewhere.example"})
    assert send_trial_delivery(URL, SECRET, httpx.MockTransport(lambda request: answer)) == 302


def test_no_answer_is_said_in_words():
    def refuse(request):
        raise httpx.ConnectError("refused", request=request) from ConnectionRefusedError()

    with pytest.raises(TrialFailed, match="receiver cannot be reached: nothing is running"):
        send_trial_delivery(URL, SECRET, httpx.MockTransport(refuse))


@pytest.mark.parametrize("url", ["", "receiver", "ftp://receiver.example", "https://", "https://h/" + "x" * 2083])
def test_an_address_that_the_interface_would_not_take_is_named_at_once(url):
    address, secret = webhook_faults(url, "")
    assert address is not None
    assert secret is not None
    assert webhook_faults(URL, SECRET) == (None, None)

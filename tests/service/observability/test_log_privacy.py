"""The log of a running service under typical use contains no data about users or patients."""

import io
import json
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from patience import HANGS_S
from vbdesk.contract.limits import Plan
from vbdesk.service.observability.logs import configure_logs
from vbdesk.service.storage.store import StoreUnavailable

GROUP = "anna-meier-1961"
WEBHOOK_SECRET = "whsec-zebra-4711"
WEBHOOK_TOKEN = "hooktoken-quokka"
SPEECH = Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac"


@pytest.fixture(params=["json", "text"])
def log_text(request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Return a function that reads the whole log in either format; restore logging after the test."""
    root, ours = logging.getLogger(), logging.getLogger("vbdesk")
    before = (root.handlers[:], root.level, ours.level, sys.excepthook, threading.excepthook)
    stream = io.StringIO()
    configure_logs(request.param, stream)
    for logger in (root, ours):
        logger.setLevel(logging.DEBUG)
    yield stream.getvalue
    logging.captureWarnings(False)
    root.handlers[:], sys.excepthook, threading.excepthook = before[0], before[3], before[4]
    root.setLevel(before[1])
    ours.setLevel(before[2])


def test_no_log_line_of_any_level_identifies_a_person(start_service: Any, log_text: Callable[[], str]):
    service = start_service(allow_private_addresses=True)
    account = service.add_account(Plan.ENTERPRISE)
    client = service.client(account)
    grant = drive(client)
    break_the_service(service, client)
    client.close()

    log = log_text()
    signature = re.search(r"Signature=([0-9a-f]+)", grant["upload_url"])
    assert signature is not None
    needles = [GROUP, WEBHOOK_SECRET, WEBHOOK_TOKEN, account.api_key, account.secret_key, signature[1]]
    assert [needle for needle in needles if needle in log] == []
    assert "on /v2/models/{model_name}/groups/{group_id}/analyze" in log  # the errors were logged, without names
    assert len(log.splitlines()) > 10
    if log.startswith("{"):
        assert {"time", "level", "logger", "message"} <= set.intersection(
            *(set(json.loads(x)) for x in log.splitlines())
        )


def drive(client: httpx.Client) -> Any:
    """Do what an account does in a day; return the grant of an upload."""
    webhook = {"webhook_url": (None, f"http://127.0.0.1:1/in?token={WEBHOOK_TOKEN}")}
    secret = {"webhook_secret_key": (None, WEBHOOK_SECRET)}
    audio = {"audio": (f"{GROUP}.flac", SPEECH.read_bytes(), "audio/flac")}
    for _ in range(2):  # the second is refused: the group exists
        client.post("/v2/groups", json={"group_id": GROUP})
    client.put("/v2/account/webhook", json={"url": webhook["webhook_url"][1], "secret_key": WEBHOOK_SECRET})
    answer = client.post(f"/v2/models/pulse/groups/{GROUP}/analyze", files={**audio, **webhook, **secret})
    assert answer.status_code == 200, answer.text
    job_id = answer.json()["job_id"]
    client.post(f"/v2/signs/stress/groups/{GROUP}/analyze", files={**webhook, "audio_upload_ref": (None, GROUP)})
    client.post(f"/v2/models/pulse/groups/{GROUP}/analyze", files={"audio": (GROUP, b"no audio"), **webhook, **secret})
    for path in (
        f"/v2/jobs/{job_id}",
        f"/v2/jobs/{GROUP}",
        f"/v2/groups/{GROUP}",
        f"/v2/groups/{GROUP}/jobs?page={GROUP}",
        f"/v2/groups/{GROUP}/trajectory",
        f"/nowhere/{GROUP}?key={WEBHOOK_SECRET}",
        f"/console/keys?next={GROUP}",
    ):
        client.get(path)
        client.get(path, headers={"X-API-Key": f"vbk_{WEBHOOK_SECRET}"})
    client.post("/v2/groups", content=f'{{"group_id": "{GROUP}"'.encode())
    grant = client.post("/v2/audio/uploads", json={"content_type": "audio/flac", "file_name": GROUP}).json()
    for _ in range(2):  # the second is refused: objects are written once
        httpx.put(
            grant["upload_url"],
            content=SPEECH.read_bytes(),
            headers=grant["required_headers"],
            trust_env=False,
            timeout=HANGS_S,
        )
    httpx.put(
        grant["upload_url"] + "0", content=b"x", headers=grant["required_headers"], trust_env=False, timeout=HANGS_S
    )
    return grant


def break_the_service(service: Any, client: httpx.Client) -> None:
    """Cause errors whose messages contain personal data."""

    def away(*_: object) -> None:
        raise StoreUnavailable("The store does not answer.")

    def faulty(*_: object) -> None:
        raise RuntimeError(f"Key (group_id)=({GROUP}) of {client.headers['X-API-Key']}")

    store = service.context.storage
    for fault in (away, faulty):
        store.adopt = fault
        answer = client.post(
            f"/v2/models/pulse/groups/{GROUP}/analyze", files={"audio": (GROUP, SPEECH.read_bytes(), "audio/flac")}
        )
        assert answer.status_code == 500
        try:
            fault()
        except Exception:
            logging.getLogger("vbdesk.service").exception("A fault was met.")

"""The outbox against the real service: takes become results, and neither lost answers nor kills are paid for twice."""

import random
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import numpy as np
import pytest
import soundfile as sf
import soxr

from patience import HANGS_S

sys.path.append(str(Path(__file__).parents[1] / "outbox"))

from processes import ProcessChain, Tally, play

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.client import Client, RetryRule
from vbdesk.client.local_service import LocalService, make_account
from vbdesk.contract.limits import Plan
from vbdesk.contract.results import LongitudinalSignal
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.sync.sync_worker import SyncWorker

KEY = bytes(range(32))
MONDAY = datetime(2026, 3, 2, 9, 0, 12, 345678, tzinfo=UTC)


class AnswerLoser(httpx.BaseTransport):
    """The real network, but the answer to the first submit is lost on the way back."""

    def __init__(self):
        self.real = httpx.HTTPTransport()
        self.lost = 0

    def handle_request(self, request):
        response = self.real.handle_request(request)
        if "/analyze" in request.url.path and not self.lost:
            response.read()
            self.lost += 1
            raise httpx.ReadTimeout("the answer was lost")
        return response

    def close(self):
        self.real.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    running = LocalService(folder)
    endpoint = running.start()
    yield endpoint, make_account(folder, "tests")
    running.stop()


@pytest.fixture
def library(tmp_path):
    opened = Library(tmp_path / "library", KEY)
    yield opened
    opened.close()


def add(library, speech_file, number):
    samples, rate = sf.read(speech_file, dtype="float32")
    at_48 = soxr.resample(samples, rate, 48_000)
    path = library.recording_folder / f"{number}.take"
    writer = EncryptedTakeWriter(path, KEY, 48_000)
    writer.append(np.clip(at_48 * 32768, -32768, 32767).astype(np.int16))
    writer.close()
    facts = TakeMetadata("ward4-0172", MONDAY + timedelta(days=7 * number), RecordingTarget("model", "pulse"))
    take_id = library.add_take(path, facts)
    library.queue(take_id)
    return take_id


@pytest.mark.e2e
def test_takes_become_results_of_one_subject_even_when_an_answer_is_lost(service, library, speech_file):
    endpoint, credentials = service
    network = AnswerLoser()
    takes = [add(library, speech_file, number) for number in range(2)]

    def connect():
        return Client(endpoint.base_url, credentials, retries=RetryRule.NEVER, transport=network)

    sync_worker = SyncWorker(library, connect, plan=Plan.ENTERPRISE)
    stop, arrived = threading.Event(), threading.Event()
    library.subscribe(lambda: all(library.counts()[state] == 0 for state in ON_THEIR_WAY) and arrived.set())
    thread = threading.Thread(target=sync_worker.run, args=(stop,))
    thread.start()
    assert arrived.wait(HANGS_S)
    stop.set()
    thread.join()

    items = [library.get(take_id) for take_id in takes]
    assert [item.state for item in items] == [OutboxState.DONE] * 2
    assert network.lost == 1
    assert all(isinstance(signal, LongitudinalSignal) for item in items for signal in item.result.signals)
    assert items[0].result.signals[0].baseline_score is None
    assert any(signal.baseline_score is not None for signal in items[1].result.signals)
    with Client(endpoint.base_url, credentials) as client:
        assert client.groups.jobs("ward4-0172").total_jobs == 2


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A service and the bad roads to it, each a process."""
    built = ProcessChain(tmp_path_factory.mktemp("chain"))
    yield built
    built.close()


@pytest.mark.e2e
@pytest.mark.parametrize("schedule", ["b", "c"])
def test_a_sender_killed_behind_a_bad_network_sends_every_take_once(chain, tmp_path, schedule):
    tally = Tally()
    play(chain, tmp_path, random.Random(schedule), tally)
    assert tally.kills >= 1

"""Looking at recordings: what strangers' bytes do to a decoder stays in its child."""

import asyncio
import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import soundfile
from worker_tasks import (
    address_space_grows_by,
    bloat_at_a_look,
    burn_at_a_look,
    crash_at_a_look,
    die_preparing,
    nothing_to_prepare,
    stall_at_a_look,
    stall_at_one_file,
    wait_at_a_look,
)

from patience import HANGS_S, until
from vbdesk.contract.errors import ErrorCode
from vbdesk.service.engine.inspection import SandboxedInspector
from vbdesk.service.engine.slot import Slot
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.kernel.errors import AudioRejected, ProcessingFailed, TooMuchRefused

SPEECH = Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac"
HONEST = SPEECH.with_name("speech_male_20s.flac")
MEBIBYTE = 1024**2
GIVEN_UP_AFTER_S = 0.5

memory_is_bounded = pytest.mark.skipif(sys.platform != "linux", reason="the system bounds no memory")


def is_unsupported(error):
    return isinstance(error, AudioRejected) and error.code is ErrorCode.UNSUPPORTED_FORMAT


def inspect(inspector, path):
    return asyncio.run(inspector.inspect(path, "somebody"))


@pytest.fixture
def stalled_go_on(monkeypatch):
    """Only a look that stalls is given up; it keeps its place until this is set."""
    go_on, run, stalls = threading.Event(), Slot.run, SPEECH.read_bytes()

    def run_in_time(slot, task, *args, recording, **options):
        with recording.open("rb") as file:
            if file.read() != stalls:
                return run(slot, task, *args, recording=recording, **options | {"timeout_s": HANGS_S})
        try:
            return run(slot, task, *args, recording=recording, **options | {"timeout_s": GIVEN_UP_AFTER_S})
        finally:
            assert go_on.wait(HANGS_S)

    monkeypatch.setattr(Slot, "run", run_in_time)
    yield go_on
    go_on.set()


@pytest.fixture(scope="module")
def inspector():
    inspector = SandboxedInspector()
    yield inspector
    inspector.close()


def test_a_recording_is_looked_at(inspector):
    facts = inspect(inspector, SPEECH)
    assert (facts.content_type, facts.duration_s, facts.sample_rate) == ("audio/flac", 20.5, 16_000)
    assert facts.size_bytes == SPEECH.stat().st_size


def test_a_refusal_comes_out_of_the_child_as_it_is(inspector, tmp_path):
    long = tmp_path / "long.flac"
    soundfile.write(long, np.zeros(1201 * 8000, np.int16), 8000)
    with pytest.raises(AudioRejected, match="too long", check=lambda error: error.code is ErrorCode.AUDIO_TOO_LONG):
        inspect(inspector, long)


def test_a_file_that_is_gone_is_not_the_senders_fault(inspector, tmp_path):
    with pytest.raises(ProcessingFailed):
        inspect(inspector, tmp_path / "gone")


@pytest.mark.parametrize(
    "prepare",
    [
        crash_at_a_look,
        stall_at_a_look,
        pytest.param(
            bloat_at_a_look, marks=pytest.mark.skipif(sys.platform != "linux", reason="memory is not bounded")
        ),
    ],
)
def test_a_file_that_ends_its_child_is_unreadable_and_the_next_one_is_looked_at(prepare):
    inspector = SandboxedInspector(prepare=prepare, timeout_s=0.5, memory_bytes=200 * MEBIBYTE)
    try:
        for _ in range(3):  # more than there are children
            with pytest.raises(AudioRejected, check=is_unsupported):
                inspect(inspector, SPEECH)
    finally:
        inspector.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the system bounds no processor time")
def test_a_file_that_burns_processor_time_is_unreadable_and_the_next_one_is_looked_at(caplog):
    inspector = SandboxedInspector(prepare=burn_at_a_look, processor_s=0.5, timeout_s=600)
    try:
        with pytest.raises(AudioRejected, check=is_unsupported):
            inspect(inspector, SPEECH)
    finally:
        inspector.close()
    assert "used up its processor time" in caplog.text


def test_a_child_that_only_waits_for_a_busy_machine_is_not_given_up():
    inspector = SandboxedInspector(prepare=wait_at_a_look, processor_s=1)
    try:
        assert inspect(inspector, SPEECH).content_type == "audio/flac"
    finally:
        inspector.close()


def test_files_that_stall_their_children_hold_up_only_their_sender(stalled_go_on):
    async def crowd():
        stalling = [asyncio.create_task(inspector.inspect(SPEECH, "hostile")) for _ in range(6)]
        await asyncio.sleep(0)
        facts = await inspector.inspect(HONEST, "honest")
        still_stalling = sum(not task.done() for task in stalling)
        stalled_go_on.set()
        refusals = await asyncio.gather(*stalling, return_exceptions=True)
        return facts, still_stalling, refusals

    inspector = SandboxedInspector(prepare=stall_at_one_file)
    try:
        facts, still_stalling, refusals = asyncio.run(crowd())
    finally:
        inspector.close()
    assert facts.content_type == "audio/flac"
    assert still_stalling == 6, "it was answered before the first of them was given up"
    assert all(map(is_unsupported, refusals))


def test_a_child_that_cannot_start_is_the_services_fault():
    inspector = SandboxedInspector(prepare=die_preparing)
    try:
        with pytest.raises(ProcessingFailed):
            inspect(inspector, SPEECH)
    finally:
        inspector.close()


@memory_is_bounded
def test_a_child_is_bounded_beyond_what_it_holds_when_ready():
    slots = SlotPool(1, nothing_to_prepare, memory_bytes=100 * MEBIBYTE)
    try:
        with slots.borrow() as slot:
            assert slot.run(address_space_grows_by, 50 * MEBIBYTE, timeout_s=HANGS_S)
            assert not slot.run(address_space_grows_by, 150 * MEBIBYTE, timeout_s=HANGS_S)
    finally:
        slots.close()


def test_the_api_refuses_such_a_file_and_goes_on(make_bench):
    inspector = SandboxedInspector(prepare=crash_at_a_look)
    try:
        bench = make_bench(inspector=inspector)
        answer = bench.post()
        assert (answer.status_code, answer.json()["code"]) == (400, "UNSUPPORTED_FORMAT")
        assert (bench.credits(), bench.stored_audio()) == (100_000, [])
    finally:
        inspector.close()


def test_a_sender_whose_recordings_take_long_and_are_refused_is_told_to_wait(monkeypatch, stalled_go_on):
    stalled_go_on.set()
    monkeypatch.setattr("vbdesk.service.engine.fair_slots.REFUSED_S", 2 * GIVEN_UP_AFTER_S)
    monkeypatch.setattr("vbdesk.service.engine.fair_slots.WINDOW_S", HANGS_S)
    inspector = SandboxedInspector(prepare=stall_at_one_file)

    async def crowd():
        refusals = [inspector.inspect(SPEECH, "hostile") for _ in range(8)]
        return await asyncio.gather(*refusals, return_exceptions=True)

    try:
        refusals = Counter(refusal.code for refusal in asyncio.run(crowd()))
        assert set(refusals) == {ErrorCode.UNSUPPORTED_FORMAT, ErrorCode.RATE_LIMIT_EXCEEDED}
        assert refusals[ErrorCode.UNSUPPORTED_FORMAT] <= 4, "two at a time, until the time is used up"
        for _ in range(3):
            assert inspect(inspector, HONEST).content_type == "audio/flac"
        with pytest.raises(TooMuchRefused):
            asyncio.run(inspector.inspect(HONEST, "hostile"))
    finally:
        inspector.close()


def test_the_api_answers_429_to_such_a_sender_and_others_submit(make_bench, monkeypatch, stalled_go_on):
    stalled_go_on.set()
    monkeypatch.setattr("vbdesk.service.engine.fair_slots.REFUSED_S", 0.2)
    inspector = SandboxedInspector(prepare=stall_at_one_file)
    try:
        bench = make_bench(inspector=inspector)
        assert bench.post(audio=SPEECH.read_bytes()).status_code == 400
        answer = bench.post(audio=SPEECH.read_bytes())
        assert (answer.status_code, answer.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
        assert 0 < int(answer.headers["retry-after"]) <= 60
        other = bench.service.client(bench.service.add_account())
        assert other.post("/v2/models/pulse/analyze", files={"audio": HONEST.read_bytes()}).status_code == 200
        assert (bench.credits(), bench.stored_audio()) == (100_000, bench.stored_audio()[:1])
    finally:
        inspector.close()


def test_a_caller_who_leaves_keeps_the_place_until_the_child_is_done(stalled_go_on):
    """Otherwise callers who leave again and again would have more children at work than their places."""
    inspector = SandboxedInspector(prepare=stall_at_one_file)

    async def leave():
        leaving = [asyncio.create_task(inspector.inspect(SPEECH, "hostile")) for _ in range(2)]
        await asyncio.to_thread(until, lambda: inspector._sender_slots._held["hostile"] == 2)
        for task in leaving:
            task.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)
        held = inspector._sender_slots._held["hostile"]
        stalled_go_on.set()
        await asyncio.to_thread(until, lambda: not inspector._sender_slots._held["hostile"])
        return held

    try:
        assert asyncio.run(leave()) == 2
    finally:
        inspector.close()

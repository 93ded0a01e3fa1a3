"""The room check, and detection of sound enhancement."""

from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from patience import until
from vbdesk.capture.enhancement import Enhancement, detect_enhancement, frame_levels
from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.monitor import Monitor
from vbdesk.capture.room_check import RoomRating, rate_room, silence_advice

RATE = 16_000
SPEECH = Path(__file__).parents[1] / "data" / "speech_kathleen_20s.flac"


def to_int16(sound):
    return (np.clip(sound, -1, 1) * 32767).astype(np.int16)


def noise(dbfs, seconds=3.0, seed=4):
    return np.random.default_rng(seed).normal(0, 10 ** (dbfs / 20), round(seconds * RATE))


def hum(dbfs, hz=50):
    t = np.arange(3 * RATE) / RATE
    return 10 ** (dbfs / 20) * 2**0.5 * (np.sin(2 * np.pi * hz * t) + 0.5 * np.sin(4 * np.pi * hz * t))


@pytest.mark.parametrize(
    ("dbfs", "rating"), [(-62, RoomRating.QUIET), (-46, RoomRating.WATCH), (-33, RoomRating.NOISY)]
)
def test_a_room_is_judged_by_its_noise(dbfs, rating):
    found = rate_room(to_int16(noise(dbfs)), RATE)
    assert found.rating is rating
    assert found.floor_dbfs == pytest.approx(dbfs, abs=1.5)


def test_mains_hum_has_advice_of_its_own():
    for hz in (50, 60):
        found = rate_room(to_int16(hum(-32, hz) + noise(-60)), RATE)
        assert found.rating is RoomRating.NOISY
        assert "hums with the mains" in found.sentence


def test_somebody_who_speaks_is_no_noisy_room(spoken):
    quiet = noise(-62)
    quiet[RATE : RATE + len(spoken[: RATE // 2])] += spoken[RATE * 2 : RATE * 2 + RATE // 2]
    assert rate_room(to_int16(quiet), RATE).rating is RoomRating.DISTURBED


def test_nothing_but_zeros_is_named_as_what_it_mostly_is():
    flickering = np.zeros(3 * RATE, np.int16)
    flickering[::100] = 1
    for samples in (np.zeros(3 * RATE, np.int16), flickering):
        assert rate_room(samples, RATE).rating is RoomRating.SILENT
    assert "muted" in silence_advice("linux")
    assert "Privacy & Security" in silence_advice("darwin")
    assert "Privacy & security" in silence_advice("win32")


@pytest.fixture(scope="module")
def spoken():
    samples, rate = sf.read(SPEECH)
    positions = np.arange(0, len(samples) - 1, rate / RATE)
    voice = np.interp(positions, np.arange(len(samples)), samples)
    return voice / np.percentile(np.abs(voice), 99) * 0.3


def judged(sound):
    return detect_enhancement(frame_levels(to_int16(sound), RATE)).enhancement


@pytest.mark.parametrize("noise_dbfs", [-60, -50, -42])
def test_plain_speech_gives_no_hint(processed, spoken, noise_dbfs):
    assert judged(processed.with_room(spoken, RATE, noise_dbfs)) is Enhancement.NONE


@pytest.mark.parametrize("noise_dbfs", [-60, -50, -42])
def test_noise_that_swells_in_the_pauses_hints_at_automatic_gain(processed, spoken, noise_dbfs):
    assert judged(processed.automatic_gain(processed.with_room(spoken, RATE, noise_dbfs), RATE)) is Enhancement.GAIN


@pytest.mark.parametrize("depth_db", [40, 100])
@pytest.mark.parametrize("noise_dbfs", [-60, -50])
def test_noise_that_is_cut_off_hints_at_noise_suppression(processed, spoken, noise_dbfs, depth_db):
    room = processed.with_room(spoken, RATE, noise_dbfs)
    assert judged(processed.noise_gate(room, RATE, depth_db)) is Enhancement.GATE


def test_nothing_is_hinted_at_without_a_voice():
    assert judged(noise(-50, 20)) is Enhancement.NONE
    assert judged(np.zeros(20 * RATE)) is Enhancement.NONE
    assert detect_enhancement(np.empty(0)).sentence is None


def test_the_monitor_checks_the_room_and_hints_while_somebody_speaks(processed, spoken):
    gated = processed.noise_gate(processed.with_room(spoken, RATE, -50), RATE, 40)
    microphone = FileMicrophone(np.concatenate([to_int16(noise(-60, 4)), to_int16(gated)]), RATE)
    monitor = Monitor(microphone)
    assert monitor.room() is None
    monitor.start(microphone.device)
    monitor.check_room()
    microphone.play(4)
    until(lambda: monitor.room() is not None)
    assert monitor.room().rating is RoomRating.QUIET
    microphone.play(24)
    until(lambda: monitor.enhancement().enhancement is Enhancement.GATE)
    assert "noise suppression" in monitor.enhancement().sentence
    microphone.unplug()
    until(monitor.ended)
    monitor.stop()

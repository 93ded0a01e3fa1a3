from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from patience import HANGS_S, until
from vbdesk.capture.speech_meter import SpeechCounter, SpeechMeter
from vbdesk.voice.activity import detect_speech
from vbdesk.voice.decode import from_samples

SPEECH = Path(__file__).parents[1] / "data" / "speech_kathleen_20s.flac"


@pytest.fixture(scope="module")
def spoken():
    samples, rate = sf.read(SPEECH, dtype="int16")
    return samples, rate


def count(samples, rate, block=960):
    counter = SpeechCounter(rate)
    for start in range(0, len(samples), block):
        counter.feed(samples[start : start + block])
    return counter.so_far()


def test_the_live_count_is_that_of_the_check(spoken):
    samples, rate = spoken
    checked = detect_speech(from_samples(samples / np.float32(32768), rate))
    assert count(samples, rate).speech_s == pytest.approx(checked.speech_s, abs=0.7)


def test_a_soft_voice_counts_as_much(spoken):
    samples, rate = spoken
    assert count((samples / 30).astype(np.int16), rate).speech_s == pytest.approx(count(samples, rate).speech_s, abs=1)


def test_noise_and_silence_are_neither_speech_nor_voice():
    noise = np.random.default_rng(2).normal(0, 300, 10 * 16_000).astype(np.int16)
    counter = SpeechCounter(16_000)
    counter.feed(noise[: 3 * 16_000], counts=False)  # the lead-in sets the noise floor
    counter.feed(noise)
    assert counter.so_far().speech_s < 0.2
    assert counter.so_far().sound_s < 0.2
    assert count(np.zeros(5 * 16_000, np.int16), 16_000).sound_s == 0


def test_a_held_vowel_counts_as_sound_after_a_quiet_beginning():
    rate = 16_000
    t = np.arange(6 * rate) / rate
    vowel = sum(np.sin(2 * np.pi * 120 * k * t) / k for k in range(1, 20)) * 3000
    room = np.random.default_rng(2).normal(0, 20, 3 * rate)
    counter = SpeechCounter(rate)
    counter.feed(room.astype(np.int16), counts=False)
    counter.feed(vowel.astype(np.int16))
    counter.feed(room.astype(np.int16))
    assert counter.so_far().sound_s == pytest.approx(6.0, abs=0.3)


def test_the_meter_hears_in_its_own_thread_and_ends(spoken):
    samples, rate = spoken
    meter = SpeechMeter(rate)
    meter.feed(samples[: 5 * rate])
    until(lambda: meter.so_far().speech_s > 0)
    assert meter.so_far().speech_s > 1
    meter.begin_task()
    assert meter.so_far().task_speech_s == 0
    meter.stop()
    meter.join(HANGS_S)
    assert not meter._thread.is_alive()

import numpy as np

from vbdesk.capture.meter import InputLevelMeter, LiveEnvelope, overview

RATE = 48_000
BLOCK = 960


def tone(seconds, amplitude):
    t = np.arange(round(seconds * RATE)) / RATE
    return (amplitude * np.sin(2 * np.pi * 440 * t)).astype(np.int16)


def feed(meter, samples):
    for start in range(0, len(samples), BLOCK):
        meter.feed(samples[start : start + BLOCK])
    return meter.levels()


def test_a_tone_at_half_scale_reads_minus_six_and_minus_nine():
    levels = feed(InputLevelMeter(RATE), tone(1, 16384))
    assert abs(levels.peak_dbfs + 6.02) < 0.05
    assert abs(levels.rms_dbfs + 9.03) < 0.05
    assert not levels.clipping


def test_silence_is_minus_infinity():
    levels = feed(InputLevelMeter(RATE), np.zeros(2 * RATE, np.int16))
    assert levels.peak_dbfs == levels.rms_dbfs == levels.noise_floor_dbfs == -np.inf


def test_the_noise_floor_is_the_quiet_between_words():
    words = np.concatenate([np.concatenate([tone(0.5, 10000), tone(0.3, 30)]) for _ in range(10)])
    levels = feed(InputLevelMeter(RATE), words)
    assert abs(levels.noise_floor_dbfs - 20 * np.log10(30 / 32768 / np.sqrt(2))) < 1


def test_the_peak_is_held_and_let_go():
    meter = InputLevelMeter(RATE)
    feed(meter, tone(0.1, 30000))
    held = feed(meter, tone(1, 300))
    gone = feed(meter, tone(1, 300))
    assert held.held_peak_dbfs > -1
    assert held.peak_dbfs < -40
    assert gone.held_peak_dbfs < -40


def test_three_samples_at_the_limit_clip_and_two_do_not():
    peaks = np.zeros(BLOCK, np.int16)
    peaks[100:102] = 32767
    assert not feed(InputLevelMeter(RATE), peaks).clipping
    peaks[102] = 32767
    assert feed(InputLevelMeter(RATE), peaks).clipping


def test_the_envelope_does_not_depend_on_the_blocks():
    samples = tone(0.5, 20000)
    whole, pieces = LiveEnvelope(RATE), LiveEnvelope(RATE)
    whole.feed(samples)
    for start in range(0, len(samples), 777):
        pieces.feed(samples[start : start + 777])
    assert np.array_equal(whole.pairs(), pieces.pairs())
    assert len(whole.pairs()) == 50


def test_an_overview_keeps_every_extreme():
    samples = np.zeros(10_001, np.int16)
    samples[[17, 9999]] = -5, 7
    pairs = overview(samples, 100)
    assert pairs.shape == (100, 2)
    assert pairs.min() == -5
    assert pairs.max() == 7
    assert overview(samples[:3], 100).shape == (3, 2)

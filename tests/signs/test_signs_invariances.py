"""Readings do not depend on gain, silence, rate, channels, container or codec."""

import numpy as np
import pytest
import soundfile as sf
import soxr

from vbdesk.contract.catalog import SignName
from vbdesk.signs.analysis import measure_recording, recording_conditions
from vbdesk.signs.scoring import score_sign
from vbdesk.voice.decode import decode, from_samples

RATE = 16_000
LOSSLESS, LOSSY = (0.01, 0.05), (0.03, 0.35)  # share of the value, or SD of the reference where that is more
COUNTED = ("speech_rate", "articulation_rate")  # of some fifty syllables: one more or less is 2 %


@pytest.fixture(scope="module")
def data(request):
    return request.path.parents[1] / "data"


@pytest.fixture(scope="module")
def plain(data):
    return decode(data / "speech_male_20s.flac").samples


@pytest.fixture(scope="module")
def measured_plain(plain):
    return measure_recording(from_samples(plain, RATE))


@pytest.fixture(scope="module")
def measured_female(data):
    return measure_recording(decode(data / "speech_kathleen_20s.flac"))


def indices_and_levels(measurements, calibration):
    passage = measurements.passages[0]
    conditions = recording_conditions(passage, measurements.quality)
    readings = [
        score_sign(name, calibration.signs[name], calibration.scoring, passage.z, conditions) for name in SignName
    ]
    return {reading.sign: (reading.index, reading.level) for reading in readings}


def assert_alike(measurements, original, reference, tolerance, index_tolerance, but=()):
    """Features and indices within tolerance, levels the same."""
    share, sd = tolerance
    first, second = measurements.passages[0], original.passages[0]
    for name, norm in reference.norms.features.items():
        value, expected = first.features[name].value, second.features[name].value
        assert (value is None) == (expected is None), name
        if value is None or name in but:
            continue
        room = max(share * abs(expected), sd * norm.mixed.t_sd * (expected if norm.scale == "log" else 1))
        room = max(room, 2 / second.speech_s) if name in COUNTED else room
        assert value == pytest.approx(expected, abs=room), name
    calibration = reference.calibration
    read_again = indices_and_levels(measurements, calibration)
    for name, (index, level) in indices_and_levels(original, calibration).items():
        other_index, other_level = read_again[name]
        if index is None:
            assert other_level is level
            continue
        assert other_index == pytest.approx(index, abs=index_tolerance), name
        assert other_level is level, name


@pytest.mark.parametrize("gain_db", [-20, -6, 4])
def test_gain_changes_only_the_loudness(plain, measured_plain, reference, gain_db):
    measurements = measure_recording(from_samples((plain * 10 ** (gain_db / 20)).astype(np.float32), RATE))
    assert_alike(measurements, measured_plain, reference, LOSSLESS, 0.02, but=("loudness_mean",))
    level, expected = (one.passages[0].features["loudness_mean"].value for one in (measurements, measured_plain))
    assert level - expected == pytest.approx(gain_db, abs=0.01)


@pytest.mark.parametrize("silence_s", [0.37, 3.0])
def test_leading_silence_changes_nothing(plain, measured_plain, reference, silence_s):
    silence = np.zeros(round(silence_s * RATE), dtype=np.float32)
    measurements = measure_recording(from_samples(np.concatenate([silence, plain]), RATE))
    assert_alike(measurements, measured_plain, reference, LOSSLESS, 0.1)


@pytest.mark.parametrize(("suffix", "subtype"), [("wav", "PCM_24"), ("flac", "PCM_24"), ("wav", "FLOAT")])
def test_a_stereo_copy_in_another_container_changes_nothing(
    plain, measured_plain, reference, tmp_path, suffix, subtype
):
    path = tmp_path / f"stereo.{suffix}"
    sf.write(path, np.stack([plain, plain], axis=1), RATE, subtype=subtype)
    assert_alike(measure_recording(decode(path)), measured_plain, reference, LOSSLESS, 0.02)


@pytest.mark.parametrize("rate", [22_050, 44_100, 48_000])
def test_another_sampling_rate_changes_nothing(plain, measured_plain, reference, tmp_path, rate):
    path = tmp_path / "resampled.wav"
    sf.write(path, soxr.resample(plain, RATE, rate, quality="VHQ"), rate, subtype="FLOAT")
    assert_alike(measure_recording(decode(path)), measured_plain, reference, LOSSLESS, 0.1)


@pytest.mark.parametrize("suffix", ["mp3", "m4a"])
def test_a_codec_of_64_kbit_s_changes_little(data, measured_female, reference, suffix):
    measurements = measure_recording(decode(data / f"speech_kathleen_20s.{suffix}"))
    assert_alike(measurements, measured_female, reference, LOSSY, 0.4)

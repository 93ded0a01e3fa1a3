"""A raised pitch moves every sign that holds pitch as its weight says, in a man's and in a woman's voice."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))  # pitch_vocoder, by name
from pitch_vocoder import move_pitch

from vbdesk.contract.catalog import SignName
from vbdesk.signs.scoring import RecordingConditions, score_sign
from vbdesk.voice.decode import decode
from vbdesk.voice.features import extract_features

FACTORS = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4)
INVERSION = 0.02  # of the score
TELLING = 0.1  # weight of pitch from which a sign must follow it


@pytest.fixture(scope="module", params=["speech_male_20s", "speech_kathleen_20s"])
def moved(request):
    """Features of a recording whose pitch is multiplied by each of `FACTORS`."""
    samples = decode(request.path.parents[1] / "data" / f"{request.param}.flac").samples
    return [extract_features(move_pitch(samples, factor)) for factor in FACTORS]


@pytest.fixture(scope="module")
def moved_alone(reference, moved):
    """The same, with timing and loudness of the unmoved voice: a pause that the vocoder closes is no pitch."""
    plain = moved[FACTORS.index(1.0)]
    kept = [name for name, norm in reference.norms.features.items() if norm.group in ("timing", "loudness")]
    return [{**features, **{name: plain[name] for name in kept}} for features in moved]


def scores(reference, measured, name):
    calibration = reference.calibration
    found = []
    for features in measured:
        voice = reference.norms.locate(features)
        z = reference.norms.standardise(features, voice)
        conditions = RecordingConditions(18.0, 80.0, 95.0, voice)
        found.append(score_sign(name, calibration.signs[name], calibration.scoring, z, conditions).score)
    return np.array(found)


def test_the_vocoder_moves_pitch_and_keeps_formants_and_timing(moved):
    plain = moved[FACTORS.index(1.0)]
    for factor, features in zip(FACTORS, moved, strict=True):
        assert features["pitch_mean"].value == pytest.approx(factor * plain["pitch_mean"].value, rel=0.02)
        for name, room in (("formant_2_mean", 0.02), ("formant_3_mean", 0.02), ("pause_ratio", 0.1)):
            assert features[name].value == pytest.approx(plain[name].value, rel=room)


@pytest.mark.parametrize("name", list(SignName))
def test_a_sign_follows_the_pitch_that_it_holds(reference, moved_alone, name):
    weight = reference.calibration.signs[name].weights.get("pitch_mean")
    if weight is None:
        return
    along = np.sign(weight) * scores(reference, moved_alone, name)
    inversion = np.max(np.maximum.accumulate(along) - along)
    assert inversion <= INVERSION, np.round(along, 3)
    if abs(weight) >= TELLING and name is not SignName.METABOLIC_LOAD:  # its pitch counts for female-typical tracts
        assert along[-1] > along[0]


def test_pitch_alone_always_reads_higher(reference, moved):
    """With the resonances of one take; those of a moved voice are measured anew, and wander a little."""
    norm, voice = reference.norms.features["pitch_mean"], reference.norms.locate(moved[FACTORS.index(1.0)])
    z = [norm.z(one["pitch_mean"].value, voice) for one in moved]
    assert np.all(np.diff(z) > 0.1)


def test_stress_rises_with_pitch_without_a_plateau(reference, moved_alone):
    """A reference that changed sides between the groups gave a man's stress of .26, .45, .18, .36 at +0 to +40 %."""
    stress = scores(reference, moved_alone, SignName.STRESS)
    assert np.all(np.diff(stress) > -INVERSION / 2)
    assert stress[-1] - stress[FACTORS.index(1.0)] > 0.15

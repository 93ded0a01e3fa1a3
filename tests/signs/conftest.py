"""Synthetic voices for the tests of signs."""

import pytest

from vbdesk.signs.norms import VoicePosition
from vbdesk.signs.passage import Passage
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.signs.scoring import RecordingConditions
from vbdesk.voice.measurement import Measurement

MALE_VOICE = {"pitch_mean": 119.0, "formant_3_mean": 2465.0}
FEMALE_VOICE = {"pitch_mean": 200.0, "formant_3_mean": 2760.0}
MALE_TYPICAL, FEMALE_TYPICAL = VoicePosition(-4.0, 0.0, 0.0), VoicePosition(5.0, 1.0, 1.0)


@pytest.fixture(scope="session")
def reference():
    return load_reference_data()


@pytest.fixture(scope="session")
def calibration(reference):
    return reference.calibration


@pytest.fixture
def quiet():
    """Recording conditions without limits on readings."""
    return RecordingConditions(speech_seconds=40.0, voice_percentage=80.0, audio_clarity=95.0, voice=FEMALE_TYPICAL)


@pytest.fixture
def make_features(reference):
    """A feature set of the given values; everything else is missing."""

    def make(**values):
        return {
            name: Measurement(values[name]) if name in values else Measurement(None, "too_little_speech")
            for name in reference.norms.features
        }

    return make


@pytest.fixture
def make_passage(reference):
    """A passage with the given z values (0 for other features), of a male-typical voice."""

    def make(z=None, *, replicates=None, windows=(), without=()):
        z = {name: (z or {}).get(name, 0.0) for name in reference.norms.features if name not in without}
        replicates = [z, z] if replicates is None else replicates
        features = {
            name: Measurement(1.2345678) if name in z else Measurement(None, "noise")
            for name in reference.norms.features
        }
        return Passage(40.0, features, z, MALE_TYPICAL, list(replicates), list(windows))

    return make


@pytest.fixture
def at_index():
    """z values of the features of one sign that give exactly the requested index."""

    def make(sign, index):
        raw = sign.reference_mean + index * sign.reference_sd
        return {row.feature: raw if row.weight > 0 else -raw for row in sign.evidence}

    return make

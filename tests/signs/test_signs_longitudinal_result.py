import pytest

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName
from vbdesk.contract.levels import Level
from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.contract.results import AudioQuality, LongitudinalSignal, ModelResult, SignResult
from vbdesk.signs.longitudinal_result import add_longitudinal
from vbdesk.signs.scoring import Reading
from vbdesk.signs.summary import make_signal, summarise_readings

QUALITY = AudioQuality(issues=[], voice_percentage=80.0, audio_clarity=90.0)


@pytest.fixture
def result(reference, make_passage):
    def make(**levels):
        readings = [
            Reading(name, 0.0, 0.5, Level(levels.get(name.replace("-", "_"), "none")))
            for name in MODEL_SIGNS[ModelName.PULSE]
        ]
        return ModelResult(
            summary=summarise_readings(readings, make_passage(), [], reference),
            signals=[make_signal(reading, reference) for reading in readings],
            audio_quality=QUALITY,
            extended_metrics=[],
        )

    return make


def known(anomaly):
    return LongitudinalFields(
        latest_score=0.4, baseline_score=0.3, deviation_from_baseline=0.1, anomaly=anomaly, z_score=1.0
    )


def told(result):
    return result.summary.description.summary


def test_every_signal_gets_its_fields(result):
    before = result(stress="consider")
    after = add_longitudinal(before, {"stress": known(False)})
    assert all(isinstance(signal, LongitudinalSignal) for signal in after.signals)
    stress = next(signal for signal in after.signals if signal.name == "stress")
    assert (stress.latest_score, stress.baseline_score, stress.level) == (0.4, 0.3, Level.CONSIDER)
    assert stress.score_interval == before.signals[2].score_interval
    fatigue = after.model_dump(mode="json")["signals"][3]
    assert fatigue["baseline_score"] is None
    assert "population_z" in fatigue


def test_a_first_submission_has_no_sentence(result):
    before = result(stress="consider")
    assert told(add_longitudinal(before, {})) == told(before)


@pytest.mark.parametrize(
    ("levels", "fields", "unconfirmed", "sentence"),
    [
        ({"stress": "consider"}, {"stress": known(True)}, (), "changed"),
        ({"stress": "consider"}, {"stress": known(False)}, (), "in_line"),
        ({"stress": "consider"}, {"stress": known(False), "fatigue": known(True)}, (), "changed_elsewhere"),
        ({}, {"fatigue": known(True)}, (), "changed_elsewhere"),
        ({}, {"mood-disruption": known(False)}, ("mood-disruption",), "unconfirmed"),
        ({"stress": "low"}, {"stress": known(False)}, (), None),
        ({}, {"stress": known(False)}, (), None),
    ],
)
def test_the_history_is_one_sentence(reference, result, levels, fields, unconfirmed, sentence):
    before = result(**levels)
    after = told(add_longitudinal(before, fields, unconfirmed))
    sentences = reference.narrative.texts.history.model_dump()
    assert [name for name, text in sentences.items() if text in after] == ([sentence] if sentence else [])
    assert len(after) == len(told(before)) + (len(sentences[sentence]) + 1 if sentence else 0)


def test_an_inconclusive_recording_has_no_history_sentence(result):
    levels = {name.replace("-", "_"): "inconclusive" for name in MODEL_SIGNS[ModelName.PULSE]}
    before = result(**levels)
    assert told(add_longitudinal(before, {"stress": known(True)})) == told(before)


def test_a_single_sign_gets_its_fields(result):
    before = SignResult(signal=result(stress="consider").signals[2], audio_quality=QUALITY)
    after = add_longitudinal(before, {"stress": known(True)})
    assert isinstance(after.signal, LongitudinalSignal)
    assert after.signal.anomaly is True

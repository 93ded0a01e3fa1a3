from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, SignName
from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.results import ValueInterpretation
from vbdesk.signs.scoring import Reading
from vbdesk.signs.summary import choose_vocal_features, make_signal, primary_signals, summarise_readings

FILLER = ["pitch_mean", "pitch_variability", "speech_rate", "pause_ratio", "voice_shimmer", "cepstral_peak_prominence"]


def readings_of(model, levels, scores=None):
    scores = scores or [0.2] * len(levels)
    return [
        Reading(name, 0.0, score, level) for name, level, score in zip(MODEL_SIGNS[model], levels, scores, strict=True)
    ]


def test_without_a_named_sign_the_usual_features_are_listed(reference, make_passage):
    readings = readings_of(ModelName.CLARITY, [Level.NONE])
    listed = choose_vocal_features(readings, make_passage(), reference)
    assert [entry.feature for entry in listed] == FILLER
    assert {entry.value_interpretation for entry in listed} == {ValueInterpretation.WITHIN_RANGE}
    assert listed[2].unit == "syllables/s"
    assert listed[2].value == 1.2346


def test_features_of_the_named_signs_come_first_strongest_first(reference, make_passage):
    moved = {"pause_rate": 0.2, "pause_ratio": -0.5, "phrase_length": 0.3}
    readings = [Reading(SignName.COGNITIVE_IMPAIRMENT, 1.7, 0.51, Level.CONSIDER, moved)]
    listed = choose_vocal_features(readings, make_passage({"pause_ratio": -2.5}), reference)
    assert [entry.feature for entry in listed] == [
        "pause_ratio", "phrase_length", "pause_rate", "pitch_mean", "pitch_variability", "speech_rate",
    ]  # fmt: skip
    assert listed[0].value_interpretation is ValueInterpretation.LOW


def test_missing_or_excluded_features_are_not_listed(reference, make_passage):
    moved = {"pitch_tract_residual": 0.9, "pitch_mean": 0.8, "formant_3_mean": 0.1}
    readings = [Reading(SignName.ELEVATED_ANDROGENS, 2.0, 0.55, Level.CONSIDER, moved)]
    listed = choose_vocal_features(readings, make_passage(without=("speech_rate",)), reference)
    names = [entry.feature for entry in listed]
    assert "pitch_tract_residual" not in names
    assert "speech_rate" not in names
    assert names[:2] == ["pitch_mean", "formant_3_mean"]


def test_primary_signals_rank_every_sign_with_ties_in_bundle_order():
    levels = [Level.NONE] * 6
    readings = readings_of(ModelName.PULSE, levels, [0.2, 0.3, 0.2, 0.30001, 0.1, 0.2])
    assert primary_signals(readings) == ["anxiety", "fatigue", "mood-disruption"]
    assert primary_signals(readings_of(ModelName.BREATH, [Level.INCONCLUSIVE] * 2)) == [
        "airway-obstruction-pattern",
        "allergy",
    ]


def test_the_summary_counts_and_takes_the_highest_level(reference, make_passage):
    levels = [Level.CONSIDER, Level.CONSIDER, Level.LOW, Level.NONE, Level.INCONCLUSIVE, Level.NONE]
    summary = summarise_readings(readings_of(ModelName.PULSE, levels), make_passage(), [], reference)
    assert summary.overall_level is Level.CONSIDER
    assert summary.recommended_action is RecommendedAction.REVIEW
    assert summary.flagged_count == 2
    assert summary.description.summary.endswith("the recording alone decides nothing.")


def test_a_signal_carries_evidence_interval_and_version(reference):
    reading = Reading(SignName.STRESS, 1.7, 0.512345, Level.CONSIDER, {}, (0.41239, 0.61231))
    signal = make_signal(reading, reference)
    assert signal.model_dump(mode="json") == {
        "name": "stress",
        "label": "Stress",
        "score": 0.5123,
        "level": "consider",
        "flagged": True,
        "evidence_grade": "B",
        "score_interval": [0.4124, 0.6123],
        "sign_version": "2.0.0",
    }


def test_a_signal_without_a_measurement_has_no_interval(reference):
    signal = make_signal(Reading(SignName.STRESS, None, 0.2, Level.INCONCLUSIVE), reference)
    assert "score_interval" not in signal.model_dump(mode="json")

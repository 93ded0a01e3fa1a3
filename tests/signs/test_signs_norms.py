import math

import numpy as np
import pytest

from vbdesk.contract.results import ValueInterpretation
from vbdesk.signs.norms import Norms, interpret


def test_a_log_feature_is_standardised_in_its_class_and_widened_for_free_speech(reference):
    norm = reference.norms.features["pause_duration_variability"]
    # (ln 0.3 + 1.9176) / (0.52316 * 1.3)
    assert norm.z(0.3, 0.0) == pytest.approx(1.049286, abs=1e-5)


def test_a_linear_feature_is_not_transformed(reference):
    # (-20 + 14.531) / (5.7155 * 1.1)
    assert reference.norms.features["spectral_slope_mid"].z(-20.0, 0.0) == pytest.approx(-0.869883, abs=1e-5)


def test_the_two_classes_are_blended_by_how_female_typical_the_voice_is(reference):
    norm = reference.norms.features["voice_shimmer"]
    male, female = norm.z(1.2, 0.0), norm.z(1.2, 1.0)
    assert male != pytest.approx(female, abs=0.1)
    assert norm.z(1.2, 0.25) == pytest.approx(0.75 * male + 0.25 * female)


def test_values_are_held_to_floor_and_ceiling(reference):
    features = reference.norms.features
    assert features["pause_rate"].z(0.0, 0.5) == features["pause_rate"].z(2.0, 0.5)
    assert features["phrase_length"].z(60.0, 0.5) == features["phrase_length"].z(10.0, 0.5)


@pytest.mark.parametrize("value", [0.0, 1e-6, 1e6])
def test_z_never_leaves_its_limits(reference, value):
    for norm in reference.norms.features.values():
        assert -3 <= norm.z(value, 0.3) <= 3


@pytest.mark.parametrize(("pitch", "resonance", "expected"), [(119, 2465, 0.0), (200, 2760, 1.0)])
def test_the_voice_class_follows_pitch_and_resonance(reference, make_features, pitch, resonance, expected):
    share = reference.norms.female_share(make_features(pitch_mean=pitch, formant_3_mean=resonance))
    assert share == pytest.approx(expected, abs=0.01)


def test_the_class_is_the_logistic_model_averaged_over_takes(reference, make_features):
    share = reference.norms.female_share(make_features(pitch_mean=150.0, formant_3_mean=2600.0))
    takes = -2.9743 + 2.14 * np.random.default_rng(1).standard_normal(100_000)
    assert share == pytest.approx(np.mean(1 / (1 + np.exp(-takes))), abs=0.01)


def test_without_a_spread_between_takes_the_model_is_used_unchanged(reference, make_features):
    data = reference.norms.model_dump(by_alias=True)
    del data["voice_class"]["between_takes_sd"]
    measured = make_features(pitch_mean=150.0, formant_3_mean=2600.0)
    assert Norms.model_validate(data).female_share(measured) == pytest.approx(1 / (1 + math.exp(2.9743)))


def test_a_voice_between_the_classes_has_stable_z_values_over_takes(reference, make_features):
    takes = [(154, 2651), (174, 2565), (167, 2698), (156, 2670), (161, 2698)]  # pitch and third formant of one reader
    measured = [make_features(pitch_mean=f0, formant_3_mean=f3, voice_jitter=2.4) for f0, f3 in takes]
    norms = reference.norms
    believed = Norms.model_validate(
        norms.model_dump(by_alias=True) | {"voice_class": norms.voice_class.model_dump() | {"between_takes_sd": 0.0}}
    )

    def swing(kind):
        return np.ptp([kind.standardise(one, kind.female_share(one))["voice_jitter"] for one in measured])

    assert swing(norms) < 0.75 * swing(believed)


def test_a_simulated_take_changes_class_only_between_the_classes(reference, make_features):
    def ends(pitch, resonance):
        measured = make_features(pitch_mean=pitch, formant_3_mean=resonance)
        return [reference.norms.resampled_female_share(measured, deviation) for deviation in (-1.0, 1.0)]

    assert ends(100, 2350) == pytest.approx([0, 0], abs=0.01)
    assert ends(215, 2800) == pytest.approx([1, 1], abs=0.01)
    low, high = ends(160, 2640)
    assert low < 0.35 < 0.5 < high


def test_without_a_class_features_that_depend_on_it_are_left_out(reference, make_features):
    measured = make_features(pitch_mean=150.0, speech_rate=3.0, formant_1_mean=500.0)
    assert reference.norms.female_share(measured) is None
    assert set(reference.norms.standardise(measured, None)) == {"speech_rate"}


@pytest.mark.parametrize(
    ("z", "expected"),
    [
        (-1.96, ValueInterpretation.LOW),
        (-1.95, ValueInterpretation.REDUCED),
        (-1.2816, ValueInterpretation.REDUCED),
        (-1.28, ValueInterpretation.WITHIN_RANGE),
        (1.28, ValueInterpretation.WITHIN_RANGE),
        (1.2816, ValueInterpretation.SLIGHTLY_ELEVATED),
        (1.959, ValueInterpretation.SLIGHTLY_ELEVATED),
        (1.96, ValueInterpretation.HIGH),
    ],
)
def test_interpretation_bands(z, expected):
    assert interpret(z) is expected


def test_a_norm_without_spread_is_rejected(reference):
    data = reference.norms.model_dump(by_alias=True)
    data["feature"]["voice_jitter"]["male"]["t_sd"] = 0.0
    with pytest.raises(ValueError, match="greater than 0"):
        Norms.model_validate(data)

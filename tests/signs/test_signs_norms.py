import math
from statistics import NormalDist

import numpy as np
import pytest

from vbdesk.contract.results import ValueInterpretation
from vbdesk.signs.norms import UNKNOWN_VOICE, Norms, VoicePosition, interpret, logistic

MIDDLE = VoicePosition(pitch=0.0, tract_share=0.5, female_share=0.5)


def at(pitch=0.0, tract_share=0.5):
    return VoicePosition(pitch, tract_share, None)


def test_a_log_feature_is_standardised_and_widened_for_free_speech(reference):
    norm = reference.norms.features["pause_duration_variability"]
    # (ln 0.3 + 2.0338) / (0.57765 * 1.3)
    assert norm.z(0.3, MIDDLE) == pytest.approx(1.105044, abs=1e-5)


def test_a_linear_feature_is_not_transformed_and_compared_with_voices_of_its_pitch(reference):
    norm = reference.norms.features["spectral_slope_mid"]
    # (-20 + 15.69 + 4 * 0.1505) / (5.6881 * 1.1), four semitones over 150 Hz
    assert norm.z(-20.0, at(pitch=4.0)) == pytest.approx(-0.592622, abs=1e-5)


def test_a_line_over_pitch_moves_the_reference_evenly(reference):
    norm = reference.norms.features["harmonics_to_noise"]
    z = [norm.z(12.0, at(pitch=pitch)) for pitch in (-4.0, 0.0, 4.0)]
    assert z[0] > z[1] > z[2]
    assert z[0] - z[1] == pytest.approx(z[1] - z[2])


def test_timing_is_compared_alike_at_every_pitch(reference):
    for name, norm in reference.norms.features.items():
        if norm.group in ("timing", "loudness"):
            assert norm.z(2.5, at(-6.0, 0.0)) == norm.z(2.5, at(8.0, 1.0)), name


def test_pitch_of_a_clear_tract_is_compared_with_its_group(reference):
    norm = reference.norms.features["pitch_mean"]
    # (ln 140 - 4.7782) / 0.1683 and (ln 200 - 5.2993) / 0.11642
    assert norm.z(140.0, at(tract_share=0.0)) == pytest.approx(0.971137, abs=1e-5)
    assert norm.z(200.0, at(tract_share=1.0)) == pytest.approx(-0.008444, abs=1e-5)


def test_pitch_of_an_unclear_tract_lies_between_two_groups(reference):
    """Of men half speak below 119 Hz and of women almost none: a quarter of both together."""
    norm = reference.norms.features["pitch_mean"]
    assert norm.z(math.exp(4.7782), at(tract_share=0.5)) == pytest.approx(NormalDist().inv_cdf(0.25), abs=1e-3)


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 0.97, 1.0])
def test_a_higher_pitch_never_reads_lower(reference, share):
    z = [reference.norms.features["pitch_mean"].z(hertz, at(tract_share=share)) for hertz in np.geomspace(60, 400, 200)]
    assert np.all(np.diff(z) >= 0)
    assert np.ptp(z) > 5


def test_values_are_held_to_floor_and_ceiling(reference):
    features = reference.norms.features
    assert features["pause_rate"].z(0.0, MIDDLE) == features["pause_rate"].z(2.0, MIDDLE)
    assert features["phrase_length"].z(60.0, MIDDLE) == features["phrase_length"].z(10.0, MIDDLE)


@pytest.mark.parametrize("value", [0.0, 1e-6, 1e6])
def test_z_never_leaves_its_limits(reference, value):
    for norm in reference.norms.features.values():
        assert -3 <= norm.z(value, at(2.0, 0.3)) <= 3


def test_a_voice_is_found_by_its_pitch_and_tract(reference, make_features):
    # 12 log2(200 / 150) = 4.98045; the tract is usual for 2 semitones less
    voice = reference.norms.locate(make_features(pitch_mean=200.0, pitch_tract_residual=2.0))
    softened = math.sqrt(1 + math.pi * 0.74**2 / 8)
    alone = (-0.46663 + 0.68244 * 2.98045) / softened
    both = (-1.1051 + 0.74045 * 4.98045 + 0.44286 * 2.98045) / softened
    assert voice.pitch == pytest.approx(4.98045, abs=1e-5)
    assert voice.tract_share == pytest.approx(1 / (1 + math.exp(-alone)), abs=1e-5)
    assert voice.female_share == pytest.approx(1 / (1 + math.exp(-both)), abs=1e-5)


def test_pitch_does_not_move_what_it_is_compared_with(reference, make_features):
    """A raised pitch raises the residual as much: the tract stays."""
    low, high = (
        reference.norms.locate(make_features(pitch_mean=150 * 2 ** (step / 12), pitch_tract_residual=1.0 + step))
        for step in (0.0, 5.0)
    )
    assert high.tract_share == pytest.approx(low.tract_share)
    assert high.pitch == pytest.approx(low.pitch + 5)


def test_shares_are_means_over_takes(reference, make_features):
    voice = reference.norms.locate(make_features(pitch_mean=150.0, pitch_tract_residual=-2.0))
    takes = -0.46663 + 0.68244 * 2.0 + 0.74 * np.random.default_rng(1).standard_normal(100_000)
    assert voice.tract_share == pytest.approx(np.mean(1 / (1 + np.exp(-takes))), abs=0.01)


def test_a_simulated_take_moves_only_unclear_tracts(reference, make_features):
    def moved(tract):
        measured = make_features(pitch_mean=150.0, pitch_tract_residual=-tract)
        return np.ptp([reference.norms.locate(measured, deviation).tract_share for deviation in (-1.0, 1.0)])

    assert moved(0.7) > 0.25
    assert max(moved(-9.0), moved(11.0)) < 0.01


def test_without_resonances_pitch_is_compared_with_both_groups(reference, make_features):
    measured = make_features(pitch_mean=150.0, voice_jitter=2.0)
    voice = reference.norms.locate(measured)
    assert (voice.tract_share, voice.female_share) == (0.5, None)
    assert set(reference.norms.standardise(measured, voice)) == {"pitch_mean", "voice_jitter"}


def test_without_pitch_features_that_depend_on_it_are_left_out(reference, make_features):
    measured = make_features(speech_rate=3.0, formant_1_mean=500.0)
    assert reference.norms.locate(measured) == UNKNOWN_VOICE
    assert set(reference.norms.standardise(measured, UNKNOWN_VOICE)) == {"speech_rate"}


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


@pytest.mark.parametrize("odds", [1e-9, 1 / 3, 1.0, 3.0, 1e9])
def test_the_logistic_function_turns_log_odds_into_a_share(odds):
    assert logistic(math.log(odds)) == pytest.approx(odds / (1 + odds))
    assert (logistic(-1e6), logistic(1e6)) == (0.0, 1.0)

from dataclasses import replace

import pytest

from vbdesk.contract.catalog import SignName
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.signs.norms import VoicePosition
from vbdesk.signs.score_to_level import index_to_level, index_to_score
from vbdesk.signs.scoring import feature_contributions, is_conclusive, measured_weight_share, score_sign, sign_index

EVERY_SIGN = pytest.mark.parametrize("name", list(SignName))


def read(reference, name, measured, conditions):
    voice = reference.norms.locate(measured)
    z = reference.norms.standardise(measured, voice)
    calibration = reference.calibration
    return score_sign(name, calibration.signs[name], calibration.scoring, z, replace(conditions, voice=voice))


def test_substance_use_pattern_agrees_with_a_manual_calculation(reference, make_features, quiet):
    measured = make_features(
        pitch_mean=119.0,  # 12 log2(119 / 150) = -4.00788 semitones
        pause_duration_variability=0.3,  # z = (ln 0.3 + 2.0338) / (0.57765 * 1.3)                  =  1.10501
        loudness_variability=10.0,  # z = (ln 10 - 2.1896) / (0.17246 * 1.1)                        =  0.59556
        spectral_slope_mid=-20.0,  # z = (-20 + 15.69 - 0.1505 * 4.00788) / (5.6881 * 1.1)          = -0.78523
        speech_rate=2.5,  # z = (2.5 - 3.6182) / (0.47622 * 1.3)                                    = -1.80623
    )
    reading = read(reference, SignName.SUBSTANCE_USE_PATTERN, measured, quiet)
    # raw = 0.375 * 1.10501 + 0.375 * 0.59556 + 0.125 * 0.78523 + 0.125 * 1.80623 = 0.96165
    assert reading.index == pytest.approx((0.96165 - 0.00421) / 0.6045, abs=1e-4)
    assert reading.score == pytest.approx(0.40349, abs=1e-4)  # 1 / (1 + exp(1.3863 - 0.62842 * 1.58386))
    assert reading.level is Level.NONE  # under 1.78


def test_dry_mouth_agrees_with_a_manual_calculation(reference, make_features, quiet):
    measured = make_features(
        pitch_mean=200.0,  # 12 log2(200 / 150) = 4.98045 semitones
        voice_jitter=4.0,  # z = (ln 4 - 0.81507 + 0.01378 * 4.98045) / (0.2063 * 1.1)              =  2.81967
        cepstral_peak_prominence=5.0,  # z = (5 - 7.7728 - 0.09176 * 4.98045) / 1                   = -3 (held)
        aspiration_noise=-3.0,  # z = (-3 + 5.6722 + 0.1927 * 4.98045) / (1.4248 * 1.1)             =  2.31735
        voice_shimmer=1.5,  # z = (ln 1.5 - 0.070795 + 0.009051 * 4.98045) / (0.15178 * 1.1)        =  2.27451
        harmonics_to_noise=9.0,  # z = (9 - 11.768 - 0.3536 * 4.98045) / (2.0718 * 1.1)             = -1.98736
    )
    reading = read(reference, SignName.DRY_MOUTH, measured, quiet)
    # raw = .2728*2.81967 + .2727*3 + .2727*2.31735 + .0909*2.27451 + .0909*1.98736 = 2.60668
    assert reading.index == pytest.approx((2.60668 + 0.0182) / 0.7696, abs=2e-3)
    assert reading.score == pytest.approx(0.66515, abs=1e-3)
    assert reading.level is Level.LOW  # over 2.281, but a twin of dehydration


@EVERY_SIGN
def test_the_healthy_mean_scores_a_fifth(calibration, at_index, quiet, name):
    sign = calibration.signs[name]
    z = at_index(sign, 0.0)
    if name is SignName.METABOLIC_LOAD:
        z = {row.feature: sign.reference_mean * (1 if row.weight > 0 else -1) for row in sign.evidence}
    reading = score_sign(name, sign, calibration.scoring, z, quiet)
    assert reading.index == pytest.approx(0.0, abs=1e-3)
    assert round(reading.score, 3) == 0.2
    assert reading.level is Level.NONE


@EVERY_SIGN
def test_the_cut_for_consider_scores_a_half(calibration, at_index, quiet, name):
    sign = calibration.signs[name]
    assert round(index_to_score(sign, sign.cut_consider), 4) == 0.5
    reading = score_sign(name, sign, calibration.scoring, at_index(sign, sign.cut_consider + 1e-3), quiet)
    assert reading.level is min(Level.CONSIDER, sign.max_level, key=LEVEL_ORDER.index)


@EVERY_SIGN
def test_levels_change_at_the_cuts_and_stop_at_the_cap(calibration, name):
    sign = calibration.signs[name]
    cap = LEVEL_ORDER.index(sign.max_level)
    for below, (level, cut) in zip(LEVEL_ORDER, sign.cuts.items(), strict=False):
        assert index_to_level(sign, cut) is LEVEL_ORDER[min(LEVEL_ORDER.index(level), cap)]
        for rounding in (1e-12, 5e-10):
            assert index_to_level(sign, cut - rounding) is LEVEL_ORDER[min(LEVEL_ORDER.index(level), cap)]
        for shortfall in (1e-8, 0.001):
            assert index_to_level(sign, cut - shortfall) is LEVEL_ORDER[min(LEVEL_ORDER.index(below), cap)]
    assert index_to_level(sign, 50.0) is sign.max_level


def test_a_missing_feature_adds_nothing(calibration):
    sign = calibration.signs[SignName.STRESS]
    z = {"pitch_mean": 1.0, "pitch_variability": 1.0}
    assert feature_contributions(sign, z, 0.0) == {"pitch_mean": 0.4761, "pitch_variability": 0.1429}
    assert sign_index(sign, z, 0.0) == pytest.approx((0.619 + 0.004301) / 0.5496)


def test_a_row_of_one_class_counts_in_proportion_to_it(calibration):
    sign = calibration.signs[SignName.METABOLIC_LOAD]
    assert feature_contributions(sign, {"pitch_mean": -2.0}, 0.0)["pitch_mean"] == 0
    assert feature_contributions(sign, {"pitch_mean": -2.0}, 0.5)["pitch_mean"] == pytest.approx(0.3584)
    without_pitch = {row.feature: 0.0 for row in sign.evidence if row.feature != "pitch_mean"}
    assert measured_weight_share(sign, without_pitch, 0.0) == pytest.approx(1.0)
    assert measured_weight_share(sign, without_pitch, 1.0) == pytest.approx(0.6416, abs=1e-4)


def full(sign):
    return {row.feature: 0.0 for row in sign.evidence}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (SignName.FATIGUE, {"speech_seconds": 9.9}),
        (SignName.FATIGUE, {"voice_percentage": 29.9}),
        (SignName.DEHYDRATION, {"audio_clarity": 49.9}),
        (SignName.ELEVATED_ANDROGENS, {"voice": VoicePosition(4.0, 1.0, 0.89)}),
        (SignName.ELEVATED_ANDROGENS, {"voice": VoicePosition(4.0, 1.0, None)}),
    ],
)
def test_each_limit_alone_makes_a_sign_inconclusive(calibration, quiet, name, change):
    sign = calibration.signs[name]
    assert is_conclusive(calibration.scoring, sign, full(sign), quiet)
    limited = replace(quiet, **change)
    assert not is_conclusive(calibration.scoring, sign, full(sign), limited)
    assert score_sign(name, sign, calibration.scoring, full(sign), limited).level is Level.INCONCLUSIVE


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (SignName.FATIGUE, {"speech_seconds": 10.0}),
        (SignName.FATIGUE, {"voice_percentage": 30.0}),
        (SignName.FATIGUE, {"audio_clarity": 10.0}),  # noise does not touch its timing
        (SignName.DEHYDRATION, {"audio_clarity": 50.0}),
        (SignName.DEHYDRATION, {"audio_clarity": None, "voice_percentage": None}),
        (SignName.ELEVATED_ANDROGENS, {"voice": VoicePosition(4.0, 1.0, 0.9)}),
    ],
)
def test_a_sign_is_scored_at_the_limit(calibration, quiet, name, change):
    sign = calibration.signs[name]
    assert is_conclusive(calibration.scoring, sign, full(sign), replace(quiet, **change))


def test_too_little_of_the_weight_makes_a_sign_inconclusive_but_keeps_its_score(calibration, quiet):
    sign = calibration.signs[SignName.STRESS]
    reading = score_sign(SignName.STRESS, sign, calibration.scoring, {"pitch_mean": 3.0}, quiet)  # 0.4761 of 1
    assert reading.level is Level.INCONCLUSIVE
    assert reading.score > 0.5


@pytest.mark.parametrize(
    ("name", "sensitive"),
    [
        (SignName.DEHYDRATION, True),
        (SignName.DRY_MOUTH, True),
        (SignName.COGNITIVE_LOAD, True),  # 0.4017
        (SignName.ALLERGY, True),  # 0.4
        (SignName.STRESS, False),
        (SignName.MOOD_DISRUPTION, False),
    ],
)
def test_a_sign_is_noise_sensitive_from_four_tenths_of_its_weight(calibration, name, sensitive):
    assert calibration.scoring.noise_sensitive(calibration.signs[name].weights) is sensitive


def test_where_nothing_was_measured_the_score_is_the_healthy_mean(calibration, quiet):
    reading = score_sign(SignName.STRESS, calibration.signs[SignName.STRESS], calibration.scoring, {}, quiet)
    assert (reading.score, reading.level, reading.index) == (0.2, Level.INCONCLUSIVE, None)


def test_a_sign_that_does_not_apply_has_a_score_and_no_level(calibration, quiet):
    """A score that fell to that of the healthy mean would jump where the voice class changes."""
    sign = calibration.signs[SignName.ELEVATED_ANDROGENS]
    z = dict.fromkeys(full(sign), -3.0)
    there, here = (
        score_sign(SignName.ELEVATED_ANDROGENS, sign, calibration.scoring, z, replace(quiet, voice=voice))
        for voice in (VoicePosition(-4.0, 1.0, 0.0), VoicePosition(-4.0, 1.0, 1.0))
    )
    assert (there.level, here.level) == (Level.INCONCLUSIVE, Level.LOW)
    assert there.score == here.score > 0.5

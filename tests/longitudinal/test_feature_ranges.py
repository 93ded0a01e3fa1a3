"""Vocal features against a person's own usual range, on simulated people."""

import math
import random
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from vbdesk.data_files import DataFileError
from vbdesk.lab.variability.feature_scales import fit_within_variance, write_feature_scales
from vbdesk.longitudinal.feature_ranges import FeatureReading, own_ranges
from vbdesk.longitudinal.feature_scales import read_feature_scales, shipped_feature_scales
from vbdesk.longitudinal.parameters import shipped_parameters
from vbdesk.signs.reference_data import load_reference_data

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
EARLIER = shipped_feature_scales().min_earlier_days


@pytest.fixture(scope="module")
def people():
    """The simulation whose tables the method page shows."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import feature_range_figures

        yield feature_range_figures
    finally:
        sys.path.remove(str(BENCHMARKS))


def series(values, feature="pitch_mean", *, days=None, version="2.0.0"):
    unit = shipped_feature_scales().feature[feature].unit
    days = days or range(0, 7 * len(values), 7)
    return [
        FeatureReading(f"{k:03d}", START + timedelta(days=day), value, unit, version, 50.0, 60.0, 80.0)
        for k, (day, value) in enumerate(zip(days, values, strict=True))
    ]


STEADY = [120.0, 118.0, 123.0, 121.0, 117.0, 122.0, 119.0, 121.0, 120.0, 118.0]


@pytest.mark.parametrize("feature", ["pitch_mean", "speech_rate"])
@pytest.mark.parametrize("variance", [0.4, 1.0, 3.0])
def test_people_who_do_not_change_are_rarely_told_otherwise(people, feature, variance):
    episodes, outside = people.false_alarms(feature, variance, people=60)
    assert episodes <= 0.13  # 0.10 is the bar of the method; 50 person-years have a standard error of 0.04
    assert 0.02 < outside <= 0.11


def test_a_raised_pitch_and_a_slow_tempo_are_seen_while_they_last(people):
    assert people.power("pitch_mean", math.log(1.15), held=12, people=40) >= 0.8
    assert people.power("pitch_mean", math.log(1.15), held=4, variance=0.4, people=40) >= 0.8
    assert people.power("speech_rate", -0.25 * 3.9, held=12, level=3.9, people=40) >= 0.8
    assert people.power("speech_rate", -0.25 * 3.9, held=4, variance=0.4, level=3.9, people=40) >= 0.8


def test_the_range_holds_the_persons_values_and_a_drop_lies_below():
    ranges = own_ranges("pitch_mean", series([*STEADY, 96.0]))
    last = ranges["010"]
    assert 100 < last.low < 117
    assert 123 < last.high < 145
    assert last.position == "below"
    assert last.z < -1.645
    assert last.days == 10
    assert all(one.position == "within" and not one.changed for job, one in ranges.items() if job != "010")


def test_a_value_is_outside_the_range_where_its_z_is_beyond_the_level(people):
    generator = people.np.random.default_rng(5)
    for _ in range(20):
        readings = people.person(generator, "pause_ratio", 30, variance=2.0)
        value = {one.job_id: one.value for one in readings}
        for job_id, found in own_ranges("pause_ratio", readings).items():
            below, above = value[job_id] < found.low, value[job_id] > found.high
            assert found.position == ("below" if below else "above" if above else "within")
            assert (abs(found.z) > 1.6449) == (below or above)


def test_nothing_is_told_before_the_fewest_earlier_days():
    assert own_ranges("pitch_mean", []) == {}
    assert own_ranges("pitch_mean", series([120.0])) == {}
    assert own_ranges("pitch_mean", series([120.0] * (EARLIER - 1) + [400.0])) == {}
    assert list(own_ranges("pitch_mean", series(STEADY))) == [f"{k:03d}" for k in range(EARLIER, len(STEADY))]


def test_many_recordings_of_one_day_are_one_day():
    assert own_ranges("pitch_mean", series([120.0] * 30, days=[k / 100 for k in range(30)])) == {}


def test_later_recordings_change_nothing_and_order_does_not_count():
    readings = series([*STEADY, 96.0, 95.0])
    known = own_ranges("pitch_mean", readings[:8])
    everything = own_ranges("pitch_mean", readings)
    assert known.items() <= everything.items()
    shuffled = list(readings)
    random.Random(4).shuffle(shuffled)
    assert own_ranges("pitch_mean", shuffled) == everything


def test_constant_values_have_a_finite_range_that_holds_them():
    last = own_ranges("pitch_mean", series([120.0] * 40))["039"]
    assert 90 < last.low < 120 < last.high < 160
    assert (last.position, last.changed) == ("within", False)


def test_missing_and_impossible_values_are_left_out():
    broken = [None, math.nan, math.inf, 0.0, -5.0]
    mixed = series([*STEADY[:3], *broken, *STEADY[3:]])
    clean = [one for one in mixed if one.value in STEADY]
    assert own_ranges("pitch_mean", mixed) == own_ranges("pitch_mean", clean)
    assert own_ranges("pitch_mean", series([0.0] * 12)) == {}


@pytest.mark.parametrize("feature", ["pitch_mean", "h1_h2_difference"])
@pytest.mark.parametrize("value", [1e300, -1e300, 1e-300, 1e9])
def test_numbers_that_no_voice_has_are_left_out(feature, value):
    if feature == "h1_h2_difference" and value == 1e-300:
        value = 5e4
    mixed = series([*STEADY[:3], value, *STEADY[3:]], feature)
    assert own_ranges(feature, mixed) == own_ranges(feature, [one for one in mixed if one.value in STEADY])


def test_a_value_under_the_floor_counts_as_the_floor():
    floor = shipped_feature_scales().feature["pause_ratio"].floor
    values = [12.0, 9.0, 14.0, 11.0, 10.0, 13.0]
    at_zero, at_floor = (own_ranges("pause_ratio", series([*values, end], "pause_ratio")) for end in (0.0, floor))
    assert at_zero == at_floor
    assert at_zero["006"].position == "below"


def test_negative_values_of_a_linear_feature_count():
    values = [-3.0, -2.0, 0.0, -4.0, -1.0, -2.5, 30.0]
    last = own_ranges("h1_h2_difference", series(values, "h1_h2_difference"))["006"]
    assert last.low < -2 < last.high < 30
    assert last.position == "above"


def test_analysis_versions_are_never_mixed():
    old, new = series(STEADY, version="1.0.0"), series([150.0] * EARLIER, version="2.0.0")
    moved = [
        replace(one, job_id=f"n{k}", recorded_at=one.recorded_at + timedelta(days=100)) for k, one in enumerate(new)
    ]
    ranges = own_ranges("pitch_mean", [*old, *moved])
    assert ranges == own_ranges("pitch_mean", old)
    unknown = [replace(one, version=None) for one in old]
    assert own_ranges("pitch_mean", unknown) == {}


def test_another_unit_and_an_unknown_feature_are_not_compared():
    readings = series(STEADY)
    assert own_ranges("pitch_mean", [replace(one, unit="semitones") for one in readings]) == {}
    stranger = replace(readings[-1], job_id="x", value=17.0, unit="semitones")
    assert own_ranges("pitch_mean", [*readings, stranger]) == own_ranges("pitch_mean", readings)
    assert own_ranges("no_such_feature", readings) == {}


def test_a_poor_recording_has_a_wider_range():
    good = series([*STEADY, 108.0])
    poor = [*good[:-1], replace(good[-1], duration_s=6.0, audio_clarity=5.0)]
    wide, usual = own_ranges("pitch_mean", poor)["010"], own_ranges("pitch_mean", good)["010"]
    assert wide.high - wide.low > 1.2 * (usual.high - usual.low)
    assert abs(wide.z) < abs(usual.z)


def test_after_years_without_recordings_the_norm_is_uncertain():
    readings = series([*STEADY, 121.0])
    later = [*readings[:-1], replace(readings[-1], recorded_at=START + timedelta(days=2000))]
    soon, late = own_ranges("pitch_mean", readings)["010"], own_ranges("pitch_mean", later)["010"]
    assert late.high - late.low > 3 * (soon.high - soon.low)


def test_scales_are_those_of_the_norms():
    norms = load_reference_data().norms
    scales = shipped_feature_scales()
    assert scales.fit["norms"] == norms.meta.version
    assert scales.feature.keys() == norms.features.keys()
    for name, scale in scales.feature.items():
        norm = norms.features[name]
        assert (scale.scale, scale.unit) == (norm.scale, norm.unit)
        assert (scale.floor, scale.ceiling) == (norm.floor, norm.ceiling)
        usual = scale.restore(scale.mean)
        assert scale.transform(usual) == pytest.approx(norm.transform(usual))
        assert scale.mean == pytest.approx(norm.mixed.t_mean, rel=0.01, abs=0.01)
        assert scale.within_variance < scale.between_variance


@pytest.mark.parametrize("feature", ["pitch_mean", "speech_rate"])
def test_a_known_variance_within_people_is_found(people, feature):
    generator = people.np.random.default_rng(6)
    scale = shipped_feature_scales().feature[feature]
    readings = {str(number): people.person(generator, feature, 12, gap_days=30.0, variance=0.5) for number in range(40)}
    found, estimates = fit_within_variance(readings, scale, shipped_parameters(), people.STATE_SHARE)
    assert estimates == 40
    assert found == pytest.approx(0.5 * scale.within_variance, rel=0.25)
    assert fit_within_variance({"one": readings["0"][:1]}, scale, shipped_parameters(), 0.5) is None


def test_scales_are_written_as_they_are_read(tmp_path):
    path = tmp_path / "new" / "features.toml"
    write_feature_scales(shipped_feature_scales(), path)
    assert read_feature_scales(path) == shipped_feature_scales()
    path.write_text(path.read_text().replace('scale = "log"', 'scale = "cubic"'))
    with pytest.raises(DataFileError):
        read_feature_scales(path)


@pytest.mark.parametrize("first", [120.0, 240.0, 60.0])
@pytest.mark.parametrize("moved", [0.8, 1.25])
def test_a_wrong_first_value_hides_no_later_change(first, moved):
    """An octave error in the first recording: the limits are those of the person's norm, wherever the series began."""
    steady = [STEADY[k % len(STEADY)] for k in range(40)]
    readings = series([first, *steady, *[moved * value for value in STEADY[:6]]])
    ranges = own_ranges("pitch_mean", readings)
    assert any(ranges[f"{k:03d}"].changed for k in range(41, 47))
    assert not any(ranges[f"{k:03d}"].changed for k in range(25, 41))

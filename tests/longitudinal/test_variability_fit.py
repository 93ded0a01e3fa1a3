"""The fit of the variances within people, on people whose variances are known."""

import numpy as np
import pytest

from vbdesk.lab.variability.fit import fit_variability
from vbdesk.lab.variability.fitted_parameters import with_variability, write_parameters
from vbdesk.longitudinal.history import SignReading
from vbdesk.longitudinal.parameters import read_parameters, shipped_parameters
from vbdesk.longitudinal.scale import score_of
from vbdesk.longitudinal.variance_prior import VarianceEstimate, fit_variance_prior

SHIPPED = shipped_parameters("tss-2")
OFFSET = SHIPPED.scale.offset


def estimates(median, weight, df, count=400):
    """Sample variances of people whose own variances are inverse-gamma."""
    generator = np.random.default_rng(3)
    own = 1.0 / generator.chisquare(weight, count)
    own *= median / np.median(own)
    return [VarianceEstimate(float(v * generator.chisquare(df) / df), df) for v in own]


@pytest.mark.parametrize(("median", "weight"), [(0.05, 8.0), (0.3, 3.0)])
@pytest.mark.parametrize("df", [2, 10])
def test_the_prior_of_known_people_is_found(median, weight, df):
    prior = fit_variance_prior(estimates(median, weight, df))
    assert prior.median == pytest.approx(median, rel=0.15)
    assert weight / 2 < prior.weight < 2 * weight


def test_people_who_are_alike_have_a_heavy_prior():
    alike, unlike = (fit_variance_prior(estimates(0.05, weight, 10)).weight for weight in (40.0, 2.0))
    assert alike > 20 > 4 > unlike


def test_nobody_with_two_recordings_is_an_error(histories):
    with pytest.raises(ValueError, match="add recordings of other sessions"):
        fit_variance_prior([VarianceEstimate(0.0, 0.0)])
    with pytest.raises(ValueError, match="add recordings of other sessions"):
        fit_variability({"a": histories.series([1.0], [0.3])}, [], SHIPPED)


@pytest.fixture
def people(histories):
    """Twelve people with ten sessions: a session's part of 0.03, a reading's of 0.02."""
    generator = np.random.default_rng(4)

    def entry(level):
        reading = {sign: float(score_of(level + 0.02**0.5 * generator.normal(), OFFSET)) for sign in ("stress", "our")}
        return histories.entry(0, 0.0, reading, duration_s=30.0, voice_percentage=100.0, audio_clarity=90.0)

    people, halves = {}, []
    for number in range(12):
        norm = generator.normal(-1.0, 0.5)
        sessions = [norm + 0.03**0.5 * generator.normal() for _ in range(10)]
        people[str(number)] = [entry(session) for session in sessions]
        halves += [(entry(session), entry(session)) for session in sessions]
    return people, halves


def test_what_a_session_has_in_common_is_told_from_a_reading(people):
    fitted = fit_variability(*people, SHIPPED)
    assert fitted.classes.keys() == {"fast", "slow"}
    for found in fitted.classes.values():
        assert found.pooled_variance == pytest.approx(0.05, rel=0.25)
        assert found.prior.median == pytest.approx(0.05, rel=0.25)
        assert found.trait_mean == pytest.approx(-1.0, abs=0.4)
    assert fitted.state_share == pytest.approx(0.6, abs=0.12)
    assert fit_variability(people[0], [], SHIPPED).state_share is None


def test_unusable_recordings_and_missing_scores_do_not_count(people, histories):
    sessions, halves = people
    noisy = histories.entry(9, 0.0, {"stress": 0.99, "our": 0.99}, duration_s=5.0, audio_clarity=0.0)
    silent = histories.entry(9, 0.0, {"stress": None, "our": None})
    more = {name: [*entries, noisy, silent] for name, entries in sessions.items()}
    assert fit_variability(more, halves, SHIPPED) == fit_variability(sessions, halves, SHIPPED)


def test_a_fit_becomes_parameters_that_can_be_read(people, tmp_path):
    fitted = fit_variability(*people, SHIPPED)
    parameters = with_variability(SHIPPED, fitted, "ours-1", {"people": 12})
    path = tmp_path / "new" / "ours.toml"
    write_parameters(parameters, path)
    assert read_parameters(path) == parameters
    assert (parameters.version, parameters.fit) == ("ours-1", {"people": 12})
    fast, shipped = parameters.classes["fast"], SHIPPED.classes["fast"]
    assert fast.within_variance == pytest.approx(fitted.classes["fast"].prior.median, rel=0.01)
    assert fast.sustained_limit == shipped.sustained_limit
    ratio = fast.shift_variance / fast.within_variance
    assert ratio == pytest.approx(shipped.shift_variance / shipped.within_variance, rel=0.02)


def test_a_wide_interval_of_its_own_lowers_a_readings_weight_only_beyond_the_usual(people):
    sessions, halves = people

    def with_interval(entry, half):
        signs = {
            sign: SignReading(r.score, r.level, r.flagged, (max(r.score - half, 0.0), min(r.score + half, 1.0)))
            for sign, r in entry.signs.items()
        }
        return type(entry)(**{**{name: getattr(entry, name) for name in entry.__slots__}, "signs": signs})

    wide = {name: [with_interval(entry, 0.08) for entry in entries] for name, entries in sessions.items()}
    fitted = fit_variability(wide, halves, SHIPPED)
    parameters = with_variability(SHIPPED, fitted, "ours-1", {})
    assert parameters.interval_variance("stress") == pytest.approx(fitted.interval_variance["stress"], rel=0.01)
    assert shipped_parameters("tss-1").interval_variance("stress") == 0.3

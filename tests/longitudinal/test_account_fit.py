"""Usual variances from an account's own groups."""

from datetime import timedelta

import numpy as np
import pytest

from vbdesk.longitudinal import trajectory
from vbdesk.longitudinal.account_fit import FittedMedians, fit_account, personal_variances, with_account_fit
from vbdesk.longitudinal.parameters import shipped_parameters
from vbdesk.longitudinal.scale import score_of

SECOND = shipped_parameters("tss-2")


@pytest.fixture
def account(histories):
    """Histories of groups whose readings vary by a variance around their own norm."""

    def build(count, variance, recordings=20):
        generator = np.random.default_rng(7)
        for _ in range(count):
            values = generator.normal(-1.0, 0.5) + variance**0.5 * generator.normal(size=recordings)
            yield histories.series(range(0, 7 * recordings, 7), score_of(values, 0.05))

    return build


def fitted(histories, groups, parameters=SECOND):
    now = histories.start + timedelta(days=150)
    return fit_account((personal_variances(group, now, parameters) for group in groups), now, parameters)


@pytest.mark.parametrize("variance", [0.05, 0.2])
def test_the_groups_usual_variance_is_found(histories, account, variance):
    fit = fitted(histories, account(47, variance))
    assert fit.medians.keys() == {"fast"}
    assert fit.medians["fast"] == pytest.approx(variance, rel=0.3)
    assert fit.n_groups == 40


def test_a_fit_needs_thirty_groups_with_six_timepoints_and_the_second_method(histories, account):
    assert fitted(histories, account(29, 0.1)) is None
    assert fitted(histories, account(30, 0.1)) is not None
    assert fitted(histories, account(40, 0.1, recordings=5)) is None
    assert fitted(histories, account(40, 0.1), shipped_parameters("tss-1")) is None


def test_an_extreme_account_stays_where_the_limits_are_tuned(histories, account):
    assert fitted(histories, account(30, 0.0001)).medians["fast"] == 0.02
    assert fitted(histories, account(30, 1.5)).medians["fast"] == 0.3


def test_a_trajectory_tells_whose_variances_it_uses(histories, account):
    fit = fitted(histories, account(30, 0.2))
    history = next(account(1, 0.2))
    now = histories.start + timedelta(days=150)
    own = trajectory("g", history, now, labels={}, parameters=with_account_fit(SECOND, fit))
    shipped = trajectory("g", history, now, labels={}, parameters=SECOND)
    assert own.parameters.model_dump() == {
        "version": "tss-2.0+2025-11",
        "source": "account_groups",
        "n_groups": 30,
        "fitted_at": fit.fitted_at,
    }
    assert (shipped.parameters.version, shipped.parameters.source) == ("tss-2.0", "shipped")
    assert own.signs != shipped.signs


def test_a_fit_for_other_parameters_is_left_aside(histories):
    fit = FittedMedians(version="tss-3.0+2026-01", fitted_at=histories.start, n_groups=30, medians={"fast": 0.2})
    assert with_account_fit(SECOND, fit) == SECOND
    assert with_account_fit(SECOND, None) == SECOND

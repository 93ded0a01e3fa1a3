"""Reference for `population_z` from the account's own groups [F15].

Three rules keep a single subject from being inferred: accounts are never pooled, only two order statistics leave the
computation, and fewer than 30 groups give no reference.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import isfinite, sqrt
from typing import Literal

import numpy as np

from vbdesk.longitudinal.filtered_series import filter_signs, last_estimate
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.parameters import CohortRule, Parameters, shipped_parameters
from vbdesk.longitudinal.window import window_as_of

MAD_TO_SD = 1.4826  # of a normal distribution


@dataclass(frozen=True, slots=True)
class CohortReference:
    """Location and scale of a population on the started-logit scale.

    Attributes:
        location: median level.
        scale: robust standard deviation.
        source: the account's groups, or a reference shipped with the sign.
        n_groups: number of groups; None for a shipped reference.
        snapshot_at: when the snapshot was taken; None before that.
    """

    location: float
    scale: float
    source: Literal["account_cohort", "shipped"] = "shipped"
    n_groups: int | None = None
    snapshot_at: datetime | None = None


def cohort_reference(
    values: Iterable[float | None], shipped: CohortReference | None = None, rule: CohortRule | None = None
) -> CohortReference | None:
    """Compute a reference from the `cohort_values` of the *other* groups.

    It is blended with the sign's shipped reference, if any. With fewer groups than the rule requires, the result is the
    shipped reference or None.
    """
    rule = rule or shipped_parameters().cohort
    levels = np.array([value for value in values if value is not None and isfinite(value)])
    n = len(levels)
    if n < rule.min_groups:
        return shipped
    location = float(np.median(levels))
    scale = MAD_TO_SD * float(np.median(np.abs(levels - location)))
    if shipped is not None:
        weight = n / (n + rule.prior_groups)
        location = weight * location + (1.0 - weight) * shipped.location
        scale = sqrt(weight * scale**2 + (1.0 - weight) * shipped.scale**2)
    return CohortReference(location, max(scale, rule.min_scale), "account_cohort", n)


def snapshot(reference: CohortReference, taken_at: datetime) -> CohortReference:
    """Round a reference for publication, so that one group more or less does not show.

    Take a snapshot at most once a day, and drop it as soon as membership falls below the minimum.
    """
    n_groups = None if reference.n_groups is None else reference.n_groups // 10 * 10
    return replace(
        reference,
        location=round(reference.location, 2),
        scale=round(reference.scale, 2),
        n_groups=n_groups,
        snapshot_at=taken_at,
    )


def cohort_values(
    history: Sequence[HistoryEntry], as_of: datetime, parameters: Parameters | None = None
) -> dict[str, float]:
    """Current level (started logit) of one group by sign, for its account's cohorts.

    A sign with too few timepoints, or measured too long ago, is left out.
    """
    parameters = parameters or shipped_parameters()
    rule = parameters.cohort
    entries = window_as_of(history, as_of, parameters.window.future_hours).entries
    signs = sorted({sign for entry in entries for sign in entry.signs})
    recent = timedelta(days=rule.member_within_days)
    return {
        sign: last_estimate(series, column, parameters).level
        for series in filter_signs(entries, signs, parameters)
        if len(series.steps) >= rule.member_min_timepoints and as_of - series.recordings[-1].recorded_at <= recent
        for column, sign in enumerate(series.signs)
    }


def population_z(level: float, reference: CohortReference | None) -> float | None:
    """Position of `level` (started logit) in the population; None without a reference."""
    return None if reference is None else (level - reference.location) / reference.scale

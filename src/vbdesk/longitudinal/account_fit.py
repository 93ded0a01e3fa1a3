"""The usual variances of an account's groups, in place of the shipped ones (empirical Bayes) [F17].

Only the medians change. Weight of the prior and limits stay, because they are tuned to each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pydantic import AwareDatetime

from vbdesk.data_files import StrictDataModel
from vbdesk.longitudinal.filtered_series import filter_signs
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.parameters import AccountFit, Parameters
from vbdesk.longitudinal.variance_prior import VarianceEstimate, fit_variance_prior
from vbdesk.longitudinal.window import window_as_of

METHOD = "tss-2"
FEWEST_TIMEPOINTS = 6
PER_TEN = 10
MEDIAN_RANGE = (0.02, 0.3)
"""Medians outside are held to it: the limits are tuned for people of 0.03 to 0.55."""


class FittedMedians(StrictDataModel):
    """Fitted medians by class of signs, rounded for publication."""

    version: str
    fitted_at: AwareDatetime
    n_groups: int
    medians: dict[str, float]


Estimates = Mapping[str, Sequence[VarianceEstimate]]
"""Personal variances of one group's signs, by class."""


def personal_variances(history: Sequence[HistoryEntry], as_of: datetime, parameters: Parameters) -> Estimates:
    """The variances within one group, by class of signs; without signs of fewer than six timepoints."""
    entries = window_as_of(history, as_of, parameters.window.future_hours).entries
    signs = sorted({sign for entry in entries for sign in entry.signs})
    found: dict[str, list[VarianceEstimate]] = {}
    prior = parameters.personal_scale.prior_readings
    for series in filter_signs(entries, signs, parameters):
        if len(series.steps) >= FEWEST_TIMEPOINTS:
            within = series.sign_class.within_variance
            for column, sign in enumerate(series.signs):
                df = float(series.filtered.df[-1, column])
                squares = float(series.filtered.variance_ratio[-1, column]) * df - prior  # without the prior's part
                if squares > 0.0:
                    estimate = VarianceEstimate(within * squares / (df - prior), df - prior)
                    found.setdefault(parameters.class_name(sign), []).append(estimate)
    return found


def fit_account(groups: Iterable[Estimates], fitted_at: datetime, parameters: Parameters) -> FittedMedians | None:
    """Fit the medians to an account's groups; None if no class has enough of them."""
    by_class: dict[str, list[Sequence[VarianceEstimate]]] = {}
    for group in groups:
        for name, estimates in group.items():
            by_class.setdefault(name, []).append(estimates)
    enough = {name: found for name, found in by_class.items() if len(found) >= parameters.cohort.min_groups}
    if parameters.method != METHOD or not enough:
        return None
    lowest, highest = MEDIAN_RANGE
    medians = {
        name: round(min(max(fit_variance_prior(one for own in found for one in own).median, lowest), highest), 3)
        for name, found in enough.items()
    }
    fewest = min(len(found) for found in enough.values())
    return FittedMedians(
        version=f"{parameters.version}+{fitted_at:%Y-%m}",
        fitted_at=fitted_at,
        n_groups=fewest // PER_TEN * PER_TEN,
        medians=medians,
    )


def with_account_fit(parameters: Parameters, fitted: FittedMedians | None) -> Parameters:
    """Parameters with the account's medians; unchanged if they were fitted for others."""
    if fitted is None or not fitted.version.startswith(f"{parameters.version}+"):
        return parameters
    classes = {
        name: sign_class.with_within_variance(fitted.medians[name]) if name in fitted.medians else sign_class
        for name, sign_class in parameters.classes.items()
    }
    account = AccountFit(n_groups=fitted.n_groups, fitted_at=fitted.fitted_at)
    return parameters.model_copy(update={"version": fitted.version, "classes": classes, "account_fit": account})

"""Figures: false alarms, power, delay, coverage and errors."""

import numpy as np
from numpy.typing import NDArray

from vbdesk.lab.simulation.longitudinal.filtered_subjects import FilteredSubjects, RollingReads
from vbdesk.lab.simulation.longitudinal.simulated_subjects import CHANGE_DAY, SimulatedSubjects, score_of_logit
from vbdesk.longitudinal.scale import Array, score_of, started_logit

Figures = dict[str, float]
Flags = NDArray[np.bool_]

SETTLED_DAY = 60.0  # false alarms are counted from here on
DAYS_A_YEAR = 365.0
POINTS = 100.0  # errors are in score points
FEW = slice(1, 5)  # histories of two to five recordings


def false_alarms(subjects: SimulatedSubjects, results: FilteredSubjects) -> Figures:
    """False-alarm episodes per subject-year after the first 60 days."""
    return {"episodes_per_year": episodes_per_year(subjects.days, results.anomaly)[0]}


def stable_figures(subjects: SimulatedSubjects, results: FilteredSubjects, offset: float) -> Figures:
    """All figures of subjects who do not change."""
    days, anomaly, norm = subjects.days, results.anomaly, subjects.norm[:, None]
    settled = days >= SETTLED_DAY
    noisiest = np.argsort(subjects.own_sd)[-len(days) // 4 :]
    began = _onsets(anomaly)
    within_latest = _within(subjects.level, results.latest_band)
    within_baseline = _within(np.broadcast_to(norm, days.shape), results.baseline_band)
    foretold = _within(subjects.readings[:, 1:], results.normal_range[:, :, :-1])
    figures = {
        "alarm_share": float(anomaly[settled].mean()),
        "episodes_per_year": episodes_per_year(days, anomaly)[0],
        "episodes_per_year_all": float(began.sum() / ((days[:, -1] - days[:, 2]).sum() / DAYS_A_YEAR)),
        "episodes_per_year_noisiest": episodes_per_year(days[noisiest], anomaly[noisiest])[0],
        "rmse_latest": _rmse((results.latest - subjects.level)[settled]),
        "rmse_reading": _rmse((subjects.readings - subjects.level)[settled]),
        "rmse_baseline": _rmse((results.baseline - norm)[settled]),
        "rmse_baseline_n2_5": _rmse((results.baseline - norm)[:, FEW]),
        "rmse_mean_n2_5": _rmse((_running_mean(subjects.readings, offset) - norm)[:, FEW]),
        "cover_latest": float(within_latest.mean()),
        "cover_baseline": float(within_baseline.mean()),
        "cover_normal_range": float(foretold.mean()),
        "sd_z": float(results.z[:, 2:].std()),
        "share_z_above_2": float(np.mean(np.abs(results.z[:, 2:]) > 2.0)),
    }
    figures |= {f"alarm_share_n{n}": float(anomaly[:, n - 1].mean()) for n in (3, 4, 5, 6)}
    figures |= {f"cover_baseline_n{n}": float(within_baseline[:, n - 1].mean()) for n in (2, 3, 5)}
    figures["latest_over_reading"] = figures["rmse_latest"] / figures["rmse_reading"]
    figures["baseline_over_mean_n2_5"] = figures["rmse_baseline_n2_5"] / figures["rmse_mean_n2_5"]
    return figures | trend_figures(results)


def change_figures(subjects: SimulatedSubjects, results: FilteredSubjects) -> Figures:
    """Power and delay of detecting a lasting upward change."""
    found = results.anomaly & (results.deviation > 0.0) & (subjects.days >= CHANGE_DAY)
    delays = np.where(found, subjects.days, np.inf).min(axis=1) - CHANGE_DAY
    seen = np.isfinite(delays)
    late = subjects.days >= CHANGE_DAY + 14.0
    return {
        "power_120d": float(seen.mean()),
        "power_30d": float(np.mean(delays <= 30.0)),
        "delay_days": float(np.median(delays[seen])) if seen.any() else float("nan"),
        "rmse_latest": _rmse((results.latest - subjects.level)[late]),
    } | trend_figures(results)


def single_day_figures(subjects: SimulatedSubjects, results: FilteredSubjects) -> Figures:
    """Effect of an outlier or excursion on that day and the next five weeks."""
    rows, hit = np.arange(len(subjects.days)), subjects.changed
    that_day = subjects.days[rows, hit][:, None]
    after = (subjects.days > that_day) & (subjects.days <= that_day + 35.0)
    later = results.anomaly & after & (results.deviation > 0.0)
    return {
        "alarm_that_day": float(results.anomaly[rows, hit].mean()),
        "alarm_within_35d": float(later.any(axis=1).mean()),
        "baseline_bias": float((results.baseline - subjects.norm[:, None])[after].mean()) * POINTS,
    }


def trend_figures(results: FilteredSubjects) -> Figures:
    """Share of each trend label at the end."""
    trends = np.array(results.trends)
    return {f"trend_{direction}": float(np.mean(trends == direction)) for direction in ("rising", "falling")}


def rolling_figures(stable: SimulatedSubjects, rolling: RollingReads, last_day: float) -> Figures:
    """False alarms when every recording is read from its own window."""
    onsets = _onsets(rolling.anomaly)
    late = stable.days >= last_day / 2.0
    years = (stable.days[:, -1] - stable.days[:, 2]).sum() / DAYS_A_YEAR
    late_years = len(stable.days) * last_day / 2.0 / DAYS_A_YEAR
    return {
        "episodes_per_year": float(onsets.sum() / years),
        "episodes_per_year_after_270d": float((onsets & late).sum() / late_years),
        "rmse_baseline_after_270d": _rmse((rolling.baseline - stable.norm[:, None])[late]),
    }


def absorption_figures(stepped: SimulatedSubjects, rolling: RollingReads, offset: float) -> Figures:
    """Absorbed share of a 1-SD step, and share still alarmed, by days since."""
    norm = started_logit(stepped.norm, offset)
    full = started_logit(score_of_logit(stepped.norm_logit + stepped.own_sd), offset) - norm
    moved = (started_logit(rolling.baseline, offset) - norm[:, None]) / full[:, None]
    figures = {}
    for day in (30, 60, 120, 240, 380):
        near = np.abs(stepped.days - CHANGE_DAY - day) < 4.0
        figures[f"absorbed_{day}d"] = float(np.median(moved[near]))
        figures[f"alarm_{day}d"] = float(rolling.anomaly[near].mean())
    return figures


def episodes_per_year(days: Array, anomaly: Flags) -> tuple[float, float]:
    """Episodes per subject-year after the first 60 days, and those subject-years; shape (B, n)."""
    began = _onsets(anomaly) & (days >= SETTLED_DAY)
    years = (days[:, -1] - SETTLED_DAY).sum() / DAYS_A_YEAR
    return float(began.sum() / years), float(years)


def _onsets(anomaly: Flags) -> Flags:
    """Recordings at which an episode begins."""
    began = anomaly.copy()
    began[:, 1:] &= ~anomaly[:, :-1]
    return began


def _within(truth: Array, band: Array) -> Flags:
    return np.asarray((band[:, 0] <= truth) & (truth <= band[:, 1]))


def _running_mean(readings: Array, offset: float) -> Array:
    """Mean of all readings so far, on the method's scale."""
    values = started_logit(readings, offset)
    return score_of(np.cumsum(values, axis=1) / np.arange(1, values.shape[1] + 1), offset)


def _rmse(errors: Array) -> float:
    return float(np.sqrt(np.mean(np.square(errors)))) * POINTS

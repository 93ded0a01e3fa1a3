"""How often the intervals of the method contain what they claim, for steady people who vary little and much.

The subjects are those of the false alarms: their variance, memory and quality differ from what the method assumes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vbdesk.lab.simulation.longitudinal.simulated_subjects import SCHEDULES, Schedule
from vbdesk.lab.simulation.longitudinal.variance_bars import STATE_SHARES, SUBJECTS, VARIANCES, Truth, draw_steady
from vbdesk.longitudinal.intervals import score_intervals
from vbdesk.longitudinal.parameters import Parameters
from vbdesk.longitudinal.scale import score_of

SETTLED_DAY = 60.0
EARLY = slice(1, 5)
"""Histories of two to five recordings."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares within the intervals that are shown, after day 60 unless named otherwise.

    Attributes:
        next_reading: the next reading, in the usual range (`normal_range`).
        level: the level, in `latest_interval`.
        norm: the norm, in `baseline_interval`.
        early_reading, early_level, early_norm: the same in histories of two to five recordings.
    """

    sign_class: str
    schedule: Schedule
    variance: float
    next_reading: float
    level: float
    norm: float
    early_reading: float
    early_level: float
    early_norm: float


def coverage(parameters: Parameters, seed: int, classes: Sequence[str], scale: float = 1.0) -> Iterator[Coverage]:
    """Coverage in every class, schedule and variance, with `scale` times the usual number of subjects."""
    offset = parameters.scale.offset
    for name in classes:
        sign_class = parameters.classes[name]
        for schedule in SCHEDULES:
            for variance in VARIANCES:
                generator = np.random.default_rng([seed, *f"coverage {name} {schedule} {variance}".encode()])
                count = max(round(SUBJECTS[schedule] * scale), 1)
                truth = Truth(STATE_SHARES[name])
                drawn = draw_steady(generator, schedule, count, variance, sign_class.state_days, truth)
                bands = [
                    score_intervals(filtered, steps, sign_class, parameters)
                    for _, steps, filtered in drawn.filtered(sign_class, parameters)
                ]
                usual, latest, baseline = (
                    np.array([getattr(band, kind)[:, :, 0] for band in bands])
                    for kind in ("normal_range", "latest", "baseline")
                )
                norm = np.broadcast_to(drawn.norm, drawn.days.shape)
                inside = [
                    _within(score_of(drawn.values[:, 1:], offset), usual[:, :, :-1]),
                    _within(score_of(drawn.norm + drawn.state, offset), latest),
                    _within(score_of(norm, offset), baseline),
                ]
                days = [drawn.days[:, 1:], drawn.days, drawn.days]
                settled = [float(one[day >= SETTLED_DAY].mean()) for one, day in zip(inside, days, strict=True)]
                early = [float(one[:, EARLY].mean()) for one in inside]
                yield Coverage(name, schedule, variance, *settled, *early)


def _within(values: np.ndarray, band: np.ndarray) -> np.ndarray:
    return (band[:, 0] <= values) & (values <= band[:, 1])

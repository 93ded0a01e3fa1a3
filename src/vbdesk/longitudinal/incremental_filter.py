"""Filter a history recording by recording, at constant cost per recording.

For each sign it keeps the filter's state before the newest day, and that day's readings. Another recording of the same
day replays that day; a recording of a later day continues from it. When the window begins to slide, this no longer
works: a recording that leaves the window cannot be removed from the state. From then on each recording is computed from
the whole window.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from math import floor

import numpy as np

from vbdesk.contract.limits import HISTORY_JOBS
from vbdesk.longitudinal.anomaly import NO_RUN, SignificantRun, compute_z_scores, is_confirmed, next_run
from vbdesk.longitudinal.filter import FilterOutput, MeanCarry, mean_rows, prior_means
from vbdesk.longitudinal.filtered_series import SignEstimate, has_score
from vbdesk.longitudinal.first_submission import has_history
from vbdesk.longitudinal.gains import GainCarry, gain_steps
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.job_fields import estimates_in_window
from vbdesk.longitudinal.parameters import Parameters, SignClass, shipped_parameters
from vbdesk.longitudinal.scale import score_of, started_logit
from vbdesk.longitudinal.timepoints import SECONDS_PER_DAY
from vbdesk.longitudinal.variance_factors import quality_factors, reading_factors
from vbdesk.longitudinal.window import DONE, HISTORY, history_order


def estimates_by_job(
    history: Iterable[HistoryEntry], parameters: Parameters | None = None
) -> Iterator[tuple[HistoryEntry, dict[str, SignEstimate | None]]]:
    """Yield finished jobs in order, with estimates as of their own time [F14]."""
    incremental_filter = IncrementalFilter(parameters)
    for entry in sorted((entry for entry in history if entry.status == DONE), key=history_order):
        yield entry, incremental_filter.append(entry)


class IncrementalFilter:
    """Filter of one subject's history, to which recordings are appended."""

    def __init__(self, parameters: Parameters | None = None) -> None:
        self._parameters = parameters or shipped_parameters()
        self._window: deque[HistoryEntry] = deque()
        self._slides = False
        self._signs: dict[str, _SignFilter] = {}

    def append(self, entry: HistoryEntry) -> dict[str, SignEstimate | None]:
        """Add a recording; return estimates by sign, None on a first submission.

        Raises:
            ValueError: the recording does not follow the last one by (recorded_at, job_id).
        """
        if self._window and history_order(entry) <= history_order(self._window[-1]):
            raise ValueError(f"Job {entry.job_id} precedes the last job; filter the whole history again.")
        self._window.append(entry)
        while entry.recorded_at - self._window[0].recorded_at >= HISTORY or len(self._window) > HISTORY_JOBS:
            self._window.popleft()
            self._slides = True
        if self._slides:
            self._signs.clear()
            return estimates_in_window(list(self._window), entry, self._parameters)
        return self._filter_recording(entry)

    def _filter_recording(self, entry: HistoryEntry) -> dict[str, SignEstimate | None]:
        by_quality = quality_factors([entry], self._parameters.quality)
        for sign in entry.signs:
            if sign not in self._signs:
                self._signs[sign] = _SignFilter(self._parameters.class_of(sign), self._parameters)
            if has_score(entry, sign):
                reading = entry.signs[sign]
                factors = reading_factors([reading], by_quality, sign, self._parameters)
                value = float(started_logit(reading.score or 0.0, self._parameters.scale.offset))
                self._signs[sign].add(entry.recorded_at.timestamp(), float(factors[0]), value)
        return {sign: self._signs[sign].estimate for sign in sorted(entry.signs)}


class _SignFilter:
    """Filter of one sign: state before its newest day, readings of that day."""

    def __init__(self, sign_class: SignClass, parameters: Parameters) -> None:
        self.sign_class = sign_class
        self.estimate: SignEstimate | None = None
        self._parameters = parameters
        self._recordings = 0
        # state before the newest day
        self._past_days: deque[float] = deque(maxlen=parameters.anomaly.gaps_averaged)
        self._timepoints = 0
        self._gains: GainCarry | None = None
        self._means: MeanCarry = prior_means(sign_class.trait_mean, parameters.personal_scale)
        self._run = NO_RUN
        # readings of the newest day
        self._date: int | None = None
        self._weight = 0.0
        self._weighted_sum = 0.0
        self._best_factor = 0.0
        # state after the newest day
        self._next: tuple[float, GainCarry | None, MeanCarry, SignificantRun] | None = None

    def add(self, seconds: float, factor: float, value: float) -> None:
        """Add a reading (started logit) with its variance factor, at `seconds` since 1970."""
        date = floor(seconds / SECONDS_PER_DAY)
        if date != self._date:
            self._begin_day(date)
        weight = 1.0 / (factor - self._parameters.timepoint.shared_variance)
        self._best_factor = min(self._best_factor, factor) if self._weight else factor
        self._weight += weight
        self._weighted_sum += weight * value
        self._recordings += 1
        self._filter_newest_day(seconds / SECONDS_PER_DAY)

    def _begin_day(self, date: int) -> None:
        if self._next is not None:
            day, self._gains, self._means, self._run = self._next
            self._past_days.append(day)
            self._timepoints += 1
        self._date, self._weight, self._weighted_sum = date, 0.0, 0.0

    def _filter_newest_day(self, day: float) -> None:
        """Run filter and anomaly detection on the newest day's readings so far."""
        parameters, rule = self._parameters, self._parameters.anomaly
        value = self._weighted_sum / self._weight
        variance_factor = parameters.timepoint.shared_variance + 1.0 / self._weight
        usable = self._best_factor <= parameters.quality.usable_factor
        steps, gains = gain_steps([day], [variance_factor], self.sign_class, parameters.prior, self._gains)
        rows, means = mean_rows([value], steps, self._means, self.sign_class, parameters)
        filtered = FilterOutput(*(np.array([[number]]) for number in rows[0]))
        mean_gap = (day - self._past_days[0]) / len(self._past_days) if self._past_days else 0.0
        z_scores = compute_z_scores(
            np.array([self._timepoints]),
            np.clip([mean_gap], *rule.gap_range_days),
            np.array([usable]),
            np.array([[value]]),
            steps,
            filtered,
            self.sign_class,
            parameters,
        )
        significant, side = bool(z_scores.significant[0, 0]), float(z_scores.side[0, 0])
        run = next_run(self._run, significant, side, day, usable)
        self._next = (day, gains, means, run)
        sustained = significant
        if self.sign_class.needs_confirmation:
            sustained = is_confirmed(run, significant, day, rule.confirm_hours)
        if has_history(self._recordings):
            level = float(filtered.level[0, 0])
            self.estimate = SignEstimate(
                latest_score=float(score_of(level, parameters.scale.offset)),
                baseline_score=float(score_of(means.trait, parameters.scale.offset)),
                deviation_from_baseline=float(z_scores.deviation[0, 0]),
                anomaly=sustained or bool(z_scores.acute[0, 0]),
                unconfirmed=significant and not sustained,
                z_score=float(z_scores.z[0, 0]),
                level=level,
                recordings=self._recordings,
                timepoints=self._timepoints + 1,
            )

"""Draw a day of recordings: arrival times, lengths, analysis times."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vbdesk.lab.simulation.capacity.inputs import Assumptions, Costs
from vbdesk.lab.simulation.capacity.queueing import Seconds

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class SimulatedDay:
    """Recordings of a day by arrival, shape (n,); `service_s` is processor time."""

    arrivals_s: Seconds
    lengths_s: Seconds
    service_s: Seconds

    @property
    def busiest_minute_per_s(self) -> float:
        """Arrivals a second in the busiest minute."""
        counts = np.bincount((self.arrivals_s // 60).astype(int), minlength=DAY_S // 60)
        return float(counts.max()) / 60


def draw_day(count: int, assumptions: Assumptions, costs: Costs, generator: np.random.Generator) -> SimulatedDay:
    """Draw a day of `count` recordings."""
    arrivals_s = _arrivals(count, assumptions, generator)
    lengths_s = np.clip(
        assumptions.lengths.median_s * np.exp(assumptions.lengths.spread * generator.standard_normal(count)),
        assumptions.lengths.least_s,
        assumptions.lengths.most_s,
    )
    names = list(assumptions.analyses)
    shares = np.array([assumptions.analyses[name] for name in names])
    kinds = generator.choice(len(names), size=count, p=shares / shares.sum())
    fixed_s = np.array([costs.analysis[name].fixed_cpu_s for name in names])[kinds]
    per_s = np.array([costs.analysis[name].cpu_s_per_minute for name in names])[kinds] / 60
    return SimulatedDay(arrivals_s, lengths_s, fixed_s + per_s * lengths_s + costs.worker.worker_cpu_s_per_job)


def _arrivals(count: int, assumptions: Assumptions, generator: np.random.Generator) -> Seconds:
    """Arrival times: from clinics hour by hour, from laptops in bursts."""
    day = assumptions.day
    in_bursts = int(generator.binomial(count, day.burst_share)) if count else 0
    hours = np.array(day.hours)
    hour: NDArray[np.int64] = generator.choice(24, size=count - in_bursts, p=hours / hours.sum())
    steady = 3600 * (hour + generator.random(count - in_bursts))
    laptops = -(-in_bursts // day.recordings_per_burst)
    begins = 3600 * generator.uniform(*day.burst_hours, size=laptops)
    of_laptop = np.repeat(begins, day.recordings_per_burst)[:in_bursts]
    burst = of_laptop + day.burst_upload_s * generator.random(in_bursts)
    return np.sort(np.concatenate([steady, burst]))

"""The capacity simulation against queues with known waiting times, and against itself."""

from math import factorial

import numpy as np
import pytest
from typer.testing import CliRunner

from vbdesk.lab.commands.simulate import BEGIN, END, app
from vbdesk.lab.simulation.capacity.forecast import (
    DAY_S,
    breaking_points,
    draw_day,
    fewest_servers,
    predict_real_batch,
    queue_waits,
    requirements,
)
from vbdesk.lab.simulation.capacity.inputs import shipped_assumptions, shipped_costs

ASSUMPTIONS, COSTS = shipped_assumptions(), shipped_costs()
CUSTOMERS = 60_000


def poisson(rate: float, seed: int = 1) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).exponential(1 / rate, CUSTOMERS))


def erlang_c_wait(servers: int, rate: float) -> float:
    """Mean wait in M/M/c with services of mean 1 (Erlang C)."""
    queued = rate**servers / factorial(servers) * servers / (servers - rate)
    chance = queued / (sum(rate**k / factorial(k) for k in range(servers)) + queued)
    return chance / (servers - rate)


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.7), (3, 2.1), (10, 8.5)])
def test_waits_are_those_of_an_m_m_c_queue(servers, rate):
    services = np.random.default_rng(2).exponential(1.0, CUSTOMERS)
    assert queue_waits(poisson(rate), services, servers).mean() == pytest.approx(erlang_c_wait(servers, rate), rel=0.1)


@pytest.mark.parametrize("rate", [0.5, 0.8])
def test_waits_are_those_of_an_m_d_1_queue(rate):
    mean = queue_waits(poisson(rate), np.ones(CUSTOMERS), 1).mean()
    assert mean == pytest.approx(rate / (2 * (1 - rate)), rel=0.06)  # Pollaczek and Khinchine


def test_no_customer_waits_while_a_server_is_free():
    arrivals, services = poisson(3.0)[:500], np.random.default_rng(3).exponential(1.0, 500)
    begun = arrivals + queue_waits(arrivals, services, 4)
    assert np.all(np.diff(begun) >= 0)  # first come, first served
    for begin, arrival in zip(begun, arrivals, strict=True):
        busy = np.sum((begun <= begin) & (begun + services > begin))
        assert busy <= 4
        if begin > arrival:
            assert np.sum((begun < begin) & (begun + services >= begin - 1e-9)) >= 4


def test_the_fewest_servers_are_enough_and_one_less_is_not():
    arrivals, services = poisson(20.0)[:5000], np.random.default_rng(4).exponential(1.0, 5000)
    fewest = fewest_servers(arrivals, services, 0.5)
    assert np.percentile(queue_waits(arrivals, services, fewest), 95) <= 0.5
    assert np.percentile(queue_waits(arrivals, services, fewest - 1), 95) > 0.5


def test_a_day_without_recordings_needs_one_server():
    assert fewest_servers(np.zeros(0), np.zeros(0), 1.0) == 1


def test_arrivals_out_of_order_are_refused():
    with pytest.raises(ValueError, match="ascending arrivals"):
        queue_waits(np.array([2.0, 1.0]), np.ones(2), 1)


def test_a_day_holds_every_recording_in_its_order():
    day = draw_day(20_000, ASSUMPTIONS, COSTS, np.random.default_rng(5))
    assert day.arrivals_s.shape == day.lengths_s.shape == day.service_s.shape == (20_000,)
    assert np.all(np.diff(day.arrivals_s) >= 0)
    assert day.arrivals_s[0] >= 0 and day.arrivals_s[-1] <= DAY_S
    assert np.all((day.lengths_s >= ASSUMPTIONS.lengths.least_s) & (day.lengths_s <= ASSUMPTIONS.lengths.most_s))
    assert day.busiest_minute_per_s > 20_000 / DAY_S


def test_the_same_seed_gives_the_same_tables():
    assert requirements(20_000, ASSUMPTIONS, COSTS, 7) == requirements(20_000, ASSUMPTIONS, COSTS, 7)
    assert requirements(20_000, ASSUMPTIONS, COSTS, 7) != requirements(20_000, ASSUMPTIONS, COSTS, 8)


def test_more_recordings_never_need_less():
    some, more = requirements(5_000, ASSUMPTIONS, COSTS, 1), requirements(50_000, ASSUMPTIONS, COSTS, 1)
    assert some.slots <= more.slots and some.api_processes <= more.api_processes and some.stored_tb < more.stored_tb
    assert all(some.demand[name] <= more.demand[name] for name in ASSUMPTIONS.parts)


def test_a_faster_analysis_needs_fewer_cores():
    half = {
        name: cost.model_copy(update={"cpu_s_per_minute": cost.cpu_s_per_minute / 2, "fixed_cpu_s": 0.0})
        for name, cost in COSTS.analysis.items()
    }
    quicker = COSTS.model_copy(update={"analysis": half})
    assert requirements(1e6, ASSUMPTIONS, quicker, 1).slots < requirements(1e6, ASSUMPTIONS, COSTS, 1).slots


def test_a_part_breaks_at_the_load_at_which_it_reaches_its_limit():
    for breaking in breaking_points(ASSUMPTIONS, COSTS, 1)[:3]:
        (name,) = (name for name, part in ASSUMPTIONS.parts.items() if part == breaking.part)
        reached = requirements(breaking.per_day, ASSUMPTIONS, COSTS, 1).demand[name]
        assert reached == pytest.approx(breaking.part.limit, rel=0.3)


def test_a_batch_is_predicted_from_its_run_by_one_worker():
    run = COSTS.worker.real_run.model_copy(update={"workers": 2, "one_worker_run_s": (4.0, 1.0, 1.0, 3.0)})
    check = predict_real_batch(COSTS.model_copy(update={"worker": COSTS.worker.model_copy(update={"real_run": run})}))
    assert check.predicted_makespan_s == 5.0  # 4 beside 1, 1, 3
    assert check.predicted_mean_wait_s == 3.0 / 4


def test_the_command_puts_the_tables_between_the_marks(tmp_path):
    document = tmp_path / "capacity.md"
    document.write_text(f"before\n{BEGIN}\nobsolete\n{END}\nafter\n")
    answer = CliRunner().invoke(app, ["capacity", "--write", str(document)])
    assert answer.exit_code == 0, answer.output
    text = document.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "obsolete" not in text
    assert all(part.name in text and part.remedy in text for part in ASSUMPTIONS.parts.values())

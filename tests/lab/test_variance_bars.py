"""The bars of the second version over the spread of personal variances, on a small simulation."""

import pytest

from vbdesk.lab.simulation.longitudinal.variance_bars import (
    LEAST_POWER,
    MOST_EPISODES,
    SUBJECTS,
    VARIANCES,
    FalseAlarms,
    Power,
    false_alarms,
    power,
)
from vbdesk.lab.simulation.longitudinal.variance_report import DEPARTURES, Coverage, VarianceResults, coverage, tables
from vbdesk.longitudinal.parameters import shipped_parameters

FIRST, SECOND = shipped_parameters("tss-1"), shipped_parameters("tss-2")
SEED = 5


@pytest.mark.parametrize("sign_class", ["fast", "slow"])
def test_people_who_do_not_change_are_rarely_flagged(sign_class):
    """Within what so few subjects can show: two standard errors."""
    rows = list(false_alarms(SECOND, SEED, [sign_class], 0.03))
    assert [(row.schedule, row.variance) for row in rows] == [(s, v) for s in SUBJECTS for v in VARIANCES]
    assert [row for row in rows if row.episodes - 2 * row.standard_error > MOST_EPISODES] == []


def test_the_second_version_sees_what_the_first_does_not():
    first, second = ({(p.sign_class, p.change.recordings): p for p in measured} for measured in figures())
    for place, row in second.items():
        if row.sign_class in row.change.classes:
            assert row.share > LEAST_POWER - 0.06, place  # 150 subjects: two standard errors
            assert row.share > first[place].share + 0.2, place


def figures() -> list[list[Power]]:
    return [list(power(parameters, SEED, ["fast", "slow"], 150)) for parameters in (FIRST, SECOND)]


def test_a_setting_draws_the_same_people_for_every_version():
    assert list(power(SECOND, 1, ["fast"], 20)) == list(power(SECOND, 1, ["fast"], 20))
    assert list(false_alarms(FIRST, 1, ["slow"], 0.002)) == list(false_alarms(FIRST, 1, ["slow"], 0.002))


def test_a_missed_bar_is_named_in_words():
    alarm = FalseAlarms("fast", "weekly", 0.2, 0.25, 0.01)
    weak = Power("fast", next(row.change for row in power(SECOND, 1, ["fast"], 1)), 0.3)
    others = Power("slow", weak.change, 0.1)  # nobody asks slow signs for a change of four recordings
    results = VarianceResults("mine", [alarm], [weak, others], {}, [])
    assert len(results.missed) == 2
    assert "0.250 false episodes a year (fast, weekly, variance 0.2)" in results.missed[0]
    assert "power 0.30 (fast, +0.85 for 4 recordings)" in results.missed[1]


def test_the_tables_name_both_versions():
    rows = [FalseAlarms("fast", "weekly", variance, 0.05, 0.01) for variance in VARIANCES]
    others = dict.fromkeys(DEPARTURES, rows)
    covered = [Coverage("fast", "weekly", variance, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96) for variance in VARIANCES]
    text = tables([VarianceResults(version, rows, [], others, covered) for version in ("tss-1", "tss-2.0")])
    for version in ("tss-1", "tss-2.0"):
        assert text.count(f"| fast | weekly | {version} | 0.050 ± 0.010 |") == 1 + len(DEPARTURES)
        for shares in ("0.91", "0.92, 0.93", "0.94, 0.95, 0.96"):
            assert text.count(f"| fast | weekly | {version} | {shares} |") == 1


def test_the_intervals_contain_what_they_claim_for_people_who_vary_as_readers_do():
    rows = list(coverage(SECOND, SEED, ["fast"], 0.02))
    assert [(row.schedule, row.variance) for row in rows] == [(s, v) for s in SUBJECTS for v in VARIANCES]
    for row in rows:
        low = 0.85 if row.variance < 0.5 else 0.78  # 0.90 is claimed; the page shows where it is less
        assert low < row.next_reading <= 1.0, row
        assert row.norm > 0.85, row


def test_an_interval_of_half_the_width_is_found_out():
    narrow = SECOND.model_copy(update={"interval": SECOND.interval.model_copy(update={"level": 0.5})})
    wide, half = (list(coverage(chosen, SEED, ["slow"], 0.01)) for chosen in (SECOND, narrow))
    assert all(one.next_reading > other.next_reading + 0.1 for one, other in zip(wide, half, strict=True))

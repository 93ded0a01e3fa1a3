"""The method against its oracle: twenty histories with expected values, and bits of formulas."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vbdesk.contract.timestamps import parse_timestamp
from vbdesk.longitudinal.anomaly import episodes
from vbdesk.longitudinal.bands import bands
from vbdesk.longitudinal.cohort import CohortReference, cohort_reference, population_z
from vbdesk.longitudinal.course import follow, measured, standing_of
from vbdesk.longitudinal.history import HistoryEntry, SignReading
from vbdesk.longitudinal.job_fields import job_standings
from vbdesk.longitudinal.parameters import shipped_parameters
from vbdesk.longitudinal.precision import variance_factors
from vbdesk.longitudinal.scale import score_of, started_logit
from vbdesk.longitudinal.trend import slopes
from vbdesk.longitudinal.window import window_as_of

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())
KINDS = {0: (False, False), 1: (True, False), 2: (False, True)}


def moment(value: float | str) -> datetime:
    if isinstance(value, str):
        return parse_timestamp(value)
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)


def history_of(case: dict[str, Any]) -> list[HistoryEntry]:
    return [
        HistoryEntry(
            job["job_id"],
            moment(job["recorded_at"]),
            job["status"],
            job["duration_s"],
            job["voice_percentage"],
            job["audio_clarity"],
            (),
            None,
            {
                sign: SignReading(reading["score"], reading.get("level", "low"), False)
                for sign, reading in job["scores"].items()
            },
        )
        for job in case["jobs"]
    ]


def references_of(case: dict[str, Any]) -> dict[str, CohortReference]:
    return {sign: CohortReference(**ref) for sign, ref in (case["options"].get("refs") or {}).items()}


def close(expected: Any) -> Any:
    """Equal to 1e-9; None only to None."""
    if expected is None or (isinstance(expected, tuple) and None in expected):
        return expected
    return pytest.approx(expected, abs=1e-9, rel=1e-9)


CASES = pytest.mark.parametrize("case", GOLDEN["cases"], ids=[case["name"][:2] for case in GOLDEN["cases"]])


@CASES
def test_the_trajectory_is_the_oracles(case: dict[str, Any]) -> None:
    parameters = shipped_parameters()
    entries = window_as_of(history_of(case), moment(case["as_of"]), parameters.window.future_hours).entries
    references = references_of(case)
    expected = case["expected"]["trajectory"]
    followed = set()
    for course in follow(entries, sorted(expected), parameters):
        ranges = bands(course.estimates, course.steps, course.sign_class, parameters)
        trends = slopes(course.timepoints, course.estimates, course.sign_class, parameters)
        offset = parameters.scale.offset
        verdicts, estimates = course.verdicts, course.estimates
        for column, sign in enumerate(course.signs):
            followed.add(sign)
            want = expected[sign]
            assert (len(course.recordings), len(course.steps)) == (want["n_recordings"], want["n_timepoints"])
            check_standing(standing_of(course, column, parameters), want, references.get(sign))
            assert ranges.latest[:, -1, column] == close(want["latest_interval"])
            assert ranges.baseline[:, -1, column] == close(want["baseline_interval"])
            assert np.sqrt(estimates.variance_ratio[-1, column]) == close(want["subject_sd_ratio"])

            slope, told = trends[column], want["trend"]
            assert slope.direction == told["direction"]
            assert (slope.slope_per_30d, slope.low, slope.high) == close(
                (told["slope_per_30d"], told["slope_lo"], told["slope_hi"])
            )

            days = course.timepoints.days
            found = episodes(verdicts, column)
            assert [(e.direction, e.kind, e.last - e.first + 1, e.open) for e in found] == [
                (e["direction"], e["kind"], e["timepoints"], e["open"]) for e in want["anomalies"]
            ]
            assert [e.peak_z for e in found] == close([e["peak_z"] for e in want["anomalies"]])
            assert [days[e.first] * 86400 for e in found] == pytest.approx([e["start"] for e in want["anomalies"]])
            assert [days[e.last] * 86400 for e in found] == pytest.approx([e["end"] for e in want["anomalies"]])

            columns = {
                "t": days * 86400,
                "n": course.timepoints.counts,
                "reading": score_of(course.timepoints.values[:, column], offset),
                "latest": score_of(estimates.level[:, column], offset),
                "latest_lo": ranges.latest[0, :, column],
                "latest_hi": ranges.latest[1, :, column],
                "baseline": score_of(estimates.trait[:, column], offset),
                "norm_lo": ranges.normal_range[0, :, column],
                "norm_hi": ranges.normal_range[1, :, column],
                "z": verdicts.z[:, column],
                "z_sustained": verdicts.z_sustained[:, column],
            }
            flags = list(zip(verdicts.sustained[:, column], verdicts.acute[:, column], strict=True))
            if case["options"].get("brief"):
                columns = {name: np.concatenate([values[:3], values[-3:]]) for name, values in columns.items()}
                flags = flags[:3] + flags[-3:]
            for name, values in columns.items():
                assert values == close(want["series"][name]), (sign, name)
            assert flags == [KINDS[kind] for kind in want["series"]["kind"]]
            assert [any(pair) for pair in flags] == want["series"]["anomaly"]
    for sign in expected.keys() - followed:
        assert expected[sign]["latest_score"] is None
        assert sum(measured(entry, sign) for entry in entries) == expected[sign]["n_recordings"]


@CASES
def test_the_job_fields_are_the_oracles(case: dict[str, Any]) -> None:
    if "job_fields" not in case["expected"]:
        assert case["name"].startswith("01")  # no finished job, so nothing to ask for
        return
    expected = case["expected"]["job_fields"]
    standings = job_standings(history_of(case), expected["job_id"])
    references = references_of(case)
    assert standings.keys() == expected["signs"].keys()
    for sign, want in expected["signs"].items():
        check_standing(standings[sign], want, references.get(sign))


def check_standing(standing: Any, want: dict[str, Any], reference: CohortReference | None) -> None:
    if standing is None:
        assert want["latest_score"] is None
        return
    for name in ("latest_score", "baseline_score", "deviation_from_baseline", "z_score"):
        assert getattr(standing, name) == close(want[name]), name
    assert standing.anomaly is want["anomaly"]
    position = population_z(standing.level, reference)
    assert (position is None) == (want["population_z"] is None)
    assert position == close(want["population_z"])


@pytest.mark.parametrize("case", GOLDEN["cohort"])
def test_the_cohort_reference_is_the_oracles(case: dict[str, Any]) -> None:
    shipped = None if case["shipped"] is None else CohortReference(**case["shipped"])
    reference = cohort_reference(case["values"], shipped)
    want = case["expected"]
    if want is None:
        assert reference is None
        return
    assert reference is not None
    assert (reference.location, reference.scale) == close((want["location"], want["scale"]))
    assert (reference.source, reference.n_groups) == (want["source"], want["n_groups"])


@pytest.mark.parametrize("case", GOLDEN["transform"])
def test_the_scale_is_the_oracles(case: dict[str, float]) -> None:
    offset = shipped_parameters().scale.offset
    assert float(started_logit(case["score"], offset)) == close(case["y"])
    assert float(score_of(case["y"], offset)) == close(case["back"])


@pytest.mark.parametrize("case", GOLDEN["quality"])
def test_the_variance_factor_is_the_oracles(case: dict[str, Any]) -> None:
    recording = HistoryEntry(
        "j", moment(0.0), "done", case["duration_s"], case["voice_percentage"], case["audio_clarity"], (), None, {}
    )
    assert variance_factors([recording], shipped_parameters().quality) == close([case["q"]])

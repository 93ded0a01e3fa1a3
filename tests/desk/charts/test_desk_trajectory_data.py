"""A trajectory as arrays."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest

from vbdesk.contract.levels import Level
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.charts.trajectory_data import chart_of

ANSWER = json.loads((Path(__file__).parents[1] / "data" / "trajectory_pulse.json").read_text())
CUTS = {"stress": {Level.LOW: 0.42, Level.CONSIDER: 0.5}}


def chart(answer=ANSWER):
    return chart_of(TrajectoryRead.model_validate(answer), CUTS)


def sign(chart, name):
    return next(row for row in chart.signs if row.name == name)


def with_episode(kind, timepoints):
    """The fourth timepoint of stress is unusual, above the baseline."""
    answer = copy.deepcopy(ANSWER)
    stress = next(entry for entry in answer["signs"] if entry["name"] == "stress")
    stress["series"][3] |= {"anomaly": True, "kind": kind}
    first = stress["series"][3 - timepoints + 1]["t"]
    stress["anomalies"] = [
        {
            "start": first,
            "end": stress["series"][3]["t"],
            "direction": "above",
            "kind": kind,
            "peak_z": 3.0,
            "timepoints": timepoints,
            "open": False,
        }
    ]
    return answer


def test_every_array_of_a_sign_has_the_same_length():
    for row in chart().signs:
        readings = row.readings
        lengths = {len(array) for array in (readings.t, readings.score, readings.weight, readings.has_issues)}
        assert lengths == {14, len(readings.levels), len(readings.job_ids)}
        assert np.all(np.diff(readings.t) > 0)
        course = row.estimates
        assert {len(array) for array in (course.t, course.estimate, course.own_low, course.anomaly)} == {14}
        assert np.all(course.interval_low <= course.estimate)
        assert np.all(course.estimate <= course.interval_high)


def test_signs_come_in_the_order_of_their_model():
    assert [row.name for row in chart().signs][:3] == ["mood-disruption", "anxiety", "stress"]


def test_a_gap_parts_the_course():
    course = chart().signs[0].estimates
    assert [(part.start, part.stop) for part in course.stretches()] == [(0, 4), (4, 14)]
    assert course.gaps() == [(3, 4)]


def test_no_recording_gives_no_stretch_and_no_gap():
    answer = copy.deepcopy(ANSWER)
    answer["data_points"] = []
    for entry in answer["signs"]:
        entry |= {"series": [], "n_recordings": 0, "trend": entry["trend"] | {"direction": "insufficient_data"}}
    empty = chart(answer)
    assert empty.signs[0].estimates.stretches() == []
    assert empty.signs[0].level is Level.INCONCLUSIVE
    assert empty.signs[0].trend == "No reading yet"
    assert len(empty.moments()) == 0
    first, last = empty.span
    assert first < last


@pytest.mark.parametrize(
    ("kind", "timepoints", "words"),
    [
        ("acute", 1, "Unusual for this person: well above their own baseline, at one recording only."),
        ("sustained", 3, "Unusual for this person: above their own baseline at 3 recordings in a row."),
    ],
)
def test_an_unusual_reading_is_explained(kind, timepoints, words):
    stress = sign(chart(with_episode(kind, timepoints)), "stress")
    assert stress.is_unusual(3)
    assert stress.explanation(3) == words


def test_an_ordinary_reading_needs_no_explanation():
    stress = sign(chart(with_episode("acute", 1)), "stress")
    assert not stress.is_unusual(4)
    assert stress.explanation(4) == ""


def test_a_reading_that_was_not_measurable_is_left_out():
    answer = copy.deepcopy(ANSWER)
    for signal in answer["data_points"][0]["signals"]:
        if signal["name"] == "stress":
            signal |= {"score": None, "level": "inconclusive"}
    made = chart(answer)
    assert len(sign(made, "stress").readings.t) == 13
    assert len(sign(made, "anxiety").readings.t) == 14
    assert len(made.moments()) == 14

"""Both versions of the method against reference implementations: twenty histories, and single formulas."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from vbdesk.lab.history_file import read_history_file
from vbdesk.lab.unrounded_report import unrounded_report
from vbdesk.longitudinal.cohort import CohortReference, cohort_reference
from vbdesk.longitudinal.history import HistoryEntry
from vbdesk.longitudinal.parameters import shipped_parameters
from vbdesk.longitudinal.scale import score_of, started_logit
from vbdesk.longitudinal.variance_factors import quality_factors

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())
GOLDEN_2 = json.loads((Path(__file__).parent / "golden-tss-2.json").read_text())
CASES = pytest.mark.parametrize("case", GOLDEN["cases"], ids=[case["name"][:2] for case in GOLDEN["cases"]])


def close(expected: Any) -> Any:
    """Equal to 1e-9."""
    return pytest.approx(expected, abs=1e-9, rel=1e-9)


def assert_same(found: Any, expected: Any, place: str = "") -> None:
    """Equal in structure and kind, numbers to 1e-9."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for name in expected:
            assert_same(found[name], expected[name], f"{place}/{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for index, pair in enumerate(zip(found, expected, strict=True)):
            assert_same(*pair, f"{place}/{index}")
    elif isinstance(expected, float):
        assert found == close(expected), place
    else:
        assert (found, type(found)) == (expected, type(expected)), place


@CASES
def test_trajectory_and_job_fields_equal_the_reference(case: dict[str, Any]) -> None:
    assert_same(unrounded_report(read_history_file(json.dumps(case))), case["expected"])


@pytest.mark.parametrize("case", GOLDEN_2["cases"], ids=[case["name"][:2] for case in GOLDEN_2["cases"]])
def test_the_second_method_equals_its_reference(case: dict[str, Any]) -> None:
    history = next(other for other in GOLDEN["cases"] if other["name"].startswith(case["name"]))
    file = read_history_file(json.dumps(history | {"options": case["options"]}))
    assert_same(unrounded_report(file), case["expected"])


@pytest.mark.parametrize("case", GOLDEN["cohort"])
def test_the_cohort_reference_equals_the_reference(case: dict[str, Any]) -> None:
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
def test_the_scale_equals_the_reference(case: dict[str, float]) -> None:
    offset = shipped_parameters().scale.offset
    assert float(started_logit(case["score"], offset)) == close(case["y"])
    assert float(score_of(case["y"], offset)) == close(case["back"])


@pytest.mark.parametrize("case", GOLDEN["quality"])
def test_the_variance_factor_equals_the_reference(case: dict[str, Any]) -> None:
    recording = HistoryEntry(
        "j",
        datetime(2026, 1, 1, tzinfo=UTC),
        "done",
        case["duration_s"],
        case["voice_percentage"],
        case["audio_clarity"],
        (),
        None,
        {},
    )
    assert quality_factors([recording], shipped_parameters().quality) == close([case["q"]])

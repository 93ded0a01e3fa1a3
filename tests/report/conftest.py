"""Subjects for the tests of reports."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # report_cases, by name

from report_cases import golden, long_history

from vbdesk.report.subject_record import SubjectRecord

CASES = golden()


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> SubjectRecord:
    """Every golden subject in turn."""
    return CASES[request.param]


@pytest.fixture(scope="session")
def cases() -> dict[str, SubjectRecord]:
    """The golden subjects by name."""
    return CASES


@pytest.fixture(scope="session")
def long_course() -> SubjectRecord:
    """A subject of 401 recordings."""
    return long_history()

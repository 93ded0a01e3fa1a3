"""What the Result page shows in each situation, without Qt."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from vbdesk.desk.flow.reads import Snapshot
from vbdesk.desk.flow.tasks import Failure
from vbdesk.desk.result.state import result_state
from vbdesk.desk.results.result_source import Found
from vbdesk.desk.results.result_state import view_of
from vbdesk.desk.results.same_subject import SameSubjectRecording
from vbdesk.desk.ui.routes import RecordingRoute

ROUTE = RecordingRoute(job_id="j-1", group_id="ward4-1", recorded_at=datetime(2026, 5, 3, 12, tzinfo=UTC))
FAILURE = Failure.of(OSError(5, "Input/output error"))
EARLIER = SameSubjectRecording(RecordingRoute(job_id="j-0", group_id="ward4-1"), ROUTE.recorded_at, None)
OTHERS = Snapshot(((EARLIER,), ()), 1, loading=False)


@pytest.fixture
def known(pulse_job):
    return Snapshot(view_of(Found(ROUTE, None, pulse_job)), 1, loading=False, answered=True)


def test_a_page_begins_with_what_its_caller_knows():
    state = result_state(ROUTE, Snapshot(), Snapshot())
    assert (state.view.recording, state.view.heading, state.failure) == (ROUTE, "Reading the result", "")
    assert state.same_subject == ((), ())


def test_a_result_is_compared_with_others_only_once_there_is_one(known):
    assert result_state(ROUTE, Snapshot(), OTHERS).same_subject == ((), ())
    state = result_state(ROUTE, known, OTHERS)
    assert (state.view, state.same_subject, state.failure) == (known.value, ((EARLIER,), ()), "")


@pytest.mark.parametrize("failure", ["failure", "unreadable"])
def test_a_failure_is_said_and_takes_no_result_away(known, failure):
    state = result_state(ROUTE, replace(known, **{failure: FAILURE}), OTHERS)
    assert (state.view, state.failure) == (known.value, FAILURE.sentence)
    state = result_state(ROUTE, replace(Snapshot(), **{failure: FAILURE}), OTHERS)
    assert (state.view.heading, state.view.sentence, state.view.remedy) == ("No result to show", FAILURE.sentence, None)


def test_a_recording_that_is_gone_is_not_shown_any_more():
    state = result_state(ROUTE, Snapshot(loading=False), OTHERS)
    assert state.view.heading == "No result to show"
    assert state.failure.startswith("This recording is no longer on this computer")
    assert state.same_subject == ((), ())

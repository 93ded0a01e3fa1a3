"""What the Subject page says in each situation, without Qt."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.flow.reads import Snapshot
from vbdesk.desk.flow.tasks import Failure
from vbdesk.desk.subject.reads import SubjectData
from vbdesk.desk.subject.state import arrival, subject_state
from vbdesk.desk.subject.trajectory_text import subject_of

NOW = datetime(2026, 5, 3, 12, tzinfo=UTC)
FAILURE = Failure.of(OSError(5, "Input/output error"))
NOTHING = Snapshot(SubjectData(None), loading=False)


@pytest.fixture
def known(trajectory_answer) -> Snapshot[SubjectData]:
    """A subject that was read an hour ago."""
    reading = subject_of(TrajectoryRead.model_validate(trajectory_answer), NOW, read_at=NOW - timedelta(hours=1))
    return Snapshot(SubjectData(reading), 1, loading=False, answered=True, read_at=reading.read_at)


@pytest.mark.parametrize(
    ("snapshot", "waiting", "loading"),
    [
        (Snapshot(), "Reading the trajectory.", True),
        (replace(NOTHING, asking=True), "Reading the trajectory.", True),
        (replace(NOTHING, answered=True), "No recording of this subject has a result yet.", False),
        (replace(NOTHING, answered=True, asking=True), "No recording of this subject has a result yet.", False),
        (
            replace(NOTHING, answered=True, pending=True),
            "The trajectory is being computed. It appears here automatically.",
            False,
        ),
        (
            Snapshot(SubjectData(None, moving=2), loading=False, answered=True),
            "2 recordings are on the way. The charts appear with the first result.",
            False,
        ),
        (replace(NOTHING, failure=FAILURE), "There is nothing to show until the service answers.", False),
        (replace(Snapshot(), unreadable=FAILURE), "There is nothing to show until the service answers.", False),
    ],
)
def test_a_page_without_charts_says_why(snapshot, waiting, loading):
    state = subject_state(snapshot, NOW)
    assert (state.reading, state.waiting, state.loading, state.age) == (None, waiting, loading, "")
    assert state.stale == ("" if snapshot.failure is snapshot.unreadable else FAILURE.sentence)


def test_charts_have_their_age(known):
    state = subject_state(known, NOW)
    assert state.reading is known.value.reading
    assert state.waiting == state.stale == ""
    assert state.age.startswith("Read ")
    assert not state.age.endswith("asking for newer")
    assert subject_state(replace(known, asking=True), NOW).age == f"{state.age}, asking for newer"


@pytest.mark.parametrize("failure", ["failure", "unreadable"])
def test_charts_stay_with_a_failure_and_say_how_old_they_are(known, failure):
    state = subject_state(replace(known, **{failure: FAILURE}), NOW)
    assert state.reading is known.value.reading
    assert state.stale.startswith(f"{FAILURE.sentence} The charts show what was last read, ")


def test_what_arrives_while_a_page_is_shown_is_announced(trajectory_answer, known):
    read = TrajectoryRead.model_validate(trajectory_answer)
    fewer = read.model_copy(update={"data_points": read.data_points[:-2]})
    before = subject_state(replace(known, value=SubjectData(subject_of(fewer, NOW))), NOW)
    after = subject_state(known, NOW)
    assert arrival(before, after).startswith("2 new results. ")
    assert arrival(after, before) == arrival(after, after) == ""
    other = subject_of(read.model_copy(update={"group_id": "another-subject"}), NOW)
    assert arrival(before, subject_state(replace(known, value=SubjectData(other)), NOW)) == ""

"""The Cohort page: all subjects, and one group as a cohort."""

import copy
import csv
import io
import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from counted_calls import calls_of
from PySide6.QtCore import Qt

from patience import HANGS_S
from vbdesk.client.groups import Groups
from vbdesk.contract.levels import Level
from vbdesk.contract.longitudinal import AggregateRead, TrajectoryRead
from vbdesk.desk.cohort.cohort_rows import HeatOrder, Shown, cohort_of, triage_of
from vbdesk.desk.cohort.export import cohort_csv
from vbdesk.desk.cohort.group_view_model import flagged_text
from vbdesk.desk.cohort.page import CohortPage
from vbdesk.desk.cohort.subject_summary import SignState, SubjectSummary, from_json, of_trajectory, to_json
from vbdesk.desk.cohort.view_model import CohortRead
from vbdesk.desk.subject_data.subject_list import STORED_AS, AtService, StoredList
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.response_cache import STORED_COHORT, ResponseCache
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.subject_erasure import erase_subject
from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LABELS = {"anxiety": "Anxiety", "fatigue": "Fatigue"}


def state(level=Level.NONE, **more):
    facts = {"score": 0.2, "before": None, "held": 0, "flagged_before": False, "baseline": None, "deviation": None}
    facts |= {"z": None, "unusual": "none", "trend": "", "n": 3} | more
    return SignState(level, **facts)


def subject(group_id, days_ago=0.0, issues=(), recordings=3, **signs):
    recorded_at = NOW - timedelta(days=days_ago)
    return SubjectSummary(group_id, recorded_at, f"job-{group_id}", None, recordings, issues, signs, NOW, True)


def reasons(*entries, order=HeatOrder.NEED):
    return {row.key: row.reason for row in cohort_of(entries, LABELS, Shown.LEVEL, order, NOW).triage}


def test_anomalies_and_elevated_levels_come_first_then_what_rose_then_what_holds():
    steady = subject("steady", anxiety=state(Level.MODERATE, held=4, before=Level.MODERATE))
    rose = subject("rose", anxiety=state(Level.CONSIDER, held=1, before=Level.NONE))
    unusual = subject("unusual", anxiety=state(Level.LOW, z=2.8, unusual="acute"))
    worst = subject("worst", anxiety=state(Level.ELEVATED, held=2, before=Level.ELEVATED))
    calm = subject("calm", anxiety=state(Level.LOW, z=0.3))
    silent = subject("silent", issues=("insufficient_speech",), anxiety=state(Level.INCONCLUSIVE, score=None))
    found = reasons(steady, silent, rose, calm, unusual, worst)
    assert list(found) == ["worst", "unusual", "rose", "steady", "silent"]
    assert found["worst"] == "Anxiety: Elevated, held 2 times."
    assert found["unusual"] == "Anxiety: Above own baseline, suddenly."
    assert found["rose"] == "Anxiety: Consider, first time."
    assert found["steady"] == "Anxiety: Moderate, held 4 times."
    assert found["silent"] == "There was little speech."


def test_what_was_recorded_long_ago_comes_after_what_is_news():
    old = subject("old", days_ago=200, anxiety=state(Level.ELEVATED, held=2))
    young = subject("young", anxiety=state(Level.CONSIDER, held=3))
    assert list(reasons(old, young)) == ["young", "old"]


def test_no_action_is_suggested_where_only_the_change_stands_out():
    row = triage_of(subject("a-1", anxiety=state(z=2.4, unusual="acute")), LABELS, NOW)
    assert row.cells[1].second == "Anxiety: Above own baseline, suddenly."


def test_a_reason_names_the_two_worst_signs_and_counts_the_rest():
    states = {f"sign-{number}": state(Level.CONSIDER, held=1, flagged_before=True) for number in range(3)}
    row = triage_of(subject("a-1", **states, anxiety=state(Level.MODERATE, held=1)), LABELS, NOW)
    assert row.reason == "Anxiety: Moderate, first time. sign-2: Consider, again. 2 more signs."
    assert row.action == "Review."


def test_a_first_recording_is_not_called_a_change():
    row = triage_of(subject("a-1", recordings=1, anxiety=state(Level.MODERATE, held=1)), LABELS, NOW)
    assert row.reason == "Anxiety: Moderate, first recording."


def test_a_change_is_said_only_where_there_is_a_baseline():
    entries = [
        subject("early", anxiety=state(n=1)),
        subject("usual", anxiety=state(z=-1.2)),
        subject("below", anxiety=state(z=-2.5, unusual="sustained")),
    ]
    rows = cohort_of(entries, LABELS, Shown.CHANGE, HeatOrder.NAME, NOW).heat
    assert {row.key: row.cells[2].text for row in rows} == {
        "early": "Too early to say, 1 reading",
        "usual": "Within own range",
        "below": "Below own baseline, for some time",
    }


def test_scores_are_shown_only_on_demand():
    entry = subject("a-1", anxiety=state(Level.LOW, score=0.41))
    level, score = (cohort_of([entry], LABELS, shown, HeatOrder.NAME, NOW).heat[0].cells[2].text
                    for shown in (Shown.LEVEL, Shown.SCORE))  # fmt: skip
    assert (level, score) == ("Low", "0.41, level: Low")


def test_few_subjects_are_counted_and_not_compared():
    few = cohort_of([subject("a-1", anxiety=state(Level.MODERATE))], LABELS, Shown.LEVEL, HeatOrder.NAME, NOW)
    many = [subject(f"a-{number}", anxiety=state(Level.MODERATE if number < 2 else Level.NONE)) for number in range(9)]
    enough = cohort_of(many, LABELS, Shown.LEVEL, HeatOrder.NAME, NOW)
    assert few.distributions[0].cells[2].text == "only 1"
    assert enough.distributions[0].cells[2].text == "2 of 9"
    assert enough.distributions[0].cells[1].text == "None: 7 and Moderate: 2"


def test_a_history_says_what_is_unusual_since_when(trajectory_answer):
    answer = copy.deepcopy(trajectory_answer)
    for point in answer["data_points"][-2:]:
        point["signals"][1] |= {"level": "consider", "flagged": True}
    sign = next(sign for sign in answer["signs"] if sign["name"] == "anxiety")
    sign |= {"anomaly": True, "z_score": 2.6}
    sign["series"][-1] |= {"anomaly": True, "kind": "sustained"}
    entry = of_trajectory(TrajectoryRead.model_validate(answer), NOW)
    assert (entry.recordings, entry.level, entry.whole) == (14, Level.CONSIDER, True)
    found = entry.signs["anxiety"]
    assert (found.held, found.before, found.unusual, found.z) == (2, Level.CONSIDER, "sustained", 2.6)
    assert entry.signs["stress"].held == 0


def test_what_is_known_is_kept_as_it_was(trajectory_answer):
    entries = [
        of_trajectory(TrajectoryRead.model_validate(trajectory_answer), NOW),
        subject("a-1", issues=("clipping",), anxiety=state(Level.INCONCLUSIVE, score=None, before=Level.LOW)),
    ]
    kept, labels = from_json(to_json(entries, LABELS))
    assert list(kept.values()) == entries
    assert labels == LABELS


def test_the_table_is_tidy_and_holds_scores_only_on_demand():
    entries = [subject("a-1", anxiety=state(Level.CONSIDER, z=2.5, unusual="acute", baseline=0.2), fatigue=state())]
    plain = list(csv.DictReader(io.StringIO(cohort_csv(entries, LABELS, scores=False).decode())))
    assert [(row["group_id"], row["sign"], row["level"], row["flagged"]) for row in plain] == [
        ("a-1", "anxiety", "consider", "true"),
        ("a-1", "fatigue", "none", "false"),
    ]
    assert plain[0]["against_baseline"] == "above"
    assert plain[1]["against_baseline"] == plain[1]["anomaly"] == ""
    assert "score" not in plain[0]
    full = next(csv.DictReader(io.StringIO(cohort_csv(entries, LABELS, scores=True).decode())))
    assert (full["score"], full["baseline_score"], full["z_score"]) == ("0.2", "0.2", "2.5")


@pytest.fixture
def open_page(workspace, qtbot):
    def make(count: int | None) -> CohortPage:
        page = CohortPage(workspace.flow)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(None)
        if count is not None:
            qtbot.waitUntil(lambda: page.heat.model().rowCount() == count)
        return page

    return make


@pytest.fixture
def listed(workspace, network, trajectory_answer):
    """Subjects of the service, in the cached list."""

    def make(*group_ids):
        for group_id in group_ids:
            answer = copy.deepcopy(trajectory_answer) | {"group_id": group_id}
            network.trajectories[group_id] = [answer]
        groups = {group_id: AtService(NOW, 14, 14) for group_id in group_ids}
        ResponseCache(workspace.library.store).store(STORED_AS, StoredList([], groups, {}, NOW).to_json(), 0)

    return make


def keys(page):
    return [row.key for row in page.view_model.heat.rows()]


def test_results_of_this_computer_fill_the_map_and_lead_to_subject_and_recording(
    shelf, open_page, asked, pulse_job, qtbot
):
    take_id = shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    page = open_page(1)
    assert page.caption.text().startswith("1 subject and 1 recording; the oldest was read")
    page.triage.setFocus()
    page.triage.select_key("ward4-0172")
    qtbot.keyClick(page.triage, Qt.Key.Key_Return)
    qtbot.keyClick(page.triage, Qt.Key.Key_Space)
    (first, group), (second, place) = asked
    assert (first, group, second) == ("subject", "ward4-0172", "result")
    assert isinstance(place, RecordingRoute)
    assert (place.take_id, place.job_id) == (take_id, pulse_job.job_id)


def test_nobody_yet_is_said(open_page, qtbot):
    page = open_page(None)
    qtbot.waitUntil(lambda: "appears here with the first result" in page.empty.text())
    assert not page.export_button.isEnabled()


def test_subjects_are_read_from_the_service_when_asked_and_known_after_a_restart(
    listed, network, open_page, workspace, qtbot
):
    listed("a-1", "a-2")
    page = open_page(None)
    qtbot.waitUntil(lambda: "2 subjects have results at the service" in page.banner.text())
    assert network.asked == []
    page.banner.button.click()
    qtbot.waitUntil(lambda: sorted(keys(page)) == ["a-1", "a-2"])
    qtbot.waitUntil(lambda: not page.banner.isVisible())
    network.up = False
    again = open_page(2)
    assert "28 recordings" in again.caption.text()


def test_reading_many_can_be_stopped_and_keeps_what_was_read(listed, open_page, network, qtbot):
    listed(*(f"a-{number}" for number in range(30)))
    page = open_page(None)
    qtbot.waitUntil(lambda: page.banner.button.text() == "Read them")
    page.banner.button.click()
    qtbot.waitUntil(lambda: len(network.asked) == 5)  # half of the standard plan's ten a minute
    qtbot.waitUntil(lambda: page.banner.button.text() == "Cancel")
    page.banner.button.click()
    qtbot.waitUntil(lambda: len(keys(page)) == 5)
    qtbot.waitUntil(lambda: "25 subjects have results" in page.banner.text())
    assert len(network.asked) == 5


def test_an_erased_subject_leaves_the_cohort_even_while_its_history_is_read(
    listed, network, open_page, workspace, monkeypatch, qtbot
):
    listed("a-1", "a-2")
    asked, erased, ask = threading.Event(), threading.Event(), Groups.trajectory

    def late(groups, group_id):
        answer = ask(groups, group_id)
        if group_id == "a-2":
            asked.set()
            assert erased.wait(HANGS_S)
        return answer

    monkeypatch.setattr(Groups, "trajectory", late)
    page = open_page(None)
    qtbot.waitUntil(lambda: page.banner.button.text() == "Read them")
    page.banner.button.click()
    qtbot.waitUntil(asked.is_set)
    for group_id in ("a-1", "a-2"):  # one was read, the other is being read
        erase_subject(workspace.library, group_id)
    erased.set()
    qtbot.waitUntil(lambda: not page.view_model.service.busy and not workspace.tasks.busy)
    kept = workspace.library.responses.read(STORED_COHORT)
    assert kept is not None and from_json(kept[0])[0] == {}
    assert workspace.results.trajectory_times() == {}
    qtbot.waitUntil(lambda: keys(page) == [])


def test_a_service_that_goes_away_leaves_what_is_known(listed, network, open_page, qtbot):
    listed("a-1")
    network.up = False
    page = open_page(None)
    qtbot.waitUntil(lambda: page.banner.button.text() == "Read them")
    page.banner.button.click()
    qtbot.waitUntil(lambda: "the rest is as it was last known" in page.banner.text())
    assert page.banner.button.text() == "Try again"


def test_subjects_are_chosen_by_tag_and_search(shelf, workspace, open_page, pulse_job, stress_job, qtbot):
    shelf.put("a-1", OutboxState.DONE, job=pulse_job)
    shelf.put("b-1", OutboxState.DONE, job=stress_job)
    SubjectNotes(workspace.library.store).store("b-1", SubjectNote(tags=("ENT",)))
    page = open_page(2)
    qtbot.waitUntil(page.tag.isVisible)
    page.tag.setCurrentText("ENT")
    qtbot.waitUntil(lambda: keys(page) == ["b-1"])
    page.tag.setCurrentIndex(0)
    qtbot.keyClicks(page.search, "nobody")
    qtbot.waitUntil(lambda: keys(page) == [])
    assert "No subject fits" in page.empty.text()
    page.empty.button.click()
    qtbot.waitUntil(lambda: len(keys(page)) == 2)


def test_a_search_that_ends_late_does_not_replace_the_next_one(
    shelf, workspace, open_page, pulse_job, stress_job, monkeypatch, qtbot
):
    shelf.put("a-1", OutboxState.DONE, job=pulse_job)
    shelf.put("b-1", OutboxState.DONE, job=stress_job)
    page, here = open_page(2), CohortRead.here
    asked, go_on = threading.Event(), threading.Event()

    def slow(read, *given):
        if read.text == "a-":
            asked.set()
            assert go_on.wait(HANGS_S)
        return here(read, *given)

    monkeypatch.setattr(CohortRead, "here", slow)
    page.search.setText("a-")
    qtbot.waitUntil(asked.is_set)
    page.search.setText("b-")
    qtbot.waitUntil(lambda: keys(page) == ["b-1"])
    go_on.set()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert keys(page) == ["b-1"]


def test_the_table_is_written_and_noted(shelf, open_page, pulse_job, tmp_path, workspace, qtbot):
    shelf.put("a-1", OutboxState.DONE, job=pulse_job)
    page = open_page(1)
    page.mode.option("score").click()
    page.export_to(tmp_path / "cohort.csv")
    qtbot.waitUntil(lambda: "was written to" in page.banner.text())
    rows = list(csv.DictReader(io.StringIO((tmp_path / "cohort.csv").read_text())))
    assert {row["group_id"] for row in rows} == {"a-1"}
    told = list(csv.DictReader(io.StringIO((tmp_path / "cohort_dictionary.csv").read_text())))
    assert [entry["column"] for entry in told] == list(rows[0])
    notes = workspace.library.store.rows("SELECT detail FROM audit WHERE what = 'exported'")
    assert [row["detail"] for row in notes] == ["csv"]


@pytest.fixture
def study() -> dict:
    return json.loads((Path(__file__).parents[1] / "data" / "aggregate_study.json").read_text())


def test_a_group_is_read_as_a_cohort_and_shown_with_its_age_when_the_service_is_away(network, study, open_page, qtbot):
    usual = network.answer

    def with_aggregate(request):
        if request.url.path.endswith("/study-1/aggregate") and network.up:
            return httpx.Response(200, json=study)
        return usual(request)

    network.answer = with_aggregate
    page = open_page(None)
    page.scope.option("group").click()
    qtbot.keyClicks(page.group.field, "study-1")
    qtbot.keyClick(page.group.field, Qt.Key.Key_Return)
    table = page.group.view_model.table
    qtbot.waitUntil(lambda: table.rowCount() == 6)
    assert [cell.text for cell in table.row(0).cells] == [
        "Mood Disruption",
        "None: 21, Low: 6, Consider: 6, Moderate: 4 and Elevated: 1",
        "11 of 38, 29% (17% to 45%)",
        "0.28 (0.18 to 0.44)",
    ]
    assert page.group.table.isColumnHidden(3)
    assert width_of_columns(page.group.table) == page.group.table.viewport().width()
    page.group.scores.click()
    assert not page.group.table.isColumnHidden(3)
    assert width_of_columns(page.group.table) == 150 + 176 + 220 + 150  # more than the page has: it scrolls
    page.group.scores.click()
    assert width_of_columns(page.group.table) == page.group.table.viewport().width()
    assert page.group.sentence.text() == "38 recordings of the last 270 days. Read a moment ago."
    network.up = False
    page.group.read_button.click()
    qtbot.waitUntil(lambda: page.group.banner.isVisible())
    assert table.rowCount() == 6
    assert page.group.sentence.text().startswith("38 recordings")


def test_a_group_that_could_not_be_read_says_nothing_about_the_next_one(
    network, study, open_page, workspace, monkeypatch, qtbot
):
    asked, moved_on = threading.Event(), threading.Event()

    def aggregate(groups, group_id):
        if group_id == "study-1":
            return AggregateRead.model_validate(study)
        asked.set()
        assert moved_on.wait(HANGS_S)
        raise ValueError

    monkeypatch.setattr(Groups, "aggregate", aggregate)
    page = open_page(None)
    page.scope.option("group").click()
    model, told = page.group.view_model, []
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    model.open("study-0")
    qtbot.waitUntil(asked.is_set)
    model.open("study-1")
    qtbot.waitUntil(lambda: model.table.rowCount() == 6)
    model.changed.connect(told.append)
    moved_on.set()
    qtbot.waitUntil(lambda: not workspace.tasks._tasks)
    assert {(state.group_id, state.stale) for state in told} <= {("study-1", "")}
    model.open("study-0")
    qtbot.waitUntil(lambda: told[-1].group_id == "study-0" and bool(told[-1].stale))


def test_nothing_is_shown_of_the_last_group_once_a_faulty_id_was_entered(
    study, open_page, workspace, monkeypatch, qtbot
):
    asked, moved_on = threading.Event(), threading.Event()

    def aggregate(groups, group_id):
        asked.set()
        assert moved_on.wait(HANGS_S)
        return AggregateRead.model_validate(study)

    monkeypatch.setattr(Groups, "aggregate", aggregate)
    page = open_page(None)
    page.scope.option("group").click()
    model, shown = page.group.view_model, []
    model.changed.connect(lambda state: shown.append(state.reading))
    model.open("study-1")
    qtbot.waitUntil(asked.is_set)
    model.open("no group?")
    moved_on.set()
    qtbot.waitUntil(lambda: not workspace.tasks._tasks)
    assert not any(shown)


def width_of_columns(table) -> int:
    return sum(table.columnWidth(place) for place in range(table.model().columnCount()))


def test_a_share_of_few_recordings_is_not_given(study):
    study["signs"][0] |= {"n": 4, "flagged_count": 1}
    sign = AggregateRead.model_validate(study).signs[0]
    assert flagged_text(sign) == "1 of 4, too few for a share"


def test_the_work_for_rows_grows_with_the_subjects_and_no_faster():
    signs = {name: state(Level.LOW, z=0.4) for name in ("anxiety", "fatigue", "stress")}
    entries = [subject(f"ward-{number:05d}", **signs) for number in range(10_000)]

    def calls(count):
        return calls_of(lambda: cohort_of(entries[:count], LABELS, Shown.LEVEL, HeatOrder.NEED, NOW))

    calls(10)  # what is read once has been read
    assert len(cohort_of(entries, LABELS, Shown.LEVEL, HeatOrder.NEED, NOW).heat) == 10_000
    assert calls(10_000) < 12 * calls(1_000)

"""A wrong recording is excluded, moved, erased and put back from Result, Subject and Outbox; every page agrees."""

import re
import threading
from dataclasses import replace

import pytest

from patience import HANGS_S
from vbdesk.contract.limits import Plan
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.cohort.view_model import CohortViewModel
from vbdesk.desk.compare.view_model import CompareViewModel
from vbdesk.desk.outbox.commands import Remove
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.results.correction_actions import CorrectionChoice, CorrectionRead
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subject.view_model import SubjectViewModel
from vbdesk.desk.subjects.view_model import SubjectsViewModel
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.corrections import CorrectionReason
from vbdesk.outbox.library.items import ItemFilter
from vbdesk.outbox.library.pending_erasures import ErasureScope
from vbdesk.outbox.library.states import OutboxState

A, B = "ward4-0172", "ward4-0173"
READING = {
    "recorded_at": "2026-11-01T10:00:00Z",
    "timepoint": "2026-11-01",
    "relative_weight": 1.0,
    "audio_quality": {"issues": [], "voice_percentage": 60.0, "audio_clarity": 90.0},
    "signals": [{"name": "anxiety", "score": 0.3, "level": "none", "flagged": False}],
}


@pytest.fixture
def profile(profile):
    """A plan with room: by one of ten requests a minute, the last of many changes would wait for a minute."""
    return replace(profile, plan=Plan.ENTERPRISE)


@pytest.fixture
def course(shelf, workspace, trajectory_answer, pulse_job, network):
    """Three finished recordings of one subject, the last of them from another computer; returns their jobs."""
    points = trajectory_answer["data_points"][:3]
    for place, point in enumerate(points[:2]):
        job = pulse_job.model_copy(update={"job_id": point["job_id"]})
        take_id = shelf.put(A, OutboxState.DONE, job=job, hours_ago=100 - place)
        point["recorded_at"] = workspace.library.get(take_id).recorded_at.isoformat()
        with workspace.library.store.changing():
            workspace.library.store.add("jobs", job.job_id, take_id)
    network.trajectories[A] = [keep(workspace, trajectory_answer, points, A)]
    return [point["job_id"] for point in points]


def keep(workspace, answer, points, group_id):
    signs = [sign | {"series": sign["series"][: len(points)]} for sign in answer["signs"]]
    changed = {"group_id": group_id, "data_points": points, "signs": signs, "done_job_count": len(points)}
    workspace.results.store_trajectory(TrajectoryRead.model_validate(answer | changed), 0)
    return answer | changed


@pytest.fixture
def open_result(workspace, qtbot):
    def make(**place):
        page = ResultPage(workspace.flow)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(RecordingRoute(**place))
        qtbot.waitUntil(lambda: page.view_model.view.reading is not None)
        return page

    return make


@pytest.fixture
def open_subject(workspace, qtbot):
    def make(group_id, count):
        page = SubjectPage(workspace.flow)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(group_id)
        qtbot.waitUntil(lambda: page.view_model.table.rowCount() == count)
        return page

    return make


def answer(page, qtbot, change, subject="", reason="wrong person"):
    card = page.correction_card
    qtbot.waitUntil(lambda: card.isVisible())
    card.choice.option(change.value).click()
    if subject:
        card.subject.setText(subject)
    assert card.reason.currentData() is None
    card.reason.setCurrentIndex(card.reason.findData(reason))
    card.go.click()


def sentences(workspace):
    log = AuditReader(workspace.library.store.folder, workspace.library.store.key)
    return [(entry.what, entry.detail) for entry in log.entries()]


def test_a_recording_of_another_person_is_moved_from_its_result_and_undone(course, workspace, open_result, qtbot):
    page = open_result(job_id=course[0], group_id=A)
    page.correct_button.click()
    answer(page, qtbot, CorrectionChoice.MOVE, B)
    qtbot.waitUntil(lambda: f" Moved to {B}. The service gets this correction" in page.banner.text())
    assert page.banner.text().startswith(f"{A}: Recording of ")
    qtbot.waitUntil(lambda: page.view_model.view.group_id == B)
    assert page.correction_card.isHidden()
    take_id = page.view_model.view.recording.take_id
    assert workspace.library.get(take_id).group_id == B
    assert (AuditAction.MOVED, "wrong person") in sentences(workspace)
    assert page.banner.button.text() == "Undo"
    page.banner.button.click()
    qtbot.waitUntil(lambda: workspace.library.get(take_id).group_id == A)
    qtbot.waitUntil(lambda: page.view_model.view.group_id == A)


def test_the_card_asks_for_the_subject_and_says_why_something_is_refused(course, workspace, open_result, qtbot):
    page = open_result(job_id=course[0], group_id=A)
    page.correct_button.click()
    answer(page, qtbot, CorrectionChoice.MOVE)
    assert page.correction_card.fault.text() == "Enter the subject that the recording belongs to."
    page.correction_card.reason.setCurrentIndex(-1)
    page.correction_card.subject.setText(B)
    page.correction_card.go.click()
    assert page.correction_card.fault.text() == "Choose why: the reason is kept in the audit log."
    page.correction_card.reason.setCurrentIndex(0)
    for subject, words in (("--", "at least one letter"), (A, "belongs to ward4-0172 already")):
        page.correction_card.subject.setText(subject)
        page.correction_card.go.click()
        qtbot.waitUntil(lambda words=words: words in page.correction_card.fault.text())
    assert page.correction_card.isVisible()
    assert page.banner.isHidden()
    assert workspace.library.corrections.all() == []


def test_an_excluded_recording_leaves_charts_and_counts_and_is_put_back_later(course, workspace, open_subject, qtbot):
    page = open_subject(A, 3)
    assert "3 recordings" in page.sentence.text()
    page.view.option("table").click()
    page.table.acted.emit(course[1])
    answer(page, qtbot, CorrectionChoice.EXCLUDE, reason="unusual circumstances")
    qtbot.waitUntil(lambda: "2 recordings" in page.sentence.text())
    assert page.view_model.reading.chart.jobs == (course[0], course[2]) or set(page.view_model.reading.chart.jobs) == {
        course[0],
        course[2],
    }
    assert all(len(sign.estimates.t) == 0 for sign in page.view_model.reading.chart.signs)  # no estimate with it
    assert page.view_model.table.rowCount() == 3  # it is still listed, as excluded
    qtbot.waitUntil(page.correction_card.isHidden)
    page.table.acted.emit(course[1])
    answer(page, qtbot, CorrectionChoice.PUT_BACK)
    qtbot.waitUntil(lambda: "3 recordings" in page.sentence.text())
    assert (AuditAction.PUT_BACK, "correction was a mistake") in sentences(workspace)


@pytest.fixture
def slow_question(monkeypatch):
    """Holds the first question about a recording until a test lets it go on."""
    question, held = CorrectionRead.here, threading.Semaphore(1)
    asking, go_on = threading.Event(), threading.Event()

    def slow(self, context, before, task):
        if held.acquire(blocking=False):
            asking.set()
            assert go_on.wait(HANGS_S)
        return question(self, context, before, task)

    monkeypatch.setattr(CorrectionRead, "here", slow)
    yield asking, go_on
    go_on.set()


def test_the_recording_asked_about_last_is_the_one_that_is_corrected(
    course, workspace, open_subject, qtbot, slow_question
):
    asking, go_on = slow_question
    page = open_subject(A, 3)
    page.table.acted.emit(course[0])
    qtbot.waitUntil(asking.is_set)
    page.table.acted.emit(course[1])
    qtbot.waitUntil(page.correction_card.isVisible)
    go_on.set()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    answer(page, qtbot, CorrectionChoice.EXCLUDE, reason="unusual circumstances")
    qtbot.waitUntil(lambda: len(workspace.library.corrections.all()) == 1)
    assert workspace.library.corrections.all()[0].member.job_ids == (course[1],)


def test_a_page_that_was_left_asks_nothing_about_its_recording_any_more(
    course, workspace, open_subject, qtbot, slow_question
):
    asking, go_on = slow_question
    page = open_subject(A, 3)
    page.table.acted.emit(course[0])
    qtbot.waitUntil(asking.is_set)
    page.closed()
    go_on.set()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert page.correction_card.isHidden()


def test_a_recording_that_only_the_service_has_can_be_corrected_too(course, workspace, open_subject, qtbot):
    page = open_subject(A, 3)
    page.table.acted.emit(course[2])
    answer(page, qtbot, CorrectionChoice.MOVE, B)
    qtbot.waitUntil(lambda: "2 recordings" in page.sentence.text())
    [entry] = workspace.library.corrections.due()
    assert (entry.member.job_ids, entry.source, entry.target) == ((course[2],), A, B)
    other = open_subject(B, 1)
    assert other.view_model.reading.chart.jobs == (course[2],)


def test_erase_says_what_the_service_allows_and_its_undo_brings_everything_back(course, workspace, open_result, qtbot):
    page = open_result(job_id=course[0], group_id=A)
    take_id = page.view_model.view.recording.take_id
    page.correct_button.click()
    card = page.correction_card
    qtbot.waitUntil(card.isVisible)
    card.choice.option(CorrectionChoice.ERASE.value).click()
    assert "go to the trash for 7 days" in card.sentence.text()
    assert "The service keeps its analysis: it offers no way to delete one." in card.sentence.text()
    answer(page, qtbot, CorrectionChoice.ERASE, reason="on request of the person")
    qtbot.waitUntil(lambda: " Moved to the trash" in page.banner.text())
    assert page.banner.text().startswith(f"{A}: Recording of ")
    assert workspace.library.trash.holds(take_id)
    assert [entry.target for entry in workspace.library.corrections.due()] == [None]
    page.banner.button.click()
    qtbot.waitUntil(lambda: not workspace.library.trash.holds(take_id))
    qtbot.waitUntil(lambda: len(workspace.library.corrections.all()) == 2)
    assert not workspace.library.get(take_id).excluded


def test_the_outbox_corrects_one_recording_and_says_what_is_not_done_yet(course, workspace, open_outbox, qtbot):
    page = open_outbox(2)
    take_id = workspace.library.of_job(course[0]).take_id
    page.list.choose_keys([take_id])
    qtbot.waitUntil(page.bar.button("correct").isVisible)
    page.bar.button("correct").click()
    answer(page, qtbot, CorrectionChoice.MOVE, B)
    qtbot.waitUntil(lambda: f" Moved to {B}." in page.correction_notice.text())
    assert page.correction_notice.text().startswith(f"{A}: Recording of ")

    def happening():
        row = next(row for row in page.view_model.rows.values() if row.key == take_id)
        return getattr(row.cells[2], "text", "")

    qtbot.waitUntil(lambda: happening() == f"Moved from {A}. Waiting for the service.")
    page.correction_notice.button.click()
    qtbot.waitUntil(lambda: workspace.library.get(take_id).group_id == A)


def test_what_was_answered_is_not_asked_again_when_something_is_destroyed(course, workspace, open_outbox, shelf, qtbot):
    other = shelf.put(B, OutboxState.CHECKED)
    page = open_outbox(3)
    take_id = workspace.library.of_job(course[0]).take_id
    page.list.choose_keys([take_id])
    qtbot.waitUntil(page.bar.button("correct").isVisible)
    page.bar.button("correct").click()
    answer(page, qtbot, CorrectionChoice.EXCLUDE)
    qtbot.waitUntil(lambda: "Excluded from" in page.correction_notice.text())
    asked = []
    page.view_model.corrections.asked.connect(asked.append)
    page.view_model.actions.do(Remove((other,), ErasureScope.EVERYTHING))
    qtbot.waitUntil(lambda: page.view_model.table.rowCount() == 2)
    page.view_model.refresh()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert asked == []
    assert page.list.isVisible()


# One number on every page


@pytest.fixture
def counts(workspace, qtbot):
    """What the view models of Subjects, Subject, Compare and Cohort say about a subject, once each is up to date."""
    subjects, cohort = SubjectsViewModel(workspace.flow), CohortViewModel(workspace.flow)
    subject, compare = SubjectViewModel(workspace.flow), CompareViewModel(workspace.flow)
    for each in (subjects, cohort, subject, compare):
        each.setParent(workspace)
    subjects.show()
    cohort.show()

    def done(group_id):
        return workspace.library.list(ItemFilter(group_id=group_id, states=frozenset({OutboxState.DONE})))

    def read(group_id):
        listed = next((row.recordings for row in subjects.data.rows if row.key == group_id), 0)
        entries = () if cohort.reading is None else cohort.reading.summaries
        summed = next((entry.recordings for entry in entries if entry.group_id == group_id), 0)
        found = re.search(r"(\d+) recordings?, last", "" if subject.reading is None else subject.reading.sentence)
        return listed, 0 if found is None else int(found[1]), len(compare.same_subject[0]), summed

    def agree(group_id, number):
        for page in (subjects, cohort):
            page.show()
        if subject.group_id != group_id:
            subject.open(group_id)
        newest = done(group_id)[0]
        place = RecordingRoute(newest.take_id, newest.job_id, group_id, newest.recorded_at)
        if compare.comparison != ComparisonRoute(place, place):
            compare.open(ComparisonRoute(place, place))
        qtbot.waitUntil(lambda: read(group_id) == (number,) * 4)

    yield agree
    compare.leave()
    subject.leave()
    subjects.leave()
    cohort.leave()


@pytest.mark.parametrize("online", [True, False])
def test_every_page_shows_the_same_number_after_each_kind_of_change(
    course, workspace, counts, network, shelf, pulse_job, trajectory_answer, online
):
    library = workspace.library
    network.add_group(A, jobs=3)
    network.up = online
    agree = counts
    agree(A, 3)
    first, second = library.of_job(course[0]).take_id, library.of_job(course[1]).take_id
    out = library.corrections.exclude(library.corrections.member(first), CorrectionReason.TEST)
    agree(A, 2)
    library.corrections.put_back(out.number)
    agree(A, 3)
    library.corrections.move(library.corrections.member(second), B, CorrectionReason.WRONG_PERSON)
    agree(A, 2)
    agree(B, 1)
    shelf.put(A, OutboxState.CHECKED)  # an import, or a new take: it counts when it has a result
    agree(A, 2)
    known = network.trajectories[A][0]
    arrived = next(point for point in trajectory_answer["data_points"] if point["job_id"] == pulse_job.job_id)
    network.trajectories[A] = [known | {"data_points": [*known["data_points"], arrived], "done_job_count": 4}]
    network.groups[0] |= {"job_count": 4, "done_job_count": 4}
    shelf.put(A, OutboxState.DONE, job=pulse_job)
    agree(A, 3)
    library.erase_from_trajectory(first, CorrectionReason.ON_REQUEST)
    agree(A, 2)


def test_a_course_without_any_recording_still_lists_what_can_be_put_back(course, workspace, open_subject, qtbot):
    library = workspace.library
    member = library.corrections.member(library.of_job(course[0]).take_id)
    for job_id in course:
        library.corrections.exclude(
            replace(member, take_id=None, job_ids=(job_id,), finished=job_id, reading=READING | {"job_id": job_id}),
            CorrectionReason.TEST,
        )
    page = open_subject(A, 3)
    assert all(row.excluded for row in page.view_model.reading.rows)
    assert page.sentence.text() == "No recording has a result yet."
    page.table.acted.emit(course[1])
    answer(page, qtbot, CorrectionChoice.PUT_BACK)
    qtbot.waitUntil(lambda: [row.excluded for row in page.view_model.reading.rows].count(False) == 1)


@pytest.mark.parametrize("listed", [True, False])
def test_the_last_recording_of_a_subject_is_the_last_that_counts(course, workspace, network, shelf, qtbot, listed):
    library = workspace.library
    first, second = (library.of_job(job_id) for job_id in course[:2])
    if listed:  # by the service, which has not done the correction when the list was read
        network.add_group(A, jobs=3, latest=second.recorded_at.replace(microsecond=0))
    subjects = SubjectsViewModel(workspace.flow)
    subjects.setParent(workspace)

    def last_is(moment):
        subjects.show()
        qtbot.waitUntil(lambda: [row.last for row in subjects.data.rows if row.key == A] == [moment])

    last_is(second.recorded_at)
    entry = library.corrections.exclude(library.corrections.member(second.take_id), CorrectionReason.TEST)
    last_is(first.recorded_at)
    library.corrections.put_back(entry.number)
    last_is(second.recorded_at)
    library.corrections.move(library.corrections.member(second.take_id), B, CorrectionReason.WRONG_PERSON)
    last_is(first.recorded_at)
    if not listed:
        library.corrections.exclude(library.corrections.member(first.take_id), CorrectionReason.TEST)
        last_is(None)
        [row] = [row for row in subjects.data.rows if row.key == A]
        assert [cell.text for cell in row.cells[1:2]] == ["None that counts"]
    waiting = library.get(shelf.put(A, OutboxState.WAITING))
    last_is(waiting.recorded_at)
    subjects.leave()

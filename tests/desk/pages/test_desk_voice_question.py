"""A voice that differs from the subject's earlier ones: a question on Result, in the chart and in the table."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import soundfile as sf
from PySide6.QtGui import QImage, QPainter

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.charts.cursor_text import cursor_text
from vbdesk.desk.charts.sign_plot import SignPlot
from vbdesk.desk.charts.trajectory_view import TrajectoryView
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.shell.speaker_watch import SpeakerWatch
from vbdesk.desk.subject.trajectory_text import subject_of
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.imports.speaker_checks import confirm_voice
from vbdesk.outbox.imports.speaker_comparison import comparison_rules, sounds_unlike
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.items import RecordingTarget, SpeakerFinding, TakeMetadata, metadata_of
from vbdesk.outbox.library.states import OutboxState

DATA = Path(__file__).parents[2] / "data"
QUESTION = "This voice differs from this person's earlier recordings. Is it the right person?"


def find(library, take_id, similarity):
    """Store the outcome of a comparison with a recording."""
    item = library.get(take_id)
    with library.store.changing():
        found = SpeakerFinding(similarity, item.group_id, ("earlier",))
        library.store.store_details(take_id, replace(metadata_of(item), speaker=found))


@pytest.mark.parametrize(("below", "asks"), [(True, True), (False, False)])
def test_the_result_asks_whether_it_is_the_right_person(shelf, workspace, pulse_job, qtbot, below, asks):
    take_id = shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    limit = comparison_rules().unlike_below
    find(workspace.library, take_id, limit - 0.1 if below else limit + 0.1)
    page = ResultPage(workspace.flow)
    qtbot.addWidget(page)
    page.show()
    page.opened(RecordingRoute(take_id=take_id))
    qtbot.waitUntil(lambda: page.view_model.view.reading is not None)
    assert page.question.isVisible() is asks
    assert page.question.text() == (QUESTION if asks else "")
    find(workspace.library, take_id, limit + 0.1)
    qtbot.waitUntil(lambda: not page.question.isVisible())
    page.closed()


def test_yes_it_is_this_person_ends_the_question_for_good(shelf, workspace, pulse_job, qtbot):
    take_id, library = shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job), workspace.library
    find(library, take_id, comparison_rules().unlike_below - 0.1)
    page = ResultPage(workspace.flow)
    qtbot.addWidget(page)
    page.show()
    page.opened(RecordingRoute(take_id=take_id))
    qtbot.waitUntil(page.question.isVisible)
    assert page.question.other_button.text() == "Yes, it is this person"
    titles = (page.view_model.view.title,)
    page.question.other_button.click()
    qtbot.waitUntil(lambda: not page.question.isVisible())
    titles += (page.view_model.view.title,)  # after midnight it has another date
    qtbot.waitUntil(lambda: "Noted: it is this person." in page.banner.text())
    assert page.banner.text().startswith(titles)
    find(library, take_id, comparison_rules().unlike_below - 0.2)  # compared again
    page.opened(RecordingRoute(take_id=take_id))
    qtbot.waitUntil(lambda: page.view_model.view.reading is not None)
    assert not page.question.isVisible()
    assert library.store.rows("SELECT 1 FROM audit WHERE what = ?", (AuditAction.VOICE_CONFIRMED,))
    page.closed()


def test_a_confirmed_voice_is_not_marked_in_the_course(workspace, reading):
    subject, job_id = reading
    library = workspace.library
    item = library.of_job(job_id)
    confirm_voice(library, item.take_id)
    confirmed = subject_of(subject.read, subject.read.as_of, [library.get(item.take_id)])
    assert not any(sign.other_voice for sign in confirmed.chart.signs)


@pytest.fixture
def reading(shelf, workspace, trajectory_answer):
    """A subject whose seventh recording has another voice."""
    read = TrajectoryRead.model_validate(trajectory_answer)
    job_id = sorted(read.data_points, key=lambda point: point.recorded_at)[6].job_id
    take_id = shelf.put(read.group_id, OutboxState.CHECKED)
    library = workspace.library
    with library.store.changing():
        library.store.update(take_id, {"job_id": job_id})
    find(library, take_id, 0.1)
    return subject_of(read, read.as_of, [library.get(take_id)]), job_id


def test_the_course_marks_the_recording_and_says_why(reading):
    subject, job_id = reading
    chart = subject.chart
    sign = next(sign for sign in chart.signs if sign.other_voice)
    (index,) = sign.other_voice
    assert sign.readings.job_ids[index] == job_id
    moment = float(sign.readings.t[index])
    assert cursor_text(chart, sign, moment).sentence.startswith(QUESTION)
    assert QUESTION in cursor_text(chart, sign, moment).announcement()
    other = float(sign.readings.t[index - 1])
    assert QUESTION not in cursor_text(chart, sign, other).sentence
    told = [row.key for row in subject.rows if any(cell.text.startswith(QUESTION) for cell in row.cells)]
    assert told == [job_id]


def test_the_mark_is_a_shape_of_its_own_in_the_chart(reading, qtbot):
    subject, _ = reading
    without = replace(
        subject.chart,
        signs=tuple(replace(sign, other_voice=frozenset()) for sign in subject.chart.signs),
    )
    view = TrajectoryView()
    qtbot.addWidget(view)
    view.resize(900, 700)
    view.show()
    pictures = []
    for chart in (subject.chart, without):
        view.show_chart(chart)
        view._move_cursor(None)
        pictures.append([picture_of(plot) for plot in view.findChildren(SignPlot)])
    assert all(marked != plain for marked, plain in zip(*pictures, strict=True))


def picture_of(plot):
    picture = QImage(plot.size(), QImage.Format.Format_RGB32)
    picture.fill(0)
    painter = QPainter(picture)
    plot.render(painter)
    painter.end()
    return picture


def test_a_recording_from_anywhere_is_compared_in_the_background(workspace, tasks, qtbot, tmp_path):
    library, takes = workspace.library, []
    for day, name in enumerate(("speech_kathleen_20s.flac", "speech_male_20s.flac")):
        samples, rate = sf.read(DATA / name, dtype="int16", stop=10 * 16_000)
        sf.write(tmp_path / name, samples, rate)
        moment = datetime(2026, 3, 1 + day, 9, tzinfo=UTC)
        takes.append(
            library.import_file(tmp_path / name, TakeMetadata("ward9", moment, RecordingTarget("model", "pulse")))
        )
    watch = SpeakerWatch(workspace.flow)
    watch.compare()
    qtbot.waitUntil(lambda: sounds_unlike(library.get(takes[1])))
    assert not sounds_unlike(library.get(takes[0]))
    qtbot.waitUntil(lambda: not watch._work.busy)
    watch.stop()

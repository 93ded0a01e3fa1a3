"""The Result page in unusual states: no result, the first one, several voices, no sound."""

import threading
from pathlib import Path

import httpx
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel

from patience import HANGS_S
from vbdesk.contract.jobs import Job, JobStatus
from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.contract.results import AudioQuality, SpeakerResult
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.results.result_text import reading_of
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute, ReviewRoute
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.consent import ConsentKind
from vbdesk.outbox.library.items import write_result
from vbdesk.outbox.library.states import Fix, OutboxState

ANSWERS = Path(__file__).parents[1] / "data"
NO_HISTORY = dict.fromkeys(
    ("latest_score", "baseline_score", "deviation_from_baseline", "anomaly", "z_score", "population_z")
)


@pytest.fixture
def open_page(workspace, qtbot):
    """Open the page on a recording."""
    pages = []

    def make(recording: RecordingRoute, *, wait: bool = True):
        page = ResultPage(workspace.flow)
        pages.append(page)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(recording)
        if wait:
            qtbot.waitUntil(lambda: page.view_model.view.reading is not None)
            qtbot.waitUntil(lambda: not workspace.tasks.busy)
            qtbot.waitUntil(lambda: "Recording quality" in words_of(page))
        return page

    yield make
    for page in pages:
        page.closed()


def words_of(widget) -> str:
    return " | ".join(label.text() for label in widget.findChildren(QLabel) if label.isVisible())


def varied(job, each=None, **result):
    """The job with other signals and other parts of its result."""
    if each is not None:
        result["signals"] = [signal.model_copy(update=each) for signal in job.result.signals]
    return job.model_copy(update={"result": job.result.model_copy(update=result)})


def inconclusive(job):
    summary = job.result.summary.model_copy(
        update={"overall_level": Level.INCONCLUSIVE, "recommended_action": RecommendedAction.INCONCLUSIVE}
    )
    quality = AudioQuality(issues=["insufficient_speech"], voice_percentage=12, audio_clarity=None)
    return varied(job, {"level": Level.INCONCLUSIVE, "flagged": False}, summary=summary, audio_quality=quality)


def test_signals_come_by_level_then_score_and_the_unread_last(pulse_job):
    levels = [Level.NONE, Level.INCONCLUSIVE, Level.MODERATE, Level.CONSIDER, Level.NONE, Level.CONSIDER]
    scores = [0.1, 0.9, 0.6, 0.51, 0.3, 0.55]
    signals = [
        signal.model_copy(update={"level": level, "score": score})
        for signal, level, score in zip(pulse_job.result.signals, levels, scores, strict=True)
    ]
    rows = reading_of(varied(pulse_job, signals=signals).result).voice.signs
    assert [row.score for row in rows] == [0.6, 0.55, 0.51, 0.3, 0.1, 0.9]


def test_an_inconclusive_recording_says_why_and_what_to_do_next_time(shelf, open_page, pulse_job):
    page = open_page(RecordingRoute(take_id=shelf.put("a", OutboxState.DONE, job=inconclusive(pulse_job))))
    words = words_of(page)
    assert "<b>Record again.</b>" in words
    assert "Why | There was little speech." in words
    assert "Next time | Let the person speak for at least 30 seconds." in words


def test_an_inconclusive_recording_without_a_named_fault_does_not_invent_one(pulse_job):
    quality = AudioQuality(issues=[], voice_percentage=None, audio_clarity=None)
    result = inconclusive(pulse_job).result.model_copy(update={"audio_quality": quality})
    assert reading_of(result, seconds=18.0).inconclusive == (("The service named no fault of the sound.",), ())


def golden(name: str) -> Job:
    return Job.model_validate_json((ANSWERS / f"job_pulse_{name}.json").read_bytes())


def test_a_short_recording_with_good_sound_says_how_much_speech_there_was(shelf, open_page):
    job = golden("inconclusive")
    page = open_page(RecordingRoute(take_id=shelf.put("a", OutboxState.DONE, job=job, seconds=18)))
    words = words_of(page)
    assert "only about 11 seconds of speech were heard" in words
    assert "Let the person speak for at least 30 seconds." in words
    assert [row.sign.level for row in page.sign_rows.rows] == [Level.INCONCLUSIVE] * 6


def test_a_conversation_as_the_service_tells_it_has_two_voices(shelf, open_page, qtbot):
    page = open_page(RecordingRoute(take_id=shelf.put("a", OutboxState.DONE, job=golden("diarized"), seconds=30)))
    page.speaker_card.choice.setCurrentIndex(2)
    qtbot.waitUntil(lambda: len(page.player.waveform.segments) == 5)
    assert "Inconclusive" in words_of(page)


def keep_course(workspace, answer, jobs, series=True):
    """Store the trajectory of subject a with the first of its recordings only."""
    points = answer["data_points"][:jobs]
    signs = [sign | {"series": sign["series"][:jobs] if series else []} for sign in answer["signs"]]
    read = TrajectoryRead.model_validate(answer | {"group_id": "a", "data_points": points, "signs": signs})
    workspace.results.store_trajectory(read, 0)


def test_the_first_recording_says_that_there_is_no_baseline_yet(
    shelf, open_page, pulse_job, workspace, trajectory_answer
):
    trajectory_answer["data_points"][0]["job_id"] = pulse_job.job_id
    keep_course(workspace, trajectory_answer, 1)
    page = open_page(RecordingRoute(take_id=shelf.put("a", OutboxState.DONE, job=varied(pulse_job, NO_HISTORY))))
    words = words_of(page)
    assert "This is the first recording of this subject for these signals" in words
    assert "baseline |" not in words_of(page.sign_rows)


def test_some_signals_without_a_history_say_so_in_their_rows(shelf, open_page, pulse_job, workspace, trajectory_answer):
    for point in trajectory_answer["data_points"][:7]:
        point["signals"] = [signal for signal in point["signals"] if signal["name"] != "anxiety"]
    keep_course(workspace, trajectory_answer, 14)
    page = open_page(RecordingRoute(take_id=shelf.put("a", OutboxState.DONE, job=pulse_job)))
    assert words_of(page.sign_rows).count("First recording") == 1


def test_changes_are_those_of_the_trajectory_and_never_those_that_came_with_the_result(
    shelf, open_page, pulse_job, workspace, trajectory_answer, qtbot
):
    shouting = {"z_score": 9.9, "anomaly": True, "latest_score": 0.9, "baseline_score": 0.1}
    signals = [signal.model_copy(update=shouting) for signal in pulse_job.result.signals]
    page = open_page(RecordingRoute(take_id=shelf.put("a", OutboxState.DONE, job=varied(pulse_job, signals=signals))))
    page.segment.choose("researcher")
    page._rebuild_for("researcher")
    qtbot.waitUntil(lambda: "when the service has computed the course" in words_of(page))
    assert {row.no_change for row in page.view_model.view.reading.voice.signs} == {"Not compared yet"}
    assert {row.change for row in page.view_model.view.reading.voice.signs} == {None}
    assert "9.9" not in words_of(page) + page.view_model.view.reading.raw
    keep_course(workspace, trajectory_answer, 14)
    qtbot.waitUntil(lambda: words_of(page.sign_rows).count("In own range") == 6)
    figures = dict(page.view_model.view.reading.voice.signs[0].figures)
    assert (figures["Latest"], figures["Baseline"], figures["z"]) == ("0.46", "0.40", "+1.4")
    assert '"z_score": 1.3863' in page.view_model.view.reading.raw
    keep_course(workspace, trajectory_answer, 7)  # as if another computer had excluded it
    qtbot.waitUntil(lambda: "In own range" not in words_of(page.sign_rows))


def test_mixed_calibrations_and_strange_ones_are_noted(pulse_job):
    signals = list(pulse_job.result.signals)
    signals[0] = signals[0].model_copy(update={"sign_version": "7.0.0"})
    notes = " ".join(reading_of(varied(pulse_job, signals=signals).result).notes)
    assert f"several calibrations (7.0.0 and {signals[1].sign_version})" in notes
    assert "Scored by calibration 7.0.0" in notes
    assert reading_of(pulse_job.result).notes == ()


def two_voices(job):
    summary = job.result.summary
    calm = summary.model_copy(update={"overall_level": Level.NONE, "recommended_action": RecommendedAction.NONE})
    low = [signal.model_copy(update={"level": Level.NONE, "score": 0.1}) for signal in job.result.signals]
    speakers = [
        SpeakerResult(speaker="speaker_1", speech_seconds=9.0, segments=[(0.0, 4.0), (6.0, 11.0)], summary=summary,
                      signals=list(job.result.signals)),
        SpeakerResult(speaker="speaker_2", speech_seconds=4.0, segments=[(11.0, 15.0)], summary=calm, signals=low),
    ]  # fmt: skip
    return varied(job, speakers=speakers)


def test_each_of_several_voices_can_be_chosen(shelf, open_page, pulse_job, qtbot):
    page = open_page(RecordingRoute(take_id=shelf.put("a", OutboxState.DONE, job=two_voices(pulse_job))))
    choice = page.speaker_card.choice
    assert [choice.itemText(place) for place in range(choice.count())] == [
        "The whole recording",
        "Speaker 1, 0:09 of speech",
        "Speaker 2, 0:04 of speech",
    ]
    assert "Moderate" in words_of(page)
    choice.setFocus()
    qtbot.keyClick(choice, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: "<b>Nothing to follow up.</b>" in words_of(page))
    assert page.player.waveform.segments == ((11.0, 15.0),)
    assert page.speaker_card.choice.currentText().startswith("Speaker 2")


def test_sound_that_was_removed_is_said_to_be_and_the_result_stays(shelf, open_page, pulse_job, workspace):
    take_id = shelf.put("a", OutboxState.DONE, job=pulse_job)
    workspace.library.remove_sounds([take_id])
    page = open_page(RecordingRoute(take_id=take_id))
    assert page.player.text().startswith("The sound was removed from this computer on ")
    assert not page.player.button.isVisible()
    assert "Moderate" in words_of(page)


@pytest.mark.parametrize(("state", "ended"), [(OutboxState.FAILED, "failed"), (OutboxState.TIMED_OUT, "timed out")])
def test_an_analysis_that_ended_badly_can_be_asked_for_again(state, ended, shelf, open_page, workspace, qtbot):
    take_id = shelf.put("a", state)
    page = open_page(RecordingRoute(take_id=take_id), wait=False)
    qtbot.waitUntil(lambda: f"The analysis {ended}" in page.empty.text())
    assert page.player.isVisible()
    page.empty.button.click()
    qtbot.waitUntil(lambda: workspace.library.get(take_id).state is OutboxState.WAITING)
    workspace.sync.library_changed.emit()
    qtbot.waitUntil(lambda: "No result yet" in page.empty.text())


def test_a_job_that_failed_elsewhere_offers_nothing_that_cannot_be_done(network, open_page, pulse_job, qtbot):
    failed = pulse_job.model_copy(update={"result": None, "status": JobStatus.FAILED})
    network.jobs[pulse_job.job_id] = failed.model_dump(mode="json")
    page = open_page(RecordingRoute(job_id=pulse_job.job_id), wait=False)
    qtbot.waitUntil(lambda: "The analysis failed" in page.empty.text())
    assert "send it again from where it was recorded" in page.empty.text()
    assert not page.empty.button.isVisible()


def test_a_take_that_needs_attention_leads_to_its_check(shelf, open_page, asked, qtbot):
    reason = "9 s of speech, under the 15 s minimum, so it was not sent."
    take_id = shelf.put("a", OutboxState.NEEDS_ATTENTION, reason=reason, fix=Fix.REVIEW_TAKE)
    page = open_page(RecordingRoute(take_id=take_id), wait=False)
    qtbot.waitUntil(lambda: reason in page.empty.text())
    page.empty.button.click()
    assert asked == [("record", ReviewRoute(take_id))]


def test_a_result_that_comes_is_shown_without_asking_the_service(
    shelf, open_page, pulse_job, workspace, network, qtbot
):
    take_id = shelf.put("a", OutboxState.RUNNING, job_id="some-job")
    page = open_page(RecordingRoute(take_id=take_id), wait=False)
    qtbot.waitUntil(lambda: "The service is analysing this recording." in page.empty.text())
    with workspace.library.store.changing():
        workspace.library.store.store_result(take_id, write_result(pulse_job.result), pulse_job.completed_at)
        workspace.library.store.move(take_id, OutboxState.DONE)
    workspace.sync.library_changed.emit()
    qtbot.waitUntil(lambda: "Moderate" in words_of(page))
    assert not [path for path in network.asked if path.startswith("/v2/jobs")]


@pytest.fixture
def slow(network, workspace):
    """A service that answers when released, at the latest before the workspace ends."""
    let = threading.Event()
    quick = network.answer

    def answer(request: httpx.Request) -> httpx.Response:
        let.wait(HANGS_S)
        return quick(request)

    network.answer = answer
    yield let
    let.set()


def test_while_the_network_is_slow_the_page_says_what_it_waits_for(network, slow, open_page, pulse_job, qtbot):
    network.jobs[pulse_job.job_id] = pulse_job.model_dump(mode="json")
    recording = RecordingRoute(job_id=pulse_job.job_id, group_id="ward4-0172", recorded_at=pulse_job.created_at)
    day = pulse_job.created_at.astimezone()
    page = open_page(recording, wait=False)
    qtbot.waitUntil(lambda: "Asking the service for the result" in page.empty.text())
    assert f"Recording of {day.day} " in words_of(page)
    assert page.subject_button.text() == "ward4-0172"
    slow.set()
    qtbot.waitUntil(lambda: "Moderate" in words_of(page))


def test_a_result_that_was_seen_comes_back_at_once_without_the_network(network, open_page, pulse_job, workspace, qtbot):
    network.jobs[pulse_job.job_id] = pulse_job.model_dump(mode="json")
    recording = RecordingRoute(job_id=pulse_job.job_id, group_id="ward4-0172")
    page = open_page(recording)
    page.closed()
    network.up = False
    page.opened(recording)
    assert "Moderate" in words_of(page), "before any event: nothing was waited for"
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert page.banner.text() == ""


def test_comparing_is_a_key_or_a_click_away(shelf, open_page, pulse_job, asked, qtbot):
    early, middle, late = (
        shelf.put("a", OutboxState.DONE, hours_ago=hours, job=pulse_job.model_copy(update={"job_id": f"job-{hours}"}))
        for hours in (72, 48, 1)
    )
    page = open_page(RecordingRoute(take_id=middle))
    qtbot.waitUntil(page.compare_button.isEnabled)
    page.activateWindow()
    qtbot.keyClick(page, Qt.Key.Key_C)
    (key, pair) = asked[-1]
    assert key == "compare"
    assert isinstance(pair, ComparisonRoute)
    assert (pair.left.take_id, pair.right.take_id) == (early, middle)
    entries = [action for action in page.compare_menu.actions() if action.isEnabled()]
    assert [action.text().partition(" · ")[2] for action in entries] == ["Moderate", "Moderate"]
    entries[1].trigger()
    assert asked[-1][1].left.take_id == late


def test_a_single_recording_has_nothing_to_be_compared_with(shelf, open_page, pulse_job, asked):
    page = open_page(RecordingRoute(take_id=shelf.put("a", OutboxState.DONE, job=pulse_job)))
    assert not page.compare_button.isEnabled()
    page.view_model.compare_with()
    assert asked == []


def test_the_service_is_asked_once_for_the_history_of_a_first_recording(
    network, shelf, open_page, pulse_job, trajectory_answer, workspace, qtbot
):
    take_id = shelf.put("a", OutboxState.DONE, job=pulse_job)
    own = [trajectory_answer["data_points"][-1] | {"job_id": workspace.library.list()[0].job_id}]
    network.trajectories["a"] = [trajectory_answer | {"group_id": "a", "data_points": own}]
    page = open_page(RecordingRoute(take_id=take_id))

    def history_reads() -> int:
        return sum(path.endswith("/a/longitudinal") for path in network.asked)

    qtbot.waitUntil(lambda: history_reads() == 1)
    for _ in range(3):
        workspace.sync.results_changed.emit("a")
        workspace.sync.library_changed.emit()
        qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert history_reads() == 1
    assert page.view_model.same_subject == ((), ())


def test_the_history_that_only_the_service_knows_can_be_compared_with(
    network, open_page, pulse_job, trajectory_answer, workspace, qtbot
):
    group_id = trajectory_answer["group_id"]
    newest = trajectory_answer["data_points"][-1]["job_id"]
    network.jobs[newest] = pulse_job.model_copy(update={"job_id": newest}).model_dump(mode="json")
    network.trajectories[group_id] = [trajectory_answer]
    page = open_page(RecordingRoute(job_id=newest, group_id=group_id))
    qtbot.waitUntil(page.compare_button.isEnabled)
    assert len(page.view_model.same_subject[0]) == len(trajectory_answer["data_points"]) - 1
    assert workspace.library.responses.trajectory(group_id) is not None


def choose_file(page, path):
    dialog = page.findChild(QFileDialog)
    assert dialog is not None
    dialog.fileSelected.emit(str(path))
    dialog.close()


def test_the_json_is_saved_where_a_person_wants_it(shelf, open_page, pulse_job, tmp_path, qtbot):
    page = open_page(RecordingRoute(take_id=shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)))
    page.segment.option("researcher").click()
    page.json_button.click()
    page.json_panel.save_button.click()
    choose_file(page, tmp_path / "result.json")
    qtbot.waitUntil(lambda: page.banner.text().startswith("Saved as "))
    assert '"overall_level": "moderate"' in (tmp_path / "result.json").read_text()


@pytest.mark.parametrize(("place", "beginning"), [(0, b"%PDF-"), (1, b"{")])
def test_a_report_and_a_bundle_of_this_recording_are_written(
    place, beginning, shelf, open_page, pulse_job, network, tmp_path, workspace, qtbot
):
    network.jobs[pulse_job.job_id] = pulse_job.model_dump(mode="json")
    take_id = shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)
    workspace.library.consents.give("ward4-0172", ConsentKind.CLINICAL, wording="2.0", asked_by="Nurse Joy")
    page = open_page(RecordingRoute(take_id=take_id))
    page.export_menu.actions()[place].trigger()
    choose_file(page, tmp_path / "made")
    qtbot.waitUntil(lambda: page.banner.text() == f"Saved as {tmp_path / 'made'}.")
    assert (tmp_path / "made").read_bytes().startswith(beginning)
    if beginning == b"{":
        assert '"Wording 2.0"' in (tmp_path / "made").read_text()
        assert "Joy" not in (tmp_path / "made").read_text()
    folder = workspace.ports.library_dir(workspace.profile.profile_id)
    entries = AuditReader(folder, workspace.library.store.key).entries()
    assert [entry.take_id for entry in entries if entry.what == AuditAction.EXPORTED] == [take_id]


def test_an_export_that_needs_the_service_says_so_when_it_is_away(
    shelf, open_page, pulse_job, network, tmp_path, qtbot
):
    network.up = False
    page = open_page(RecordingRoute(take_id=shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)))
    page.export_menu.actions()[0].trigger()
    choose_file(page, tmp_path / "report.pdf")
    qtbot.waitUntil(lambda: "cannot be reached" in page.banner.text())
    assert not (tmp_path / "report.pdf").exists()

"""The Result page."""

import re

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel

from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.levels import Level
from vbdesk.contract.results import AudioQuality
from vbdesk.desk.playback import envelope_of
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.results.result_source import ResultSource
from vbdesk.desk.results.result_text import reading_of
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.states import OutboxState
from vbdesk.report.shipped_signs import healthy_flagged_share


@pytest.fixture
def open_page(workspace, qtbot):
    """Open the page on a recording and wait for the result."""

    def make(recording: RecordingRoute, *, wait: bool = True) -> ResultPage:
        page = ResultPage(workspace.flow)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(recording)
        if wait:
            qtbot.waitUntil(lambda: page.view_model.view.reading is not None)
            qtbot.waitUntil(lambda: "Recording quality" in visible_words(page))
        return page

    yield make


@pytest.fixture
def opened(shelf, open_page, pulse_job, qtbot):
    """The page with a moderate result of a recording on this computer."""
    page = open_page(RecordingRoute(take_id=shelf.put("ward4-0172", OutboxState.DONE, job=pulse_job)))
    qtbot.waitUntil(lambda: page.player.button.isEnabled())
    yield page
    page.closed()


def visible_words(page) -> str:
    return " | ".join(label.text() for label in page.findChildren(QLabel) if label.isVisible())


def test_level_and_action_come_in_words(opened):
    words = visible_words(opened)
    assert "Moderate" in words
    assert "<b>Review.</b> Ask a qualified professional" in words
    assert "For care staff, not a diagnosis" in words


def test_the_clinical_view_shows_no_score(opened):
    words = visible_words(opened)
    assert "Score" not in words
    assert "How the voice sounds" not in words
    assert "Anxious Mood" not in words
    assert not re.search(r"\b0\.\d\d to 0\.\d\d\b", words)


def test_the_researcher_sees_scores_intervals_and_grades(opened, qtbot):
    opened.segment.option("researcher").click()
    qtbot.waitUntil(lambda: "How the voice sounds" in visible_words(opened))
    words = visible_words(opened)
    assert re.search(r"Score: 0\.\d\d · Interval: 0\.\d\d to 0\.\d\d", words)
    assert "Evidence: grade B" in words
    assert "With other words of this person mostly" in words
    assert "0.32 ± 0.11" in words


def test_every_sign_tells_its_evidence_in_words(opened):
    words = visible_words(opened)
    assert "Fair research support, not clinically validated" in words
    assert "No confirmed voice marker, shown for completeness" in words
    assert len(opened.sign_rows.rows) == 6
    assert all(row.sign.evidence for row in opened.sign_rows.rows)


def test_everyday_causes_stand_one_click_away(opened):
    row = opened.sign_rows.rows[0]
    assert "age over 65" not in visible_words(opened)
    row.more.click()
    assert "age over 65" in visible_words(opened)
    row.more.click()
    assert "age over 65" not in visible_words(opened)


def test_the_share_of_healthy_speakers_flagged_stands_one_click_away(opened):
    opened.sign_rows.share.button.click()
    share = round(100 * healthy_flagged_share()["pulse"])
    assert f"The Pulse analysis flags about {share}% of healthy speakers" in visible_words(opened)


def test_the_reference_of_the_comparison_is_one_line_below_the_signals(opened):
    assert opened.sign_rows.compared.text().startswith("How this was compared: ")
    assert opened.sign_rows.compared.text() in visible_words(opened)


def test_raw_json_is_the_researchers_and_can_be_read_and_copied(opened):
    assert not opened.json_button.isVisible()
    opened.segment.option("researcher").click()
    opened.json_button.click()
    assert opened.json_panel.isVisible()
    opened.json_panel.copy_button.click()
    assert '"overall_level": "moderate"' in QGuiApplication.clipboard().text()
    opened.json_panel.close_button.click()
    assert not opened.json_panel.isVisible()
    opened.json_button.click()
    opened.segment.option("clinical").click()
    assert not opened.json_panel.isVisible()


def test_the_sound_plays_and_can_be_moved_in(opened, qtbot):
    assert opened.player.isVisible()
    opened.player.button.click()
    assert opened.view_model.playback.playing
    with qtbot.waitSignal(opened.view_model.playback.moved):
        pass
    with qtbot.waitSignal(opened.view_model.playback.moved) as moved:
        opened.player.waveform.sought.emit(12.0)
    assert moved.args[0] == pytest.approx(12.0, abs=0.5)
    opened.player.button.click()
    assert not opened.view_model.playback.playing


def test_listening_is_noted_once(opened, workspace, qtbot):
    for _ in range(2):
        for playing in (True, False):
            opened.player.button.click()
            qtbot.waitUntil(lambda: not workspace.tasks.busy)
            assert opened.view_model.playback.playing is playing
    folder = workspace.ports.library_dir(workspace.profile.profile_id)
    entries = AuditReader(folder, workspace.library.store.key).entries()
    listened = [entry.take_id for entry in entries if entry.what == AuditAction.LISTENED]
    assert listened == [opened.view_model.view.take_id]


def test_the_subject_is_a_click_away(opened, asked):
    opened.subject_button.click()
    assert asked == [("subject", "ward4-0172")]


def test_a_job_of_the_service_is_shown_without_sound(network, open_page, pulse_job):
    network.jobs[pulse_job.job_id] = pulse_job.model_dump(mode="json")
    page = open_page(RecordingRoute(job_id=pulse_job.job_id, group_id="ward4-0172"))
    assert "Moderate" in visible_words(page)
    assert page.player.text() == "The sound of this recording is not on this computer."
    assert not page.player.button.isVisible()
    page.segment.option("researcher").click()
    page.json_button.click()
    assert pulse_job.job_id in page.json_panel.text.toPlainText()


def test_a_single_sign_has_a_level_and_no_narrative(shelf, open_page, stress_job):
    page = open_page(RecordingRoute(take_id=shelf.put("a", OutboxState.DONE, job=stress_job)))
    words = visible_words(page)
    assert "Stress" in words
    assert "For care staff" not in words
    assert "Vocal features" not in words
    page.closed()


def test_what_is_still_running_says_so_and_then_appears(network, open_page, pulse_job, qtbot):
    running = pulse_job.model_copy(update={"result": None, "status": JobStatus.RUNNING, "completed_at": None})
    network.jobs[pulse_job.job_id] = running.model_dump(mode="json")
    page = open_page(RecordingRoute(job_id=pulse_job.job_id), wait=False)
    qtbot.waitUntil(lambda: "The service is analysing this recording." in visible_words(page))
    network.jobs[pulse_job.job_id] = pulse_job.model_dump(mode="json")
    page.view_model.reload()
    qtbot.waitUntil(lambda: "Moderate" in visible_words(page))
    page.closed()


def test_a_service_out_of_reach_is_said_with_a_way_on(network, open_page, pulse_job, qtbot):
    network.jobs[pulse_job.job_id] = pulse_job.model_dump(mode="json")
    network.up = False
    page = open_page(RecordingRoute(job_id=pulse_job.job_id), wait=False)
    qtbot.waitUntil(lambda: "cannot be reached" in page.banner.text())
    network.up = True
    page.banner.button.click()
    qtbot.waitUntil(lambda: "Moderate" in visible_words(page))
    assert not page.banner.isVisible()


def test_features_lie_on_five_bands(pulse_job):
    features = reading_of(pulse_job.result).voice.features
    assert {feature.word: feature.band for feature in features}["Reduced"] == 1
    assert {feature.band for feature in features} <= set(range(5))
    assert "normal" not in " ".join(feature.word for feature in features).lower()


def test_researchers_see_the_own_usual_range(course, open_page, qtbot):
    page = open_page(RecordingRoute(take_id=course[-1]))
    assert "Own usual range" not in visible_words(page)
    page.segment.option("researcher").click()
    qtbot.waitUntil(lambda: "Own usual range" in visible_words(page))
    assert re.search(r"Own usual range 1[01]\d to 1[23]\d Hz: this one is above it\.", visible_words(page))
    assert "in about 3 of 10 recordings of a person who has not changed" in visible_words(page)
    page.closed()


def test_a_recording_with_few_earlier_ones_has_no_own_range(course, workspace):
    source = ResultSource(workspace.library, workspace.results)
    found = [source.here(RecordingRoute(take_id=take_id)).own for take_id in course]
    assert [bool(own) for own in found] == [False] * 5 + [True] * 3
    assert found[-2]["pitch_mean"].position == "within"


def test_a_noisy_recording_says_what_to_do_next_time(pulse_job):
    quality = AudioQuality(issues=["high_background_noise", "a_new_code"], voice_percentage=71, audio_clarity=38)
    found = reading_of(pulse_job.result.model_copy(update={"audio_quality": quality})).quality
    assert found.figures == "Speech 71%, clarity 38 of 100."
    assert [what for what, _ in found.issues] == [
        "There was much background noise.",
        "The service notes: a new code.",
    ]
    assert found.issues[0][1].startswith("Close the door")


def test_a_change_beyond_the_own_range_is_called_so(pulse_job):
    signals = list(pulse_job.result.signals)
    signals[0] = signals[0].model_copy(update={"z_score": 2.6, "anomaly": True})
    signals[1] = signals[1].model_copy(update={"z_score": None})
    voice = reading_of(pulse_job.result.model_copy(update={"signals": signals})).voice
    by_name = {sign.name: sign for sign in voice.signs}
    assert by_name[signals[0].name].change.text == "Above baseline"
    assert by_name[signals[0].name].change.sentence.endswith("unusual for this person.")
    assert by_name[signals[1].name].change is None
    assert voice.level is Level.MODERATE


def test_the_envelope_holds_the_loudest_of_each_part():
    samples = np.zeros(1000, np.int16)
    samples[500], samples[501] = 16384, -32768
    envelope = envelope_of(samples, steps=10)
    assert envelope.shape == (10, 2)
    assert envelope[5].tolist() == [-1.0, 0.5]
    assert envelope_of(samples[:0]).shape == (0, 2)

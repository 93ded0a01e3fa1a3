"""The Compare page: two recordings side by side."""

import threading

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QLabel, QWidget

from patience import HANGS_S
from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.playback import SilentPlayer
from vbdesk.contract.levels import Level
from vbdesk.contract.results import AudioQuality, ValueInterpretation
from vbdesk.desk.compare.comparison import compare, side_of
from vbdesk.desk.compare.page import ComparePage
from vbdesk.desk.compare.view_model import CompareViewModel, PairPlayback, PairRead
from vbdesk.desk.playback import Playback
from vbdesk.desk.results.repeatability import feature_repeatability
from vbdesk.desk.results.result_source import Found
from vbdesk.desk.results.result_text import moment_of
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.corrections import CorrectionReason
from vbdesk.outbox.library.states import OutboxState


def changed(job, signal=None, feature=None, place=2, **result):
    """The job with another first signal, feature (by default speech rate) or other parts of its result."""
    whole = job.result
    if signal is not None:
        first = whole.signals[0].model_copy(update=signal)
        result["signals"] = [first, *whole.signals[1:]]
    if feature is not None:
        features = list(whole.summary.description.vocal_features)
        features[place] = features[place].model_copy(update=feature)
        description = whole.summary.description.model_copy(update={"vocal_features": features})
        result["summary"] = whole.summary.model_copy(update={"description": description})
    return job.model_copy(update={"result": whole.model_copy(update=result)})


def told(left, right, microphones=("Headset", "Headset")):
    """The comparison of two jobs, as if neither were on this computer."""
    founds = [Found(RecordingRoute(job_id=job.job_id, group_id="ward4-0172"), None, job) for job in (left, right)]
    return compare(*(side_of(found, name, 20.0) for found, name in zip(founds, microphones, strict=True)))


def sign(reading, label="Mood Disruption"):
    return next(pair for pair in reading.signs if pair.label == label)


def pace(reading):
    return next(pair for pair in reading.features if pair.label == "Speech rate")


@pytest.mark.parametrize(
    ("before", "words", "real"),
    [
        ({"score": 0.20, "level": Level.NONE}, "Three levels higher, more than chance", True),
        ({"score": 0.58, "level": Level.CONSIDER}, "One level higher, may be chance", False),
        ({"score": 0.66, "level": Level.ELEVATED}, "One level lower, may be chance", False),
        ({"score": 0.63, "level": Level.MODERATE}, "Same level", False),
        ({"level": Level.INCONCLUSIVE}, "Cannot be compared", False),
    ],
)
def test_a_change_of_a_signal_is_weighed_against_chance(pulse_job, before, words, real):
    pair = sign(told(changed(pulse_job, before), pulse_job))
    assert (pair.text, pair.real) == (words, real)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (2.46, "No difference"),
        (2.0, "Higher by 0.46 syllables/s: may be chance (below"),
        (4.2, "Lower by 1.74 syllables/s: a real change (from"),
    ],
)
def test_a_feature_is_compared_in_words_and_with_the_smallest_real_change(pulse_job, before, words):
    value = {"value": before, "value_interpretation": ValueInterpretation.WITHIN_RANGE}
    assert pace(told(changed(pulse_job, feature=value), pulse_job)).text.startswith(words)


@pytest.mark.parametrize("same_task", [True, False])
def test_the_smallest_real_change_downwards_leaves_a_positive_value(same_task):
    known = feature_repeatability()["pause_ratio"]
    down = known.smallest_change(34.5, same_task=same_task, upwards=False)
    assert 0 < down < 34.5
    assert known.more_than_error(34.5, 34.5 - 1.001 * down, same_task=same_task)
    assert not known.more_than_error(34.5, 34.5 - 0.999 * down, same_task=same_task)


def test_no_limit_beyond_a_hundred_percent_is_told(pulse_job):
    left, right = (changed(pulse_job, feature={"value": value}, place=3) for value in (30.0, 40.0))
    up, down = (
        next(pair.text for pair in reading.features if pair.label == "Pause share")
        for reading in (told(left, right), told(right, left))
    )
    assert up == "Higher by 10.0 points: may be chance"
    assert down.startswith("Lower by 10.0 points: may be chance (below 3")


def test_what_only_one_of_them_has_is_said(pulse_job, stress_job):
    reading = told(stress_job, pulse_job)
    assert sign(reading).text == "Only in the right one"
    assert sign(reading).left is None
    assert pace(reading).text == "Named only in the right one"
    assert any(
        caution.startswith("Other signals were asked for: Stress and Pulse analysis") for caution in reading.cautions
    )


def test_another_calibration_or_microphone_and_bad_sound_speak_against_it(pulse_job):
    noisy = AudioQuality(issues=["clipping"], voice_percentage=70, audio_clarity=60)
    left = changed(pulse_job, {"sign_version": "7.0.0"}, audio_quality=noisy)
    cautions = " ".join(told(left, pulse_job, ("Headset", "Studio Mic")).cautions)
    shipped = pulse_job.result.signals[0].sign_version
    assert f"different calibrations (7.0.0 and {shipped}; {shipped})" in cautions
    assert "Another microphone was used (Headset and Studio Mic)" in cautions
    assert "The voice overloaded the microphone" in cautions
    assert "What was spoken is not known for both" in cautions


def test_levels_of_two_calibrations_are_not_called_a_real_change(pulse_job):
    left = changed(pulse_job, {"sign_version": "7.0.0", "score": 0.1, "level": Level.NONE})
    assert (sign(told(left, pulse_job)).text, sign(told(left, pulse_job)).real) == ("Three levels higher", False)


class ManualClock:
    """A clock that a test moves."""

    def __init__(self):
        self.seconds = 0.0

    def monotonic(self):
        return self.seconds

    def boot(self):
        raise NotImplementedError("playing asks for no time since the start")

    def now(self):
        raise NotImplementedError("playing asks for no time of day")


def test_changing_over_keeps_the_moment_and_goes_on_playing(tasks, qtbot):
    clock = ManualClock()
    pair = PairPlayback(*(Playback(tasks, lambda: SilentPlayer(clock)) for _ in range(2)))
    for side, seconds in zip(pair.sides, (30, 8), strict=True):
        with qtbot.waitSignal(side.loaded):
            side.load(lambda seconds=seconds: TakeAudio(np.zeros(seconds * 100, np.int16), 100, True, {}, ()))
    pair.seek(0, 5.0)
    pair.toggle(0)
    qtbot.waitUntil(lambda: not tasks.busy)
    clock.seconds = 1.0
    qtbot.waitUntil(lambda: pair.sides[0].position_s == pytest.approx(6.0))
    pair.change_over()
    assert not pair.sides[0].playing
    assert pair.sides[1].playing
    assert pair.sides[1].position_s == pytest.approx(6.0)
    qtbot.waitUntil(lambda: not tasks.busy)
    pair.toggle(1)
    pair.seek(0, 20.0)
    pair.change_over()
    assert pair.sides[1].position_s == 8.0
    pair.close()


@pytest.fixture
def pair(shelf, pulse_job):
    """Two recordings of a subject, of which the later one is longer."""
    before = changed(pulse_job, {"score": 0.2, "level": Level.NONE})
    early = shelf.put("ward4-0172", OutboxState.DONE, hours_ago=48, job=before, protocol="reading", device="Headset")
    with_id = pulse_job.model_copy(update={"job_id": "later"})
    late = shelf.put("ward4-0172", OutboxState.DONE, job=with_id, seconds=32, protocol="reading", device="Headset")
    return early, late


@pytest.fixture
def open_page(workspace, qtbot):
    pages = []

    def make(left: RecordingRoute, right: RecordingRoute):
        page = ComparePage(workspace.flow)
        pages.append(page)
        qtbot.addWidget(page)
        page.resize(1080, 768)
        page.show()
        page.opened(ComparisonRoute(left, right))
        qtbot.waitUntil(lambda: page.view_model.reading is not None and page.view_model.reading.signs != ())
        return page

    yield make
    for page in pages:
        page.closed()


@pytest.fixture
def opened(pair, open_page, qtbot, workspace):
    page = open_page(*(RecordingRoute(take_id=take_id) for take_id in pair))
    qtbot.waitUntil(lambda: page.left_card.button.isEnabled() and page.right_card.button.isEnabled())
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()  # what the last task found is shown
    return page


def words_of(widget: QWidget) -> str:
    return " | ".join(label.text() for label in widget.findChildren(QLabel) if label.isVisible())


def test_researchers_see_the_own_usual_range_of_both(course, open_page, workspace, qtbot):
    page = open_page(RecordingRoute(take_id=course[-2]), RecordingRoute(take_id=course[-1]))
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert "Own usual range" not in words_of(page)
    page.segment.option("researcher").click()
    words = words_of(page.features)
    assert words.index("this one is within it.") < words.index("this one is above it.")
    assert "in about 3 of 10 recordings of a person who has not changed" in words
    page.segment.option("clinical").click()
    assert "wn usual range" not in words_of(page.features)


def test_levels_facts_and_differences_stand_side_by_side(opened, pulse_job, qtbot):
    shipped = pulse_job.result.signals[0].sign_version
    qtbot.waitUntil(lambda: "Three levels higher, more than chance" in words_of(opened.signs))
    for card, length in ((opened.left_card, "0:16"), (opened.right_card, "0:32")):
        expected = ("Pulse analysis", shipped, "Reading passage", "Headset", length)
        qtbot.waitUntil(lambda card=card, expected=expected: all(part in words_of(card) for part in expected))


def test_nothing_against_it_is_said_too(opened):
    assert opened.banner.text().endswith("the two can be compared.")


def test_both_sounds_have_one_scale_of_time(opened):
    left, right = opened.left_card.waveform, opened.right_card.waveform
    with_half = left.grab().toImage()
    assert left._across_s == right._across_s == 32.0
    ground = with_half.pixelColor(left.width() - 4, left.height() // 2)
    assert with_half.pixelColor(left.width() * 3 // 4, left.height() // 2) == ground


def test_both_sounds_have_one_scale_of_loudness(workspace, pair, qtbot):
    model, pictures = CompareViewModel(workspace.flow), {}
    model.pictured.connect(lambda side, picture: pictures.update({side: picture}))
    model.open(ComparisonRoute(*(RecordingRoute(take_id=take_id) for take_id in pair)))
    qtbot.waitUntil(lambda: len(pictures) == 2)
    assert abs(int(pictures[0].shades.max()) - int(pictures[1].shades.max())) <= 1  # the same tone in both
    model.leave()


def test_playing_either_is_noted_and_stops_the_other(opened, workspace, pair, qtbot):
    opened.right_card.button.click()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    opened.left_card.button.click()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    left, right = opened.view_model.playback.sides
    assert left.playing
    assert not right.playing
    folder = workspace.ports.library_dir(workspace.profile.profile_id)
    entries = AuditReader(folder, workspace.library.store.key).entries()
    assert [entry.take_id for entry in entries if entry.what == AuditAction.LISTENED] == [pair[1], pair[0]]
    opened.left_card.button.click()


def test_a_change_while_the_sounds_are_read_does_not_load_them_again(workspace, pair, qtbot, monkeypatch):
    model, read, loaded, reads = CompareViewModel(workspace.flow), workspace.library.audio, [], []
    read_twice = threading.Event()
    monkeypatch.setattr(workspace.library, "audio", lambda take_id: read_twice.wait(HANGS_S) and read(take_id))
    here = PairRead.here
    monkeypatch.setattr(PairRead, "here", lambda *given: reads.append(given[0].sound_facts) or here(*given))
    for side in model.playback.sides:
        side.loaded.connect(lambda _, side=side: loaded.append(side))
    model.open(ComparisonRoute(*(RecordingRoute(take_id=take_id) for take_id in pair)))
    qtbot.waitUntil(lambda: model.reading is not None)
    model.reload()
    qtbot.waitUntil(lambda: len(reads) >= 2)
    read_twice.set()
    qtbot.waitUntil(lambda: not workspace.tasks.busy and len(loaded) >= 2)
    assert sorted(loaded, key=model.playback.sides.index) == list(model.playback.sides)  # in either order
    model.leave()


def test_sounds_that_come_late_are_those_of_the_pair_that_is_shown(workspace, pair, qtbot, monkeypatch):
    """Swapped while the sounds are read, each side would have played the other recording."""
    model, read, go_on = CompareViewModel(workspace.flow), workspace.library.audio, threading.Event()
    monkeypatch.setattr(workspace.library, "audio", lambda take_id: go_on.wait(HANGS_S) and read(take_id))
    left, right = (RecordingRoute(take_id=take_id) for take_id in pair)
    model.open(ComparisonRoute(left, right))
    qtbot.waitUntil(lambda: model.reading is not None)
    model.swap()
    go_on.set()
    qtbot.waitUntil(lambda: all(side.seconds for side in model.playback.sides))
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    qtbot.settle()
    assert [round(side.seconds) for side in model.playback.sides] == [32, 16]
    assert model.reading.left.view.recording.take_id == pair[1]
    model.leave()


def test_by_keyboard_one_seeks_and_changes_over(opened, qtbot):
    left, right = opened.view_model.playback.sides
    qtbot.keyClick(opened.left_card.waveform, Qt.Key.Key_PageDown)
    assert left.position_s == 10.0
    qtbot.keyClick(opened.left_card.spectrogram, Qt.Key.Key_Right)
    assert left.position_s == 11.0
    opened.change_over_button.click()
    assert right.position_s == 11.0


def test_another_recording_can_be_chosen_and_the_sides_exchanged(opened, shelf, pulse_job, pair, qtbot):
    opened.swap_button.click()
    assert opened.view_model.comparison.left.take_id == pair[1]
    qtbot.waitUntil(lambda: "Three levels lower" in words_of(opened.signs))
    choice = opened.right_card.choice
    assert [choice.itemText(place).partition(" · ")[2] for place in range(choice.count())] == ["Moderate", "Moderate"]
    choice.setCurrentIndex(0)
    choice.activated.emit(0)
    assert opened.view_model.comparison.right.take_id == pair[1]
    qtbot.waitUntil(lambda: "Same level" in words_of(opened.signs) and "lower" not in words_of(opened.signs))


def test_each_side_offers_the_recordings_of_its_own_subject(shelf, open_page, pulse_job, workspace):
    """The left one is excluded from its course, so it is in no list but its own choice."""
    left, right = (
        shelf.put(subject, OutboxState.DONE, hours_ago=hours, job=pulse_job.model_copy(update={"job_id": subject}))
        for subject, hours in (("a", 24), ("b", 48))
    )
    corrections = workspace.library.corrections
    corrections.exclude(corrections.member(left), CorrectionReason.TEST)
    page = open_page(RecordingRoute(take_id=left), RecordingRoute(take_id=right))
    day_of = {take_id: moment_of(workspace.library.get(take_id).recorded_at) for take_id in (left, right)}
    for card, take_id in ((page.left_card, left), (page.right_card, right)):
        assert card.choice.currentText() == f"{day_of[take_id]} · Moderate"
        assert card.choice.count() == 1
        assert "Subject" in words_of(card)


def test_the_whole_result_of_either_is_a_click_away(opened, asked, pair):
    opened.right_card.result_button.click()
    assert asked[-1][0] == "result"
    assert asked[-1][1].take_id == pair[1]


def test_the_microphones_are_compared_once_both_sounds_were_read(shelf, open_page, pulse_job, qtbot):
    others = [
        shelf.put(
            "a", OutboxState.DONE, job=pulse_job.model_copy(update={"job_id": name}), protocol="reading", device=name
        )
        for name in ("Headset", "Studio Mic")
    ]
    for _ in range(3):  # the words of one sound alone may not overtake those of both
        page = open_page(*(RecordingRoute(take_id=take_id) for take_id in others))
        qtbot.waitUntil(lambda page=page: "Another microphone was used (Headset and Studio Mic)" in page.banner.text())
        page.closed()


def test_a_recording_of_the_service_alone_is_compared_without_sound(open_page, pair, network, pulse_job):
    elsewhere = pulse_job.model_copy(update={"job_id": "elsewhere"})
    network.jobs["elsewhere"] = elsewhere.model_dump(mode="json")
    page = open_page(RecordingRoute(job_id="elsewhere", group_id="ward4-0172"), RecordingRoute(take_id=pair[1]))
    assert "The sound of this recording is not on this computer." in words_of(page.left_card)
    assert "What was spoken is not known for both" in page.banner.text()


def test_a_screen_reader_hears_which_side_a_level_is_on(opened):
    names = {
        QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)
        for widget in opened.findChildren(QWidget)
        if widget.isVisible() and widget.accessibleName()
    }
    assert {
        "Mood Disruption, left: None",
        "Mood Disruption, right: Moderate",
        "Overall level, right: Moderate",
    } <= names
    assert {"Play, left", "Play, right"} <= names
    assert any(name.startswith("Speech rate: left Reduced, right Reduced") for name in names)
    labels = {label.text(): label.buddy() for label in opened.findChildren(QLabel) if label.buddy() is not None}
    assert labels == {"◇ Left": opened.left_card.choice, "◆ Right": opened.right_card.choice}

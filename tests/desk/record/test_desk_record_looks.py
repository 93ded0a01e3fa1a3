"""The Record page in every state, in both colours and at 200 % text: nothing is cut off.

With VBDESK_PICTURES set to a folder, every state is drawn into it as well.
"""

import hashlib
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from cut_words import cut_words
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from patience import until
from vbdesk.desk.record.view_model import Moment
from vbdesk.desk.ui.theme import Theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.outbox.imports.take_check import check_take

PICTURES = os.environ.get("VBDESK_PICTURES")
PAGE = {1.0: (1080, 768), 2.0: (1152, 736)}  # of a window of 1280x800
SMALL = (960, 608)  # of one of 1024x640
LOOKS = [
    (Scheme.LIGHT, 1.0, PAGE[1.0]),
    (Scheme.DARK, 1.0, PAGE[1.0]),
    (Scheme.LIGHT, 2.0, PAGE[2.0]),
    (Scheme.LIGHT, 1.0, SMALL),
]


CHECKS = {}


def checked_once(audio):
    """The real check of a take, once for each sound: every look hears the same."""
    sound = hashlib.sha256(audio.samples.tobytes()).digest()
    if sound not in CHECKS:
        CHECKS[sound] = check_take(audio)
    return CHECKS[sound]


class Camera:
    """Draws a state, and finds texts that are cut off."""

    def __init__(self, name: str, size: tuple[int, int]) -> None:
        self._name, self.size = name, size

    def look(self, window: QWidget, state: str) -> list[str]:
        """Texts that do not fit."""
        cut: list[str] = []

        def fits() -> bool:
            QTest.qWait(20)  # the layout follows a change of words
            cut[:] = [f"{state}: {fault}" for fault in cut_words(window)]
            return not cut

        with suppress(AssertionError):  # the other states may have more faults
            until(fits)
        if PICTURES:
            window.grab().save(str(Path(PICTURES) / f"{state}-{self._name}.png"))
        if window.width() > self.size[0] or window.height() > self.size[1]:
            cut.append(f"{state}: needs {window.width()} x {window.height()} px")
        return cut


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]:.0%}-{look[2][0]}")
def camera(request):
    scheme, scale, size = request.param
    Theme(scheme, scale).install()
    return Camera(f"{scheme}-{scale * 100:.0f}-{size[0]}", size)


def test_no_words_are_cut_off_on_the_way_of_a_recording(camera, open_page, speech):
    user = open_page(checked_once, camera.size)
    page, cut = user.page, []
    page.ready.speaker.click()
    user.enters_subject("ward4-0172")
    user.microphone.play(4)
    user.qtbot.settle()
    cut += camera.look(page, "1-ready")
    page.ready.parts.option("stage").click()
    cut += camera.look(page, "1-ready-stage")
    page.speaker.resize(*camera.size)
    user.begins()
    cut += camera.look(page.speaker, "2-speaker")
    user.speaks(12)
    page.model.mark()
    cut += camera.look(page, "3-recording")
    user.presses(Qt.Key.Key_P)
    cut += camera.look(page, "4-paused")
    page.speaker.close()
    user.stops()
    user.waits_for(lambda: page.review.source is not None and page.review.review is not None)
    cut += camera.look(page, "5-check-short")
    page.model._count_in_s = 3  # which the silent microphone does not end
    user.presses(Qt.Key.Key_R)
    cut += camera.look(page, "6-retake")
    user.presses(Qt.Key.Key_Escape)
    user.waits_for_words("This version is kept here.")
    cut += camera.look(page, "6-retake-called-off")
    page.model._count_in_s = 0
    user.begins()
    user.speaks(7)
    user.microphone.rewind()
    user.speaks(19)
    user.stops()
    user.waits_for(lambda: len(page.check.versions.tiles) == 2)
    cut += camera.look(page, "7-versions")
    user.presses(Qt.Key.Key_G)
    user.waits_for(lambda: not page.check.waveform._picture.isNull())
    cut += camera.look(page, "8-spectrogram")
    page.check._show_speaker("This does not sound like the earlier recordings of this subject. Check it.")
    cut += camera.look(page, "9-another-voice")
    page.check.discard.click()
    user.waits_for(lambda: "was discarded" in page.undo.text())
    cut += camera.look(page, "a-discarded")
    assert not cut, "\n".join(cut)


def test_no_words_are_cut_off_while_a_sequence_is_recorded_and_sound_is_lost(camera, open_page):
    user = open_page(size=camera.size)
    setup = user.page.model.setup
    setup.choose_protocol([protocol.protocol_id for protocol in setup.protocols].index("sequence"))
    user.enters_subject("ward4-0172")
    cut = camera.look(user.page, "b-sequence-ready")
    user.records(3)
    user.presses(Qt.Key.Key_N)
    user.speaks(14)
    moments: list[Moment] = []
    user.page.model.moved.connect(moments.append)
    user.waits_for(lambda: moments)
    lost = replace(moments[-1], health=replace(moments[-1].health, missing_s=0.4))
    user.page.model._tick.stop()  # otherwise the next moment replaces it
    user.page.live._show_moment(lost)
    cut += camera.look(user.page, "c-sequence-lost")
    user.page.model._tick.start()
    user.presses(Qt.Key.Key_N)
    cut += camera.look(user.page, "d-picture")
    user.stops()
    assert not cut, "\n".join(cut)


def test_no_words_are_cut_off_while_files_are_imported(camera, open_page, tmp_path, speech):
    user = open_page(size=camera.size)
    folder = tmp_path / "visit"
    folder.mkdir()
    for name, seconds in (("monday", 20), ("tuesday", 18), ("too-short", 4)):
        shifted = np.roll(speech, seconds)[: seconds * 48_000]
        sf.write(folder / f"{name}.wav", shifted, 48_000)
    (folder / "broken.wav").write_bytes(b"nothing")
    user.enters_subject("ward4-0172")
    user.page.import_files([folder])
    user.waits_for(lambda: user.page.imports.preview is not None)
    cut = camera.look(user.page, "e-import")
    user.page.importing.keep.click()
    user.waits_for_words("Imported: 2. Not imported: 2;")
    cut += camera.look(user.page, "f-imported")
    assert not cut, "\n".join(cut)

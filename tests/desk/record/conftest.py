"""A user of the Record page: actions and waits."""

import sys
from pathlib import Path

import numpy as np
import pytest

from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.outbox.imports.take_check import CheckRating, CheckRow, TakeCheck

sys.path.append(str(Path(__file__).parents[1]))  # cut_words, by name


def quick_check(audio) -> TakeCheck:
    """A fast check of the length only."""
    long_enough = audio.duration_s >= 15
    rating = CheckRating.PASS if long_enough else CheckRating.FAIL
    row = CheckRow("Length", rating, audio.duration_s, "s", 15.0, None, "at least 15 s", f"{audio.duration_s:.0f} s.")
    waveform = np.zeros((0, 2), np.int16)
    return TakeCheck(
        (row,), "good" if long_enough else "bad", "", (), audio.duration_s, None, waveform, {"clarity": 80.0}
    )


class User:
    """Somebody in front of the page."""

    def __init__(self, page, qtbot, microphone, workspace):
        self.page, self.qtbot, self.microphone, self.workspace = page, qtbot, microphone, workspace

    def enters_subject(self, text):
        self.page.ready.setup.subject.setText(text)
        self.waits_for(lambda: self.page.model.setup.device is not None)

    def begins(self):
        self.page.model.press()
        self.waits_for(lambda: self.page.model.phase is RecordPhase.RECORDING)

    def speaks(self, seconds):
        before = self.page.model._recorder.elapsed_s
        self.microphone.play(seconds)
        self.waits_for(lambda: self.page.model._recorder.elapsed_s >= min(before + seconds, 1200) - 0.1)

    def records(self, seconds):
        self.begins()
        self.speaks(seconds)

    def stops(self):
        self.page.model.press()
        self.sees_check()

    def sees_check(self):
        self.waits_for(lambda: self.page.review.review is not None)

    def presses(self, key):
        self.qtbot.keyClick(self.page, key)

    def waits_for(self, condition):
        self.qtbot.waitUntil(lambda: bool(condition()))

    def waits_for_words(self, words):
        self.waits_for(lambda: words in self.page.banner.text())

    def rests(self):
        """Until the microphones are listed and nothing is being read."""
        self.waits_for(lambda: self.page.model.setup.device is not None and not self.workspace.tasks.busy)
        self.qtbot.settle()

    def outbox(self):
        return self.workspace.library.list()


@pytest.fixture
def open_page(qtbot, workspace, microphone):
    """Opens the page with a given check, or the real one."""
    opened = []

    def make(check=quick_check, size=(1080, 740)) -> User:
        page = RecordPage(workspace.flow, count_in_s=0, check=check)
        qtbot.addWidget(page)
        page.resize(*size)
        page.show()
        page.opened(None)
        opened.append(page)
        return User(page, qtbot, microphone, workspace)

    yield make
    for page in opened:
        for part in page.closing():
            qtbot.waitUntil(lambda part=part: not part.alive())


@pytest.fixture
def user(open_page) -> User:
    """A user of a page with a fast check."""
    return open_page()

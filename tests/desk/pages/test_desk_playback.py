"""Playback: what is heard is what was asked for last."""

import threading

import numpy as np
import pytest

from patience import HANGS_S
from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.playback import SilentPlayer
from vbdesk.desk.playback import Playback

SOUND = TakeAudio(np.zeros(60_000, np.int16), 100, True, {}, ())


class SlowPlayer(SilentPlayer):
    """A player whose loudspeaker opens when a test lets it."""

    def __init__(self):
        super().__init__()
        self.opening, self.may_open = threading.Event(), threading.Event()

    def play(self):
        self.opening.set()
        assert self.may_open.wait(HANGS_S)
        super().play()


@pytest.fixture
def player():
    return SlowPlayer()


@pytest.fixture
def playback(tasks, player, qtbot):
    made = Playback(tasks, lambda: player)
    made.noted = []
    with qtbot.waitSignal(made.loaded):
        made.load(lambda: SOUND, lambda: made.noted.append("heard"))
    return made


@pytest.mark.parametrize("stop", [Playback.toggle, Playback.close], ids=["paused", "left"])
def test_a_recording_that_is_stopped_while_the_loudspeaker_opens_stays_silent(playback, player, tasks, qtbot, stop):
    playback.toggle()
    assert player.opening.wait(HANGS_S)
    stop(playback)
    player.may_open.set()
    qtbot.waitUntil(lambda: not tasks.busy)
    qtbot.settle()
    assert not player.playing


@pytest.mark.parametrize("stop", [Playback.toggle, Playback.close], ids=["paused", "left"])
def test_a_recording_that_is_stopped_before_its_turn_is_not_played(playback, player, tasks, qtbot, stop):
    with playback._lock:
        playback.toggle()
        stop(playback)
    player.may_open.set()
    qtbot.waitUntil(lambda: not tasks.busy)
    qtbot.settle()
    assert not player.opening.is_set()
    assert playback.noted == []


def test_a_recording_is_noted_as_heard_once_when_it_is_played(playback, player, tasks, qtbot):
    player.may_open.set()
    with playback._lock:
        playback.toggle()
        playback.toggle()
    qtbot.waitUntil(lambda: not tasks.busy)
    for _ in range(3):
        playback.toggle()
        qtbot.waitUntil(lambda: not tasks.busy)
    assert playback.noted == ["heard"]
    playback.close()
    qtbot.waitUntil(lambda: not tasks.busy)

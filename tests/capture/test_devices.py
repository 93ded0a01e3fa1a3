import numpy as np

from patience import until
from vbdesk.capture.devices import DeviceListUnavailable, DeviceWatch, PortAudioLister
from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.microphone import FileMicrophone
from vbdesk.capture.playback import SilentPlayer
from vbdesk.clock import ManualClock


def test_the_watch_tells_of_plugging_and_unplugging():
    microphone = FileMicrophone(np.zeros(10, np.int16))
    seen = []
    watch = DeviceWatch(microphone, lambda devices: seen.append([device.name for device in devices]), interval_s=0.01)
    watch.start()
    for told, change in enumerate((microphone.unplug, microphone.plug), 1):
        until(lambda told=told: len(seen) == told)
        change()
    until(lambda: len(seen) == 3)
    watch.stop()
    assert seen == [["File microphone"], [], ["File microphone"]]


def test_a_sound_system_that_stops_answering_is_said_once_and_its_return_too():
    class Sulking:
        answers = True

        def devices(self):
            if not self.answers:
                raise DeviceListUnavailable("The sound system of this computer does not answer.")
            return []

    lister, told = Sulking(), []
    watch = DeviceWatch(lister, told.append, interval_s=0.01, on_no_answer=told.append)
    watch.start()
    for said, answers in enumerate((False, True), 1):
        until(lambda said=said: len(told) == said)
        lister.answers = answers
    until(lambda: len(told) == 3)
    watch.stop()
    assert told == [[], "The sound system of this computer does not answer.", []]


def test_the_child_lists_again_and_again():
    lister = PortAudioLister()
    try:
        assert lister.devices() == lister.devices()
    finally:
        lister.close()


def test_a_child_that_died_is_replaced():
    lister = PortAudioLister()
    try:
        before = lister.devices()
        lister.close()
        assert lister.devices() == before
    finally:
        lister.close()


def test_the_silent_player_takes_its_time():
    clock = ManualClock()
    player = SilentPlayer(clock)
    player.load(TakeAudio(np.zeros(20_000, np.int16), 1000, True, {}, ()))
    player.play()
    clock.advance(5)
    assert (player.position_s, player.playing) == (5.0, True)
    player.pause()
    clock.advance(5)
    assert (player.position_s, player.playing) == (5.0, False)
    player.seek(18)
    player.play()
    clock.advance(5)
    assert (player.position_s, player.playing) == (20.0, False)
    player.play()
    assert player.position_s == 0.0

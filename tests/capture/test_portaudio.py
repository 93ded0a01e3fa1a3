"""The sound system: one thread for everything, timeouts, and what WASAPI needs. A stand-in notes the calls."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from patience import HANGS_S
from vbdesk.capture import portaudio
from vbdesk.capture.call_timeout import CallThread, CallTimedOut
from vbdesk.capture.devices import Device
from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.microphone import MicrophoneError, PortAudioMicrophone
from vbdesk.capture.playback import PortAudioPlayer

SOUND = TakeAudio(np.zeros(48_000, np.int16), 48_000, True, {}, ())


class SoundLibrary:
    """What vbdesk uses of `sounddevice`, with one microphone of each interface; the first is the default."""

    class PortAudioError(Exception):
        pass

    def __init__(self, *interfaces):
        self.interfaces = interfaces
        self.threads: dict[str, set[int]] = {}
        self.streams: list[SimpleNamespace] = []
        self.rates = (48_000,)
        self.may_answer = threading.Event()
        self.may_answer.set()

    def _note(self, call):
        self.threads.setdefault(call, set()).add(threading.get_ident())

    def _terminate(self):
        self._note("terminate")

    def _initialize(self):
        self._note("initialize")

    def query_hostapis(self, index):
        return {"name": self.interfaces[index]}

    def query_devices(self, index=None, kind=None):
        found = [
            {"name": "Headset", "hostapi": number, "max_input_channels": 1, "default_samplerate": 16_000.0}
            for number, _ in enumerate(self.interfaces)
        ]
        return found if kind is None else found[index or 0]

    def WasapiSettings(self, **chosen):
        return ("wasapi", chosen)

    def InputStream(self, **settings):
        self.may_answer.wait(HANGS_S)
        if settings["samplerate"] not in self.rates and settings["extra_settings"] is None:
            raise self.PortAudioError("rate")
        return self._stream(settings)

    def OutputStream(self, **settings):
        return self._stream(settings)

    def _stream(self, settings):
        self._note("open")
        stream = SimpleNamespace(settings=settings, samplerate=settings["samplerate"], closed=threading.Event())
        stream.start = lambda: self._note("start")

        def close(ignore_errors):
            self._note("close")
            stream.closed.set()

        stream.close = close
        self.streams.append(stream)
        return stream


@pytest.fixture
def sound(monkeypatch):
    """Put a stand-in for the library in place; several per test share the thread."""

    def use(*interfaces):
        library = SoundLibrary(*interfaces)
        monkeypatch.setattr(portaudio, "_sounddevice", lambda: library)
        return library

    monkeypatch.setattr(portaudio, "_open", [])
    monkeypatch.setattr(portaudio, "_sound", CallThread("sound-system"))
    return use


def opened(device=None):
    return PortAudioMicrophone().open(device, lambda block: None, lambda: None)


def in_another_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_one_thread_opens_and_closes_every_stream_whoever_asks(sound):
    library = sound("ALSA")
    streams = []
    in_another_thread(lambda: streams.append(opened()))
    player = PortAudioPlayer()
    player.load(SOUND)
    player.play()
    in_another_thread(streams[0].close)
    player.close()
    assert set(library.threads) == {"terminate", "initialize", "open", "start", "close"}
    (thread,) = set.union(*library.threads.values())
    assert thread != threading.get_ident()
    assert all(stream.closed.is_set() for stream in library.streams)


def test_wasapi_converts_rate_and_channels(sound):
    library = sound("MME", "Windows WASAPI")
    stream = opened(Device("Headset", "Windows WASAPI", False))
    assert stream.sample_rate == 48_000
    assert library.streams[0].settings["extra_settings"] == ("wasapi", {"auto_convert": True})
    stream.close()


@pytest.mark.parametrize(("interface", "converts"), [("Windows WASAPI", True), ("Core Audio", False), ("ALSA", False)])
def test_default_devices_convert_where_they_are_of_wasapi(sound, interface, converts):
    library = sound(interface)
    player = PortAudioPlayer()
    player.load(SOUND)
    player.play()
    stream = opened()
    assert [each.settings["extra_settings"] is not None for each in library.streams] == [converts, converts]
    stream.close()
    player.close()


def test_another_interface_falls_back_to_the_rate_of_the_device(sound):
    library = sound("Core Audio")
    library.rates = (16_000.0,)
    stream = opened()
    assert stream.sample_rate == 16_000
    stream.close()


def test_a_stream_that_opens_too_late_is_closed_by_the_same_thread(sound, monkeypatch):
    library = sound("ALSA")
    library.may_answer.clear()
    monkeypatch.setattr(portaudio, "OPEN_LIMIT_S", 0.1)
    with pytest.raises(MicrophoneError, match="does not answer"):
        opened()
    with pytest.raises(MicrophoneError, match="does not answer"):  # behind the first; never opened
        opened()
    library.may_answer.set()
    monkeypatch.setattr(portaudio, "OPEN_LIMIT_S", 60)
    opened().close()
    assert len(library.streams) == 2
    assert all(stream.closed.is_set() for stream in library.streams)
    assert len(set.union(*library.threads.values())) == 1


def test_a_call_that_answers_in_time_is_as_without_a_limit():
    calls = CallThread("calls")
    assert calls.call_within(60, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        calls.call_within(60, lambda: 1 // 0)
    assert calls.call_within(60, lambda: calls.call_within(60, lambda: 8)) == 8


def test_a_call_that_hangs_is_left_behind_and_undone_when_it_answers():
    undone, answers, done = [], threading.Event(), threading.Event()
    calls = CallThread("calls")

    def undo(result):
        undone.append(result)
        done.set()

    with pytest.raises(CallTimedOut):
        calls.call_within(0.1, lambda: answers.wait(HANGS_S) and "late", undo)
    assert undone == []
    answers.set()
    assert done.wait(HANGS_S)
    assert undone == ["late"]
    assert calls.call_within(60, lambda: 7) == 7

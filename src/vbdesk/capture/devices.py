"""List the microphones, and detect changes."""

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from vbdesk.language import Message, message, message_of
from vbdesk.own_process import child_options, own_module

ANSWER_TIMEOUT_S = 5.0  # for a sound server that hangs
FIRST_ANSWER_TIMEOUT_S = 20.0  # with a cold disk
LISTINGS_PER_CHILD = 500  # PortAudio leaks about 13 kB per listing


# Preference among the system's interfaces to the same microphone: best information, full names.
HOST_API_ORDER = ("Windows WASAPI", "Core Audio", "ALSA", "JACK Audio Connection Kit", "Windows DirectSound", "MME")
SHORTENED_NAME = 31  # length of names in MME
NOT_OFFERED = frozenset({"Windows WDM-KS"})  # takes the microphone exclusively


@dataclass(frozen=True, slots=True)
class Device:
    """A microphone, identified by its name, which survives renumbering.

    Attributes:
        backing: the real device of one that follows the system's choice, such as `default` or `pulse`; None for others.
    """

    name: str
    host_api: str
    is_default: bool
    backing: str | None = None

    def is_same(self, other: "Device") -> bool:
        """Whether both are the same microphone."""
        return (self.name, self.host_api, self.backing) == (other.name, other.host_api, other.backing)


def is_among(device: Device, devices: Iterable[Device]) -> bool:
    """Whether `device` is still listed, with the same real device."""
    return any(device.is_same(other) for other in devices)


def offered(devices: Iterable[Device]) -> list[Device]:
    """The devices to choose from: each microphone once, though Windows lists it under every interface.

    MME shortens names to 31 characters, so names are compared up to that length. The remaining entry is the default if
    any of them is.
    """
    merged: dict[str, Device] = {}
    for device in sorted(devices, key=_rank):
        if device.host_api in NOT_OFFERED:
            continue
        family = "Windows" if device.host_api.startswith(("Windows", "MME")) else device.host_api
        name = device.name[:SHORTENED_NAME] if family == "Windows" else device.name
        known = merged.get(f"{family}/{name}")
        if known is None:
            merged[f"{family}/{name}"] = device
        elif device.is_default and not known.is_default:
            merged[f"{family}/{name}"] = Device(known.name, known.host_api, True, known.backing)
    return list(merged.values())


def _rank(device: Device) -> int:
    return HOST_API_ORDER.index(device.host_api) if device.host_api in HOST_API_ORDER else len(HOST_API_ORDER)


class DeviceListUnavailable(Exception):
    """The sound system does not list the microphones."""


class DeviceLister(Protocol):
    """Lists the present microphones. May block for some seconds."""

    def devices(self) -> list[Device]:
        """The present microphones. Raises DeviceListUnavailable."""


class PortAudioLister:
    """Asks a child process, which is reused; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._listings = 0

    def devices(self) -> list[Device]:
        """The present microphones; 20 ms once the child runs.

        Raises:
            DeviceListUnavailable: no answer in time; the next call tries a new child.
        """
        with self._lock:
            if self._listings >= LISTINGS_PER_CHILD:
                self._end_child()
            timeout_s = ANSWER_TIMEOUT_S if self._child else FIRST_ANSWER_TIMEOUT_S
            try:
                answer = self._ask(self._child or self._new_child(), timeout_s)
                return offered([Device(**entry) for entry in json.loads(answer)])
            except (OSError, ValueError, queue.Empty) as error:
                self._end_child()
                raise DeviceListUnavailable(message("The sound system of this computer does not answer.")) from error

    def close(self) -> None:
        """End the child process."""
        with self._lock:
            self._end_child()

    def _ask(self, child: "subprocess.Popen[str]", timeout_s: float) -> str:
        if child.stdin is None:
            raise OSError("no way to the child")
        child.stdin.write("\n")
        child.stdin.flush()
        answer = self._answers.get(timeout=timeout_s)
        if answer is None:
            raise OSError("the child ended")
        self._listings += 1
        return answer

    def _new_child(self) -> "subprocess.Popen[str]":
        self._child = subprocess.Popen(
            own_module("vbdesk.capture.device_helper"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            **child_options(),
        )
        self._answers = queue.SimpleQueue()
        self._listings = 0
        threading.Thread(target=_pass_on, args=(self._child, self._answers), name="device-answers", daemon=True).start()
        return self._child

    def _end_child(self) -> None:
        child, self._child, self._listings = self._child, None, 0
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError, ValueError):
                        pipe.close()


def _pass_on(child: "subprocess.Popen[str]", answers: "queue.SimpleQueue[str | None]") -> None:
    if child.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            for line in child.stdout:
                answers.put(line)
    answers.put(None)


class DeviceWatch:
    """Calls back, from its own thread, whenever the list of microphones has changed."""

    def __init__(
        self,
        lister: DeviceLister,
        on_change: Callable[[list[Device]], None],
        interval_s: float = 1.0,
        on_no_answer: Callable[[Message], None] | None = None,
    ) -> None:
        """Make a watch.

        Args:
            lister: lists the microphones.
            on_change: receives the new list.
            interval_s: seconds between two listings.
            on_no_answer: receives one sentence each time the sound system stops answering.
        """
        self._lister = lister
        self._on_change = on_change
        self._on_no_answer = on_no_answer
        self._interval_s = interval_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="device-watch", daemon=True)

    def start(self) -> None:
        """Start; the first list counts as a change."""
        self._thread.start()

    def stop(self) -> None:
        """Stop; waits for a running listing."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        known: list[Device] | None = None
        answers = True
        while not self._stopping.is_set():
            try:
                now = self._lister.devices()
            except DeviceListUnavailable as error:
                if answers and self._on_no_answer is not None:
                    self._on_no_answer(message_of(error))
                answers = False
            else:
                if now != known or not answers:
                    known, answers = now, True
                    self._tell(now)
            self._stopping.wait(self._interval_s)

    def _tell(self, devices: list[Device]) -> None:
        if not self._stopping.is_set():
            self._on_change(devices)

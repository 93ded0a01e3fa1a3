"""Record takes, one at a time: from the microphone's blocks to encrypted sound on disk."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbdesk import __version__
from vbdesk.capture.devices import Device, DeviceLister
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.capture.meter import SILENCE, InputLevels
from vbdesk.capture.microphone import Microphone
from vbdesk.capture.running_take import RecordingHealth, RecordingPhase, RunningTake
from vbdesk.capture.speech_meter import SpeechMeter, SpeechProgress
from vbdesk.capture.take import EndReason, Take
from vbdesk.clock import Clock, SystemClock
from vbdesk.contract.ids import new_id
from vbdesk.language import message
from vbdesk.privacy import make_private

__all__ = ["EndReason", "Recorder", "RecordingFailed", "RecordingHealth", "RecordingPhase", "Take"]


class RecordingFailed(Exception):
    """A recording could not begin; `str(error)` is one sentence for a person."""


class Recorder:
    """Records one take at a time. `start`, `stop` and `close` may block: not for the GUI thread."""

    def __init__(
        self,
        microphone: Microphone,
        takes_folder: Path,
        key_provider: Callable[[], bytes],
        clock: Clock | None = None,
        lister: DeviceLister | None = None,
        on_finished: Callable[[Take], None] | None = None,
        open_writer: Callable[..., EncryptedTakeWriter] = EncryptedTakeWriter,
        speech_meter: Callable[[int], SpeechMeter] | None = SpeechMeter,
    ) -> None:
        """Make a recorder.

        Args:
            microphone: the source of sound.
            takes_folder: where takes are written.
            key_provider: gives the library's key; called by `start`.
            clock: the system's if None.
            lister: lets it detect that another microphone has taken over; not detected if None.
            on_finished: called once for every take, in the recorder's thread; must not start a recording.
            open_writer: makes the writer of a take.
            speech_meter: makes the speech counter of a recording; speech is not counted if None.
        """
        self._microphone = microphone
        self._folder = takes_folder
        self._key_provider = key_provider
        self._clock = clock or SystemClock()
        self._lister = lister
        self._on_finished = on_finished
        self._open_writer = open_writer
        self._speech_meter = speech_meter
        self._recording: RunningTake | None = None

    @property
    def phase(self) -> RecordingPhase:
        """The present phase."""
        return RecordingPhase.IDLE if self._recording is None else self._recording.phase

    @property
    def elapsed_s(self) -> float:
        """Length of the take so far, without pauses and lead-in."""
        return 0.0 if self._recording is None else self._recording.elapsed_s

    @property
    def lead_in_left_s(self) -> float:
        """Seconds until the take begins; 0 once it has."""
        return 0.0 if self._recording is None else self._recording.lead_in_left_s

    def start(self, device: Device | None, about: Mapping[str, Any] | None = None, lead_in_s: float = 0.0) -> None:
        """Begin a take on `device`; `about` is stored encrypted in it, so that a rescued take knows its subject.

        Args:
            device: the system's choice if None.
            about: what is known about it; recorder, microphone, rate and time are added.
            lead_in_s: seconds of sound before the take begins, so that no word is lost and the noise floor is known.
                `stop` during the lead-in cancels, as `cancel` does.

        Raises:
            MicrophoneError: the microphone cannot be opened.
            RecordingFailed: a take is running, or nothing can be written.
        """
        if self.phase is not RecordingPhase.IDLE:
            raise RecordingFailed(message("A recording is running. Stop it before the next one begins."))
        self.close()
        recording = RunningTake(self._clock, self._lister, device, self._on_finished, lead_in_s)
        session = self._microphone.open(device, recording.take_block, recording.stream_ended)
        path = self._folder / f"{new_id()}.take"
        described = {
            **(about or {}),
            "recorded_at": recording.recorded_at.isoformat(),
            "boot": asdict(recording.boot),
            "app_version": __version__,
            "device": None if device is None else device.name,
            "host_api": None if device is None else device.host_api,
        }
        try:
            make_private(self._folder)
            writer = self._open_writer(path, self._key_provider(), session.sample_rate, described)
        except OSError as error:
            session.close()
            raise RecordingFailed(
                message("Nothing can be written to the disk, so nothing was recorded. Make room and try again.")
            ) from error
        except BaseException:
            session.close()
            raise
        speech = None if self._speech_meter is None else self._speech_meter(session.sample_rate)
        recording.begin(session, writer, path, speech)
        self._recording = recording

    def pause(self) -> None:
        """Leave out sound until `resume`; the meter continues."""
        if self._recording is not None:
            self._recording.pause()

    def resume(self) -> None:
        """Record again after a pause."""
        if self._recording is not None:
            self._recording.resume()

    def mark(self) -> None:
        """Mark this moment in the take."""
        if self._recording is not None:
            self._recording.mark()

    def begin_task(self, task_id: str) -> None:
        """Mark the start of a task of the protocol, and count its speech from zero."""
        if self._recording is not None:
            self._recording.mark(task_id)

    def stop(self) -> Take:
        """End the take; returns it once it is encrypted on disk, also if it has ended before.

        Raises:
            RecordingFailed: there was no take.
        """
        if self._recording is None:
            raise RecordingFailed(message("No recording is running."))
        take = self._recording.stop()
        if take is None:
            raise RecordingFailed(message("The recording ended without a take."))
        return take

    def cancel(self) -> None:
        """Cancel a take before its begin was shown; deletes its file."""
        if self._recording is not None:
            self._recording.stop(EndReason.CANCELLED)
            self._recording.join()

    def close(self) -> None:
        """Stop if needed, and release the microphone; gives up on a hanging microphone after some seconds."""
        if self._recording is not None:
            self._recording.stop()
            self._recording.join()

    def levels(self) -> InputLevels:
        """The latest reading of the meter, cheap enough for every frame of a window."""
        return SILENCE if self._recording is None else self._recording.levels()

    def speech(self) -> SpeechProgress:
        """Speech counted so far; as cheap."""
        return SpeechProgress() if self._recording is None else self._recording.speech()

    def health(self) -> RecordingHealth:
        """Lost frames and silence so far; as cheap."""
        return RecordingHealth() if self._recording is None else self._recording.health()

    def envelope(self) -> NDArray[np.int16]:
        """Lowest and highest sample of every 10 ms of the take, shape (n, 2)."""
        return np.zeros((0, 2), np.int16) if self._recording is None else self._recording.envelope()

"""Notices that the microphone of a running take is lost: unplugged, replaced by another one, or without sound."""

import contextlib
import threading
from collections.abc import Callable

from vbdesk.capture.devices import Device, DeviceLister, DeviceListUnavailable, is_among
from vbdesk.capture.take import EndReason

STALL_S = 3.0
WATCH_S = 0.8  # with the listing itself, under a second of another microphone's sound


class MicrophoneLoss:
    """Ends a take whose microphone is lost.

    The sound system silently continues with another microphone, so a thread lists the devices regularly.
    """

    def __init__(self, end: Callable[[EndReason, int | None], None]) -> None:
        """Make it; `end` is called with the reason and the frames to keep (None: all), on any thread."""
        self._end = end

    def stream_ended(self) -> None:
        """Handle an unexpected end of the stream."""
        self._end(EndReason.UNPLUGGED, None)

    def is_stalled(self, silent_for_s: float) -> bool:
        """Whether the microphone gave no block for too long."""
        return silent_for_s >= STALL_S

    def watching(
        self, lister: DeviceLister, device: Device, frames: Callable[[], int], ended: threading.Event
    ) -> threading.Thread:
        """Make the thread that ends the take when `device` is no longer listed, until the take has `ended`.

        The take is cut back to its `frames` when the microphone was last certainly there.
        """
        return threading.Thread(
            target=self._watch, args=(lister, device, frames, ended), name="recorder-watch", daemon=True
        )

    def _watch(self, lister: DeviceLister, device: Device, frames: Callable[[], int], ended: threading.Event) -> None:
        certain = 0
        while not ended.wait(WATCH_S):
            frames_before = frames()
            with contextlib.suppress(DeviceListUnavailable):
                if not is_among(device, lister.devices()):
                    self._end(EndReason.REPLACED, certain)
                    return
                certain = frames_before

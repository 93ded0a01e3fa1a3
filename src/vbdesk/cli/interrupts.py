"""Handle Ctrl-C and termination requests in the same way."""

import signal
from types import FrameType
from typing import NoReturn


def stop_in_order() -> None:
    """Let both end a command as KeyboardInterrupt; a shell's background job starts with Ctrl-C ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt

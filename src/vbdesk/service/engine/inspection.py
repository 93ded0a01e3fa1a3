"""Looking at submitted recordings in fenced children: whatever a file does to a decoder, the service goes on."""

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor

from vbdesk.service.encryption.recording_files import Recording
from vbdesk.service.engine.fair_slots import FairSlots
from vbdesk.service.engine.slot import ChildCrashed, Prepare, SlotClosed, TaskFailed, TaskTimedOut
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.kernel.errors import AudioRejected, ProcessingFailed, UnsupportedFormat, audio_rejected
from vbdesk.service.ports.audio_inspector import AudioFacts, Refusal, load_decoders, look_at

AT_ONCE = 4
AT_ONCE_OF_ONE_SENDER = 2
"""Recordings of one account looked at together. Its others wait, so that files which stall their children until these
are ended hold up nobody else. Of all accounts that wait, the one goes on that used the least time lately."""

MEMORY_BYTES = 1024**3  # beyond what a child holds when ready; 20 minutes take a quarter of it
TIMEOUT_S = 10.0  # 20 minutes of AAC take 1.5 s on an idle computer
MAX_TASKS = 100  # a large recording leaves a large heap behind

log = logging.getLogger(__name__)


class SandboxedInspector:
    """Looks at recordings in children with bounded memory and time.

    A file that crashes, bloats or stalls its child counts as unreadable, which to its sender it is.
    """

    def __init__(
        self,
        *,
        prepare: Prepare | None = None,
        memory_bytes: int = MEMORY_BYTES,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Make the slots."""
        self._timeout_s = timeout_s
        self._slots = SlotPool(AT_ONCE, prepare or load_decoders, memory_bytes=memory_bytes, max_tasks=MAX_TASKS)
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="vbdesk-inspect")
        self._places = FairSlots(AT_ONCE, AT_ONCE_OF_ONE_SENDER)

    async def inspect(self, recording: Recording, sender: str) -> AudioFacts:
        """Decode the recording as the analysis will. Raises AudioRejected, ProcessingFailed, TooMuchRefused."""
        await self._places.take(sender)
        began = time.monotonic()

        def give_back(ended: asyncio.Future[AudioFacts]) -> None:
            refused = not ended.cancelled() and isinstance(ended.exception(), AudioRejected)
            self._places.give_back(sender, time.monotonic() - began, refused=refused)

        looking = asyncio.get_running_loop().run_in_executor(self._threads, self._inspect, recording)
        looking.add_done_callback(give_back)
        return await asyncio.shield(looking)  # a caller that leaves ends no child: its place is taken until then

    def close(self) -> None:
        """End the children."""
        self._slots.close()
        self._threads.shutdown()

    def _inspect(self, recording: Recording) -> AudioFacts:
        try:
            with self._slots.borrow() as slot:
                try:
                    slot.wait_ready()
                except ChildCrashed as crash:  # before it saw the file
                    log.error("The process that looks at recordings does not start. %s", crash)
                    raise ProcessingFailed from None
                seen: AudioFacts | Refusal = slot.run(look_at, timeout_s=self._timeout_s, recording=recording)
        except SlotClosed:
            raise ProcessingFailed from None
        except TaskFailed as failure:
            log.warning("A recording could not be looked at (%s).", failure.kind)
            if failure.kind in _OUR_FAULTS:
                raise ProcessingFailed from None
            raise UnsupportedFormat from None
        except (ChildCrashed, TaskTimedOut) as failure:
            log.warning("A recording ended the process that looked at it. %s", failure)
            raise UnsupportedFormat from None
        if isinstance(seen, Refusal):
            raise audio_rejected(seen.code, seen.message)
        return seen


_OUR_FAULTS = frozenset(
    {
        "FileNotFoundError",
        "PermissionError",
        "OSError",
        "DamagedFile",
        "DataFileError",
        "KeyMissing",
        "ImportError",
        "ModuleNotFoundError",
    }
)
"""What a decoder never raises for the sake of a file's content."""

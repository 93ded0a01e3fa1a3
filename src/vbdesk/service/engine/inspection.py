"""Inspection of submitted recordings in sandboxed children, so that no file can stop the service."""

import asyncio
import logging
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from vbdesk.contract.errors import ErrorCode
from vbdesk.service.encryption.recording_files import StoredRecording
from vbdesk.service.engine.fair_slots import FairSlots
from vbdesk.service.engine.slot import ChildCrashed, Prepare, SlotClosed, TaskFailed, TaskTimedOut
from vbdesk.service.engine.slot_pool import SlotPool
from vbdesk.service.kernel.errors import AudioRejected, ProcessingFailed
from vbdesk.service.ports.audio_inspector import AudioFacts, AudioRefusal, inspect_recording, load_decoders

AT_ONCE = 4
AT_ONCE_OF_ONE_SENDER = 2
"""Recordings of one account inspected at the same time. Its other recordings wait, so files that stall their children
delay only this account. The waiting account with the least recent use goes next."""

MEMORY_BYTES = 1024**3  # in addition to a ready child's memory; 20 minutes take a quarter of it
PROCESSOR_S = 10.0  # 20 minutes of AAC take 1.5 s; a busy machine takes longer, but needs no more processor time
TIMEOUT_S = 60.0 if sys.platform != "win32" else 30.0  # for a child that waits; Windows limits no processor time
MAX_TASKS = 100  # a large recording leaves a large heap behind

log = logging.getLogger(__name__)


class SandboxedInspector:
    """Inspects recordings in children with limited memory, processor time and time.

    A file that crashes or stalls its child, or exhausts its memory, is reported as unreadable.
    """

    def __init__(
        self,
        *,
        prepare: Prepare | None = None,
        memory_bytes: int = MEMORY_BYTES,
        processor_s: float = PROCESSOR_S,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Make the slots."""
        self._processor_s, self._timeout_s = processor_s, timeout_s
        self._slots = SlotPool(AT_ONCE, prepare or load_decoders, memory_bytes=memory_bytes, max_tasks=MAX_TASKS)
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="vbdesk-inspect")
        self._sender_slots = FairSlots(AT_ONCE, AT_ONCE_OF_ONE_SENDER)

    async def inspect(self, recording: StoredRecording, sender: str) -> AudioFacts:
        """Decode the recording like the analysis. Raises AudioRejected, ProcessingFailed, TooMuchRefused."""
        await self._sender_slots.take(sender)
        began = time.monotonic()

        def give_back(ended: asyncio.Future[AudioFacts]) -> None:
            refused = not ended.cancelled() and isinstance(ended.exception(), AudioRejected)
            self._sender_slots.give_back(sender, time.monotonic() - began, refused=refused)

        looking = asyncio.get_running_loop().run_in_executor(self._threads, self._inspect, recording)
        looking.add_done_callback(give_back)
        return await asyncio.shield(looking)  # a cancelled caller does not end the child, and its slot stays taken

    def close(self) -> None:
        """End the children."""
        self._slots.close()
        self._threads.shutdown()

    def _inspect(self, recording: StoredRecording) -> AudioFacts:
        try:
            with self._slots.borrow() as slot:
                try:
                    slot.wait_ready()
                except ChildCrashed as crash:  # before it read the file
                    log.error("The process that looks at recordings does not start. %s", crash)
                    raise ProcessingFailed from None
                seen: AudioFacts | AudioRefusal = slot.run(
                    inspect_recording, timeout_s=self._timeout_s, processor_s=self._processor_s, recording=recording
                )
        except SlotClosed:
            raise ProcessingFailed from None
        except TaskFailed as failure:
            log.warning("A recording could not be looked at (%s).", failure.kind)
            if failure.kind in _OUR_FAULTS:
                raise ProcessingFailed from None
            raise AudioRejected(ErrorCode.UNSUPPORTED_FORMAT) from None
        except (ChildCrashed, TaskTimedOut) as failure:
            log.warning("A recording ended the process that looked at it. %s", failure)
            raise AudioRejected(ErrorCode.UNSUPPORTED_FORMAT) from None
        if isinstance(seen, AudioRefusal):
            raise AudioRejected(seen.code, seen.message)
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
"""Exceptions that a decoder never raises because of a file's content."""

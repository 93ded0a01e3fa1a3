"""Slots of one worker, lent one at a time."""

import queue
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from vbdesk.service.engine.sandbox import warn_once
from vbdesk.service.engine.slot import MAX_TASKS, Prepare, Slot, SlotClosed

CHECK_INTERVAL_S = 0.2  # how soon a waiting caller notices that the pool was closed


class SlotPool:
    """A fixed number of slots; more callers than slots wait."""

    def __init__(
        self,
        count: int,
        prepare: Prepare,
        *,
        memory_bytes: int | None = None,
        max_tasks: int = MAX_TASKS,
        readable: Sequence[Path] = (),
    ) -> None:
        """Create the slots. The arguments are those of `Slot`."""
        warn_once()
        self._slots = [
            Slot(prepare, memory_bytes=memory_bytes, max_tasks=max_tasks, readable=readable) for _ in range(count)
        ]
        self._free: queue.SimpleQueue[Slot] = queue.SimpleQueue()
        for slot in self._slots:
            self._free.put(slot)
        self._closed = False

    @property
    def has_free(self) -> bool:
        """Whether a slot is free now."""
        return not self._free.empty()

    @contextmanager
    def borrow(self) -> Iterator[Slot]:
        """Lend a slot for the block.

        Raises:
            SlotClosed: the pool closes.
        """
        slot = self._next_free()
        try:
            yield slot
        finally:
            self._free.put(slot)

    def close(self) -> None:
        """End every child; running tasks raise `SlotClosed`."""
        self._closed = True
        for slot in self._slots:
            slot.close()

    def _next_free(self) -> Slot:
        while not self._closed:
            try:
                return self._free.get(timeout=CHECK_INTERVAL_S)
            except queue.Empty:
                continue
        raise SlotClosed("The service is stopping.")

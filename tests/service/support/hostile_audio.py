"""Mutated recordings, inspected by the real child in its sandbox."""

import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parents[2]
sys.path.append(str(TESTS / "voice"))

from damaged_files import damaged  # noqa: E402
from m4a_files import write_m4a  # noqa: E402

from vbdesk.service.engine.inspection import MAX_TASKS, MEMORY_BYTES  # noqa: E402
from vbdesk.service.engine.slot import SlotError, TaskFailed  # noqa: E402
from vbdesk.service.engine.slot_pool import SlotPool  # noqa: E402
from vbdesk.service.ports.audio_inspector import AudioFacts, inspect_recording, load_decoders  # noqa: E402

SHARED = TESTS.parents[1] / "shared" / "audio" / "odd"
"""Larger collection, next to the checkout."""

OWN = TESTS / "data"
ENDINGS = {".wav", ".flac", ".mp3", ".m4a", ".mp4", ".aac", ".aiff", ".ogg", ".opus"}
PATIENCE_S = 60.0  # for a busy machine; the service allows a sixth of it


@dataclass
class Outcomes:
    """Outcomes of mutated recordings; `faults` names those that ended a child or failed unexpectedly."""

    decoded: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest_s: float = 0.0

    @property
    def looked_at(self) -> int:
        return self.decoded + self.refused.total() + len(self.faults)


def sound_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS and path.is_file())


def look_at_mutated(sources: Sequence[Path], count: int, seed: int, *, at_once: int = 2) -> Outcomes:
    """Mutate each source in turn, and two eight-channel files; inspect them in the real child."""
    outcomes, counting = Outcomes(), threading.Lock()
    slots = SlotPool(at_once, load_decoders, memory_bytes=MEMORY_BYTES, max_tasks=MAX_TASKS)
    with tempfile.TemporaryDirectory(prefix="vbdesk-hostile-") as name:
        folder = Path(name)
        noise = np.random.default_rng(seed).normal(0, 0.1, (16_000 * 16, 8)).astype(np.float32)
        write_m4a(folder / "aac.m4a", "aac", "7.1", noise)
        write_m4a(folder / "alac.m4a", "alac", "7.1(wide)", noise)
        originals = [(path.name, path.read_bytes()) for path in [*sources, folder / "aac.m4a", folder / "alac.m4a"]]

        def look(number: int) -> None:
            source, sound = originals[number % len(originals)]
            path = folder / f"{number}"
            path.write_bytes(damaged(sound, 1 + number % 3, np.random.default_rng((seed, number))))
            began = time.monotonic()
            outcome = fault = ""
            with slots.borrow() as slot:
                try:
                    slot.wait_ready()
                    seen = slot.run(inspect_recording, timeout_s=PATIENCE_S, recording=path)
                    outcome = "" if isinstance(seen, AudioFacts) else str(seen.code)
                except TaskFailed as failure:
                    fault = str(failure)
                except SlotError as failure:
                    fault = f"{type(failure).__name__}: {failure}"
            path.unlink()
            with counting:
                outcomes.slowest_s = max(outcomes.slowest_s, time.monotonic() - began)
                if fault:
                    outcomes.faults.append(f"seed {seed}, number {number}, {source}: {fault}")
                elif outcome:
                    outcomes.refused[outcome] += 1
                else:
                    outcomes.decoded += 1

        try:
            with ThreadPoolExecutor(at_once) as threads:
                list(threads.map(look, range(count)))
        finally:
            slots.close()
    return outcomes

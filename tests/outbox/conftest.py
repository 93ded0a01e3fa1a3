from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from vbdesk.capture.clock import ManualClock
from vbdesk.capture.sealed import SealedTakeWriter
from vbdesk.outbox.items import TakeMetadata, Target
from vbdesk.outbox.library import Library

KEY = bytes(range(32))


@pytest.fixture
def clock():
    return ManualClock(datetime(2026, 3, 1, 9, 0, tzinfo=UTC))


@pytest.fixture
def library(tmp_path, clock):
    opened = Library(tmp_path / "library", KEY, clock)
    yield opened
    opened.close()


@pytest.fixture
def reopen(tmp_path, clock):
    """Open the library once more, as after a restart."""
    opened = []

    def again():
        opened.append(Library(tmp_path / "library", KEY, clock))
        return opened[-1]

    yield again
    for other in opened:
        other.close()


@pytest.fixture
def new_take(library):
    """Write a sealed take and take it in; returns its take id."""

    def make(group_id="ward4-0172", seconds=20, **more):
        path = write_take(library.recording_folder / f"{len(library.list())}.take", seconds)
        facts = {"recorded_at": datetime(2026, 3, 1, 8, 30, tzinfo=UTC), "target": Target("model", "pulse"), **more}
        return library.add_take(path, TakeMetadata(group_id=group_id, **facts))

    return make


def write_take(path: Path, seconds: float = 20, rate: int = 8000) -> Path:
    writer = SealedTakeWriter(path, KEY, rate)
    samples = np.random.default_rng(1).normal(0, 3000, round(seconds * rate)).astype(np.int16)
    writer.append(samples)
    writer.close()
    return path

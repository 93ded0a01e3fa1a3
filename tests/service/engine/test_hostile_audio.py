"""Mutated recordings end no child: a few hundred here, thousands in `tests/soak/hostile_audio.py`."""

from pathlib import Path

import hostile_audio
import pytest


@pytest.mark.parametrize("folder", [hostile_audio.SHARED, hostile_audio.OWN], ids=["shared", "own"])
def test_three_hundred_mutated_recordings_end_no_child(folder: Path) -> None:
    sources = hostile_audio.sound_files(folder)
    if not sources:
        pytest.skip(f"{folder} is not here")
    if folder == hostile_audio.OWN and hostile_audio.SHARED.is_dir():
        pytest.skip("the larger collection is here and serves")
    outcomes = hostile_audio.look_at_mutated(sources, 300, seed=1)
    assert outcomes.faults == []
    assert outcomes.looked_at == 300
    assert outcomes.decoded > 10
    assert outcomes.refused.total() > 30  # else the damage is too mild to say anything

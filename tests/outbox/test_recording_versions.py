"""Lossless trimming, and versions of a recording."""

import numpy as np
import pytest

from vbdesk.outbox.library.items import metadata_of
from vbdesk.outbox.library.library import NotAllowed


def test_a_trim_counts_and_the_sound_stays_whole(library, new_take):
    take_id = new_take(seconds=30)
    whole = library.audio(take_id).samples
    library.set_trim(take_id, (5.0, 25.0), {"speech_seconds": 12.0})
    item = library.get(take_id)
    assert (item.duration_s, item.trim_s, item.quality) == (20.0, (5.0, 25.0), {"speech_seconds": 12.0})
    assert library.audio(take_id).duration_s == 20.0
    assert np.array_equal(library.whole_audio(take_id).samples, whole)
    library.set_trim(take_id, None)
    assert library.get(take_id).duration_s == 30.0
    assert np.array_equal(library.audio(take_id).samples, whole)


def test_a_trim_that_leaves_nothing_or_comes_too_late_is_refused(library, new_take):
    take_id = new_take(seconds=30)
    with pytest.raises(ValueError, match="Nothing is left"):
        library.set_trim(take_id, (40.0, 50.0))
    library.queue(take_id)
    with pytest.raises(NotAllowed):
        library.set_trim(take_id, (5.0, 25.0))
    assert library.get(take_id).duration_s == 30.0


def test_versions_of_a_recording_belong_together(library, new_take):
    first = new_take("ward4")
    second = new_take("ward4", retake_of=first)
    third = new_take("ward4", retake_of=second)
    new_take("ward4")
    new_take("ward5")
    for take_id in (first, second, third):
        assert [item.take_id for item in library.versions(take_id)] == [first, second, third]
    assert library.get(third).retake_of == second
    library.discard(second, at_once=True)
    assert [item.take_id for item in library.versions(third)] == [third]
    assert metadata_of(library.get(third)).retake_of == second


def test_two_retakes_of_one_that_was_deleted_still_belong_together(library, new_take):
    first = new_take("ward4")
    second, third = new_take("ward4", retake_of=first), new_take("ward4", retake_of=first)
    library.discard(first, at_once=True)
    assert [item.take_id for item in library.versions(third)] == [second, third]

"""Lossless trimming, versions of a recording, and the trash."""

from dataclasses import replace

import numpy as np
import pytest

from vbdesk.outbox.library.items import metadata_of
from vbdesk.outbox.library.library import Library, NotAllowed, UnknownTake


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
    library.discard(second)
    assert [item.take_id for item in library.versions(third)] == [third]
    assert metadata_of(library.get(third)).retake_of == second


def test_two_retakes_of_one_that_was_deleted_still_belong_together(library, new_take):
    first = new_take("ward4")
    second, third = new_take("ward4", retake_of=first), new_take("ward4", retake_of=first)
    library.discard(first)
    assert [item.take_id for item in library.versions(third)] == [second, third]


def test_what_was_put_away_comes_back_as_it_was(library, new_take):
    take_id = new_take(note="after lunch", tags=("visit 2",), seconds=20)
    before, version = library.get(take_id), library.changes_since(0).version
    put_away = library.move_to_trash(take_id)
    with pytest.raises(UnknownTake):
        library.get(take_id)
    assert library.changes_since(version).removed == [take_id]
    version = library.changes_since(0).version
    library.restore_from_trash(put_away)
    after = library.get(take_id)
    assert replace(after, version=0, updated_at=before.updated_at) == replace(before, version=0)
    assert library.audio(take_id).duration_s == 20.0
    changes = library.changes_since(version)
    assert ([item.take_id for item in changes.items], changes.removed) == ([take_id], [])


def test_what_was_put_away_is_gone_at_the_next_start(library, new_take, tmp_path):
    kept, away = new_take(), new_take()
    library.move_to_trash(away)
    library.close()
    again = Library(tmp_path / "library", bytes(library.store.key))
    assert [item.take_id for item in again.list()] == [kept]
    assert [path.stem for path in (tmp_path / "library" / "takes").iterdir()] == [kept]
    again.close()


def test_a_crash_in_the_middle_of_putting_away_loses_nothing(library, new_take, tmp_path):
    take_id = new_take(seconds=20)
    library.close()
    path = tmp_path / "library" / "takes" / f"{take_id}.take"
    path.replace(path.with_suffix(".away"))  # a crash after the rename, before the row was deleted
    again = Library(tmp_path / "library", bytes(library.store.key))
    assert again.audio(take_id).duration_s == 20.0
    again.close()


def test_what_is_on_its_way_cannot_be_put_away(library, new_take):
    take_id = new_take()
    library.queue(take_id)
    with pytest.raises(NotAllowed):
        library.move_to_trash(take_id)

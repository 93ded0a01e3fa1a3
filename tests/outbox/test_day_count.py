"""A clock that is wrong destroys nothing: the trash counts days of use, or days that a service elsewhere confirms."""

from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from days_of_use import DAY_S, use_daily
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.clock import ManualClock
from vbdesk.contract.ids import new_id
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.recording_time import ServiceTime
from vbdesk.outbox.library.retention import SoundRetention
from vbdesk.outbox.library.settings import Retention, RetentionRule
from vbdesk.outbox.library.states import OutboxState

KEY = bytes(range(32))
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def started(tmp_path):
    """Start the desk at a time; `confirmed` is what a service says at the same moment, if one is reached."""

    def start(now, confirmed=None, **more):
        opened = Library(tmp_path / "library", KEY, ManualClock(now), **more)
        if confirmed is not None:
            opened.times.confirm(ServiceTime(opened.store.clock.boot(), confirmed))
        return closing(opened)

    return start


@pytest.fixture
def trashed(started):
    """A recording that was deleted at the start; the library is closed."""
    with started(START) as opened:
        take_id = new_take(opened)
        opened.discard(take_id)
    return take_id


def new_take(library):
    path = library.recording_folder / f"{new_id()}.take"
    writer = EncryptedTakeWriter(path, KEY, 8000)
    writer.append(np.arange(8000, dtype=np.int16))
    writer.close()
    return library.add_take(path, TakeMetadata("ward4-0172", START, RecordingTarget("model", "pulse")))


def test_one_jump_of_the_clock_destroys_nothing(started, trashed):
    for days in (8, 400, 0, 8):
        with started(START + days * DAY) as library:
            assert not library.trash.destroy_due()
            assert not library.trash.destroy_due()
    with started(START + 2 * DAY) as library:
        library.trash.restore(trashed)


def test_seven_days_of_use_end_it_however_far_apart(started, trashed):
    for day in (3, 6, 7, 9, 20, 21):
        with started(START + day * DAY) as library:
            assert not library.trash.destroy_due()
            library.store.clock.advance(DAY_S / 4)  # the same day
            assert not library.trash.destroy_due()
    with started(START + 22 * DAY) as library:
        assert library.trash.destroy_due()


def test_a_service_elsewhere_confirms_days_without_use(started, trashed):
    with started(START, START) as library:
        assert not library.trash.destroy_due()  # the day of the deletion is confirmed
    with started(START + 6 * DAY, START + 6 * DAY) as library:
        assert not library.trash.destroy_due()
    with started(START + 8 * DAY) as library:
        assert not library.trash.destroy_due(), "not before it answers"
    with started(START + 8 * DAY, START + DAY) as library:
        assert not library.trash.destroy_due(), "the clock of this computer is ahead"
    with started(START + 8 * DAY, START + 8 * DAY) as library:
        assert library.trash.destroy_due()


def test_a_service_on_this_computer_confirms_nothing(started, trashed):
    for days in (0, 8):
        now = START + days * DAY
        with started(now, now, erases_at_service=True) as library:
            assert not library.trash.destroy_due()


def test_a_clock_that_is_behind_at_the_deletion_shortens_by_its_own_day_at_most(started):
    behind = datetime(2025, 1, 1, tzinfo=UTC)
    with started(behind) as library:
        library.discard(new_take(library))
    with started(START, START) as library:
        assert not library.trash.destroy_due()
        use_daily(library, 5)
        assert not library.trash.destroy_due()
        use_daily(library, 1)
        assert library.trash.destroy_due()


def test_a_clock_behind_for_one_run_does_not_shorten_what_was_deleted_before(started, trashed):
    with started(datetime(2025, 1, 1, tzinfo=UTC)) as library:
        library.trash.destroy_due()
    with started(START + DAY, START + DAY) as library:
        assert not library.trash.destroy_due()
        assert len(library.trash.items()) == 1


def test_the_sound_is_not_removed_by_a_jump_that_the_service_shares(started):
    own = {"erases_at_service": True}
    with started(START, **own) as library:
        take_id = new_take(library)
        library.queue(take_id)
        with library.store.changing():
            for state in (OutboxState.SUBMITTED, OutboxState.DONE):
                library.store.move(take_id, state)
            library.store.store_result(take_id, b'{"a": 1}', START)
            library.store.remove_event(take_id)
        library.change_settings(retention=Retention(RetentionRule.AFTER_RESULT, 7))
        assert not SoundRetention(library).step(START)
    with started(START + 8 * DAY, **own) as library:
        assert not SoundRetention(library).step(START + 8 * DAY)
    with started(START + DAY, **own) as library:
        for _ in range(6):
            assert not SoundRetention(library).step(library.store.clock.now())
            library.store.clock.advance(DAY_S)
        assert SoundRetention(library).step(library.store.clock.now())
        assert library.get(take_id).audio_gone_at is not None


def test_days_that_cannot_be_read_keep_everything_longer(started, trashed):
    with started(START) as library:
        use_daily(library, 8)
        with library.store.changing():
            library.store.put("settings", "days_of_use", bytes(40))
        assert not library.trash.destroy_due()
        use_daily(library, 6)
        assert library.trash.destroy_due()

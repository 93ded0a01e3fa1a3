"""A disk that fills up during a recording: the recording is kept, reported, and sent later."""

import errno
import sqlite3

import pytest

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.outbox.library.states import OutboxState


class Disk:
    """Full from the 17th second of a take on, until there is room."""

    full = True


@pytest.fixture
def disk(monkeypatch, workspace):
    made, append, insert = Disk(), EncryptedTakeWriter.append, workspace.library.store.insert

    def append_where_there_is_room(self, frames):
        if made.full and self.frames + len(frames) > 17 * 48_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, frames)

    def insert_where_there_is_room(*args, **more):
        if made.full:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorname = "SQLITE_FULL"
            raise error
        return insert(*args, **more)

    monkeypatch.setattr(EncryptedTakeWriter, "append", append_where_there_is_room)
    monkeypatch.setattr(workspace.library.store, "insert", insert_where_there_is_room)
    return made


@pytest.mark.parametrize("decide", ["send", "keep"])
def test_a_take_on_a_disk_that_fills_up_is_kept_and_sent_once_there_is_room(user, disk, workspace, decide):
    user.enters_subject("ward4-0172")
    user.begins()
    user.microphone.play(25)
    user.sees_check()
    user.waits_for_words("The disk is full or gone.")
    user.waits_for_words("before that are kept")
    seconds = user.page.review.review.seconds
    assert 15 <= seconds <= 17
    getattr(user.page.review, decide)()
    user.waits_for_words("The disk is full. Make room, then try again. A recording of ward4-0172 is kept")
    assert user.outbox() == []
    disk.full = False
    assert user.page.model.phase is RecordPhase.READY
    user.page.banner.button.click()
    user.sees_check()
    assert user.page.review.review.seconds == seconds
    getattr(user.page.review, decide)()
    user.waits_for(lambda: len(user.outbox()) == 1)
    wanted = {"send": OutboxState.WAITING, "keep": OutboxState.CHECKED}[decide]
    user.waits_for(lambda: user.outbox()[0].state is wanted)
    assert user.outbox()[0].duration_s == seconds
    assert list(workspace.library.recording_folder.iterdir()) == []

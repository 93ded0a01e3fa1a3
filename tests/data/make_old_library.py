"""Writes library_1.zip, _2, _3 or _6: a library as an earlier version of vbdesk left it.

Run with the source of that version on PYTHONPATH: `python make_old_library.py 1` with the last commit whose library has
schema version 1, and so on with the last ones of version 2, 3 and 6. The key is bytes 0 to 31.
"""

import shutil
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

VERSION = int(sys.argv[1])
if VERSION < 3:
    from vbdesk.capture.clock import ManualClock
    from vbdesk.capture.sealed import SealedTakeWriter
else:
    from vbdesk.capture.encrypted_take import EncryptedTakeWriter as SealedTakeWriter
    from vbdesk.clock import ManualClock
if VERSION == 1:
    from vbdesk.outbox.items import TakeMetadata, Target
    from vbdesk.outbox.line import Line
    from vbdesk.outbox.states import Fix, OutboxState

    from vbdesk.outbox.library import Library
elif VERSION == 2:
    from vbdesk.outbox.courier.line import Line
    from vbdesk.outbox.library.kept_reads import KeptReads

    from vbdesk.outbox.library.items import TakeMetadata, Target
    from vbdesk.outbox.library.library import Library
    from vbdesk.outbox.library.settings import SendRule
    from vbdesk.outbox.library.states import Fix, OutboxState
    from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes
else:
    from vbdesk.outbox.library.items import RecordingTarget as Target
    from vbdesk.outbox.library.items import TakeMetadata
    from vbdesk.outbox.library.library import Library
    from vbdesk.outbox.library.response_cache import ResponseCache as KeptReads
    from vbdesk.outbox.library.settings import SendRule
    from vbdesk.outbox.library.states import Fix, OutboxState
    from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes
    from vbdesk.outbox.sync.upload_queue import UploadQueue

    class Line(UploadQueue):
        """The queue, with the names of earlier versions."""

        ask, taken = UploadQueue.mark_asked, UploadQueue.mark_taken


HERE = Path(__file__).parent
KEY = bytes(range(32))
EIGHT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
RESULT = b'{"signal": {}}'
TICKED = ("checked", "done") if VERSION >= 3 else ()
NAMES = ("checked", "waiting", "asked", "uploaded", "followed", "done", "stopped", "retried")


def take(library: Library, number: int, name: str) -> str:
    """One second of noise with a note."""
    path = library.recording_folder / f"{name}.take"
    writer = SealedTakeWriter(path, KEY, 1000)
    writer.append(np.random.default_rng(number).normal(0, 3000, 1000).astype(np.int16))
    writer.close()
    moment = EIGHT + timedelta(minutes=number)
    ticked = moment - timedelta(minutes=1) if name in TICKED else None
    metadata = TakeMetadata(f"ward4-{number}", moment, Target("model", "pulse"), note=name, consented_at=ticked)
    return library.add_take(path, metadata)


def keep_result(library: Library, take_id: str) -> None:
    """Give a recording that was sent its result."""
    with library.store.changing():
        library.store.move(take_id, OutboxState.DONE)
        if VERSION == 1:
            library.store.update(take_id, {"result": library.store.seal.seal(RESULT, f"{take_id}/result")})
        else:
            library.store.keep_result(take_id, RESULT, EIGHT + timedelta(hours=2))
        library.store.remove_event(take_id)


def fill(library: Library) -> None:
    """One recording in each situation that matters."""
    line = Line(library.store)
    ids = {name: take(library, number, name) for number, name in enumerate(NAMES)}

    def event(name: str) -> object:
        return next(each for each in line.events() if each.take_id == ids[name])

    for name in NAMES[1:]:
        library.queue(ids[name])
    for name in ("asked", "uploaded", "followed", "done", "stopped", "retried"):
        line.begin_upload(event(name))
        line.keep_upload(event(name), f"ref-{name}")
        if name != "uploaded":
            line.ask(event(name))
    for name in ("followed", "done", "retried"):
        line.taken(event(name), f"job-{name}")
    keep_result(library, ids["done"])
    line.need_attention(event("stopped"), "The service refused it.", Fix.TRY_AGAIN)
    with library.store.changing():
        library.store.move(ids["retried"], OutboxState.FAILED, "It failed.", Fix.TRY_AGAIN)
        library.store.remove_event(ids["retried"])
    library.retry(ids["retried"])
    library.discard(take(library, 20, "discarded"))
    if VERSION >= 6:  # a doubtful time, with a sentence, in the trash
        doubtful = take(library, 21, "doubtful")
        with library.store.changing():
            library.store.update(doubtful, {"reason": "The clock here was wrong. Decide.", "fix": Fix.SET_CLOCK})
        library.discard(doubtful)
    if VERSION >= 2:
        library.change_settings(send_rule=SendRule.BY_HAND, paused=True)
        library.send_now([ids["waiting"]])
        SubjectNotes(library.store).keep("ward4-5", SubjectNote("hoarse", ("left-handed",)))
        SubjectNotes(library.store).open_subject("ward4-5")
        KeptReads(library.store).keep("credits", b'{"credits": 7}')
        if VERSION == 2:
            line.keep_trajectory("ward4-5", b'{"points": []}')
        else:
            with library.store.changing():
                library.store.keep_trajectory("ward4-5", b'{"points": []}')


with tempfile.TemporaryDirectory() as folder:
    made = Library(Path(folder), KEY, ManualClock(EIGHT + timedelta(hours=1)))
    fill(made)
    made.close()
    shutil.make_archive(str(HERE / f"library_{VERSION}"), "zip", folder)

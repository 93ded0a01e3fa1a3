"""Write a library of version 8 with recordings in its trash; run by the code of that version, see README.md."""

import json
import shutil
import sys
import tempfile
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import soundfile as sf

sys.path.append(str(Path(__file__).parents[1] / "upgrade_base"))

from as_values import item_values, plain

from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.clock import ManualClock
from vbdesk.contract.ids import new_id
from vbdesk.outbox.library.integrity_check import search_first
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import Fix, OutboxState

HERE = Path(__file__).parent
KEY = bytes(range(32))
RATE = 1000
DAY = datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
TARGET = RecordingTarget("model", "pulse")


def samples(number: int) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Half a second of noise."""
    return np.random.default_rng(number).integers(-3000, 3000, RATE // 2).astype(np.int16)


class Filler:
    """Adds recordings with names."""

    def __init__(self, library: Library) -> None:
        self.library, self.ids = library, dict[str, str]()

    def take(self, name: str, group_id: str = "ward4-0001", recorded_at: datetime | None = None) -> str:
        """A `checked` recording."""
        number = len(self.ids)
        path = self.library.recording_folder / f"{new_id()}.take"
        writer = EncryptedTakeWriter(path, KEY, RATE, {})
        writer.append(samples(number))
        writer.close()
        moment = recorded_at or DAY + timedelta(minutes=number)
        metadata = TakeMetadata(group_id, moment, TARGET, note=f"note of {name}", tags=("visit 2",))
        self.ids[name] = self.library.add_take(path, metadata)
        return self.ids[name]

    def imported(self, name: str, folder: Path) -> str:
        """An imported file."""
        path = folder / f"{name}.wav"
        sf.write(path, samples(len(self.ids)), RATE, subtype="PCM_16")
        metadata = TakeMetadata("ward4-0002", DAY - timedelta(days=1), TARGET)
        self.ids[name] = self.library.import_file(path, metadata)
        return self.ids[name]

    def done(self, take_id: str, *, opened: bool = True) -> str:
        """Give it a result."""
        library = self.library
        library.queue(take_id)
        with library.store.changing():
            library.store.add("jobs", f"job-{take_id}", take_id)
            library.store.update(take_id, {"job_id": f"job-{take_id}"})
            library.store.move(take_id, OutboxState.SUBMITTED)
            library.store.move(take_id, OutboxState.DONE)
            library.store.store_result(take_id, json.dumps({"of": take_id}).encode(), DAY)
            library.store.remove_event(take_id)
        if opened:
            library.subject_notes.open_result(take_id=take_id, job_id=None)
        return take_id


def fill(library: Library, folder: Path) -> dict[str, str]:
    """Recordings in the trash, of every kind, and some that are not in it; returns their take ids by name."""
    filler, store = Filler(library), library.store
    take, done = filler.take, filler.done
    searched = take("waiting, an older list was accepted since")
    library.queue(searched)
    library.discard(searched)
    search_first(store)
    trashed = [take("checked"), take("waiting"), take("released"), take("stopped"), done(take("done"))]
    trashed += [done(take("unread"), opened=False), done(take("without sound")), filler.imported("imported", folder)]
    for name in ("waiting", "released", "stopped"):
        library.queue(filler.ids[name])
    library.send_now([filler.ids["released"]])
    with store.changing():
        uploaded = {"attempts": 3, "upload_ref": "up-1", "uploaded_at": store.now()}
        store.write_event_of(filler.ids["stopped"], uploaded)
        store.move(filler.ids["stopped"], OutboxState.NEEDS_ATTENTION, "It is too short.", Fix.REVIEW_TAKE)
    library.remove_sounds([filler.ids["without sound"]])
    at = DAY - timedelta(days=2)
    for name, group_id in (("its time was taken", "ward4-0001"), ("taken in another subject", "ward4-0003")):
        library.queue(take(name, group_id, at if group_id == "ward4-0001" else at - timedelta(days=1)))
        trashed.append(filler.ids[name])
    library.discard(*trashed)
    take("has the time", "ward4-0001", at)
    take("has the other time", "ward4-0002", at - timedelta(days=1))
    done(take("here"))
    return filler.ids


def values_of(library: Library, take_id: str) -> dict[str, Any]:
    """Everything that a library knows of a recording which is restored from the trash; another's time is given up."""
    item = next(each.item for each in library.trash.items() if each.take_id == take_id)
    assert item is not None
    for other in library.list():
        if other.recorded_at == item.recorded_at:
            library.discard(other.take_id, at_once=True)
    library.trash.restore(take_id)
    item = library.get(take_id)
    event = library.store.rows("SELECT * FROM pending WHERE take_id = ?", (take_id,))
    sound = None
    if item.audio_gone_at is None:
        sound = plain(library.original(take_id)) if item.imported else library.whole_audio(take_id).sha256()
    return {
        "item": item_values(item),
        "event": dict(event[0]) if event else None,
        "sound": sound,
        "opened": bool(library.store.rows("SELECT 1 FROM opened WHERE take_id = ?", (take_id,))),
    }


def main() -> None:
    """Write the files."""
    with tempfile.TemporaryDirectory() as name:
        folder, clock = Path(name) / "library", ManualClock(DAY)
        library = Library(folder, KEY, clock)
        ids = fill(library, Path(name))
        trashed = {each.take_id: plain(each.deleted_at) for each in library.trash.items()}
        library.close()
        copy = Path(shutil.copytree(folder, Path(name) / "copy"))
        opened = Library(copy, KEY, clock)
        recorded = {
            name: {"take_id": take_id, "deleted_at": trashed[take_id], **values_of(opened, take_id)}
            for name, take_id in ids.items()
            if take_id in trashed
        }
        opened.close()
        here = {name: take_id for name, take_id in ids.items() if take_id not in trashed}
        with zipfile.ZipFile(HERE / "library.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.name.endswith((".lock", "-shm", "-wal")):
                    archive.write(path, path.relative_to(folder))
    text = json.dumps({"trash": recorded, "here": here}, indent=1, sort_keys=True)
    (HERE / "recorded.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Figures of a library of 10,000 takes: opening, list, counts, changes, the rows of the page, memory.

    python tests/benchmarks/outbox_figures.py [FOLDER]

Makes the library through its own methods, a third of it with results; FOLDER keeps it for the next run. A separate
process reads it, as a start of the desk does. Times are the best of several.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from figures import Row, judged, reported, show

sys.path.append(str(Path(__file__).parents[1] / "service" / "support"))

TOPIC = "Outbox"
KEY = bytes(range(32))
TAKES, GROUPS, A_BATCH = 10_000, 500, 500
REPEATS = 5
START_S = 1.5  # limit for a start of the desk
STALL_S = 0.05  # limit for one call on the GUI thread


def rows(folder: Path | None = None) -> Iterator[Row]:
    """Print every figure."""
    kept = contextlib.nullcontext(folder) if folder else tempfile.TemporaryDirectory()
    with kept as place:
        library = Path(place) / "library"
        if not library.exists():
            began = time.perf_counter()
            make(library)
            yield reported(TOPIC, f"take in {TAKES} takes and bring them on their way", f"{passed(began):.0f} s")
        command = [sys.executable, __file__, "--read", str(library)]
        seen = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        size_mb = sum(file.stat().st_size for file in library.glob("library.sqlite*")) / 1e6
    whole_s = seen["open_s"] + seen["first_list_s"] + seen["page_s"]
    what = f"open {TAKES} takes, list them and make the page's rows, for the first time"
    yield judged(TOPIC, what, f"< {START_S} s", f"{whole_s:.2f} s", whole_s < START_S)
    yield reported(TOPIC, "of it: open", f"{seen['open_s']:.3f} s")
    yield reported(TOPIC, "of it: list", f"{seen['first_list_s']:.3f} s")
    yield reported(TOPIC, "of it: rows, order and figures of the page", f"{seen['page_s']:.3f} s")
    yield reported(TOPIC, "list again", f"{seen['list_s'] * 1000:.0f} ms")
    yield judged(TOPIC, "counts", "< 50 ms", f"{seen['counts_s'] * 1000:.1f} ms", seen["counts_s"] < STALL_S)
    yield judged(TOPIC, "one change, read", "< 50 ms", f"{seen['change_s'] * 1000:.1f} ms", seen["change_s"] < STALL_S)
    yield reported(TOPIC, "what the sync worker has to do, read", f"{seen['events_s'] * 1000:.0f} ms")
    yield reported(TOPIC, "one subject, listed", f"{seen['subject_s'] * 1000:.1f} ms")
    yield reported(TOPIC, "memory of all items and rows", f"{seen['memory_mb']:.0f} MB, {size_mb:.0f} MB on disk")


def make(folder: Path) -> None:
    """Takes of a tenth of a second, in every state that needs no network."""
    import numpy as np

    from vbdesk.capture.encrypted_take import EncryptedTakeWriter
    from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
    from vbdesk.outbox.library.library import Library

    library = Library(folder, KEY)
    samples, first = np.zeros(800, np.int16), datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
    for batch in range(0, TAKES, A_BATCH):
        with library.store.changing():
            for number in range(batch, batch + A_BATCH):
                path = library.recording_folder / "new.take"
                writer = EncryptedTakeWriter(path, KEY, 8000)
                writer.append(samples)
                writer.close()
                moment, subject = first + timedelta(minutes=7 * number), f"ward4-{number % GROUPS:04d}"
                facts = TakeMetadata(subject, moment, RecordingTarget("model", "pulse"), note="Sat by the window.")
                take_id = library.add_take(path, facts)
                if number % 10:
                    library.queue(take_id)
    bring_on_their_way(library)
    library.close()


def bring_on_their_way(library) -> None:
    from sample_results import result_json

    from vbdesk.contract.ids import new_id
    from vbdesk.contract.jobs import Job
    from vbdesk.outbox.library.states import Fix
    from vbdesk.outbox.sync.upload_queue import UploadQueue

    line, result = UploadQueue(library.store), json.loads(result_json("model", "pulse", 0.4))
    events = line.events()
    for batch in range(0, len(events), A_BATCH):
        with library.store.changing():
            for place, event in enumerate(events[batch : batch + A_BATCH]):
                if place % 3 == 2:
                    continue  # waits
                line.begin_upload(event)
                if place % 30 == 1:
                    line.need_attention(event, "The service cannot analyse this recording.", Fix.REVIEW_TAKE)
                    continue
                job_id = new_id()
                line.mark_taken(event, job_id)
                if place % 3 == 0:
                    job = done_job(job_id, result)
                    line.apply_job(event, Job.model_validate(job))


def done_job(job_id: str, result: object) -> dict[str, object]:
    return {
        "job_id": job_id,
        "status": "done",
        "created_at": "2026-03-01T09:00:00Z",
        "completed_at": "2026-03-01T09:01:00Z",
        "job_type": "model",
        "api_version": "v2",
        "model_name": "pulse",
        "audio_content_type": "audio/flac",
        "audio_size_bytes": 1,
        "audio_duration_seconds": 20.0,
        "audio_sample_rate": 48000,
        "result": result,
    }


def read(folder: Path) -> dict[str, float]:
    """Everything that a start and a page do, in this process."""

    from vbdesk.desk.outbox.rows import OutboxRow, RowContext
    from vbdesk.desk.outbox.sorting import SortedOutbox
    from vbdesk.outbox.library.items import ItemFilter
    from vbdesk.outbox.library.library import Library
    from vbdesk.outbox.sync.sync_worker import SyncStatus
    from vbdesk.outbox.sync.upload_queue import UploadQueue

    before_mb, began = memory_mb(), time.perf_counter()
    library = Library(folder, KEY)
    open_s, began = passed(began), time.perf_counter()
    changes = library.changes_since(0)
    first_list_s, began = passed(began), time.perf_counter()
    status, now = SyncStatus(True, "Connected.", None, None), library.store.clock.now()
    arranged = SortedOutbox().after(changes)
    context = RowContext(now, status, arranged=arranged)
    page = [OutboxRow(arranged.items[take_id], context) for _, _, take_id in arranged.order]
    figures = arranged.figures(now)
    page_s = passed(began)
    memory = memory_mb() - before_mb
    assert len(page) == len(changes.items) == TAKES
    assert figures.waiting
    one = library.list(ItemFilter(group_id="ward4-0007"))[0].take_id

    def change() -> None:
        version = library.store.version()
        with library.store.changing():
            library.store.update(one, {"reason": "Changed."})
        assert len(library.changes_since(version).items) == 1

    seen = {
        "open_s": open_s,
        "first_list_s": first_list_s,
        "page_s": page_s,
        "memory_mb": memory,
        "list_s": best(library.list),
        "counts_s": best(library.counts),
        "change_s": best(change),
        "events_s": best(UploadQueue(library.store).events),
        "subject_s": best(lambda: library.list(ItemFilter(group_id="ward4-0007"))),
    }
    library.close()
    return seen


def best(deed: Callable[[], object]) -> float:
    """Seconds of the fastest of several runs."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        deed()
        times.append(passed(began))
    return min(times)


def passed(began: float) -> float:
    return time.perf_counter() - began


def memory_mb() -> float:
    """Present memory of this process (Linux; elsewhere 0)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    [line] = [line for line in status.read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        print(json.dumps(read(Path(sys.argv[2]))))
    else:
        show(rows(Path(sys.argv[1]) if sys.argv[1:] else None))

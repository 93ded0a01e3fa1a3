"""How long a library of 10,000 recordings takes to open, list and change: `python tests/benchmarks/library_figures.py`.

Every recording has its key, a note, the check's figures and (nine of ten) a result of 6 kB, as a model with seven signs
gives; the sounds are empty files, since a start opens none. Prints the median of several runs of each, and the memory
of the rows.
"""

import argparse
import json
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from vbdesk.contract.ids import new_id
from vbdesk.outbox.library.items import ItemFilter, RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.retention import AT_ONCE_MOST, SoundRetention
from vbdesk.outbox.library.settings import Retention, RetentionRule
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import SEND

KEY = bytes(range(32))
FIRST = datetime(2024, 1, 1, 8, 0, tzinfo=UTC)
RESULT_BYTES = 6000
RUNS = 5


def fill(library: Library, takes: int) -> None:
    """Put `takes` recordings of 500 subjects into an empty library."""
    chance = random.Random(1)
    store = library.store
    quality = {name: chance.random() for name in ("duration", "speech", "clarity", "clipping", "level", "noise")}
    with store.changing():
        for number in range(takes):
            take_id = new_id()
            metadata = TakeMetadata(
                f"ward{chance.randrange(10)}-{chance.randrange(50):04}",
                FIRST + timedelta(minutes=30 * number),
                RecordingTarget("model", "pulse"),
                note="after lunch, second visit",
                quality=quality,
            )
            store.insert(take_id, metadata, 45.0, imported=False)
            store.store_take_key(take_id, chance.randbytes(32))
            store.path(take_id).touch()
            states = [OutboxState.WAITING] if number % 10 == 0 else [OutboxState.WAITING, OutboxState.SUBMITTED]
            for state in states:
                store.move(take_id, state)
            if number % 10 == 0:
                store.add_event(take_id, SEND)
                continue
            store.add("jobs", new_id(), take_id)
            store.put("opened", take_id)
            store.move(take_id, OutboxState.DONE)
            store.store_result(take_id, json.dumps({"a": "x" * RESULT_BYTES}).encode(), metadata.recorded_at)


def median_ms(work: Callable[[], object]) -> float:
    """Median of some runs, in milliseconds."""
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return 1000 * statistics.median(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--takes", type=int, default=10_000)
    takes = parser.parse_args().takes
    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder), KEY)
        fill(library, takes)
        library.close()
        print(f"{takes} recordings, database of {(Path(folder) / 'library.sqlite').stat().st_size / 1e6:.0f} MB")

        def open_and_close() -> None:
            Library(Path(folder), KEY).close()

        def open_and_read() -> None:
            opened = Library(Path(folder), KEY)
            opened.changes_since(0)
            opened.close()

        opening_ms = median_ms(open_and_close)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"open                        {opening_ms:8.1f} ms")
        print(f"first changes_since(0)      {median_ms(open_and_read) - opening_ms:8.1f} ms, every row proved")
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(f"memory of the items         {grown:8.0f} MB")
        library = Library(Path(folder), KEY)
        library.changes_since(0)
        print(f"changes_since(0) again      {median_ms(lambda: library.changes_since(0)):8.1f} ms")
        print(f"list()                      {median_ms(library.list):8.1f} ms")
        only = ItemFilter(states=frozenset({OutboxState.WAITING}))
        print(f"list(waiting)               {median_ms(lambda: library.list(only)):8.1f} ms")
        print(f"counts()                    {median_ms(library.counts):8.1f} ms")
        some = library.list(only)[0].take_id
        version = library.store.version()

        def change() -> None:
            with library.store.changing():
                library.store.touch(some)

        print(f"one change, to the disk     {median_ms(change):8.1f} ms")
        print(f"changes_since(just now)     {median_ms(lambda: library.changes_since(version)):8.1f} ms")
        retention = SoundRetention(library)
        print(f"retention, nothing is due   {median_ms(lambda: retention.step(FIRST)):8.1f} ms")
        library.change_settings(retention=Retention(RetentionRule.AFTER_RESULT, 1))
        now = datetime.now(UTC)
        print(f"retention, {AT_ONCE_MOST} sounds        {median_ms(lambda: retention.step(now)):8.1f} ms")
        library.close()


if __name__ == "__main__":
    main()

"""What a library finds out about itself when it is opened: whether somebody else has written in it, or parts miss.

What can be told: a row that was changed, exchanged or put back in an older form; a row that was removed; an event that
was removed; an older database beside newer files or a newer mark; files that belong to nothing, and sounds that are
missing. What cannot: a copy of the whole folder, mark and files and all, put back in place of the present one. It is
as the desk left it at that time, and only the service knows better.
"""

from vbdesk.outbox.library.column_seal import open_sum
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import FOLLOW, SEND, Store

ROWS_MISSING = (
    "Entries of the list of recordings were removed, or replaced by older ones, by something other than vbdesk. "
    "Compare the list with your notes."
)
OLDER_COPY = (
    "An older copy of the list of recordings was put back. What was recorded since is missing from it; put the newer "
    "list back if there is one. Nothing is sent before the service was asked whether it has it."
)
COPIED = (
    "These recordings were copied from another computer. Send them from one of the two alone; nothing is sent here "
    "before the service was asked whether it has it."
)
UNKNOWN_FILES = (
    "There is 1 file in the folder takes that no recording of the list owns; nothing was done to it.",
    "There are {} files in the folder takes that no recording of the list owns; nothing was done to them.",
)
SOUNDS_MISSING = (
    "The sound of 1 recording is missing on the disk.",
    "The sounds of {} recordings are missing on the disk.",
)
_COMPUTER = "computer"
FAULTY = (
    "1 recording was changed by something other than vbdesk, and will not be sent.",
    "{} recordings were changed by something other than vbdesk, and will not be sent.",
)


def examine(store: Store, missing: list[str], unclaimed: list[str]) -> tuple[str, ...]:
    """Look at the library as a whole, mend what can be mended; one sentence for each thing that a person should know.

    Rows are proved one by one as they are read (`rows.item_of`), so that 10,000 of them keep nobody waiting here.

    Args:
        store: the library's.
        missing: recordings whose sound is missing, as `Sounds.tidy` found.
        unclaimed: files that belong to no recording.
    """
    said: list[str] = []
    store.check_structure()
    library = store.rows("SELECT version, rows_sum FROM library")[0]
    older = store.high_water.known() > library["version"]
    if open_sum(store.seal, library["rows_sum"], library["version"]) != store.sum_of_rows():
        said.append(ROWS_MISSING)
        store.count_rows_anew()
    if older:
        said.append(OLDER_COPY)
    if said:
        search_first(store)
    _restore_events(store)
    if missing:
        said.append(_counted(len(missing), SOUNDS_MISSING))
    if unclaimed:
        said.append(_counted(len(unclaimed), UNKNOWN_FILES))
    return tuple(said)


def is_from_elsewhere(store: Store, computer: str) -> bool:
    """Whether another computer had the library last; from now on it is this one's, named by its mark `computer`."""
    known, mark = store.setting(_COMPUTER), computer.encode()
    if known == mark:
        return False
    with store.changing():
        if known is not None:
            search_first(store)
        store.keep_setting(_COMPUTER, mark)
    return known is not None


def of_faulty(store: Store) -> tuple[str, ...]:
    """A sentence on the rows that turned out to be changed, as far as they were read; none if there are none."""
    count = len(store.faulty)
    return (_counted(count, FAULTY),) if count else ()


def search_first(store: Store) -> None:
    """Have the service searched for everything in the line before it is sent: it may have been since."""
    with store.changing() as database:
        rows = store.rows("SELECT take_id FROM pending WHERE kind = ? AND asked_at IS NULL", (SEND,))
        for row in rows:
            if store.is_as_written(row["take_id"]):
                database.execute("UPDATE pending SET asked_at = ? WHERE take_id = ?", (store.now(), row["take_id"]))
                store.touch(row["take_id"])


def _restore_events(store: Store) -> None:
    """Give what is on its way something to be done again, if that was removed; the service is searched first."""
    states = (OutboxState.WAITING, OutboxState.UPLOADING, OutboxState.HANDED_OVER)
    following = (OutboxState.SUBMITTED, OutboxState.RUNNING)
    lost = store.rows(
        "SELECT take_id, state FROM recordings LEFT JOIN pending USING (take_id) "
        "WHERE event_id IS NULL AND state IN (?, ?, ?, ?, ?)",
        (*states, *following),
    )
    lost = [row for row in lost if store.is_as_written(row["take_id"])]
    if not lost:
        return
    with store.changing() as database:
        for row in lost:
            store.add_event(row["take_id"], FOLLOW if row["state"] in following else SEND)
            if row["state"] in states:
                database.execute("UPDATE pending SET asked_at = ? WHERE take_id = ?", (store.now(), row["take_id"]))


def _counted(count: int, sentences: tuple[str, str]) -> str:
    """The sentence for one, or the one for many."""
    return sentences[0] if count == 1 else sentences[1].format(f"{count:,}")

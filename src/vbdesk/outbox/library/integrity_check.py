"""What a library checks when it is opened: foreign changes and missing parts.

Detected: a row that was changed, moved, replaced by an older one, or removed; a removed event; a foreign table, index,
trigger or view; an older database, with or without the file of its mark; an older folder, if the keyring has a mark;
files without a recording, and missing sounds.
Not detected: an older folder of a profile whose keys live for one session only. It is consistent, and only the service
knows newer data.

Damage to the list as a whole is a finding. It is stored in the settings, and nothing is sent until a person accepts
the list.
"""

import json

from vbdesk.language import N_, joined, plural_message
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.encrypted_sqlite import Connection
from vbdesk.outbox.library.rollback_detection import KeyringReading
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import FOLLOW, ROWS_MISSING, SEND, STRUCTURE_CHANGED, Store

OLDER_COPY = N_(
    "An older copy of the list of recordings was put back. What was recorded since is missing from it; put the newer "
    "list back if there is one."
)
MARK_MISSING = N_(
    "The file with the version of the list of recordings is missing or damaged, so an older copy may have been put "
    "back. Compare the list with your notes."
)
KEYRING_MARK_MISSING = N_(
    "The keyring of this computer does not tell how far the list of recordings had come. The keyring was emptied or "
    "replaced, the recordings were copied from another computer, or an older copy was put back. Compare the list with "
    "your notes."
)
HELD = N_(
    "Nothing is sent until you accept the list as it is, on the page Outbox or with: vbdesk audit accept-copy. "
    "The service is then asked first whether it has each recording that waits. Subjects that were erased since an "
    "older copy was made are in it again, with their recordings: erase them again."
)
NOT_KNOWN = N_(
    "It is not known whether this is the newest list of recordings, so nothing is sent until the keyring answers."
)
KEYRING_REFUSED = N_(
    "The keyring does not keep how far the list of recordings has come. Recordings are kept and sent as usual, but an "
    "older copy of the whole folder might not be noticed."
)
COPIED = N_(
    "These recordings were copied from another computer. Send them from one of the two alone; nothing is sent here "
    "before the service was asked whether it has it."
)
_FINDINGS = "findings"
_MARKS = "marks"
_FILE, _KEYRING = "file", "keyring"
_COMPUTER = "computer"


def check_library(
    store: Store, missing: list[str], unclaimed: list[str], keyring: KeyringReading | None = None
) -> tuple[str, ...]:
    """Check the library as a whole, and repair what can be repaired.

    Rows are authenticated one by one as they are read (`rows.item_of`), so that a long list opens quickly. Those of the
    trash are read now: nobody would see one that somebody else has hidden there.

    Args:
        store: the library's; damage to the list as a whole goes to its `findings`.
        missing: recordings whose sound is missing, as `SoundFiles.tidy` found.
        unclaimed: files that belong to no recording.
        keyring: what the keyring says about the mark; None if it holds none.

    Returns:
        One sentence for each other thing that a person should know.
    """
    store.check_structure()
    store.findings = _kept_findings(store)
    found = [STRUCTURE_CHANGED] if store.structure_was_changed else []
    expected = _expected_marks(store)
    if not store.is_whole():
        found.append(ROWS_MISSING)
        store.destroy_keys_again()
        store.recount_rows()
    in_file = store.mark_file.read()
    if in_file is None and _FILE in expected:
        found.append(MARK_MISSING)
    if _is_behind(store, in_file):
        found.append(OLDER_COPY)
    _hold(store, found)
    if keyring is not None:
        compare_with_keyring(store, keyring)
    _restore_events(store)
    store.trashed("TRUE")
    if not store.sending_blocked and _FILE not in expected:
        _expect(store, _FILE)
    said = []
    if missing:
        said.append(sounds_missing(len(missing)))
    if unclaimed:
        said.append(unknown_files(len(unclaimed)))
    return tuple(said)


def compare_with_keyring(store: Store, keyring: KeyringReading) -> None:
    """Compare the list with the keyring's mark; while the keyring does not answer, sending is blocked."""
    store.unknown = keyring.fault
    if keyring.fault is not None:
        return
    if keyring.version is None and _KEYRING in _expected_marks(store):
        _hold(store, [KEYRING_MARK_MISSING])
    if _is_behind(store, keyring.version):
        _hold(store, [OLDER_COPY])


def keyring_was_written(store: Store) -> None:
    """Note that the keyring has a mark; from now on a missing one is a finding."""
    if _KEYRING not in _expected_marks(store):
        _expect(store, _KEYRING)


def accept_findings(store: Store) -> None:
    """Accept the list as the newest one; everything in the queue is searched for before it is sent.

    Versions continue from the highest mark, so every earlier state of the list counts as older from now on.
    """
    before = store.version()
    with store.changing():
        store.recount_rows()
        store.skip_versions(store.highest_mark)
        store.drop("settings", _FINDINGS)
        store.store_setting(_MARKS, _FILE.encode())
        search_first(store)
        store.note(AuditAction.COPY_ACCEPTED, detail=f"version {before}")
        store.mark_file.write(store.version())  # first the mark: one ahead is detected, one behind would be lost
    store.findings = ()


def list_warnings(store: Store) -> tuple[str, ...]:
    """Sentences on what blocks the queue until a person acts; usually none."""
    unknown = () if store.unknown is None else (joined(store.unknown, NOT_KNOWN),)
    return (*finding_sentences(store), *unknown)


def finding_sentences(store: Store) -> tuple[str, ...]:
    """The findings that nobody has accepted, and what to do about them; usually none."""
    return (*store.findings, HELD) if store.findings else ()


def has_findings(database: Connection) -> bool:
    """Whether the library has findings that nobody has accepted, without opening it."""
    return database.execute("SELECT 1 FROM settings WHERE name = ?", (_FINDINGS,)).fetchone() is not None


def _is_behind(store: Store, mark: int | None) -> bool:
    """Whether the list is older than a mark."""
    store.highest_mark = max(store.highest_mark, mark or 0)
    return store.version() < (mark or 0)


def _kept_findings(store: Store) -> tuple[str, ...]:
    content = store.setting(_FINDINGS)
    return () if content is None else tuple(json.loads(content))


def _expected_marks(store: Store) -> frozenset[str]:
    """Places where a mark was written, so that a missing one is a finding."""
    return frozenset((store.setting(_MARKS) or b"").decode().split())


def _expect(store: Store, place: str) -> None:
    """Note that a mark was written, once it is known to exist."""
    if place == _FILE:
        store.mark_file.write(store.version())
        if store.mark_file.read() is None:
            return
    with store.changing():
        store.store_setting(_MARKS, " ".join(sorted({*_expected_marks(store), place})).encode())


def _hold(store: Store, found: list[str]) -> None:
    """Store findings, which block sending until a person accepts them."""
    new = [sentence for sentence in found if sentence not in store.findings]
    if not new:
        return
    store.findings = (*store.findings, *new)
    _restore_jobs(store)
    with store.changing():
        store.store_setting(_FINDINGS, json.dumps(store.findings).encode())
        search_first(store)


def _restore_jobs(store: Store) -> None:
    """Restore the job ids of the recordings, if they were removed."""
    lost = store.rows(
        "SELECT take_id, job_id FROM main.recordings "
        "WHERE job_id IS NOT NULL AND job_id NOT IN (SELECT job_id FROM jobs)"
    )
    with store.changing():
        for row in lost:
            if store.is_intact(row["take_id"]):
                store.put("jobs", row["job_id"], row["take_id"])


def is_from_elsewhere(store: Store, computer: str) -> bool:
    """Whether another computer had the library last; from now on it belongs to `computer`."""
    known, mark = store.setting(_COMPUTER), computer.encode()
    if known == mark:
        return False
    with store.changing():
        if known is not None:
            search_first(store)
        store.store_setting(_COMPUTER, mark)
    return known is not None


def row_warnings(store: Store) -> tuple[str, ...]:
    """A sentence on the changed rows found so far; empty if there are none."""
    count = len(store.faulty)
    return (entries_changed(count),) if count else ()


def search_first(store: Store) -> None:
    """Search the service for all that is or was in the queue before sending it: it may have been sent since."""
    with store.changing():
        rows = store.rows("SELECT take_id FROM main.pending WHERE kind <> ? AND asked_at IS NULL", (FOLLOW,))
        for row in rows:
            if store.is_intact(row["take_id"]):
                store.write_event_of(row["take_id"], {"asked_at": store.now()})


def _restore_events(store: Store) -> None:
    """Restore removed events of recordings on their way; the service is searched first.

    An event without a recording is foreign and is deleted.
    """
    foreign = "FROM main.pending WHERE take_id NOT IN (SELECT take_id FROM main.recordings)"
    if store.rows(f"SELECT 1 {foreign}"):
        with store.changing() as database:
            database.execute(f"DELETE {foreign}")
    states = (OutboxState.WAITING, OutboxState.UPLOADING, OutboxState.HANDED_OVER)
    following = (OutboxState.SUBMITTED, OutboxState.RUNNING)
    lost = store.rows(
        "SELECT take_id, state FROM main.recordings LEFT JOIN main.pending USING (take_id) "
        "WHERE kind IS NULL AND state IN (?, ?, ?, ?, ?)",
        (*states, *following),
    )
    lost = [row for row in lost if store.is_intact(row["take_id"])]
    if not lost:
        return
    with store.changing():
        for row in lost:
            if row["state"] in following:
                store.add_event(row["take_id"], FOLLOW)
            else:
                store.add_event(row["take_id"], SEND, {"asked_at": store.now()})


def unknown_files(count: int) -> str:
    """What to say about files that no recording owns."""
    return plural_message(
        "There is {count} file in the folder takes that no recording of the list owns; nothing was done to it.",
        "There are {count} files in the folder takes that no recording of the list owns; nothing was done to them.",
        count,
    )


def sounds_missing(count: int) -> str:
    """What to say about recordings without their sound."""
    return plural_message(
        "The sound of {count} recording is missing on the disk.",
        "The sounds of {count} recordings are missing on the disk.",
        count,
    )


def entries_changed(count: int) -> str:
    """What to say about recordings that somebody else changed."""
    return plural_message(
        "{count} recording was changed by something other than vbdesk, and will not be sent.",
        "{count} recordings were changed by something other than vbdesk, and will not be sent.",
        count,
    )

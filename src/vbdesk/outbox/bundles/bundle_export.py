"""Hand recordings over: from this computer's queue into one encrypted file for another computer to send.

At any moment only one computer may send a recording. Nobody can read the file before one transaction has marked all of
its recordings as handed over. Only then is the file finished: directly or, after a crash or if the USB stick was
pulled, when bundles are listed again. From then on, each computer searches the service for such a recording directly
before sending it.
"""

import contextlib
import errno
import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from vbdesk.capture.encrypted_take import EncryptedFileError, sync_folder
from vbdesk.clock import CancelFlag
from vbdesk.contract.ids import new_id
from vbdesk.language import N_, joined, message, plural_message
from vbdesk.outbox.bundles.bundle_aliases import aliases_to_carry
from vbdesk.outbox.bundles.bundle_consents import consents_to_carry, fault_of
from vbdesk.outbox.bundles.bundle_errors import (
    BundleDiskFull,
    BundleError,
    BundleFinishFailed,
    BundleOutdated,
    NothingToExport,
)
from vbdesk.outbox.bundles.bundle_file import finish, write_unfinished
from vbdesk.outbox.bundles.bundle_keys import KeyLock, Lock
from vbdesk.outbox.bundles.bundle_manifest import MOST_TAKES, BundledTake, BundleManifest, field_at_fault
from vbdesk.outbox.bundles.bundle_sound import SoundMismatch, check_sound, pieces_of
from vbdesk.outbox.bundles.bundle_stream import ByteProgress, Progress
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.column_encryption import InvalidTag
from vbdesk.outbox.library.consent import SubjectConsent
from vbdesk.outbox.library.consent_gate import ConsentList
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow
from vbdesk.outbox.library.integrity_check import list_warnings
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.store import Store, time_text
from vbdesk.outbox.profiles.profiles import Profile

SUFFIX = ".vbundle"
PART = ".part"
LOCAL = "this computer"
UNKNOWN = "unknown"
_SEND_HERE = N_("It can be sent from this computer only.")
SPARE_BYTES = 4 * 1024 * 1024  # never fill a disk completely

FreeBytes = Callable[[Path], int]


@dataclass(frozen=True, slots=True)
class BundleOwner:
    """Owner of the recordings: the address of a service, and the account there."""

    service: str
    account_id: str


@dataclass(frozen=True, slots=True)
class ExcludedRecording:
    """A recording that cannot be handed over, with the reason as a sentence.

    Attributes:
        needs_person: whether a person has to decide about it, or to note a consent, before it can be sent at all.
    """

    item: RecordingItem
    reason: str
    needs_person: bool = False


@dataclass(frozen=True, slots=True)
class ExportableRecordings:
    """The recordings that can be handed over now."""

    items: tuple[RecordingItem, ...]
    left_out: tuple[ExcludedRecording, ...]


@dataclass(frozen=True, slots=True)
class ExportedBundle:
    """A bundle that was just made."""

    bundle_id: str
    path: Path
    take_ids: tuple[str, ...]
    left_out: tuple[ExcludedRecording, ...]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle in this library's list.

    Attributes:
        path: where its file was written; `UNKNOWN` if somebody else changed the entry.
        public_key: of the receiving computer; None for a passphrase.
        settled: whether its file needs no more work.
        recordings: how many were put in.
        states: present states of those that were neither deleted nor put into a later bundle.
    """

    bundle_id: str
    made_at: datetime
    path: Path
    public_key: str | None
    settled: bool
    recordings: int
    states: dict[OutboxState, int]


def owner_of(profile: Profile) -> BundleOwner:
    """Owner of the recordings in the library of `profile`."""
    return BundleOwner((profile.base_url or LOCAL).rstrip("/").lower(), profile.account_id)


def free_bytes(folder: Path) -> int:
    """Free bytes on the disk of `folder`. Raises OSError."""
    return shutil.disk_usage(folder).free


def exportable_recordings(library: Library, take_ids: Collection[str] | None = None) -> ExportableRecordings:
    """Recordings that can be handed over now: of `take_ids`, or of all that wait."""
    items: list[RecordingItem] = []
    left_out: list[ExcludedRecording] = []
    consents = library.consent_gate.all()
    for row in _in_line(library.store):
        if take_ids is not None and row["take_id"] not in take_ids:
            continue
        item = library.get(row["take_id"])
        undecided = item.state is OutboxState.NEEDS_ATTENTION or item.fix is Fix.SET_CLOCK
        reason = item.reason if undecided else _why_not(row) or _consent_fault(item, consents)
        if reason is None:
            items.append(item)
        else:
            refused = consents.refusal(item.group_id, item.recorded_at) is not None
            left_out.append(ExcludedRecording(item, reason, needs_person=undecided or refused))
    return ExportableRecordings(tuple(items), tuple(left_out))


def export_bundle(
    library: Library,
    owner: BundleOwner,
    folder: Path,
    lock: Lock,
    *,
    take_ids: Collection[str] | None = None,
    progress: Progress | None = None,
    cancel: CancelFlag | None = None,
    free: FreeBytes = free_bytes,
) -> ExportedBundle:
    """Hand the waiting recordings over in a new file in `folder`. Blocks for as long as the disk takes.

    Raises:
        NothingToExport: no waiting recording can be handed over.
        BundleFinishFailed: the recordings are handed over, but the last byte of the file could not be written.
        BundleError: nothing was changed, and no file is left.
        OSError: likewise; the folder cannot be used.
    """
    if owner.service == LOCAL:
        raise BundleError(
            message(
                "The recordings of this profile are for the service on this computer, which no other computer "
                "can reach. Nothing was handed over."
            )
        )
    if library.store.sending_blocked:
        raise BundleError(joined(*list_warnings(library.store)))
    settle(library)
    watch = ByteProgress(progress, cancel)
    chosen = exportable_recordings(library, take_ids)
    manifest, left_out = _manifest(library, owner, chosen, watch)
    if not manifest.takes:
        reason = left_out[0].reason if left_out else message("Press Send for those that are to go.")
        raise NothingToExport(joined(message("No recording waits here that could be handed over."), reason))
    _check_room(manifest, folder, free)
    path = folder / f"vbdesk-{manifest.made_at:%Y%m%d-%H%M}-{manifest.bundle_id[-6:]}{SUFFIX}"
    unfinished = _unfinished(path)
    try:
        write_unfinished(unfinished, manifest, lambda take: _sound(library.store, take.take_id), lock, watch)
        sync_folder(folder)
        _hand_over(library.store, manifest, {item.take_id: _described(item) for item in chosen.items}, path, lock)
    except BaseException as error:
        if not _known(library.store, manifest.bundle_id):
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise BundleDiskFull(
                message("A file on this stick cannot be larger than 4 GB. Hand over fewer recordings at once.")
            ) from error
        raise
    if manifest.bundle_id in {bundle.bundle_id for bundle in settle(library)}:
        count = len(manifest.takes)
        raise BundleFinishFailed(
            plural_message(
                "{count} recording is handed over, but the file {path} went away before it was finished. Put the stick "
                "back and use `vbdesk bundle list` to finish it, or take it back.",
                "{count} recordings are handed over, but the file {path} went away before it was finished. Put the "
                "stick back and use `vbdesk bundle list` to finish it, or take the recordings back.",
                count,
                path=path,
            )
        )
    return ExportedBundle(manifest.bundle_id, path, tuple(take.take_id for take in manifest.takes), left_out)


def settle(library: Library) -> list[Bundle]:
    """Finish bundle files after a crash or a pulled USB stick; returns the bundles that are still unfinished."""
    left: list[Bundle] = []
    for bundle in bundles(library):
        if bundle.settled:
            continue
        try:
            unfinished = _unfinished(bundle.path)
            if unfinished.exists():
                finish(unfinished)
                unfinished.replace(bundle.path)
                sync_folder(bundle.path.parent)
            elif not bundle.path.exists():
                left.append(bundle)
                continue
        except OSError:
            left.append(bundle)
            continue
        with library.store.changing():
            _settle(library.store, bundle.bundle_id)
    return left


def bundles(library: Library) -> list[Bundle]:
    """Every bundle made here, newest first."""
    rows = library.store.rows("SELECT * FROM bundles ORDER BY made_at DESC, bundle_id DESC")
    counted = library.store.rows(
        "SELECT bundle_id, state, COUNT(*) AS n FROM recordings WHERE bundle_id IS NOT NULL GROUP BY bundle_id, state"
    )
    states: dict[str, dict[OutboxState, int]] = {}
    known = {str(state) for state in OutboxState}  # somebody else wrote any other; the recording reports it
    for count in counted:
        if count["state"] in known:
            states.setdefault(count["bundle_id"], {})[OutboxState(count["state"])] = count["n"]
    return [_bundle(library.store, row, states.get(row["bundle_id"], {})) for row in rows]


def still_handed_over(library: Library, bundle_id: str) -> tuple[str, ...]:
    """Recordings of a bundle that are not known to be at a service and were not taken back."""
    query = "SELECT take_id FROM recordings WHERE bundle_id = ? AND state = ? ORDER BY recorded_at, take_id"
    rows = library.store.rows(query, (bundle_id, OutboxState.HANDED_OVER))
    return tuple(row["take_id"] for row in rows)


def take_back(library: Library, take_ids: Collection[str]) -> tuple[str, ...]:
    """Let this computer send what it handed over; returns those of `take_ids` that are back in its queue.

    The service is searched for each before it is sent, so it is harmless if the bundle is sent too.

    Raises:
        UnknownTake: one of them is not here.
    """
    store = library.store
    with store.changing():
        back = tuple(each for each in take_ids if store.get(each).state is OutboxState.HANDED_OVER)
        for take_id in back:
            store.move(take_id, OutboxState.WAITING)
            store.restart_event(take_id)
            store.note(AuditAction.TAKEN_BACK, take_id)
        left = store.rows(  # the file of a bundle that was completely taken back is not needed
            "SELECT bundle_id FROM bundles WHERE settled = 0 AND bundle_id NOT IN "
            "(SELECT bundle_id FROM recordings WHERE state = ? AND bundle_id IS NOT NULL)",
            (OutboxState.HANDED_OVER,),
        )
        for row in left:
            _settle(store, row["bundle_id"])
    return back


def _settle(store: Store, bundle_id: str) -> None:
    """Mark the file of a bundle as finished or no longer needed. Within a transaction."""
    row = store.rows("SELECT made_at, sealed FROM bundles WHERE bundle_id = ?", (bundle_id,))[0]
    store.put("bundles", bundle_id, row["made_at"], 1, row["sealed"])


def _in_line(store: Store) -> list[DatabaseRow]:
    return store.rows(
        "SELECT take_id, event_id, state, asked_at, made_at AS handed_over_at FROM recordings "
        "JOIN pending USING (take_id) LEFT JOIN bundles USING (bundle_id) WHERE state IN (?, ?) "
        "ORDER BY recorded_at, take_id",
        (OutboxState.WAITING, OutboxState.UPLOADING),
    )


def _why_not(row: DatabaseRow) -> str | None:
    """Why a recording in the queue cannot be handed over; None if it can."""
    if row["asked_at"] not in (None, row["handed_over_at"]):  # a recording taken back was never sent here
        return message("The service may have it already; this computer looks for it once it is connected.")
    return None


def _consent_fault(item: RecordingItem, consents: ConsentList) -> str | None:
    """Why the consent of its subject keeps a recording here, as sentences; None if it does not."""
    refusal = consents.refusal(item.group_id, item.recorded_at)
    fault = fault_of(consents.subjects.get(item.group_id, SubjectConsent()))
    return refusal or (None if fault is None else joined(fault, _SEND_HERE))


def _manifest(
    library: Library, owner: BundleOwner, chosen: ExportableRecordings, watch: ByteProgress
) -> tuple[BundleManifest, tuple[ExcludedRecording, ...]]:
    """The manifest of the recordings whose sound is readable; the others are excluded."""
    events = {row["take_id"]: row["event_id"] for row in _in_line(library.store)}
    files = [library.store.path(item.take_id) for item in chosen.items]
    watch.total = 3 * sum(path.stat().st_size for path in files if path.exists())  # digests, writing, reading back
    takes: list[BundledTake] = []
    left_out = list(chosen.left_out)
    for item in chosen.items:
        if item.take_id not in events:  # sent or cancelled at this moment
            continue
        try:
            library.check_sound(item.take_id)
            takes.append(_bundled(library, item, events[item.take_id], watch))
        except EncryptedFileError as error:
            left_out.append(ExcludedRecording(item, joined(error)))
        except FileNotFoundError:
            left_out.append(ExcludedRecording(item, message("Its sound is missing.")))
        except ValidationError as error:
            left_out.append(
                ExcludedRecording(
                    item,
                    joined(message("A bundle does not take it for {field}.", field=field_at_fault(error)), _SEND_HERE),
                )
            )
        except SoundMismatch as error:
            left_out.append(ExcludedRecording(item, joined(error, _SEND_HERE)))
        if len(takes) > MOST_TAKES:
            raise BundleError(
                message("A bundle takes at most {most:,} recordings. Hand over fewer at once.", most=MOST_TAKES)
            )
    group_ids = {take.group_id for take in takes}
    consents = consents_to_carry(library, group_ids)
    aliases = aliases_to_carry(library, group_ids)
    try:
        manifest = BundleManifest(
            format=_oldest_format(takes, consents, aliases),
            bundle_id=new_id(),
            made_at=library.store.clock.now(),
            service=owner.service,
            account_id=owner.account_id,
            takes=tuple(takes),
            consents=consents,
            aliases=aliases,
        )
    except ValidationError as error:
        raise BundleError(
            message(
                "A bundle cannot be made for {field}. Set the clock and the profile right, and try again.",
                field=field_at_fault(error),
            )
        ) from None
    return manifest, tuple(left_out)


def _oldest_format(takes: Collection[BundledTake], *others: Collection[object]) -> Literal[1, 2]:
    """The format that the content needs; earlier versions read format 1 only."""
    return 2 if any(others) or any(take.spoken.is_known or take.attempt for take in takes) else 1


def _bundled(library: Library, item: RecordingItem, event_id: str, watch: ByteProgress) -> BundledTake:
    digest, size = hashlib.sha256(), 0
    for piece in _sound(library.store, item.take_id):
        watch.advance(len(piece))
        digest.update(piece)
        size += len(piece)
    sound_sha256: Any = library.store.row(item.take_id)["sound_sha256"]
    check_sound(
        library.store.path(item.take_id), library.store.key, library.store.take_key(item.take_id), item, sound_sha256
    )
    return BundledTake(
        take_id=item.take_id,
        event_id=event_id,
        sound_sha256=sound_sha256,
        size=size,
        sha256=digest.hexdigest(),
        **_described(item),
    )


def _described(item: RecordingItem) -> dict[str, Any]:
    """What a bundle says of a recording besides its sound."""
    return {
        "group_id": item.group_id,
        "recorded_at": item.recorded_at,
        "target": str(item.target),
        "longitudinal": item.longitudinal,
        "duration_s": item.duration_s,
        "imported": item.imported,
        "protocol": item.protocol,
        "note": item.note,
        "tags": item.tags,
        "consented_at": item.consented_at,
        "quality": dict(item.quality),
        "trim_s": item.trim_s,
        "retake_of": item.retake_of,
        "source_sha256": item.source_sha256,
        "time_is_unique": item.time_is_unique if item.imported else None,
        "spoken_language": item.spoken.language,
        "second_language": item.spoken.second_language,
        "attempt": item.attempt if item.attempt > 1 else None,
    }


def _sound(store: Store, take_id: str) -> Iterator[bytes]:
    return pieces_of(store.path(take_id), store.key, store.take_key(take_id))


def _check_room(manifest: BundleManifest, folder: Path, free: FreeBytes) -> None:
    sizes = sum(take.size for take in manifest.takes)
    needed = sizes + sizes // 4096 + len(manifest.model_dump_json()) + SPARE_BYTES  # 16 more bytes per 64 KiB
    there = free(folder)
    if there < needed:
        raise BundleDiskFull(
            message(
                "The bundle needs {needed:,.0f} MB, and {folder} has {free:,.0f} MB left. Make room, take "
                "another stick, or hand over fewer recordings.",
                needed=needed / 1e6,
                folder=folder,
                free=there / 1e6,
            )
        )


def _hand_over(
    store: Store, manifest: BundleManifest, described: Mapping[str, Mapping[str, Any]], path: Path, lock: Lock
) -> None:
    """Leave the recordings to the other computer, unless one is no longer as `described` in the bundle."""
    made_at = time_text(manifest.made_at)
    details = {
        "path": str(path.absolute()),
        "public_key": lock.public_key if isinstance(lock, KeyLock) else None,
        "recordings": len(manifest.takes),
    }
    with store.changing():
        waiting = {row["take_id"]: row for row in _in_line(store)}
        for take in manifest.takes:
            row = waiting.get(take.take_id)
            if (
                row is None
                or row["event_id"] != take.event_id
                or _why_not(row) is not None
                or _described(store.get(take.take_id)) != described[take.take_id]
            ):
                raise BundleOutdated(
                    message(
                        "Some recordings began to be sent, or were changed, while the bundle was written. "
                        "Nothing was handed over; try again."
                    )
                )
            store.write_event(row["event_id"], {"asked_at": made_at, "upload_ref": None, "uploaded_at": None})
            store.update(take.take_id, {"bundle_id": manifest.bundle_id})
            store.move(take.take_id, OutboxState.HANDED_OVER)
            store.note(AuditAction.HANDED_OVER, take.take_id, manifest.bundle_id)
        sealed = store.cipher.encrypt(json.dumps(details).encode(), f"bundles/{manifest.bundle_id}")
        store.add("bundles", manifest.bundle_id, made_at, 0, sealed)


def _known(store: Store, bundle_id: str) -> bool:
    return bool(store.rows("SELECT 1 FROM bundles WHERE bundle_id = ?", (bundle_id,)))


def _bundle(store: Store, row: DatabaseRow, states: dict[OutboxState, int]) -> Bundle:
    details: dict[str, Any] = {"path": UNKNOWN, "public_key": UNKNOWN, "recordings": sum(states.values())}
    made_at = datetime.fromtimestamp(0, UTC)
    with contextlib.suppress(InvalidTag, TypeError, ValueError):  # changed by somebody else: the rest is usable
        details = json.loads(store.cipher.decrypt(row["sealed"], f"bundles/{row['bundle_id']}"))
        made_at = datetime.fromisoformat(row["made_at"])
    return Bundle(
        bundle_id=row["bundle_id"],
        made_at=made_at,
        path=Path(details["path"]),
        public_key=details["public_key"],
        settled=bool(row["settled"]),
        recordings=details["recordings"],
        states=states,
    )


def _unfinished(path: Path) -> Path:
    return path.with_name(path.name + PART)

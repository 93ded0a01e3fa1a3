"""Import a bundle of another computer: all of it, or nothing.

Every recording keeps its ids and its time, so the search at the service finds it even if another computer sent it. It
enters the queue as one that the service may have already: that search comes before anything is sent.
"""

import contextlib
import logging
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from vbdesk.capture.encrypted_take import EncryptedFileError, sync_folder
from vbdesk.capture.take_keys import new_key
from vbdesk.clock import CancelFlag
from vbdesk.contract.timestamps import local_minute
from vbdesk.language import N_, Message, joined, message
from vbdesk.outbox.bundles.bundle_aliases import take_in_aliases
from vbdesk.outbox.bundles.bundle_consents import events_of, refused_takes
from vbdesk.outbox.bundles.bundle_errors import BundleAccountWrong, BundleDamaged, BundleDiskFull, MalformedBundle
from vbdesk.outbox.bundles.bundle_export import SPARE_BYTES, BundleOwner, FreeBytes, free_bytes
from vbdesk.outbox.bundles.bundle_file import read_bundle, read_head
from vbdesk.outbox.bundles.bundle_keys import Secret
from vbdesk.outbox.bundles.bundle_manifest import CLOCK_AHEAD, BundledAlias, BundledTake, BundleManifest
from vbdesk.outbox.bundles.bundle_sound import IncomingSound, SoundMismatch, check_sound
from vbdesk.outbox.bundles.bundle_stream import ByteProgress, Progress
from vbdesk.outbox.library.audit import AuditAction
from vbdesk.outbox.library.consent import ConsentEvent, event_of_tick
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import SEND, Store, time_text

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ImportedBundle:
    """Result of an import.

    Attributes:
        added: take ids that are in the queue now.
        known: take ids that were here before.
        deleted: take ids that were here, and were deleted.
        clashing: recordings with the subject and time of another one, here or earlier in the bundle; they are not
            imported.
        without_consent: recordings that are not imported for the consent of their subject.
    """

    bundle_id: str = ""
    added: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    clashing: list[BundledTake] = field(default_factory=list)
    without_consent: list[BundledTake] = field(default_factory=list)


def import_bundle(
    library: Library,
    owner: BundleOwner,
    path: Path,
    secret: Secret,
    *,
    progress: Progress | None = None,
    cancel: CancelFlag | None = None,
    free: FreeBytes = free_bytes,
) -> ImportedBundle:
    """Import a bundle. Blocks for as long as the disk takes.

    Raises:
        BundleError: nothing was changed.
        VaultError, OSError: likewise; the key, or a disk, cannot be used.
    """
    watch = ByteProgress(progress, cancel)
    watch.total = read_head(path).size
    taker = _Taker(library, owner, free)
    try:
        read_bundle(path, secret, taker, watch)
        taker.enter()
    except BaseException:
        taker.drop()
        raise
    return taker.taken


class _Taker:
    """Writes sounds to the disk as they arrive; none counts before `enter`."""

    def __init__(self, library: Library, owner: BundleOwner, free: FreeBytes) -> None:
        self.taken = ImportedBundle()
        self._library, self._owner, self._free = library, owner, free
        self._store: Store = library.store
        self._consents: list[ConsentEvent] = []
        self._aliases: tuple[BundledAlias, ...] = ()
        self._new: dict[str, BundledTake] = {}
        self._keys: dict[str, bytes] = {}
        self._arrival: IncomingSound | None = None

    def begin(self, manifest: BundleManifest) -> None:
        """Decide which recordings are new here."""
        if (manifest.service, manifest.account_id) != (self._owner.service, self._owner.account_id):
            raise BundleAccountWrong(
                message(
                    "The recordings in this bundle are for the account {account} at {service}; this profile is "
                    "{own_account} at {own_service}. Set up a profile for their account, and import it there.",
                    account=manifest.account_id,
                    service=manifest.service,
                    own_account=self._owner.account_id,
                    own_service=self._owner.service,
                )
            )
        self.taken.bundle_id = manifest.bundle_id
        self._refuse_future(manifest)
        self._consents = _arriving(manifest)
        self._aliases = manifest.aliases
        refused = refused_takes(manifest.takes, self._library.consent_gate.all(), self._consents)
        moments: set[tuple[str, datetime]] = set()
        for take in manifest.takes:
            moment = take.group_id, take.recorded_at
            if self._is_one("recordings", take.take_id):
                self.taken.known.append(take.take_id)
            elif self._is_one("removed", take.take_id) or self._is_one("trash", take.take_id):
                self.taken.deleted.append(take.take_id)
            elif self._store.event(take.event_id) is not None:
                raise MalformedBundle(message("It has the event of another recording that is here."))
            elif moment in moments or self._store.is_taken(*moment):
                self.taken.clashing.append(take)
            elif take.take_id in refused:
                self.taken.without_consent.append(take)
            else:
                self._new[take.take_id] = take
                moments.add(moment)
        needed = sum(take.size for take in self._new.values()) + SPARE_BYTES
        there = self._free(self._store.takes_folder)
        if there < needed:
            raise BundleDiskFull(
                message(
                    "The recordings need {needed:,.0f} MB, and this computer has {free:,.0f} MB left. Make room "
                    "and import the bundle again.",
                    needed=needed / 1e6,
                    free=there / 1e6,
                )
            )

    def sound(self, take: BundledTake, piece: bytes) -> None:
        """Encrypt a piece, if the recording is new here."""
        if take.take_id not in self._new:
            return
        if self._arrival is None:
            self._keys[take.take_id] = new_key()
            self._arrival = IncomingSound(self._path(take.take_id), self._keys[take.take_id])
        self._arrival.take(piece)

    def end(self, take: BundledTake) -> None:
        """Sync a sound to the disk, and check it against the manifest."""
        if self._arrival is not None:
            self._arrival.end()
            self._arrival = None
            key = self._keys[take.take_id]
            try:
                check_sound(self._path(take.take_id), self._store.key, key, take, take.sound_sha256)
            except (SoundMismatch, EncryptedFileError) as error:
                raise BundleDamaged(
                    joined(
                        message(
                            "This bundle has a recording that cannot be used, so nothing of it is taken over: "
                            "{subject}, {time}.",
                            subject=take.group_id,
                            time=local_minute(take.recorded_at),
                        ),
                        error,
                        message("Ask who made the bundle."),
                    )
                ) from error

    def enter(self) -> None:
        """Put the new recordings into the queue, in one transaction, after everything was verified."""
        sync_folder(self._store.takes_folder)
        with self._store.changing():
            new = self._new.values()
            late = [take for take in new if self._store.is_taken(take.group_id, take.recorded_at)]  # during the import
            self.taken.clashing += late
            self.taken.added = [take_id for take_id, take in self._new.items() if take not in late]
            for take_id in self.taken.added:
                self._enter(self._new[take_id])
            self._library.consents.take_in(self._consents)
            take_in_aliases(self._library, self._aliases)
            self._library.recall_withdrawn({event.group_id for event in self._consents})
            self._store.after_commit(self._name)
        for take in late:
            with contextlib.suppress(OSError):
                self._path(take.take_id).unlink(missing_ok=True)

    def drop(self) -> None:
        """Delete the files, unless the recordings were added."""
        with contextlib.suppress(OSError):
            if self._arrival is not None:
                self._arrival.drop()
            for take_id in self._new:
                if not self._is_one("recordings", take_id):
                    self._path(take_id).unlink(missing_ok=True)

    def _enter(self, take: BundledTake) -> None:
        store = self._store
        metadata = TakeMetadata(
            group_id=take.group_id,
            recorded_at=take.recorded_at,
            target=RecordingTarget.parse(take.target),
            protocol=take.protocol,
            note=take.note,
            tags=take.tags,
            consented_at=take.consented_at,
            longitudinal=take.longitudinal,
            quality=take.quality,
            trim_s=take.trim_s,
            retake_of=take.retake_of,
            source_sha256=take.source_sha256,
            time_is_unique=take.time_is_unique,
            spoken=take.spoken,
            attempt=take.attempt or 1,
        )
        store.insert(take.take_id, metadata, take.duration_s, imported=take.imported)
        store.store_take_key(take.take_id, self._keys[take.take_id])
        columns = {
            "recorded_at": time_text(take.recorded_at),  # unchanged, even if another subject has the same moment
            "sound_sha256": take.sound_sha256,
            "bundle_id": self.taken.bundle_id,
        }
        store.update(take.take_id, columns)
        store.add_event(take.take_id, SEND, {"event_id": take.event_id, "asked_at": store.now()})
        store.move(take.take_id, OutboxState.WAITING)
        store.note(AuditAction.TAKEN_IN, take.take_id, self.taken.bundle_id)

    def _name(self) -> None:
        """Give the sounds their final names. A failure here does not fail the import; the next start repeats it."""
        try:
            for take_id in self.taken.added:
                self._path(take_id).replace(self._store.path(take_id))
            sync_folder(self._store.takes_folder)
        except OSError:
            log.exception("Cannot rename the sound of a recording; the next start does it")

    def _path(self, take_id: str) -> Path:
        """Path of a sound before its recording is added; opening the library cleans up after a crash."""
        return self._store.path(take_id).with_suffix(".arriving")

    def _refuse_future(self, manifest: BundleManifest) -> None:
        """Refuse times later than a wrong clock explains."""
        latest = self._store.clock.now() + CLOCK_AHEAD
        moments = [(manifest.made_at, N_("The bundle has the time {time}."))]
        for take in manifest.takes:
            moments += [
                (each, N_("A recording in it has the time {time}."))
                for each in (take.recorded_at, take.consented_at)
                if each
            ]
        moments += [(consent.at, N_("A consent in it has the time {time}.")) for consent in manifest.consents]
        for moment, what in moments:
            if moment > latest:
                raise BundleDamaged(
                    joined(
                        message("This bundle is not used: by the clock of this computer, it is from the future."),
                        Message.make(what, fields={"time": local_minute(moment)}),
                        message(
                            "Set the clock that is wrong, here or there, and make a new bundle if it was the other one."
                        ),
                    )
                )

    def _is_one(self, table: str, take_id: str) -> bool:
        return bool(self._store.rows(f"SELECT 1 FROM {table} WHERE take_id = ?", (take_id,)))  # noqa: S608 - ours


def _arriving(manifest: BundleManifest) -> list[ConsentEvent]:
    """The consent events of a bundle; in format 1, the ticks of its recordings."""
    ticks = [event_of_tick(take.group_id, take.consented_at) for take in manifest.takes if take.consented_at]
    known = {event.event_id: event for event in (*ticks, *events_of(manifest))}
    return list(known.values())

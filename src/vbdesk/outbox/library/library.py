"""The library: the encrypted recordings of one profile, and what a person may do with them.

Every method reads or writes the disk: never call one on the GUI thread. The sync worker uses `UploadQueue` instead.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from vbdesk.capture.crash_recovery import Leftovers
from vbdesk.capture.encrypted_take import TakeAudio, read_take
from vbdesk.capture.imported_sound import decode_file
from vbdesk.client.submission_recovery import with_random_microseconds
from vbdesk.clock import Clock, SystemClock
from vbdesk.contract.groups import subject_fault
from vbdesk.contract.ids import new_id
from vbdesk.language import N_, message
from vbdesk.outbox.library.audit import AuditAction, AuditActor, AuditPart, AuditVerification
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.consent import ConsentKind, ConsentPolicy, ConsentState
from vbdesk.outbox.library.consent_gate import ConsentGate
from vbdesk.outbox.library.consents import Consents
from vbdesk.outbox.library.corrections import CorrectionReason, Corrections
from vbdesk.outbox.library.damaged_takes import DamagedTakes
from vbdesk.outbox.library.database import DAMAGE, unreadable
from vbdesk.outbox.library.day_count import DaysOfUse
from vbdesk.outbox.library.integrity_check import (
    accept_findings,
    check_library,
    finding_sentences,
    list_warnings,
    row_warnings,
)
from vbdesk.outbox.library.items import RecordingItem, TakeMetadata, metadata_of
from vbdesk.outbox.library.letterhead_setting import LetterheadSetting
from vbdesk.outbox.library.listing import RecordingList
from vbdesk.outbox.library.managed_policy import ManagedPolicy
from vbdesk.outbox.library.pending_erasures import ErasureScope, PendingErasures
from vbdesk.outbox.library.recording_language import with_language_of_subject
from vbdesk.outbox.library.recording_time import TOLERANCE, TimeReference, clock_text, read_reference
from vbdesk.outbox.library.response_cache import ResponseCache
from vbdesk.outbox.library.rollback_detection import KeyringReading
from vbdesk.outbox.library.service_times import ServiceTimes
from vbdesk.outbox.library.settings import (
    SETTINGS_NAME,
    ConsentRules,
    LibrarySettings,
    read_settings,
    write_settings,
)
from vbdesk.outbox.library.sound_files import SoundFiles
from vbdesk.outbox.library.source_file import read_source
from vbdesk.outbox.library.states import Fix, NotAllowed, OutboxState
from vbdesk.outbox.library.store import SEND, SEND_ANYWAY, Store, UnknownTake, time_text
from vbdesk.outbox.library.subject_notes import SubjectNotes
from vbdesk.outbox.library.trash import Trash, refuse_unless_deletable, refuse_unless_erasable
from vbdesk.privacy import make_private

__all__ = ["Library", "NotAllowed", "UnknownTake"]


_STOPPED = frozenset({OutboxState.FAILED, OutboxState.TIMED_OUT, OutboxState.NEEDS_ATTENTION})
_WITHDRAWN = N_(
    "This subject has withdrawn consent, so the recording was not sent. The service may have it already; it is "
    "searched there first if you try again."
)


class Library(RecordingList):
    """The recordings of one profile.

    Attributes:
        recording_folder: where the recorder writes a take before `add_take` takes it in.
        store: the database, shared with the upload queue.
        times: the times that the service has confirmed.
        days_of_use: how many days have passed, for what is destroyed by its age.
        subject_notes: notes and tags of subjects, and which results were opened.
        consents: what subjects have consented to, and withdrawn.
        consent_gate: what the consent policy of the profile allows.
        responses: cached answers of the service.
        corrections: which recordings were moved to another subject, or out of their subject's course.
        damaged: operations on takes whose files are damaged.
        erasures: what the service must erase of removed recordings; None unless it runs on this computer.
        trash: deleted recordings that can be restored.
    """

    def __init__(
        self,
        folder: Path,
        key: bytes,
        clock: Clock | None = None,
        actor: AuditActor | None = None,
        keyring: KeyringReading | None = None,
        *,
        erases_at_service: bool = False,
        policy: ManagedPolicy | None = None,
    ) -> None:
        """Open the library in `folder`; it is made if there is none.

        Args:
            folder: the library's folder.
            key: its encryption key, 32 bytes.
            clock: the system's if None.
            actor: named in the audit log; a desk without account if None.
            keyring: the mark in the keyring; None if the keyring holds none.
            erases_at_service: whether removed recordings are erased at the service too, which runs on this computer.
            policy: what the organisation has set; its settings cannot be changed.

        Raises:
            LibraryKeyWrong, LibraryUnreadable, OSError: it cannot be opened.
        """
        self.policy = policy or ManagedPolicy()
        self.recording_folder = folder / "recording"
        make_private(self.recording_folder)
        super().__init__(Store(folder, key, clock or SystemClock(), actor))
        try:
            self.times = ServiceTimes(self.store)
            self.subject_notes = SubjectNotes(self.store)
            self.consents = Consents(self.store)
            self.letterhead = LetterheadSetting(self.store)
            self.consent_gate = ConsentGate(self.store)
            self.responses = ResponseCache(self.store)
            self.corrections = Corrections(self.store, self.consent_gate, self.subject_notes)
            self.erasures = PendingErasures(self.store) if erases_at_service else None
            self._sounds = SoundFiles(self.store, self.recording_folder)
            self.damaged = DamagedTakes(
                self.store, self.recording_folder, lambda take_id: self._sounds.salvage(self.get(take_id))
            )
            self.days_of_use = DaysOfUse(self.store, self.times, service_is_here=erases_at_service)
            self.trash = Trash(
                self.store,
                self._sounds,
                self.erasures,
                self.times,
                self.days_of_use,
                self.settings,
                self.recall_withdrawn,
            )
            self._warnings = check_library(self.store, *self._sounds.tidy(), keyring)
            self._sounds.finish_erasure()
        except DAMAGE as error:
            self.store.close()
            raise unreadable(folder, error) from error
        except BaseException:
            self.store.close()
            raise

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on faults found since the opening, for a banner; usually empty."""
        return list_warnings(self.store) + self._warnings + row_warnings(self.store)

    @property
    def erased(self) -> int:
        """How often something was destroyed since the opening: what was read before may hold it. Never blocks."""
        return self._sounds.destroyed + self.responses.erasures

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences on damage to the list as a whole: sending is blocked until a person calls `accept_copy`."""
        return finding_sentences(self.store)

    def accept_copy(self) -> None:
        """Accept the list as the newest one, after it was changed or replaced by an older copy.

        Everything in the queue is searched for at the service before it is sent. The audit log records this.

        Raises:
            NotAllowed: there is nothing to accept.
        """
        if not self.store.findings:
            raise NotAllowed(message("The list of recordings is in order. There is nothing to accept."))
        accept_findings(self.store)
        self.store.notify()

    def close(self) -> None:
        """Close the database."""
        self.store.close()

    def add_take(self, path: Path, metadata: TakeMetadata) -> str:
        """Move a take encrypted with this library's key into the library, as `checked`; returns its take id.

        `recorded_at` is stored to the microsecond, and increased by microseconds until it is unique here: it identifies
        the recording when an answer was lost.

        Raises:
            ValueError: the group id breaks the rules, or the trim leaves nothing.
            EncryptedFileError, OSError: the take cannot be read; it stays where it is.
        """
        audio = self.take_audio(path)
        duration_s, sha256 = _counted_s(audio.duration_s, metadata), audio.closing.get("sha256") or audio.sha256()
        take_id = new_id()
        if metadata.reference is None:
            metadata = replace(metadata, reference=_reference(audio, metadata.recorded_at))
        metadata = self._with_language(replace(metadata, capture=capture_facts(audio)))
        try:
            with self.store.changing():
                self.store.insert(take_id, metadata, duration_s, imported=False)
                self.consents.take_in_tick(metadata.group_id, metadata.consented_at)
                self.store.note(AuditAction.RECORDED, take_id)
                self.times.review(take_id)
                self._sounds.take_in(take_id, path, sha256)
        except BaseException:
            self._sounds.give_back(take_id, path)
            raise
        return take_id

    def import_file(self, path: Path, metadata: TakeMetadata) -> str:
        """Import an encrypted copy of a WAV, FLAC, MP3 or M4A file, as `checked`; returns its take id.

        A `recorded_at` without a fraction of a second gets a random one, so that two files of the same second differ on
        any computer: it identifies the recording when an answer was lost.

        Raises:
            NotAllowed: the profile requires a consent that the subject has not given, or the file has another digest
                than `metadata` says, so it has changed since it was shown.
            ValueError: the group id breaks the rules, or the trim leaves nothing.
            UnsupportedAudio: the file is none of the four, or damaged.
            OSError: it cannot be read, or there is no room for the copy.
        """
        self._check_consent(metadata.group_id)
        content, sha256 = read_source(path, metadata.source_sha256)
        duration_s = _counted_s(decode_file(content).duration_s, metadata)
        metadata = replace(
            metadata,
            recorded_at=with_random_microseconds(metadata.recorded_at),
            time_is_unique=metadata.recorded_at.microsecond == 0,
            source_sha256=sha256,
            file_name=path.name.encode("utf-8", "replace").decode(),
        )
        metadata = self._with_language(metadata)
        take_id = new_id()
        take_key = self._sounds.seal_copy(take_id, content)
        with self.store.changing():
            self.store.insert(take_id, metadata, duration_s, imported=True)
            self.consents.take_in_tick(metadata.group_id, metadata.consented_at)
            self.store.note(AuditAction.IMPORTED, take_id)
            self._sounds.store_copy(take_id, take_key)
        return take_id

    def _with_language(self, metadata: TakeMetadata) -> TakeMetadata:
        return with_language_of_subject(metadata, self.subject_notes.note_of(metadata.group_id).spoken)

    def queue(self, take_id: str, *, again: bool = False) -> None:
        """Put a `checked` recording into the queue, or `again` one that has failed, timed out or needs attention.

        Raises:
            NotAllowed: it is in another state, or the consent is missing.
        """
        with self.store.changing():
            item = self.store.get(take_id)
            if item.state not in (_STOPPED if again else {OutboxState.CHECKED}) or item.fault is not None:
                other = message("This recording does not need another try.")
                raise NotAllowed(item.fault or (other if again else message("Only a checked recording can be sent.")))
            self._check_consent(item.group_id, item.recorded_at)
            if self.store.asked(take_id):  # search for the lost answer first
                self.store.restart_event(take_id)
            else:
                self.store.add_event(take_id, SEND)
            if item.job_id is not None:  # its submission has become a job: this is another one
                self._raise_attempt(item)
            self.store.update(take_id, {"job_id": None})
            self.store.move(take_id, OutboxState.WAITING)
            self.store.note(AuditAction.QUEUED, take_id)

    def retry(self, take_id: str) -> None:
        """Retry a recording that failed, timed out or needs attention. Raises NotAllowed in any other state."""
        self.queue(take_id, again=True)

    def send_again(self, take_id: str) -> None:
        """Send a recording again that the service may have already, or whose key it has for another one; costs credits.

        It gets the next reference, which is the same on every copy of this recording.

        Raises:
            NotAllowed: this decision is not pending.
        """
        with self.store.changing():
            item = self.store.get(take_id)
            if item.fix is not Fix.SEND_AGAIN or item.fault is not None:
                raise NotAllowed(item.fault or message("This recording does not need to be sent again."))
            self._check_consent(item.group_id, item.recorded_at)
            self._raise_attempt(item)
            self.store.add_event(take_id, SEND_ANYWAY)
            self.store.move(take_id, OutboxState.WAITING)
            self.store.note(AuditAction.SENT_AGAIN, take_id)

    def cancel(self, take_id: str) -> None:
        """Take a recording out of the queue, back to `checked`; cancels its upload.

        Raises:
            NotAllowed: it is not in the queue, or the analysis was requested already.
        """
        with self.store.changing():
            item = self.store.get(take_id)
            in_line = {OutboxState.WAITING, OutboxState.UPLOADING, OutboxState.NEEDS_ATTENTION}
            if item.state not in in_line or item.fault is not None:
                raise NotAllowed(item.fault or message("This recording is not waiting to be sent."))
            if self.store.asked(take_id):
                raise NotAllowed(message("The service may have this recording already, so it cannot be called back."))
            self.store.remove_event(take_id)
            self.store.move(take_id, OutboxState.CHECKED)
            self.store.note(AuditAction.CALLED_BACK, take_id)

    def set_trim(
        self, take_id: str, trim_s: tuple[float, float] | None, quality: Mapping[str, Any] | None = None
    ) -> None:
        """Let only a part of a recording count, or all of it again; the sound stays whole.

        Args:
            take_id: the recording.
            trim_s: start and end in seconds of the whole sound.
            quality: the check's figures for that part; unchanged if None.

        Raises:
            NotAllowed: it is on its way to a result, or has one.
            ValueError: nothing would be left.
            EncryptedFileError, OSError: the sound cannot be read.
        """
        whole_s = self.whole_audio(take_id).duration_s
        with self.store.changing():
            item = self.store.get(take_id)
            if item.state is not OutboxState.CHECKED:
                raise NotAllowed(message("Only a recording that waits here can be trimmed."))
            figures = item.quality if quality is None else quality
            metadata = replace(metadata_of(item), trim_s=trim_s, quality=figures, speaker=None)
            self.store.store_details(take_id, metadata)
            self.store.update(take_id, {"duration_s": _counted_s(whole_s, metadata)})
            self.store.note(AuditAction.TRIMMED, take_id)

    def set_recorded_at(self, take_id: str, moment: datetime) -> None:
        """Correct the time of a recording; increased by microseconds until unique, as in `add_take`.

        A `moment` without a fraction of a second gets a random one, as in `import_file`.

        Raises:
            NotAllowed: an analysis may have been requested with the present time, or `moment` is in the future.
            ValueError: `moment` has no zone.
        """
        if moment.tzinfo is None:
            raise ValueError(message("The time of a recording needs a zone."))
        with self.store.changing():
            item = self._with_correctable_time(take_id, moment)
            suggested = item.time_doubt is not None and item.time_doubt.suggested == moment
            measured = suggested or moment in (item.recorded_at, item.original_time)  # else a person entered its digits
            decided = replace(
                metadata_of(item),
                time_is_unique=moment.microsecond == 0 or (item.time_is_unique and measured),
                time_suggested=suggested,
                original_time=item.original_time or item.recorded_at,
            )
            self._decide_time(take_id, decided, self.store.free_moment(with_random_microseconds(moment)))
            self._note_correction(item, moment, "suggested" if suggested else "entered")

    def restore_recorded_at(self, take_id: str) -> None:
        """Undo a person's correction of the time of a recording.

        Raises:
            NotAllowed: it was not corrected, or as for `set_recorded_at`.
        """
        with self.store.changing():
            original = self.store.get(take_id).original_time
            if original is None:
                raise NotAllowed(
                    message("The time of this recording was not corrected, so it has its own time already.")
                )
            item = self._with_correctable_time(take_id, original)
            unique = not item.imported  # whether the digits of a file's time were random is not stored
            decided = replace(metadata_of(item), time_is_unique=unique, time_suggested=False, original_time=None)
            self._decide_time(take_id, decided, self.store.free_moment(original))
            self._note_correction(item, original, "restored")

    def confirm_recorded_at(self, take_id: str) -> None:
        """Keep the time of a recording although it is doubtful, as a person decided.

        Raises:
            NotAllowed: it was sent already, or its time is in the future.
        """
        with self.store.changing():
            item = self._with_open_time(take_id, self.store.get(take_id).recorded_at)
            self._decide_time(take_id, replace(metadata_of(item), time_suggested=False), time_text(item.recorded_at))
            self.store.note(AuditAction.TIME_KEPT, take_id)

    def _with_open_time(self, take_id: str, moment: datetime) -> RecordingItem:
        """Give a recording whose time may be set to `moment`, or raise NotAllowed."""
        item = self.store.get(take_id)
        resting = {OutboxState.CHECKED, OutboxState.WAITING, OutboxState.NEEDS_ATTENTION}
        if item.state not in resting or item.fault is not None:
            raise NotAllowed(item.fault or message("The time of a recording can only be corrected before it is sent."))
        service_time = self.times.service_time()
        if service_time is not None and moment > service_time + TOLERANCE:
            entered, now = clock_text(moment, service_time)
            raise NotAllowed(
                message(
                    "By the service's clock it is {now} now, so {entered} is in the future. Enter another time.",
                    now=now,
                    entered=entered,
                )
            )
        return item

    def _with_correctable_time(self, take_id: str, moment: datetime) -> RecordingItem:
        item = self._with_open_time(take_id, moment)
        if item.job_id is not None or item.bundle_id is not None or self.store.asked(take_id):
            raise NotAllowed(
                message("The service may know this recording by its time already, so it cannot be corrected.")
            )
        return item

    def _decide_time(self, take_id: str, decided: TakeMetadata, recorded_at: str) -> None:
        self.store.store_details(take_id, replace(decided, time_doubt=None, time_decided=True))
        self.store.update(take_id, {"recorded_at": recorded_at, "reason": None, "fix": None})

    def _note_correction(self, item: RecordingItem, moment: datetime, how: str) -> None:
        moved_s = (moment - item.recorded_at).total_seconds()
        self.store.note(AuditAction.TIME_CORRECTED, item.take_id, f"by {moved_s:.0f} s, {how}")

    def erase_from_trajectory(self, take_id: str, reason: CorrectionReason) -> int | None:
        """Take a recording out of its subject's course, and move it to the trash.

        Returns:
            The number of the correction; None if it was in no course.

        Raises:
            NotAllowed, UnknownTake: as for `discard`; nothing was changed.
        """
        with self.store.changing():
            number, item = None, self.store.get(take_id)
            if item.state is OutboxState.DONE and not item.excluded:
                number = self.corrections.exclude(self.corrections.member(take_id), reason).number
            self.discard(take_id)
        return number

    def discard(self, *take_ids: str, at_once: bool = False, withdrawn: bool = False) -> None:
        """Delete recordings from this computer, all or none; for their data at the service, see `erasures`.

        Args:
            take_ids: the recordings.
            at_once: destroy their keys and sounds now, also if they are in the trash already; else they go to the trash
                and can be restored for some days.
            withdrawn: with `at_once`: the person has withdrawn consent, so destroy also what was handed over and, if
                the service is elsewhere, what misses an answer. The caller says which copies stay.

        Raises:
            NotAllowed: one is at the service and its result has not come, or the trash does not keep it (`Trash.put`).
            UnknownTake: there is no such recording.
        """
        if not at_once:
            self.trash.put(*take_ids)
            return
        with self.store.changing():
            for item in [self.get(take_id) for take_id in take_ids if not self.trash.holds(take_id)]:
                if withdrawn and self.erasures is None:
                    refuse_unless_erasable(item)
                else:  # the service on this computer erases by what its answer named
                    refuse_unless_deletable(item)
            self.trash.remove(take_ids)

    def drop_traces(self) -> None:
        """Write the database again without deleted values after the commit, and delete its copies.

        Within a transaction.
        """
        self._sounds.destroy_afterwards((), whole=True)

    def remove_sounds(self, take_ids: Collection[str], part: AuditPart | None = AuditPart.SYNC_WORKER) -> None:
        """Delete the sound of recordings that have their results, its key first; their entries stay.

        `part` is named in the audit log; the one that has opened the library if None.

        Raises:
            NotAllowed: one has no result, or somebody else changed its entry; nothing was deleted.
        """
        with self.store.changing():
            self._sounds.destroy_afterwards(take_ids)
            for take_id in take_ids:
                item = self.store.get(take_id)
                if item.state is not OutboxState.DONE or item.encrypted_result is None:
                    raise NotAllowed(message("Only the sound of a recording with a result can be removed."))
                if self.erasures is not None:
                    self.erasures.add(take_id, ErasureScope.SOUND)
                self.store.update(take_id, {"take_key": None, "audio_gone_at": self.store.now()})
                self.store.note(AuditAction.SOUND_REMOVED, take_id, part=part)

    def note(self, what: AuditAction, take_id: str | None = None, detail: str = "") -> None:
        """Add an action that changes nothing here, such as an export, to the audit log; see `Store.note`."""
        with self.store.changing():
            self.store.note(what, take_id, detail)

    def audio(self, take_id: str) -> TakeAudio:
        """The sound of a recording, trimmed. Raises UnknownTake, EncryptedFileError, OSError."""
        trim_s, audio = self.get(take_id).trim_s, self.whole_audio(take_id)
        return audio if trim_s is None else audio.part(*trim_s)

    def whole_audio(self, take_id: str) -> TakeAudio:
        """The untrimmed sound of a recording, with its manifest. Raises UnknownTake, EncryptedFileError, OSError."""
        return self._sounds.audio(self.get(take_id))

    def take_audio(self, path: Path) -> TakeAudio:
        """The sound of a take that the recorder wrote and the library does not have yet."""
        return read_take(path, self.store.key)

    def leftovers(self) -> Leftovers:
        """Takes in the recorder's folder that an earlier session left undecided."""
        return self.damaged.leftovers()

    def verify_audit(self) -> AuditVerification:
        """Follow the audit log from its first entry to its last. Raises AuditUnreadable."""
        return AuditReader(self.store.folder, self.store.key).verify()

    def check_sound(self, take_id: str) -> None:
        """Read a sound as it would be sent. Raises UnknownTake, EncryptedFileError, OSError if a part is unreadable."""
        item = self.get(take_id)
        if item.imported:
            self._sounds.original(item)
        else:
            self._sounds.audio(item)

    def original(self, take_id: str) -> bytes:
        """The bytes of an imported file, unchanged. Raises EncryptedFileError, OSError."""
        return self._sounds.original(self.get(take_id))

    def settings(self) -> LibrarySettings:
        """The settings of this library; the defaults if there are none, or if they cannot be read."""
        content = self.store.setting(SETTINGS_NAME)
        return LibrarySettings() if content is None else read_settings(content)

    def change_settings(self, **changes: Any) -> LibrarySettings:
        """Change the given settings only, but what the policy sets; returns all settings. Notifies subscribers.

        Args:
            **changes: values by field of `LibrarySettings`.
        """
        with self.store.changing():
            chosen = replace(self.settings(), **changes)
            changed = self.policy.applied_to(chosen)
            self.store.store_setting(SETTINGS_NAME, write_settings(changed))
            self.store.note(AuditAction.SETTINGS_CHANGED, detail=changed.audit_text)
        return changed

    def change_consent_rules(self, change: Callable[[ConsentRules], ConsentRules]) -> LibrarySettings:
        """Change the stored consent rules in one transaction; returns all settings. Notifies subscribers."""
        with self.store.changing():
            return self.change_settings(consent=change(self.settings().consent))

    def send_now(self, take_ids: Collection[str] | None = None) -> None:
        """Release these recordings, or all that wait, where recordings are sent manually."""
        with self.store.changing():
            waiting = [row["take_id"] for row in self.store.rows("SELECT take_id FROM pending WHERE released = 0")]
            for take_id in set(waiting) if take_ids is None else set(waiting) & set(take_ids):
                if not self.store.is_intact(take_id):
                    continue
                self.store.write_event_of(take_id, {"released": 1})
                self.store.note(AuditAction.RELEASED, take_id)

    def withdraw_consent(self, group_id: str, kind: ConsentKind = ConsentKind.BOTH, *, asked_by: str = "") -> None:
        """Note that a subject has withdrawn consent, and take its recordings out of the queue."""
        with self.store.changing():
            self.consents.withdraw(group_id, kind, asked_by=asked_by)
            self.recall_withdrawn({group_id})

    def held_for_consent(self) -> list[RecordingItem]:
        """Recordings in the queue that the consent policy does not let go, with the reason."""
        if self.consent_gate.rules().policy is not ConsentPolicy.REQUIRED:
            return []
        consents, found = self.consent_gate.all(), []
        for item in self.store.items(f"state IN ('{OutboxState.WAITING}', '{OutboxState.UPLOADING}')"):
            refusal = consents.refusal(item.group_id, item.recorded_at)
            if refusal is not None and item.fault is None:
                found.append(replace(item, reason=refusal))
        return found

    def recall_withdrawn(self, group_ids: Collection[str]) -> None:
        """Take recordings whose consent was withdrawn out of the queue, so that none is sent without a new decision.

        One that the service may have already stops and says so.
        """
        with self.store.changing():
            consents = self.consent_gate.all()
            for item in self.store.items(f"state IN ('{OutboxState.WAITING}', '{OutboxState.UPLOADING}')"):
                withdrawn = item.group_id in group_ids and consents.of_recording(item).state is ConsentState.WITHDRAWN
                if not withdrawn or item.fault is not None:
                    continue
                if self.store.asked(item.take_id):
                    self.store.move(item.take_id, OutboxState.NEEDS_ATTENTION, _WITHDRAWN, Fix.TRY_AGAIN)
                else:
                    self.cancel(item.take_id)

    def _check_consent(self, group_id: str, recorded_at: datetime | None = None) -> None:
        refusal = self.consent_gate.refusal(group_id, recorded_at)
        if refusal is not None:
            raise NotAllowed(refusal)

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every change, in the thread that made it; returns a function that stops it."""
        return self.store.subscribe(callback)

    def _raise_attempt(self, item: RecordingItem) -> None:
        self.store.store_details(item.take_id, replace(metadata_of(item), attempt=item.attempt + 1))


def capture_facts(audio: TakeAudio) -> dict[str, Any]:
    """What the recorder noted in a take, see `TakeMetadata.capture`."""
    names = ("device", "language", "protocol_version", "app_version")
    noted = {name: audio.about[name] for name in names if isinstance(audio.about.get(name), str | int)}
    return {**noted, "sample_rate": audio.sample_rate, "marks_s": list(audio.marks_s)}


def _reference(audio: TakeAudio, recorded_at: datetime) -> TimeReference | None:
    """What the recorder knew about the time at the start; None if `recorded_at` has another source."""
    boot = audio.about.get("boot")
    if not isinstance(boot, dict) or audio.about.get("recorded_at") != recorded_at.isoformat():
        return None
    return read_reference({**boot, "confirmed": audio.about.get("service_time")})


def _counted_s(duration_s: float, metadata: TakeMetadata) -> float:
    """Length of the part that counts; checks the metadata."""
    fault = subject_fault(metadata.group_id)
    if fault is not None:
        raise ValueError(fault)
    if metadata.trim_s is None:
        return duration_s
    start_s, end_s = max(metadata.trim_s[0], 0.0), min(metadata.trim_s[1], duration_s)
    if end_s <= start_s:
        raise ValueError(message("Nothing is left of the recording after trimming. Undo the trim."))
    return end_s - start_s

"""Export and import of recordings in an encrypted file for another computer."""

from collections.abc import Callable, Collection
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.tasks import Failure, Progress, Task, TaskContext, TaskOwner
from vbdesk.desk.ui.time_text import megabytes
from vbdesk.language import _, joined, ngettext
from vbdesk.outbox.bundles.bundle_errors import BundleError
from vbdesk.outbox.bundles.bundle_export import (
    ExportableRecordings,
    ExportedBundle,
    export_bundle,
    exportable_recordings,
    owner_of,
)
from vbdesk.outbox.bundles.bundle_file import check_whole
from vbdesk.outbox.bundles.bundle_import import ImportedBundle, import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, Lock, PassphraseLock, public_key, secret_of
from vbdesk.outbox.bundles.bundle_stream import ByteProgress
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import Vault


class _Stop:
    """Adapts a task's stop request to the bundle's stop event."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context

    def is_set(self) -> bool:
        """Whether to stop."""
        return self._context.cancelled

    def wait(self, timeout: float | None = None) -> bool:
        """Not used by bundles."""
        return self.is_set()


class BundleWork(QObject):
    """Exports or imports one bundle at a time.

    Attributes:
        saved: the bundle that was made last; None after one was taken in.

    Signals:
        counted: (int, str) number of recordings that can be exported, and why others cannot.
        key_read: (str) the public key of this computer.
        progressed: (str, float) progress as text and as a share.
        done: (str) the outcome, as sentences.
        failed: (str) why it failed.
        checked: (str, str) a file that was looked through, and what is wrong with it; empty if nothing is.
        busy_changed: (bool) whether an export or import runs.
    """

    counted = Signal(int, str)
    key_read = Signal(str)
    progressed = Signal(str, float)
    done = Signal(str)
    failed = Signal(str)
    checked = Signal(str, str)
    busy_changed = Signal(bool)

    def __init__(self, profile: Profile, vault: Vault, library: Library, tasks: TaskOwner) -> None:
        super().__init__()
        self._profile, self._vault, self._library, self._tasks = profile, vault, library, tasks
        self._task: Task | None = None
        self._check: Task | None = None
        self.saved: Path | None = None
        self._take_ids: tuple[str, ...] | None = None

    @property
    def busy(self) -> bool:
        """Whether a bundle is being made or read."""
        return self._task is not None

    def look(self, take_ids: Collection[str]) -> None:
        """Find recordings that can be exported, of these or of all that wait."""
        library, chosen = self._library, tuple(take_ids) or None
        self._take_ids = chosen
        self._tasks.start(
            lambda context: exportable_recordings(library, chosen), self._on_ready, self._on_failed, name="bundle-look"
        )

    def read_key(self) -> None:
        """Read this computer's public key, made on first use."""

        def work(context: TaskContext) -> str:
            return public_key(self._vault, self._profile)

        self._tasks.start(work, self._on_key, self._on_failed, name="bundle-key")

    def hand_over(self, folder: str, *, key: str = "", passphrase: str = "") -> None:
        """Export the recordings found by `look` to a new file in `folder`, for a public key or passphrase."""
        library, take_ids = self._library, self._take_ids
        owner = owner_of(self._profile)
        lock: Lock = KeyLock(key) if key else PassphraseLock(passphrase)

        def work(context: TaskContext) -> ExportedBundle:
            return export_bundle(
                library,
                owner,
                Path(folder),
                lock,
                take_ids=take_ids,
                progress=context.progress,
                cancel=_Stop(context),
            )

        self._start(work, self._on_handed_over)

    def check(self, file: str) -> None:
        """Look whether a file is a whole, unchanged bundle; needs no key. Ends the check of the file before it."""

        def work(context: TaskContext) -> tuple[str, Failure | None]:
            try:
                check_whole(Path(file), ByteProgress(lambda done, total: context.check()))
            except (BundleError, OSError) as error:
                return file, Failure.of(error)
            return file, None

        self._end_check()
        self._check = self._tasks.start(work, self._on_checked, self._on_failed, name="bundle-check")

    def _end_check(self) -> None:
        if self._check is not None:
            self._check.cancel()
            self._check = None

    def take_in(self, file: str, *, passphrase: str = "") -> None:
        """Import the recordings of a file into the upload queue."""
        self._end_check()  # this checks it, too
        library, profile = self._library, self._profile
        secret = secret_of(self._vault, profile, passphrase or None)

        def work(context: TaskContext) -> ImportedBundle:
            return import_bundle(
                library, owner_of(profile), Path(file), secret, progress=context.progress, cancel=_Stop(context)
            )

        self._start(work, self._on_taken_in)

    def cancel(self) -> None:
        """Stop the export or import; nothing is changed."""
        if self._task is not None:
            self._task.cancel()

    def _start(self, work: Callable[[TaskContext], object], done: Callable[[object], None]) -> None:
        if self.busy:
            return
        self._task = self._tasks.start(work, done, self._on_failed, self._on_progress, self._on_ended, name="bundle")
        self.busy_changed.emit(True)

    @Slot(object)
    def _on_ready(self, found: ExportableRecordings) -> None:
        left = ""
        if found.left_out:
            left = ngettext(
                "Not among them, {count:,} other: {reason}",
                "Not among them, {count:,} others: {reason}",
                len(found.left_out),
                reason=joined(found.left_out[0].reason),
            )
        self.counted.emit(len(found.items), left)

    @Slot(object)
    def _on_key(self, key: str) -> None:
        self.key_read.emit(key)

    @Slot(object)
    def _on_checked(self, outcome: tuple[str, Failure | None]) -> None:
        file, fault = outcome
        self.checked.emit(file, "" if fault is None else fault.sentence)

    @Slot(object)
    def _on_handed_over(self, bundle: object) -> None:
        if isinstance(bundle, ExportedBundle):
            self.saved = bundle.path
            self.done.emit(
                ngettext(
                    "{count:,} recording handed over in {path}. Bring the file to the other computer; the sound stays "
                    "here until it has its result.",
                    "{count:,} recordings handed over in {path}. Bring the file to the other computer; the sound stays "
                    "here until they have their results.",
                    len(bundle.take_ids),
                    path=bundle.path,
                )
            )

    @Slot(object)
    def _on_taken_in(self, taken: object) -> None:
        if isinstance(taken, ImportedBundle):
            self.saved = None
            self.done.emit(_taken_in_words(taken))

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        if progress.total:
            self.progressed.emit(megabytes(progress.done, progress.total), progress.done / progress.total)

    @Slot()
    def _on_ended(self) -> None:
        self._task = None
        self.busy_changed.emit(False)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)


def _taken_in_words(taken: ImportedBundle) -> str:
    """What became of each recording of a bundle, one sentence for each outcome."""
    added, known, deleted = len(taken.added), len(taken.known), len(taken.deleted)
    clashing, without_consent = len(taken.clashing), len(taken.without_consent)
    outcomes = (
        (
            ngettext(
                "{count:,} recording is queued on this computer. The service is asked first whether it has it already.",
                "{count:,} recordings are queued on this computer. The service is asked first whether it has "
                "them already.",
                added,
            ),
            added,
        ),
        (ngettext("{count:,} recording was here already.", "{count:,} recordings were here already.", known), known),
        (
            ngettext(
                "{count:,} recording was deleted here and stays deleted.",
                "{count:,} recordings were deleted here and stay deleted.",
                deleted,
            ),
            deleted,
        ),
        (
            ngettext(
                "{count:,} recording was not taken in: another recording here has the same subject and time. Take it "
                "back on the computer that made the bundle.",
                "{count:,} recordings were not taken in: other recordings here have the same subject and time. Take "
                "them back on the computer that made the bundle.",
                clashing,
            ),
            clashing,
        ),
        (
            ngettext(
                "{count:,} recording was not taken in: no consent of its subject is noted, or it was withdrawn. Note "
                "the consent and import the bundle again.",
                "{count:,} recordings were not taken in: no consent of their subjects is noted, or it was withdrawn. "
                "Note the consent and import the bundle again.",
                without_consent,
            ),
            without_consent,
        ),
    )
    sentences = [sentence for sentence, count in outcomes if count]
    return " ".join(sentences) or _("There was no recording in the file.")

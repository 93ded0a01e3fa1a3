"""Export and import of recordings in an encrypted file for another computer."""

from dataclasses import dataclass, field
from pathlib import Path

from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import Failure, TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.language import _, ngettext
from vbdesk.outbox.bundles.bundle_errors import BundleError
from vbdesk.outbox.bundles.bundle_export import ExportableRecordings, export_bundle, exportable_recordings, owner_of
from vbdesk.outbox.bundles.bundle_file import check_whole
from vbdesk.outbox.bundles.bundle_import import ImportedBundle, import_bundle
from vbdesk.outbox.bundles.bundle_keys import KeyLock, PassphraseLock, public_key, secret_of
from vbdesk.outbox.bundles.bundle_stream import ByteProgress


@dataclass(frozen=True)
class ExportableRead(Read[ExportableRecordings]):
    """Recordings that can be exported, of these or of all that wait."""

    take_ids: tuple[str, ...] | None
    cached = False
    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> ExportableRecordings:  # noqa: D102
        return exportable_recordings(context.library, self.take_ids)


@dataclass(frozen=True)
class PublicKeyRead(Read[str]):
    """This computer's public key, made on first use."""

    cached = False
    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> str:  # noqa: D102
        return public_key(context.ports.vault(context.profile.secrets), context.profile)


@dataclass(frozen=True)
class BundleCheckRead(Read[str]):
    """Why a file is no whole, unchanged bundle; empty if it is one. Needs no key."""

    file: str
    cached = False
    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> str:  # noqa: D102
        try:
            check_whole(Path(self.file), ByteProgress(lambda done, total: task.check()))
        except (BundleError, OSError) as error:
            return Failure.of(error).sentence
        return ""


class _Stop:
    """Adapts a task's stop request to the bundle's stop event."""

    def __init__(self, task: TaskContext) -> None:
        self._task = task

    def is_set(self) -> bool:
        """Whether to stop."""
        return self._task.cancelled

    def wait(self, timeout: float | None = None) -> bool:
        """Not used by bundles."""
        return self.is_set()


@dataclass(frozen=True)
class HandOver(Command):
    """Export recordings to a new file in `folder`, for a public key or a passphrase; finds the file."""

    take_ids: tuple[str, ...] | None
    folder: str
    key: str = ""
    passphrase: str = field(default="", repr=False)
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        bundle = export_bundle(
            context.library,
            owner_of(context.profile),
            Path(self.folder),
            KeyLock(self.key) if self.key else PassphraseLock(self.passphrase),
            take_ids=self.take_ids,
            progress=task.progress,
            cancel=_Stop(task),
        )
        sentence = ngettext(
            "{count:,} recording handed over in {path}. Bring the file to the other computer; the sound stays "
            "here until it has its result.",
            "{count:,} recordings handed over in {path}. Bring the file to the other computer; the sound stays "
            "here until they have their results.",
            len(bundle.take_ids),
            path=bundle.path,
        )
        return Done(sentence, frozenset({Changed.LIBRARY}), found=bundle.path)


@dataclass(frozen=True)
class TakeIn(Command):
    """Import the recordings of a file into the upload queue."""

    file: str
    passphrase: str = field(default="", repr=False)
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        profile = context.profile
        secret = secret_of(context.ports.vault(profile.secrets), profile, self.passphrase or None)
        taken = import_bundle(
            context.library,
            owner_of(profile),
            Path(self.file),
            secret,
            progress=task.progress,
            cancel=_Stop(task),
        )
        return Done(_taken_in_text(taken), frozenset({Changed.LIBRARY}))


def _taken_in_text(taken: ImportedBundle) -> str:
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

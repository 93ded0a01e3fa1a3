"""What the Record page reads: subjects, their consent, the service's signs, and what was chosen here before."""

from dataclasses import dataclass
from datetime import datetime

from vbdesk.capture.device_choice import RememberedMicrophone, WantedDevice
from vbdesk.capture.protocols import protocol_languages
from vbdesk.contract.catalog import Sign
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Asked, AskedRead, Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed, SubjectTopic, Topic
from vbdesk.desk.preferences import Preferences, PreferenceStore
from vbdesk.language import load_language
from vbdesk.outbox.imports.offered_signs import OfferedSigns
from vbdesk.outbox.library.consent import ConsentStatus
from vbdesk.outbox.library.items import ItemFilter


@dataclass(frozen=True)
class OfferedSignsRead(AskedRead[tuple[Sign, ...]]):
    """The signs that can be requested individually: the service's list, cached for offline use."""

    topics = frozenset()
    ask_topics = frozenset({Changed.CONNECTED})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> tuple[Sign, ...]:  # noqa: D102
        return _offered(context).known()

    def ask(self, context: DeskContext, task: TaskContext) -> Asked:  # noqa: D102
        with context.connection.client() as client:
            _offered(context).ask(client.signs)
        return Asked()


@dataclass(frozen=True)
class SubjectNamesRead(Read[tuple[str, ...]]):
    """All local subjects as they are typed, for completion."""

    topics = frozenset({Changed.LIBRARY})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> tuple[str, ...]:  # noqa: D102
        notes = context.library.subject_notes
        return tuple(notes.note_of(group_id).alias or group_id for group_id in context.library.groups())


@dataclass(frozen=True, slots=True)
class SubjectHere:
    """What this computer has of a subject.

    Attributes:
        consent: what is in force.
        recordings: how many there are.
        last: when the newest of them was made; excluded ones do not count.
    """

    consent: ConsentStatus
    recordings: int
    last: datetime | None


@dataclass(frozen=True)
class SubjectHereRead(Read[SubjectHere]):
    """The recordings and the consent of the subject that is entered."""

    group_id: str
    cached = False

    @property
    def topics(self) -> frozenset[Topic]:  # noqa: D102
        return frozenset({Changed.LIBRARY, SubjectTopic(self.group_id)})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> SubjectHere:  # noqa: D102
        items = context.library.list(ItemFilter(group_id=self.group_id))
        last = next((item.recorded_at for item in items if not item.excluded), None)
        return SubjectHere(context.library.consents.status(self.group_id), len(items), last)


@dataclass(frozen=True)
class RecordChoices:
    """What was chosen before: preferences, and the microphone."""

    preferences: Preferences
    microphone: WantedDevice | None


@dataclass(frozen=True)
class RecordChoicesRead(Read[RecordChoices]):
    """What was chosen before, read whenever the page is shown."""

    topics = frozenset()

    def here(self, context: DeskContext, before: object, task: TaskContext) -> RecordChoices:  # noqa: D102
        for tag in protocol_languages():  # the patient screen is in the language of the prompt
            load_language(tag)
        folder = context.ports.config_dir
        return RecordChoices(PreferenceStore(folder).load(), remembered_microphone(context).load())


def remembered_microphone(context: DeskContext) -> RememberedMicrophone:
    """The file with the chosen microphone."""
    return RememberedMicrophone(context.ports.config_dir / "microphone.json")


def _offered(context: DeskContext) -> OfferedSigns:
    return OfferedSigns(context.ports.library_dir(context.profile.profile_id))

"""The set-up of a recording: subject, protocol, microphone, tags, note, analysis."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.capture.device_choice import DeviceChoice, WantedDevice
from vbdesk.capture.devices import Device, DeviceWatch
from vbdesk.capture.protocols import RecordingProtocol, is_available, nearest_language, protocol_languages, protocols
from vbdesk.contract.catalog import Sign
from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.flow.sync_state import NextStep
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.language_choice import language_name
from vbdesk.desk.record.consent_model import ConsentViewModel, TickedConsent
from vbdesk.desk.record.reads import (
    OfferedSignsRead,
    RecordChoices,
    RecordChoicesRead,
    SubjectHere,
    SubjectHereRead,
    SubjectNamesRead,
    remembered_microphone,
)
from vbdesk.desk.subject_data.subject_detail import detail_fault
from vbdesk.desk.ui.time_text import day_in_sentence, moment_in_sentence
from vbdesk.language import N_, Message, _, current, ngettext, translated
from vbdesk.outbox.imports.offered_signs import every_service_has
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.settings import SubjectDetail
from vbdesk.outbox.library.subject_names import as_group_id, search_key, tidy
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.outbox.library.typed_subjects import TypedSubjects

_LOOKUP_DELAY_MS = 150
_NAMES = {"default": N_("System default"), "pulse": "PulseAudio", "pipewire": "PipeWire"}
DEFAULT_TARGET = RecordingTarget("model", "pulse")


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject as typed.

    Attributes:
        group_id: as the service knows it.
        fault: why the text is invalid; None if it is valid or empty.
        alias: the name as typed, if the service's id cannot carry it; else empty.
        recordings: number here; None while it is being read.
        last: when the newest of them was made; excluded ones do not count.
    """

    group_id: str
    fault: str | None
    alias: str = ""

    @property
    def typed(self) -> str:
        """What a person types for it."""
        return self.alias or self.group_id

    def is_typed_as(self, text: str) -> bool:
        """Whether `text` means this subject, however a person writes its name."""
        if self.alias:
            return search_key(text) == search_key(self.alias)
        return (as_group_id(text) or tidy(text)) == self.group_id

    @property
    def usable(self) -> bool:
        """Whether a recording can be made with it."""
        return bool(self.group_id) and self.fault is None


@dataclass(frozen=True, slots=True)
class RecordForm:
    """All settings but subject and microphone."""

    protocol: RecordingProtocol
    target: RecordingTarget = DEFAULT_TARGET
    tags: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class EnteredSubject:
    """What was typed on the page about a subject: fields of its note, and a ticked consent."""

    group_id: str
    typed: Mapping[str, Any]
    consent: TickedConsent | None

    def store(self, library: Library) -> None:
        """Note it, before anything of the subject is recorded or imported. Blocks on the disk. Raises AliasTaken."""
        library.subject_notes.change(self.group_id, self.noted)
        if self.consent is not None:
            self.consent.store(library)

    def noted(self, note: SubjectNote) -> SubjectNote:
        """The note of the subject with what was typed."""
        return replace(note, **self.typed)


@dataclass(frozen=True)
class RememberMicrophone(Command):
    """Use this microphone from the next start on, too."""

    wanted: WantedDevice

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        remembered_microphone(context).save(self.wanted)
        return Done()


@dataclass(frozen=True, slots=True)
class SetupReading:
    """What is read for the card."""

    signs: tuple[Sign, ...]
    subjects: tuple[str, ...] = ()
    here: SubjectHere | None = None
    chosen: RecordChoices | None = None
    fault: str = ""


class RecordSetupViewModel(QObject):
    """The set-up card.

    Attributes:
        languages: BCP-47 tags that prompts can be shown in.
        language: of the prompts now: as noted for the subject, else as in the preferences, else the reader's.
        protocols: with prompts in this language, and titles in the reader's.
        reading: what is known of the service's signs and of the subject.
        typed: finds the subject that a text means.
        detail: the second line of the subject as typed here; empty if nothing was.
        consent: of the subject.

    Signals:
        subject_changed: (Subject).
        subjects_changed: (tuple[str]) all local subjects, for completion.
        signs_changed: (tuple[Sign]) the signs that can be requested individually.
        failed: (str) why the subject's consent cannot be read.
        devices_changed: (list[Device]) the microphones.
        device_returned: (str) the chosen microphone is back.
        device_noticed: (str) the microphone changed, or the sound system does not respond.
        form_changed: (RecordForm).
        language_changed: `language` and `protocols` changed.
        ready_changed: (bool) whether a recording can begin.
        pedal_known: (str) the key that a foot pedal sends, as Qt names it.
    """

    subject_changed = Signal(object)
    subjects_changed = Signal(object)
    signs_changed = Signal(object)
    failed = Signal(str)
    devices_changed = Signal(object)
    device_noticed = Signal(str)
    device_returned = Signal(str)
    form_changed = Signal(object)
    language_changed = Signal()
    ready_changed = Signal(bool)
    pedal_known = Signal(str)
    _listed = Signal(object)
    _not_listed = Signal(object)

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self._screen, self._context = flow.screen(self), flow.context
        self._library, self._sync, self._clock = flow.context.library, flow.context.sync, flow.context.clock
        self.languages = protocol_languages()
        self._preferred = ""
        self._picked: tuple[str, str] | None = None  # a subject, and the language that a person chose for it here
        self.language = nearest_language(current().tag, self.languages)
        self.protocols = protocols(self.language, reader=current().tag)
        self.form = RecordForm(self.protocols[0])
        self.subject = Subject("", None)
        self.detail = ""
        self.reading = SetupReading(every_service_has())
        self.typed = TypedSubjects(self._library.subject_notes)
        self.consent = ConsentViewModel(flow.context)
        self.consent.setParent(self)
        self.consent.changed.connect(self._tell_ready)
        self._choice = DeviceChoice()
        self._ready = False
        self._lookup_timer = QTimer(self)
        self._lookup_timer.setSingleShot(True)
        self._lookup_timer.setInterval(_LOOKUP_DELAY_MS)
        self._lookup_timer.timeout.connect(self._look_up_subject)
        self._watch: DeviceWatch | None = None
        self._listed.connect(self._on_devices)
        self._not_listed.connect(self._on_not_listed)
        self._screen.changed.connect(self._show)
        self._shown_kind = self.detail_kind
        self._sync.counts_changed.connect(self._on_settings)

    @property
    def next_step(self) -> NextStep:
        """What a recording waits for that is sent to the Outbox now."""
        return self._sync.next_step

    @property
    def devices(self) -> list[Device] | None:
        """The microphones; None before the first list."""
        return None if self._choice.devices is None else list(self._choice.devices)

    @property
    def device(self) -> Device | None:
        """The microphone in use; None if there is none."""
        return self._choice.used

    @property
    def ready(self) -> bool:
        """Whether a recording can begin."""
        named = self.subject.usable and self.detail_fault is None
        return named and self.device is not None and not self.consent.missing

    @property
    def missing(self) -> str:
        """What is missing before a recording can begin; empty if nothing is."""
        if not self.subject.usable:
            return translated(self.subject.fault) if self.subject.fault else _("Enter a subject to begin.")
        if self.detail_fault is not None:
            return self.detail_fault
        if self.devices is None:
            return _("Looking for microphones.")
        return self.consent.missing if self.device is not None else _("Plug in a microphone to begin.")

    def start(self) -> None:
        """Start watching microphones and known subjects."""
        if self._watch is None:
            self._watch = DeviceWatch(self._context.ports.lister, self._listed.emit, on_no_answer=self._not_listed.emit)
            self._watch.start()
            self._screen.add(OfferedSignsRead())
            self._screen.add(SubjectNamesRead())
        self._screen.add(RecordChoicesRead())

    def stop_watching(self) -> None:
        """Stop watching microphones; waits for a running listing, so call it in a task."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def stop_lookup(self) -> None:
        """Read nothing more of the subject that was typed last."""
        self._lookup_timer.stop()

    def set_subject(self, text: str) -> None:
        """Set the subject as typed: an id, or a name in any script, which becomes an alias."""
        found = self.typed.find(text)
        if found.group_id != self.subject.group_id:
            self.detail = ""
            self._screen.drop(SubjectHereRead)
            self.reading = replace(self.reading, here=None)
        self.subject = Subject(found.group_id, found.fault, found.alias)
        self.consent.set_subject(self.subject.group_id if self.subject.usable else "")
        self._use_language()
        self.subject_changed.emit(self.subject)
        self._tell_ready()
        if self.subject.usable:
            self._lookup_timer.start()

    @property
    def detail_kind(self) -> SubjectDetail:
        """What the second line of a subject holds in this profile."""
        return self._sync.settings.detail

    @property
    def asks_detail(self) -> bool:
        """Whether the second line of the subject can be entered: the profile has one, and none is noted."""
        known = self._note(self.subject.group_id).detail
        return self.subject.usable and self.detail_kind is not SubjectDetail.NONE and not known

    @property
    def detail_fault(self) -> str | None:
        """Why the second line as typed is none; None if it is one or empty."""
        return detail_fault(self.detail_kind, self.detail) if self.asks_detail else None

    def set_detail(self, text: str) -> None:
        """Set the second line of the subject, as typed."""
        self.detail = tidy(text)
        self.subject_changed.emit(self.subject)
        self._tell_ready()

    def entered(self) -> EnteredSubject | None:
        """What was typed and ticked here about the subject, to be stored on a worker; None without a subject."""
        if not self.subject.usable:
            return None
        return EnteredSubject(self.subject.group_id, self._typed(), self.consent.to_store())

    def subject_name(self, group_id: str) -> str:
        """How a subject is shown, in one line."""
        if self.subject.usable and self.subject.group_id == group_id:  # perhaps not stored yet
            return replace(self._note(group_id), **self._typed()).shown(group_id).text
        return self._library.subject_notes.shown(group_id).text

    def choose_protocol(self, index: int) -> None:
        """Choose one of `protocols`."""
        self._set_form(replace(self.form, protocol=self.protocols[index]))

    def choose_language(self, index: int) -> None:
        """Choose one of `languages`; the protocol stays. It is noted for the subject with its recording."""
        self._picked = (self.subject.group_id if self.subject.usable else "", self.languages[index])
        self._use_language()

    def language_text(self) -> str:
        """Why the prompt is not in the language that was wanted; empty if it is."""
        shown, wanted = self.form.protocol.language, self._wanted_language()
        if is_available(wanted, (shown,)):
            return ""
        return _(
            "There is no prompt in {wanted}. It is shown in {shown}.",
            wanted=language_name(wanted),
            shown=language_name(shown),
        )

    def _wanted_language(self) -> str:
        """What a person chose here for the subject, what is noted for it, or what holds for all."""
        of, picked = self._picked or ("", "")
        noted = self._note(self.subject.group_id).prompts if self.subject.usable else ""
        if picked and of == self.subject.group_id:
            return picked
        return noted or ("" if of else picked) or self._preferred or current().tag

    def _use_language(self) -> None:
        """Show prompts and the consent in the wanted language, and titles in the reader's."""
        self.consent.set_language(self._wanted_language())
        self.language = nearest_language(self._wanted_language(), self.languages)
        found = protocols(self.language, reader=current().tag)
        if found == self.protocols:
            return
        index = self.protocols.index(self.form.protocol)
        self.protocols = found
        self.form = replace(self.form, protocol=found[index])
        self.language_changed.emit()
        self.form_changed.emit(self.form)

    def choose_target(self, target: RecordingTarget) -> None:
        """Choose the analysis."""
        self._set_form(replace(self.form, target=target))

    def set_tags(self, tags: tuple[str, ...]) -> None:
        """Set the tags."""
        self.form = replace(self.form, tags=tags)

    def set_note(self, note: str) -> None:
        """Set the note."""
        self.form = replace(self.form, note=note.strip())

    def choose_device(self, index: int) -> None:
        """Choose one of `devices`."""
        devices = self.devices or []
        if not 0 <= index < len(devices):
            return
        other = devices[index] != self.device
        self._choice = self._choice.chosen(devices[index])
        wanted = WantedDevice(devices[index].name, devices[index].host_api)
        self._screen.do(RememberMicrophone(wanted))
        if other:
            self.devices_changed.emit(devices)
            self._tell_ready()

    def metadata(self, recorded_at: datetime) -> TakeMetadata:
        """Metadata of a recording that begins at `recorded_at`."""
        return TakeMetadata(
            group_id=self.subject.group_id,
            recorded_at=recorded_at,
            target=self.form.target,
            protocol=self.form.protocol.protocol_id,
            note=self.form.note,
            tags=self.form.tags,
        )

    def next_subject(self) -> None:
        """Clear the subject's fields; protocol, microphone and target stay."""
        self.form = replace(self.form, tags=(), note="")
        self.form_changed.emit(self.form)
        self.set_subject("")

    def subject_text(self) -> str:
        """Description of the subject."""
        subject, here = self.subject, self.reading.here
        if here is None or not subject.usable:
            return ""
        if here.recordings == 0:
            text = _("First recording on this computer")
        elif here.last is None:
            text = ngettext(
                "Known subject · {count:,} recording", "Known subject · {count:,} recordings", here.recordings
            )
        else:
            text = ngettext(
                "Known subject · {count:,} recording, last {when}",
                "Known subject · {count:,} recordings, last {when}",
                here.recordings,
                when=_when(here.last, self._clock.now()),
            )
        detail = self._library.subject_notes.shown(subject.group_id).detail
        parts = [detail, text] if detail else [text]
        if subject.alias:
            parts.append(_("Sent as {group_id}; the name stays here", group_id=subject.group_id))
        return " · ".join(parts)

    @Slot(object)
    def _on_settings(self, changed: object) -> None:
        if self.detail_kind is not self._shown_kind:
            self._shown_kind = self.detail_kind
            self.subject_changed.emit(self.subject)
            self._tell_ready()

    def _typed(self) -> Mapping[str, Any]:
        """What was typed here about the subject, as fields of its note."""
        typed: dict[str, str] = {}
        if self.subject.alias:
            typed["alias"] = self.subject.alias
        if self.asks_detail and self.detail_fault is None:
            typed["detail"] = self.detail
        of, picked = self._picked or ("", "")
        if of == self.subject.group_id:
            typed["prompts"] = picked
        return typed

    def _note(self, group_id: str) -> SubjectNote:
        return self._library.subject_notes.note_of(group_id)

    def _set_form(self, form: RecordForm) -> None:
        self.form = form
        self.form_changed.emit(form)

    @Slot()
    def _tell_ready(self) -> None:
        if self.ready != self._ready:
            self._ready = self.ready
            self.ready_changed.emit(self._ready)

    @Slot()
    def _look_up_subject(self) -> None:
        if self.subject.usable:
            self._screen.add(SubjectHereRead(self.subject.group_id))

    @Slot()
    def _show(self) -> None:
        screen, before = self._screen, self.reading
        unreadable = screen.of(SubjectHereRead).unreadable
        now = self.reading = SetupReading(
            screen.of(OfferedSignsRead).value or before.signs,
            screen.of(SubjectNamesRead).value or (),
            screen.of(SubjectHereRead).value,
            screen.of(RecordChoicesRead).value,
            "" if unreadable is None else unreadable.sentence,
        )
        if now.signs != before.signs:
            self.signs_changed.emit(now.signs)
        if now.subjects != before.subjects:
            self.subjects_changed.emit(now.subjects)
        if now.here is not None:
            self.consent.show(now.here.consent)
        if now.here != before.here:
            self.subject_changed.emit(self.subject)
        if now.fault and now.fault != before.fault:
            self.failed.emit(now.fault)
        if now.chosen is not None and now.chosen != before.chosen:
            self._use(now.chosen)

    def _use(self, chosen: RecordChoices) -> None:
        self.pedal_known.emit(chosen.preferences.pedal_key)
        if chosen.preferences.language != self._preferred:
            self._preferred = chosen.preferences.language
            if self._picked is not None and not self._picked[0]:
                self._picked = None  # the newer choice holds
        self._use_language()
        if chosen.microphone is not None and self._choice.wanted is None:
            self._choice = replace(self._choice, wanted=chosen.microphone, used=None)
            if self._choice.devices is not None:
                self._on_devices(list(self._choice.devices))

    @Slot(object)
    def _on_not_listed(self, reason: Message) -> None:
        self.device_noticed.emit(translated(reason))

    @Slot(object)
    def _on_devices(self, devices: list[Device]) -> None:
        self._choice = self._choice.listed(devices)
        self.devices_changed.emit(devices)
        if self._choice.notice is not None:
            noticed = self.device_returned if self._choice.returned else self.device_noticed
            noticed.emit(translated(self._choice.notice))
        self._tell_ready()


def microphone_name(device: Device) -> str:
    """How a microphone is shown."""
    return _(_NAMES[device.name]) if device.name in _NAMES else device.name


def _when(moment: datetime, now: datetime) -> str:
    """Day and time of the last two days; only the day before them."""
    recent = (now.astimezone().date() - in_zone(moment).date()).days <= 1
    return moment_in_sentence(moment, now) if recent else day_in_sentence(moment, now)

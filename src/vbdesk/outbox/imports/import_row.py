"""One recording of an import: what is known of it, and every reason why it cannot be imported."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from vbdesk.capture.protocols import protocols
from vbdesk.contract.groups import subject_fault
from vbdesk.contract.limits import MAX_DURATION_S, MIN_DURATION_S
from vbdesk.contract.rounding import whole
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.language import N_, joined, message, message_of
from vbdesk.outbox.imports.written_times import moment_of, read_time
from vbdesk.outbox.library.consent import ConsentPolicy
from vbdesk.outbox.library.consent_gate import ConsentList
from vbdesk.outbox.library.items import RecordingTarget
from vbdesk.outbox.library.library import Library

CLOCK_DRIFT = timedelta(minutes=5)  # between the device that recorded and this computer
EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)  # a file from a device without a clock
NO_CONSENT_NOTED = N_("No consent noted.")
WHEN_WRITTEN = N_("Recorded when the file was last written.")


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What reading the file showed; a file with a `fault` has no length."""

    duration_s: float | None = None
    sha256: str | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class ImportRow:
    """One recording of an import.

    Attributes:
        number: its line in the CSV, or its place among the files, from 1.
        group_id: the subject, as the service knows it; as typed if it is no subject.
        alias: the name that a person typed, if the service's id cannot carry it; else empty.
        subject_fault: why the typed subject is none; None if that was not looked at.
        recorded_at: when it was recorded; None if that is not known or not understood.
        target: what the service is asked for.
        time_text: the time as typed or as the list or the name has it; None if `recorded_at` is the file's own time.
        time_from_name: whether `time_text` comes from the name of the file.
        time_fault: why the name of the file gave no time.
        protocol, tags: None for those of the whole import.
        consent: the kind of consent that the list states; the desk notes its own.
        spoken: what the list says about the language; the rest comes from the subject.
        facts: of the file; None before it was read.
        lacks_consent: whether the profile asks for a consent that is not noted.
        list_faults: faults of its line in the list, which only a correction there repairs.
        faults: every reason why it cannot be imported, and what to do; empty if it can.
        notes: assumptions that were made, and what a person should look at.
    """

    number: int
    path: Path
    group_id: str
    recorded_at: datetime | None
    target: RecordingTarget
    alias: str = ""
    subject_fault: str | None = None
    time_text: str | None = None
    time_from_name: bool = False
    time_fault: str | None = None
    protocol: str | None = None
    tags: tuple[str, ...] | None = None
    consent: str | None = None
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE
    facts: FileFacts | None = None
    lacks_consent: bool = False
    list_faults: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> str | None:
        """All reasons as one text; None if the recording can be imported."""
        return joined(*self.faults) or None

    @property
    def duration_s(self) -> float | None:
        """Length; None if it is not known."""
        return None if self.facts is None else self.facts.duration_s

    @property
    def sha256(self) -> str | None:
        """Digest of the file; None if it is not known."""
        return None if self.facts is None else self.facts.sha256


@dataclass(frozen=True, slots=True)
class KnownRecordings:
    """What a library knows.

    Attributes:
        sources: digests of imported files.
        times: subject and time, to the second, of all recordings.
        consents: of the subjects; None if no consent policy counts.
    """

    sources: frozenset[str] = frozenset()
    times: frozenset[tuple[str, datetime]] = frozenset()
    consents: ConsentList | None = None


def known_recordings(library: Library) -> KnownRecordings:
    """The recordings of `library`."""
    items = library.list()
    return KnownRecordings(
        frozenset(item.source_sha256 for item in items if item.source_sha256),
        frozenset(_subject_and_second(item.group_id, item.recorded_at) for item in items),
        library.consent_gate.all(),
    )


def check_rows(
    rows: Sequence[ImportRow], known: KnownRecordings, zone: tzinfo | None, now: datetime
) -> list[ImportRow]:
    """The rows with their times in `zone`, with all faults and notes.

    Args:
        rows: of one import, in order.
        known: the library.
        zone: of times without an offset; None for that of this computer.
        now: later times are faults.
    """
    timed = [_timed(row, zone) for row in rows]
    same_sound = _first_by([(row.sha256, row.number) for row, _ in timed if row.sha256 is not None])
    same_time = _first_by(
        [(_subject_and_second(row.group_id, row.recorded_at), row.number) for row, _ in timed if row.recorded_at]
    )
    checked = []
    for row, time_faults in timed:
        refusal, consent_notes = _consent(row, known.consents, now)
        faults = [*row.list_faults, *_faults(row, now), *time_faults, *refusal, *_sound_faults(row, known, same_sound)]
        name = [message("Sent as {group_id}; the name stays here.", group_id=row.group_id)] if row.alias else []
        notes = [*name, *row.notes, *_notes(row, known, same_time), *consent_notes]
        lacks = bool(refusal or consent_notes)
        checked.append(replace(row, faults=tuple(faults), notes=tuple(notes), lacks_consent=lacks))
    return checked


def _timed(row: ImportRow, zone: tzinfo | None) -> tuple[ImportRow, list[str]]:
    """The row with its time, and the faults of the time."""
    if row.time_fault is not None:
        return replace(row, recorded_at=None, notes=()), [row.time_fault]
    if row.time_text is None:
        if row.recorded_at is None:
            return replace(row, notes=()), []  # there is no file: its line says so
        return replace(row, notes=(WHEN_WRITTEN,)), []
    try:
        written = read_time(row.time_text)
        moment = moment_of(written, zone)
    except ValueError as error:
        return replace(row, recorded_at=None, notes=()), [message_of(error)]
    if row.time_from_name:
        notes: tuple[str, ...] = (message("The time is from the file name."),)
    elif written.offset:
        notes = ()
    elif zone is None:
        notes = (message("The time has no zone and is read in the time zone of this computer."),)
    else:
        notes = (message("The time has no zone and is taken as {zone}.", zone=str(zone)),)
    return replace(row, recorded_at=moment, notes=notes), []


def _faults(row: ImportRow, now: datetime) -> list[str]:
    faults: list[str] = []
    if (fault := row.subject_fault or subject_fault(row.group_id)) is not None:
        faults.append(fault)
    known = {protocol.protocol_id for protocol in protocols()}
    if row.protocol and row.protocol not in known:
        listed = ", ".join(sorted(known))
        faults.append(message("There is no protocol {name}. There are: {known}.", name=row.protocol, known=listed))
    if row.recorded_at is not None and row.recorded_at > now + CLOCK_DRIFT:
        faults.append(message("The time of the recording is in the future. Correct it, or the clock of this computer."))
    return faults


def _consent(row: ImportRow, consents: ConsentList | None, now: datetime) -> tuple[list[str], list[str]]:
    """Faults and notes about the consent, which an import needs now, whenever the file was recorded."""
    if consents is None or consents.rules.policy is ConsentPolicy.OFF or subject_fault(row.group_id) is not None:
        return [], []
    if consents.status(row.group_id, now).in_force:
        return [], []
    refusal = consents.refusal(row.group_id, now)
    return ([], [NO_CONSENT_NOTED]) if refusal is None else ([refusal], [])


def _sound_faults(row: ImportRow, known: KnownRecordings, same_sound: Mapping[object, int]) -> list[str]:
    facts = row.facts
    if facts is None:
        return []
    if facts.fault is not None:
        return [facts.fault]
    faults: list[str] = []
    if facts.duration_s is not None and facts.duration_s < MIN_DURATION_S:
        faults.append(
            message(
                "The recording is {seconds} s long; the service takes {minimum:.0f} s and more.",
                seconds=whole(facts.duration_s),
                minimum=MIN_DURATION_S,
            )
        )
    if facts.duration_s is not None and facts.duration_s > MAX_DURATION_S:
        faults.append(
            message("The recording is longer than 20 minutes. Import it alone and trim it, or cut it before.")
        )
    if facts.sha256 in known.sources:
        faults.append(message("This recording is in the library already."))
    elif facts.sha256 is not None and same_sound[facts.sha256] != row.number:
        faults.append(message("This is the same recording as in row {row}.", row=same_sound[facts.sha256]))
    return faults


def _notes(row: ImportRow, known: KnownRecordings, same_time: Mapping[object, int]) -> list[str]:
    if row.recorded_at is None or not row.group_id:
        return []
    notes: list[str] = []
    if row.recorded_at < EARLIEST:
        notes.append(message("The time is before 1980. Check it."))
    first = same_time[_subject_and_second(row.group_id, row.recorded_at)]
    if first != row.number:
        notes.append(message("Same subject and time as row {row}. Check that it is another recording.", row=first))
    elif _subject_and_second(row.group_id, row.recorded_at) in known.times:
        notes.append(message("The library has a recording of this subject at this time. Check that it is another one."))
    return notes


def _subject_and_second(group_id: str, moment: datetime) -> tuple[str, datetime]:
    return group_id, moment.replace(microsecond=0)


def _first_by(pairs: Collection[tuple[object, int]]) -> dict[object, int]:
    """The first number for each key."""
    first: dict[object, int] = {}
    for key, number in pairs:
        first.setdefault(key, number)
    return first

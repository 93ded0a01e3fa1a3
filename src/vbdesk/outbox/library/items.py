"""What the outbox knows about one recording."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import TypeAdapter

from vbdesk.contract.results import Result
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.outbox.library.column_encryption import ColumnCipher
from vbdesk.outbox.library.recording_time import TimeDoubt, TimeReference, doubt_json, reference_json
from vbdesk.outbox.library.states import Fix, OutboxState

_RESULT: TypeAdapter[Result] = TypeAdapter(Result)


@dataclass(frozen=True, slots=True)
class RecordingTarget:
    """What the service is asked for: a named model or a single sign; as text `model:pulse`."""

    kind: Literal["model", "sign"]
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> "RecordingTarget":
        """Parse the form that `str` writes."""
        kind, _, name = text.partition(":")
        if kind == "model":
            return cls("model", name)
        if kind == "sign":
            return cls("sign", name)
        raise ValueError("A target is written model:name or sign:name.")


@dataclass(frozen=True, slots=True)
class SpeakerFinding:
    """How alike a recording's voice and the voices of its subject's earlier recordings are.

    Attributes:
        similarity: to the nearest of them, up to 1.
        group_id: their subject.
        earlier: their take ids.
    """

    similarity: float
    group_id: str
    earlier: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TakeMetadata:
    """What a person says about a recording when it enters the library.

    Attributes:
        group_id: the subject.
        recorded_at: when the recording began, aware; see `Library.add_take` for how the library stores it.
        consented_at: when consent was ticked; None if it was not.
        longitudinal: whether to score it against the subject's history.
        quality: the check's figures, as JSON values.
        trim_s: start and end in seconds of the part that counts; None for all of it. The sound itself stays whole.
        retake_of: take id of the recording that this one replaces.
        source_sha256: digest of the imported file; empty for a take.
        file_name: its name, encrypted and never sent, because it may contain a person's name; empty for a take.
        time_is_unique: whether no other recording anywhere can have this `recorded_at`, because a microphone's clock or
            chance gave its digits. None: True for a take, False for a file.
        reference: what was known about the time when it began, apart from the clock; None if nothing was.
        time_doubt: why `recorded_at` is doubtful; None if it is not.
        time_decided: whether a person has decided which time is right.
        time_suggested: whether they took the suggested time; it is compared again until the recording is sent.
        original_time: `recorded_at` before a person corrected it; None if nobody did.
        excluded: whether a person took it out of the subject's course; it stays a recording.
        speaker: comparison of its voice with earlier recordings; None before. It stays on this computer.
        confirmed_voice: the subject whose voice it is, as a person confirmed; empty if nobody did. It stays here too.
        capture: what the recorder noted: `device`, `sample_rate`, `language`, `protocol_version`, `app_version`,
            `marks_s`; empty for a file, and for a take of an earlier version.
        spoken: what is known about its language; sent if the service reads it.
        spoken_sent: whether the last request for its analysis said that; None before one.
        attempt: number of the submission, raised by the decision to send it again; see `RecordingItem.client_ref`.
        named: whether the service had announced, before the last request, that it reads that reference.
    """

    group_id: str
    recorded_at: datetime
    target: RecordingTarget
    protocol: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    consented_at: datetime | None = None
    longitudinal: bool = True
    quality: Mapping[str, Any] = field(default_factory=dict)
    trim_s: tuple[float, float] | None = None
    retake_of: str | None = None
    source_sha256: str = ""
    file_name: str = ""
    time_is_unique: bool | None = None
    reference: TimeReference | None = None
    time_doubt: TimeDoubt | None = None
    time_decided: bool = False
    time_suggested: bool = False
    original_time: datetime | None = None
    excluded: bool = False
    speaker: SpeakerFinding | None = None
    confirmed_voice: str = ""
    capture: Mapping[str, Any] = field(default_factory=dict)
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE
    spoken_sent: bool | None = None
    attempt: int = 1
    named: bool = False


@dataclass(frozen=True, slots=True)
class EncryptedResult:
    """A result that is known to decrypt."""

    sealed: bytes
    place: str
    cipher: ColumnCipher

    def open(self) -> bytes:
        """The result as it was received."""
        return self.cipher.decrypt(self.sealed, self.place)


@dataclass(frozen=True, slots=True)
class RecordingItem:
    """One recording of the library, at version `version`.

    Attributes:
        duration_s: length of the part that counts, after trimming.
        state: how far it is.
        reason: one sentence on why it does not continue; None if there is nothing to say.
        fix: what a person can do about it.
        job_id: its job, once the service has answered.
        bytes_sent, bytes_total: progress of the upload; 0 before.
        imported: whether it came from a file, not from the microphone.
        retake_of: the recording that this one replaces; see `Library.versions`.
        created_at, updated_at: when it came into the library, and when its state changed last.
        source_sha256: digest of the imported file; empty for a take.
        file_name: its name, encrypted and never sent, because it may contain a person's name; empty for a take.
        time_is_unique: whether no other recording anywhere can have this `recorded_at`.
        reference, time_doubt, time_decided, time_suggested, original_time, excluded, speaker, confirmed_voice, capture,
            spoken, spoken_sent, attempt, named: see `TakeMetadata`.
        asked: whether the analysis was requested without an answer yet, or may have been by another computer.
        searched_only: `asked` because of a bundle alone; this computer has never requested it.
        released: whether a person has released it to be sent, see `Library.send_now`.
        not_before: when it is retried.
        bundle_id: the bundle in which it was handed over, or came.
        sent_sha256: digest of the uploaded bytes.
        result_at: when the result came, by the service's clock.
        audio_gone_at: when its sound was removed from this computer.
        deleted_at: when it was moved to the trash, by this computer's clock; None if it is not there.
    fault: one sentence if somebody else changed its entry; its state is `needs_attention` then, and it is not sent.
    """

    take_id: str
    group_id: str
    recorded_at: datetime
    protocol: str
    note: str
    tags: tuple[str, ...]
    consented_at: datetime | None
    target: RecordingTarget
    longitudinal: bool
    duration_s: float
    quality: Mapping[str, Any]
    trim_s: tuple[float, float] | None
    imported: bool
    state: OutboxState
    reason: str | None
    fix: Fix | None
    job_id: str | None
    encrypted_result: EncryptedResult | None = field(repr=False)
    bytes_sent: int
    bytes_total: int
    created_at: datetime
    updated_at: datetime
    version: int
    retake_of: str | None = None
    source_sha256: str = ""
    file_name: str = ""
    time_is_unique: bool = True
    reference: TimeReference | None = None
    time_doubt: TimeDoubt | None = None
    time_decided: bool = False
    time_suggested: bool = False
    original_time: datetime | None = None
    excluded: bool = False
    speaker: SpeakerFinding | None = None
    confirmed_voice: str = ""
    capture: Mapping[str, Any] = field(default_factory=dict)
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE
    spoken_sent: bool | None = None
    attempt: int = 1
    named: bool = False
    asked: bool = False
    searched_only: bool = False
    released: bool = True
    not_before: datetime | None = None
    bundle_id: str | None = None
    sent_sha256: str | None = None
    result_at: datetime | None = None
    audio_gone_at: datetime | None = None
    deleted_at: datetime | None = None
    fault: str | None = None

    @property
    def client_ref(self) -> str:
        """Reference of its submission, equal on every copy, in every bundle and on every computer."""
        return hashlib.sha256(f"{self.take_id}:{self.target}:{self.attempt}".encode()).hexdigest()

    @property
    def unanswered(self) -> bool:
        """Whether an answer to a request of this computer is missing."""
        return self.asked and not self.searched_only

    @property
    def result_json(self) -> bytes | None:
        """The result as received, None before. Decrypted at each access (10 µs), so that long lists stay small."""
        return None if self.encrypted_result is None else self.encrypted_result.open()

    @property
    def result(self) -> Result | None:
        """The result, None before. Parsed at each access (50 µs), so that long lists stay small."""
        return None if self.result_json is None else _RESULT.validate_json(self.result_json)


def metadata_of(item: RecordingItem) -> TakeMetadata:
    """The metadata of a recording, as far as the library stores it."""
    return TakeMetadata(
        group_id=item.group_id,
        recorded_at=item.recorded_at,
        target=item.target,
        protocol=item.protocol,
        note=item.note,
        tags=item.tags,
        consented_at=item.consented_at,
        longitudinal=item.longitudinal,
        quality=item.quality,
        trim_s=item.trim_s,
        retake_of=item.retake_of,
        source_sha256=item.source_sha256,
        file_name=item.file_name,
        time_is_unique=item.time_is_unique,
        reference=item.reference,
        time_doubt=item.time_doubt,
        time_decided=item.time_decided,
        time_suggested=item.time_suggested,
        original_time=item.original_time,
        excluded=item.excluded,
        speaker=item.speaker,
        confirmed_voice=item.confirmed_voice,
        capture=item.capture,
        spoken=item.spoken,
        spoken_sent=item.spoken_sent,
        attempt=item.attempt,
        named=item.named,
    )


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed since an earlier version of the library."""

    version: int
    items: list[RecordingItem]
    removed: list[str]


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Which recordings to list; None and empty match all."""

    states: frozenset[OutboxState] | None = None
    group_id: str | None = None
    search: str = ""


def details_json(metadata: TakeMetadata) -> bytes:
    """The encrypted part of the metadata: free text, consent and quality."""
    document = {
        "protocol": metadata.protocol,
        "note": metadata.note,
        "tags": list(metadata.tags),
        "consented_at": None if metadata.consented_at is None else metadata.consented_at.astimezone(UTC).isoformat(),
        "quality": dict(metadata.quality),
        "trim_s": metadata.trim_s,
        "retake_of": metadata.retake_of,
        "source_sha256": metadata.source_sha256,
        "file_name": metadata.file_name,
        "time_is_unique": metadata.time_is_unique,
        "reference": reference_json(metadata.reference),
        "time_doubt": doubt_json(metadata.time_doubt),
        "time_decided": metadata.time_decided,
        "time_suggested": metadata.time_suggested,
        "original_time": None if metadata.original_time is None else metadata.original_time.isoformat(),
        "excluded": metadata.excluded,
        "speaker": None if metadata.speaker is None else asdict(metadata.speaker),
        "confirmed_voice": metadata.confirmed_voice,
        "capture": dict(metadata.capture),
        "spoken": metadata.spoken.form,
        "spoken_sent": metadata.spoken_sent,
        "attempt": metadata.attempt,
        "named": metadata.named,
    }
    return json.dumps(document).encode()


def read_speaker(document: Mapping[str, Any] | None) -> SpeakerFinding | None:
    """The comparison of a voice that `details_json` wrote."""
    if document is None:
        return None
    return SpeakerFinding(float(document["similarity"]), str(document["group_id"]), tuple(document["earlier"]))


def write_result(result: Result) -> bytes:
    """A result as bytes, before encryption."""
    return _RESULT.dump_json(result)

"""What the outbox knows about one recording."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import TypeAdapter

from vbdesk.contract.results import Result
from vbdesk.outbox.library.column_encryption import ColumnSeal
from vbdesk.outbox.library.recording_time import TimeDoubt, TimeReference, doubt_json, reference_json
from vbdesk.outbox.library.states import Fix, OutboxState

_RESULT: TypeAdapter[Result] = TypeAdapter(Result)


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked of the service: a named model or a single sign; as text `model:pulse`."""

    kind: Literal["model", "sign"]
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Read the form that `str` writes."""
        kind, _, name = text.partition(":")
        if kind == "model":
            return cls("model", name)
        if kind == "sign":
            return cls("sign", name)
        raise ValueError("A target is written model:name or sign:name.")


@dataclass(frozen=True, slots=True)
class TakeMetadata:
    """What a person says about a recording when it enters the library.

    Attributes:
        group_id: the subject.
        recorded_at: when the recording began, aware; see `Library.add_take` for how the library keeps it.
        consented_at: when consent was ticked, None if it was not.
        longitudinal: score against the subject's history.
        quality: the check's figures, as JSON values.
        trim_s: start and end in seconds of what counts; None for all of it. The sound itself is kept whole.
        retake_of: take id of the recording that this one was made in place of.
        source_sha256: digest of the file that this one was imported from; empty for a take.
        time_is_unique: no other recording, here or elsewhere, can have this `recorded_at`: a microphone's clock or
            chance gave its digits. None: as for a take if it is one, and not for a file.
        reference: what was known of the time when it began, apart from the clock; None where nothing was.
        time_doubt: why `recorded_at` is doubtful; None if it is not.
        time_decided: a person has decided which time is right.
        time_suggested: they took the time that the service's clock suggested; it is compared until it is sent.
        original_time: `recorded_at` as it was before a person corrected it; None if nobody did.
    """

    group_id: str
    recorded_at: datetime
    target: Target
    protocol: str = ""
    note: str = ""
    tags: tuple[str, ...] = ()
    consented_at: datetime | None = None
    longitudinal: bool = True
    quality: Mapping[str, Any] = field(default_factory=dict)
    trim_s: tuple[float, float] | None = None
    retake_of: str | None = None
    source_sha256: str = ""
    time_is_unique: bool | None = None
    reference: TimeReference | None = None
    time_doubt: TimeDoubt | None = None
    time_decided: bool = False
    time_suggested: bool = False
    original_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class SealedResult:
    """A result that is known to open."""

    sealed: bytes
    place: str
    seal: ColumnSeal

    def open(self) -> bytes:
        """The result as it came."""
        return self.seal.open(self.sealed, self.place)


@dataclass(frozen=True, slots=True)
class RecordingItem:
    """One recording of the library, as it was at version `version`.

    Attributes:
        duration_s: length of what counts, after trimming.
        state: where it is on its way.
        reason: one sentence on why it does not move; None when there is nothing to say.
        fix: what a person can do about it.
        job_id: the job that speaks for it, once the service has answered.
        bytes_sent, bytes_total: progress of the upload; 0 before.
        imported: came from a file, not from the microphone.
        retake_of: the recording that this one was made in place of; see `Library.versions`.
        created_at, updated_at: when it came into the library, and when its state changed last.
        source_sha256: digest of the file that it was imported from; empty for a take.
        time_is_unique: no other recording, here or elsewhere, can have this `recorded_at`.
        reference, time_doubt, time_decided, time_suggested, original_time: see `TakeMetadata`.
        asked: the service was asked for the analysis, and has not answered.
        released: it need not wait for a person, see `Library.send_now`.
        not_before: when it is tried again.
        bundle_id: the bundle in which it was handed over, or came.
        sent_sha256: digest of the bytes that were uploaded.
        result_at: when the result came, by the service's clock.
        audio_gone_at: when its sound was removed from this computer.
        fault: one sentence if its entry is not as the desk wrote it; its state is `needs_attention` then, and it is
            never sent.
    """

    take_id: str
    group_id: str
    recorded_at: datetime
    protocol: str
    note: str
    tags: tuple[str, ...]
    consented_at: datetime | None
    target: Target
    longitudinal: bool
    duration_s: float
    quality: Mapping[str, Any]
    trim_s: tuple[float, float] | None
    imported: bool
    state: OutboxState
    reason: str | None
    fix: Fix | None
    job_id: str | None
    sealed_result: SealedResult | None = field(repr=False)
    bytes_sent: int
    bytes_total: int
    created_at: datetime
    updated_at: datetime
    version: int
    retake_of: str | None = None
    source_sha256: str = ""
    time_is_unique: bool = True
    reference: TimeReference | None = None
    time_doubt: TimeDoubt | None = None
    time_decided: bool = False
    time_suggested: bool = False
    original_time: datetime | None = None
    asked: bool = False
    released: bool = True
    not_before: datetime | None = None
    bundle_id: str | None = None
    sent_sha256: str | None = None
    result_at: datetime | None = None
    audio_gone_at: datetime | None = None
    fault: str | None = None

    @property
    def result_json(self) -> bytes | None:
        """The result as it came, None before; opened anew at each access, 10 µs, so that long lists stay light."""
        return None if self.sealed_result is None else self.sealed_result.open()

    @property
    def result(self) -> Result | None:
        """What the service found, None before; read anew at each access, 50 µs, so that long lists stay light."""
        return None if self.result_json is None else _RESULT.validate_json(self.result_json)


def metadata_of(item: RecordingItem) -> TakeMetadata:
    """What a person said of a recording, as far as the library keeps it."""
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
        time_is_unique=item.time_is_unique,
        reference=item.reference,
        time_doubt=item.time_doubt,
        time_decided=item.time_decided,
        time_suggested=item.time_suggested,
        original_time=item.original_time,
    )


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from an earlier version of the library."""

    version: int
    items: list[RecordingItem]
    removed: list[str]


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Which recordings to list; None and empty leave open."""

    states: frozenset[OutboxState] | None = None
    group_id: str | None = None
    search: str = ""


def details_json(metadata: TakeMetadata) -> bytes:
    """The part of the metadata that is sealed in the library: free text, consent and quality."""
    document = {
        "protocol": metadata.protocol,
        "note": metadata.note,
        "tags": list(metadata.tags),
        "consented_at": None if metadata.consented_at is None else metadata.consented_at.astimezone(UTC).isoformat(),
        "quality": dict(metadata.quality),
        "trim_s": metadata.trim_s,
        "retake_of": metadata.retake_of,
        "source_sha256": metadata.source_sha256,
        "time_is_unique": metadata.time_is_unique,
        "reference": reference_json(metadata.reference),
        "time_doubt": doubt_json(metadata.time_doubt),
        "time_decided": metadata.time_decided,
        "time_suggested": metadata.time_suggested,
        "original_time": None if metadata.original_time is None else metadata.original_time.isoformat(),
    }
    return json.dumps(document).encode()


def write_result(result: Result) -> bytes:
    """A result as it is sealed."""
    return _RESULT.dump_json(result)

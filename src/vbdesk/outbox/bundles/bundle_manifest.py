"""The manifest of a transfer bundle; docs/field-work.md describes the file for people.

Every value is bounded here before it is used. The same bounds apply when a bundle is made, so that no computer makes a
bundle that another one refuses.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
    model_validator,
)

from vbdesk.contract.groups import subject_fault
from vbdesk.contract.spoken_language import SpokenLanguage, language_tag
from vbdesk.contract.timestamps import Timestamp
from vbdesk.language import N_, Message, joined, message
from vbdesk.outbox.library.consent import LONGEST_ASKED_BY
from vbdesk.outbox.library.items import RecordingTarget

MOST_TAKES = 10_000
MOST_CONSENTS = 50_000
MOST_ALIASES = 10_000
MOST_ATTEMPTS = 10_000
LARGEST_SOUND_BYTES = 512 * 1024 * 1024  # 20 minutes at 192 kHz, the longest take, are 461 MB
LONGEST_SOUND_S = 24 * 3600.0
LONGEST_NOTE_BYTES = 4096
MOST_TAGS = 50
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)  # an import allows only `CLOCK_AHEAD`
CLOCK_AHEAD = timedelta(days=1)

_MOST_JSON_DEPTH, _LONGEST_TEXT, _LARGEST_QUALITY_BYTES = 4, 8192, 8192
_LARGEST_NUMBER = 1e15
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TARGET = re.compile(r"(model|sign):[A-Za-z0-9._-]{1,100}")


def _checked_id(text: str) -> str:
    if not _ID.fullmatch(text):  # it becomes a file name
        raise ValueError("This is not an id.")
    return text


def _checked_group(text: str) -> str:
    fault = subject_fault(text)
    if fault is not None:
        raise ValueError(fault)
    return text


def _checked_target(text: str) -> str:
    if not _TARGET.fullmatch(text):
        raise ValueError("This is not a target.")
    return str(RecordingTarget.parse(text))


def _checked_moment(moment: datetime) -> datetime:
    if not EARLIEST <= moment < LATEST:
        raise ValueError("This time is not allowed.")
    return moment


def _checked_note(text: str) -> str:
    if len(text.encode()) > LONGEST_NOTE_BYTES:
        raise ValueError("This note is too long.")
    return text


def _plain_line(text: str) -> str:
    if not text.isprintable() or "<" in text:  # it is shown in a terminal or a window
        raise ValueError("This text has signs that steer what shows it.")
    return text


def _checked_language(text: str) -> str:
    tag = language_tag(text)
    if tag is None:
        raise ValueError("This is not a language.")
    return tag


def _checked_trim(trim_s: tuple[float, float]) -> tuple[float, float]:
    if not 0 <= trim_s[0] < trim_s[1] <= LONGEST_SOUND_S:
        raise ValueError("This trim leaves nothing.")
    return trim_s


def bounded_json(document: dict[str, Any], most_values: int = 200) -> dict[str, Any]:
    """Check that a JSON object has few, plain values and little nesting. Raises ValueError."""
    count, level = 0, [document]
    for _ in range(_MOST_JSON_DEPTH):
        below: list[Any] = []
        for value in level:
            count += 1
            if isinstance(value, dict):
                below += value.keys()
                below += value.values()
            elif isinstance(value, list | tuple):
                below += value
            elif not _is_plain(value):
                raise ValueError("There is a value that is not plain JSON.")
            if count + len(below) > most_values:
                raise ValueError("There are too many values.")
        level = below
    if level:
        raise ValueError("The values are nested too deeply.")
    return document


def _checked_quality(document: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(bounded_json(document))) > _LARGEST_QUALITY_BYTES:
        raise ValueError("There is too much in it.")
    return document


def _is_plain(value: object) -> bool:
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return abs(value) <= _LARGEST_NUMBER  # False for NaN
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT


_Id = Annotated[str, AfterValidator(_checked_id)]
_Digest = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\z")]
_Moment = Annotated[Timestamp, AfterValidator(_checked_moment)]
_Seconds = Annotated[float, Field(ge=0, le=LONGEST_SOUND_S, allow_inf_nan=False)]
_Tag = Annotated[str, StringConstraints(max_length=100)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class BundledTake(_Part):
    """One recording, with everything that another computer needs to send it identically.

    Attributes:
        event_id: id of its place in the queue, the same on every computer.
        size, sha256: bytes and digest of its sound as stored in the bundle.
        sound_sha256: digest of its samples, if known.
        imported: whether the file holds an imported file instead of a take.
        source_sha256: digest of the imported file; empty for a take.
        time_is_unique: for a file, whether no other recording can have its `recorded_at`; None if unknown, and for a
            take. Earlier versions do not know this field, so None is not written.
        spoken_language: BCP 47 tag of its language; None if unknown, and then not written. Since format 2.
        second_language: whether that is a second language of the speaker; likewise.
        attempt: number of its submission; None for the first one, and then not written. Since format 2.
    """

    take_id: _Id
    event_id: _Id
    group_id: Annotated[str, AfterValidator(_checked_group)]
    recorded_at: _Moment
    target: Annotated[str, AfterValidator(_checked_target)]
    longitudinal: bool
    duration_s: Annotated[_Seconds, Field(gt=0)]
    imported: bool
    protocol: Annotated[str, StringConstraints(max_length=200)]
    note: Annotated[str, AfterValidator(_checked_note)]
    tags: Annotated[tuple[_Tag, ...], Field(max_length=MOST_TAGS)]
    consented_at: _Moment | None
    quality: Annotated[dict[str, Any], AfterValidator(_checked_quality)]
    trim_s: Annotated[tuple[_Seconds, _Seconds], AfterValidator(_checked_trim)] | None
    retake_of: _Id | None
    source_sha256: Literal[""] | _Digest
    size: Annotated[int, Field(gt=0, le=LARGEST_SOUND_BYTES)]
    sha256: _Digest
    sound_sha256: _Digest | None
    time_is_unique: bool | None = None
    spoken_language: Annotated[str, AfterValidator(_checked_language)] | None = None
    second_language: bool | None = None
    attempt: Annotated[int, Field(ge=2, le=MOST_ATTEMPTS)] | None = None

    @property
    def spoken(self) -> SpokenLanguage:
        """What is known about the language."""
        return SpokenLanguage(self.spoken_language, self.second_language)

    @model_serializer(mode="wrap")
    def _without_unknown(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        for name in ("time_is_unique", "spoken_language", "second_language", "attempt"):
            if written[name] is None:
                del written[name]
        return written


class BundledConsent(_Part):
    """A consent event of a subject; see `ConsentEvent`. Since format 2."""

    event_id: _Id
    group_id: Annotated[str, AfterValidator(_checked_group)]
    change: Literal["given", "withdrawn"]
    kind: Literal["clinical", "research", "both", "not_stated"]
    at: _Moment
    wording: Annotated[str, StringConstraints(max_length=20), AfterValidator(_plain_line)]
    language: Annotated[str, StringConstraints(max_length=35), AfterValidator(_plain_line)]
    asked_by: Annotated[str, StringConstraints(max_length=LONGEST_ASKED_BY), AfterValidator(_plain_line)]
    expires: _Moment | None

    @model_validator(mode="after")
    def _ends_after_it_began(self) -> "BundledConsent":
        if self.expires is not None and (self.change == "withdrawn" or self.expires <= self.at):
            raise ValueError("This consent ends before it begins.")
        return self


class BundledAlias(_Part):
    """The name by which people here know a subject, in any script. Since format 2."""

    group_id: Annotated[str, AfterValidator(_checked_group)]
    alias: Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_plain_line)]


class ManifestHeader(_Part):
    """The header of a manifest.

    Attributes:
        format: 2 if it carries consents, aliases or languages, which earlier versions do not know.
        service: address of the service that the recordings are meant for.
        account_id: the account there.
    """

    format: Literal[1, 2] = 1
    bundle_id: _Id
    made_at: _Moment
    service: Annotated[str, StringConstraints(max_length=2083), AfterValidator(_plain_line)]
    account_id: Annotated[str, StringConstraints(max_length=200), AfterValidator(_plain_line)]


class BundleManifest(ManifestHeader):
    """The manifest: the first part of a bundle."""

    takes: Annotated[tuple[BundledTake, ...], Field(max_length=MOST_TAKES, fail_fast=True)]
    consents: Annotated[tuple[BundledConsent, ...], Field(max_length=MOST_CONSENTS)] = ()
    aliases: Annotated[tuple[BundledAlias, ...], Field(max_length=MOST_ALIASES)] = ()

    @model_serializer(mode="wrap")
    def _as_its_format(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        if self.format == 1:
            del written["consents"], written["aliases"]
        return written


def field_at_fault(error: ValidationError) -> Message:
    """The field that was refused, in words for a person."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    names = [str(part) for part in first["loc"]]
    models = (BundledTake, BundledConsent, BundledAlias, BundleManifest)
    known = [name for name in names if any(name in model.model_fields for model in models)]
    if not known:
        return message("a value that is not known here")
    return joined(_FIELD_TEXTS.get(known[-1], known[-1].replace("_", " ")))


_FIELD_TEXTS = {
    "recorded_at": N_("its time of recording"),
    "consented_at": N_("its time of consent"),
    "change": N_("what became of its consent"),
    "kind": N_("the kind of its consent"),
    "at": N_("the time of its consent"),
    "expires": N_("the end of its consent"),
    "wording": N_("the wording of its consent"),
    "language": N_("the language of its consent"),
    "spoken_language": N_("the language that is spoken in it"),
    "second_language": N_("whether it is in a second language"),
    "asked_by": N_("who asked for its consent"),
    "alias": N_("its alias"),
    "duration_s": N_("its length"),
    "note": N_("its note"),
    "tags": N_("its tags"),
    "protocol": N_("its protocol"),
    "quality": N_("its check"),
    "trim_s": N_("its trim"),
    "group_id": N_("its subject"),
    "size": N_("its size"),
    "made_at": N_("the time at which the bundle was made"),
}

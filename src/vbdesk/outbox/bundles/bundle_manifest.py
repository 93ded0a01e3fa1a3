"""What a courier bundle says of the recordings in it; docs/field-work.md describes the file for people."""

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
)

from vbdesk.contract.groups import group_id_fault
from vbdesk.contract.timestamps import Timestamp
from vbdesk.outbox.library.items import Target

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


def _checked_id(text: str) -> str:
    if not _ID.fullmatch(text):  # it becomes the name of a file
        raise ValueError("This is not an id.")
    return text


def _checked_group(text: str) -> str:
    fault = group_id_fault(text)
    if fault is not None:
        raise ValueError(fault)
    return text


def _checked_target(text: str) -> str:
    return str(Target.parse(text))


_Id = Annotated[str, AfterValidator(_checked_id)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BundledTake(_Part):
    """One recording, with everything that another machine needs to send it as this one would have.

    Attributes:
        event_id: the idempotency key of its submit, the same from every machine.
        size, sha256: bytes and digest of its sound as it stands in the bundle.
        sound_sha256: digest of its samples, where it is known.
        imported: the file holds another file instead of a take.
        source_sha256: digest of the file that the recording was imported from; empty for a take.
        time_is_unique: of a file, no other recording can have its `recorded_at`; None if that is not known, and of a
            take. Earlier versions know no such field, so None is not written.
    """

    take_id: _Id
    event_id: _Id
    group_id: Annotated[str, AfterValidator(_checked_group)]
    recorded_at: Timestamp
    target: Annotated[str, AfterValidator(_checked_target)]
    longitudinal: bool
    duration_s: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    imported: bool
    protocol: str
    note: str
    tags: tuple[str, ...]
    consented_at: Timestamp | None
    quality: dict[str, Any]
    trim_s: tuple[float, float] | None
    retake_of: _Id | None
    source_sha256: str
    size: Annotated[int, Field(gt=0)]
    sha256: _Digest
    sound_sha256: _Digest | None
    time_is_unique: bool | None = None

    @model_serializer(mode="wrap")
    def _without_unknown(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        if self.time_is_unique is None:
            del written["time_is_unique"]
        return written


class BundleManifest(_Part):
    """The first thing in a bundle.

    Attributes:
        service: address of the service that the recordings are meant for.
        account_id: the account there.
    """

    format: Literal[1] = 1
    bundle_id: _Id
    made_at: Timestamp
    service: str
    account_id: str
    takes: tuple[BundledTake, ...]

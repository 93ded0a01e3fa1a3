"""A row of the library as an item, once it is proved to be what the desk wrote.

A row that somebody else has changed is not hidden, and hides no other: it comes as an item that needs attention, with
the fault as its reason, and nothing is sent of it.
"""

import hmac
import json
import sqlite3
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

from vbdesk.contract.timestamps import add_clamped
from vbdesk.outbox.library.column_encryption import NONCE_BYTES, ColumnSeal, InvalidTag
from vbdesk.outbox.library.items import RecordingItem, SealedResult, Target
from vbdesk.outbox.library.recording_time import TimeDoubt, read_doubt, read_reference
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.table_checksums import table_row_mac

PROVED = (
    "take_id",
    "group_id",
    "recorded_at",
    "target",
    "longitudinal",
    "duration_s",
    "imported",
    "details",
    "state",
    "reason",
    "fix",
    "job_id",
    "created_at",
    "updated_at",
    "version",
    "take_key",
    "sound_sha256",
    "sent_sha256",
    "result_at",
    "audio_gone_at",
    "bundle_id",
    "event_mac",
    "result_nonce",
)
"""The columns of `recordings` that its MAC speaks for: all but the MAC itself."""
EVENT = (
    "take_id",
    "event_id",
    "kind",
    "attempts",
    "not_before",
    "upload_ref",
    "uploaded_at",
    "asked_at",
    "released",
    "asked_service_at",
    "key_kept_s",
)
"""The columns of `pending`; `recordings.event_mac` speaks for all of them."""
ITEMS = (
    f"SELECT recordings.*, results.sealed AS result, {', '.join(f'pending.{name}' for name in EVENT[1:])} "  # noqa: S608
    "FROM recordings LEFT JOIN results USING (take_id) LEFT JOIN pending USING (take_id)"
)
"""What `item_of` takes."""
WITHOUT_RESULTS = ITEMS.replace("results.sealed AS", "x'' AS").replace("LEFT JOIN results USING (take_id) ", "")
"""The same where the pages with the results are damaged; an empty result does not open."""

_proved_values = itemgetter(*PROVED)
_event_values = itemgetter(*EVENT)

ROW_CHANGED = "The entry of this recording was changed by something other than vbdesk, so it is not sent."
DETAILS_CHANGED = "What was written about this recording was changed by something other than vbdesk, so it is not sent."
RESULT_CHANGED = "The result of this recording was changed by something other than vbdesk, so it is not shown."

_NO_DETAILS: dict[str, Any] = {
    "protocol": "",
    "note": "",
    "tags": [],
    "consented_at": None,
    "quality": {},
    "trim_s": None,
}


def is_proved(row: Mapping[str, Any], seal: ColumnSeal) -> bool:
    """Whether a row of `ITEMS` or of `recordings` is as the desk wrote it."""
    return isinstance(row["mac"], bytes) and hmac.compare_digest(row["mac"], mac_of(row, seal))


def mac_of(row: Mapping[str, Any], seal: ColumnSeal) -> bytes:
    """The MAC of a row as it is."""
    return seal.mac(_proved_values(row))


def event_is_proved(row: Mapping[str, Any] | sqlite3.Row, seal: ColumnSeal) -> bool:
    """Whether the event in a row of `ITEMS` is the one that the recording names. One that is missing is no fault here.

    It is restored at the next opening; until then nothing is sent.
    """
    if row["kind"] is None:  # never so in a row of `pending`
        return True
    known = row["event_mac"]
    return isinstance(known, str) and hmac.compare_digest(known.encode(), event_mac_of(row, seal).encode())


def event_mac_of(row: Mapping[str, Any] | sqlite3.Row, seal: ColumnSeal) -> str:
    """What the recording of a row of `pending` keeps of it."""
    return table_row_mac(seal, "pending", _event_values(row)).hex()


def result_nonce_of(sealed: bytes | None) -> bytes | None:
    """What a recording keeps of its result: the nonce of a sealed value, made at random, stands for all of it."""
    return None if sealed is None else sealed[:NONCE_BYTES]


def item_of(found: sqlite3.Row, seal: ColumnSeal) -> RecordingItem:
    """A row of `ITEMS` as an item; one that is not proved, or does not open, with its fault."""
    row = dict(found)
    take_id: str = row["take_id"]
    fault = None if is_proved(row, seal) and event_is_proved(row, seal) else ROW_CHANGED
    details, result = _NO_DETAILS, None
    try:
        details = json.loads(seal.open(row["details"], f"{take_id}/details"))
    except (InvalidTag, TypeError, ValueError):
        fault = fault or DETAILS_CHANGED
    try:
        if result_nonce_of(row["result"]) != row["result_nonce"]:
            raise ValueError("another result than the one of this recording")
        if row["result"] is not None:
            seal.open(row["result"], f"{take_id}/result")
            result = SealedResult(row["result"], f"{take_id}/result", seal)
    except (InvalidTag, TypeError, ValueError):
        fault = fault or RESULT_CHANGED
    try:
        return _item(row, details, result, fault)
    except (ValueError, TypeError, AttributeError):  # changed so that it, or its event, cannot even be read
        return _item(_readable(row), details, result, fault)


def lenient(text: bytes) -> str:
    """Text of the database; characters that somebody else spoilt are replaced, so that the proof fails, no reading."""
    return text.decode("utf-8", "replace")


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in which every value that cannot be read gives way to one that says nothing."""
    known = dict(row)
    for name, (read, instead) in _READS.items():
        try:
            read(known[name])
        except (ValueError, TypeError, AttributeError):
            known[name] = instead
    return known


def _item(
    row: Mapping[str, Any], details: Mapping[str, Any], result: SealedResult | None, fault: str | None
) -> RecordingItem:
    trim_s = details["trim_s"]
    return RecordingItem(
        take_id=row["take_id"],
        group_id=row["group_id"],
        recorded_at=datetime.fromisoformat(row["recorded_at"]),
        protocol=details["protocol"],
        note=details["note"],
        tags=tuple(details["tags"]),
        consented_at=_moment(details["consented_at"]),
        target=Target.parse(row["target"]),
        longitudinal=bool(row["longitudinal"]),
        duration_s=row["duration_s"],
        quality=details["quality"],
        trim_s=None if trim_s is None else (trim_s[0], trim_s[1]),
        imported=bool(row["imported"]),
        state=OutboxState(row["state"]) if fault is None else OutboxState.NEEDS_ATTENTION,
        reason=fault or row["reason"],
        fix=None if row["fix"] is None or fault is not None else Fix(row["fix"]),
        job_id=row["job_id"],
        sealed_result=result,
        bytes_sent=0,
        bytes_total=0,
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
        version=row["version"],
        retake_of=details.get("retake_of"),
        source_sha256=details.get("source_sha256", ""),
        time_is_unique=_is_unique(details.get("time_is_unique"), imported=bool(row["imported"])),
        reference=read_reference(details.get("reference")),
        time_doubt=_time_doubt(row, details),
        time_decided=bool(details.get("time_decided")),
        time_suggested=bool(details.get("time_suggested")),
        original_time=_moment(details.get("original_time")),
        asked=row["asked_at"] is not None,
        released=row["released"] is None or bool(row["released"]),
        not_before=_moment(row["not_before"]),
        bundle_id=row["bundle_id"],
        sent_sha256=row["sent_sha256"],
        result_at=_moment(row["result_at"]),
        audio_gone_at=_moment(row["audio_gone_at"]),
        fault=fault,
    )


def _is_unique(noted: bool | None, *, imported: bool) -> bool:
    """Whether a capture time proves a recording. That of a file from an earlier version was typed or read somewhere."""
    return not imported if noted is None else noted


def _time_doubt(row: Mapping[str, Any], details: Mapping[str, Any]) -> TimeDoubt | None:
    """Why the time is doubtful; earlier releases kept by how much the clock was ahead."""
    ahead_s = details.get("clock_ahead_s")
    if ahead_s is None:
        return read_doubt(details.get("time_doubt"))
    return TimeDoubt(suggested=add_clamped(datetime.fromisoformat(row["recorded_at"]), timedelta(seconds=-ahead_s)))


def _moment(text: str | None) -> datetime | None:
    return None if text is None else _aware(text)


def _aware(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("without an offset")
    return moment


_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC).isoformat()
_READS: dict[str, tuple[Callable[[Any], object], Any]] = {
    "group_id": (str.strip, "?"),
    "target": (Target.parse, "model:?"),
    "duration_s": (float, 0.0),
    "recorded_at": (_aware, _LONG_AGO),
    "created_at": (_aware, _LONG_AGO),
    "updated_at": (_aware, _LONG_AGO),
    "not_before": (_aware, None),
    "result_at": (_aware, None),
    "audio_gone_at": (_aware, None),
}
"""How each is read, and what stands for one that cannot be."""

"""Convert a row of the library to an item, and check that the desk wrote it.

A row that somebody else has changed is shown as an item that needs attention, with the fault as its reason; it is
never sent.
"""

import hmac
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.contract.timestamps import add_clamped
from vbdesk.language import N_
from vbdesk.outbox.library.column_encryption import NONCE_BYTES, ColumnCipher, InvalidTag
from vbdesk.outbox.library.encrypted_sqlite import DatabaseRow
from vbdesk.outbox.library.items import EncryptedResult, RecordingItem, RecordingTarget, read_speaker
from vbdesk.outbox.library.recording_time import TimeDoubt, read_doubt, read_reference
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.stored_reasons import read_reason
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
    "deleted_at",
)
"""The columns of `recordings` that its MAC covers: all but the MAC itself."""
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
"""The columns of `pending`; `recordings.event_mac` covers them."""
ITEMS = (
    f"SELECT recordings.*, results.sealed AS result, {', '.join(f'pending.{name}' for name in EVENT[1:])} "  # noqa: S608
    "FROM main.recordings LEFT JOIN main.results USING (take_id) LEFT JOIN main.pending USING (take_id)"
)
"""The query for `item_of`, with the trash."""
WITHOUT_RESULTS = ITEMS.replace("results.sealed AS", "x'' AS").replace("LEFT JOIN main.results USING (take_id) ", "")
"""The same if pages with results are damaged; an empty result does not decrypt."""

_proved_values = itemgetter(*PROVED)
_event_values = itemgetter(*EVENT)

ROW_CHANGED = N_("The entry of this recording was changed by something other than vbdesk, so it is not sent.")
DETAILS_CHANGED = N_(
    "What was written about this recording was changed by something other than vbdesk, so it is not sent."
)
RESULT_CHANGED = N_("The result of this recording was changed by something other than vbdesk, so it is not shown.")

_NO_DETAILS: dict[str, Any] = {
    "protocol": "",
    "note": "",
    "tags": [],
    "consented_at": None,
    "quality": {},
    "trim_s": None,
}


def row_is_authentic(row: Mapping[str, Any], cipher: ColumnCipher) -> bool:
    """Whether the desk wrote a row of `ITEMS` or of `recordings`."""
    return isinstance(row["mac"], bytes) and hmac.compare_digest(row["mac"], mac_of(row, cipher))


def mac_of(row: Mapping[str, Any], cipher: ColumnCipher) -> bytes:
    """The MAC of a row."""
    return cipher.mac(_proved_values(row))


def event_is_authentic(row: Mapping[str, Any] | DatabaseRow, cipher: ColumnCipher) -> bool:
    """Whether the event in a row of `ITEMS` is the one that its recording names. A missing event counts as authentic.

    The next opening restores it; until then nothing is sent.
    """
    if row["kind"] is None:  # never in a row of `pending`
        return True
    known = row["event_mac"]
    return isinstance(known, str) and hmac.compare_digest(known.encode(), event_mac_of(row, cipher).encode())


def event_mac_of(row: Mapping[str, Any] | DatabaseRow, cipher: ColumnCipher) -> str:
    """MAC of a row of `pending`, as its recording stores it."""
    return table_row_mac(cipher, "pending", _event_values(row)).hex()


def result_nonce_of(sealed: bytes | None) -> bytes | None:
    """What a recording stores of its result: the random nonce of the encrypted value identifies it."""
    return None if sealed is None else sealed[:NONCE_BYTES]


def item_of(found: DatabaseRow | Mapping[str, Any], cipher: ColumnCipher) -> RecordingItem:
    """A row of `ITEMS` as an item, with its fault if it is not authentic or does not decrypt."""
    row = dict(found)
    take_id: str = row["take_id"]
    fault = None if row_is_authentic(row, cipher) and event_is_authentic(row, cipher) else ROW_CHANGED
    details, result = _NO_DETAILS, None
    try:
        details = json.loads(cipher.decrypt(row["details"], f"{take_id}/details"))
    except (InvalidTag, TypeError, ValueError):
        fault = fault or DETAILS_CHANGED
    try:
        if result_nonce_of(row["result"]) != row["result_nonce"]:
            raise ValueError("another result than the one of this recording")
        if row["result"] is not None:
            cipher.decrypt(row["result"], f"{take_id}/result")
            result = EncryptedResult(row["result"], f"{take_id}/result", cipher)
    except (InvalidTag, TypeError, ValueError):
        fault = fault or RESULT_CHANGED
    try:
        return _item(row, details, result, fault)
    except (ValueError, TypeError, AttributeError):  # changed so that it cannot be parsed
        return _item(_readable(row), details, result, fault)


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in which defaults replace every value that cannot be parsed."""
    known = dict(row)
    for name, (read, instead) in _READS.items():
        try:
            read(known[name])
        except (ValueError, TypeError, AttributeError):
            known[name] = instead
    return known


def _item(
    row: Mapping[str, Any], details: Mapping[str, Any], result: EncryptedResult | None, fault: str | None
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
        target=RecordingTarget.parse(row["target"]),
        longitudinal=bool(row["longitudinal"]),
        duration_s=row["duration_s"],
        quality=details["quality"],
        trim_s=None if trim_s is None else (trim_s[0], trim_s[1]),
        imported=bool(row["imported"]),
        state=OutboxState(row["state"]) if fault is None else OutboxState.NEEDS_ATTENTION,
        reason=fault or read_reason(row["reason"]),
        fix=None if row["fix"] is None or fault is not None else Fix(row["fix"]),
        job_id=row["job_id"],
        encrypted_result=result,
        bytes_sent=0,
        bytes_total=0,
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
        version=row["version"],
        retake_of=details.get("retake_of"),
        source_sha256=details.get("source_sha256", ""),
        file_name=details.get("file_name", ""),
        time_is_unique=_is_unique(details.get("time_is_unique"), imported=bool(row["imported"])),
        reference=read_reference(details.get("reference")),
        time_doubt=_time_doubt(row, details),
        time_decided=bool(details.get("time_decided")),
        time_suggested=bool(details.get("time_suggested")),
        original_time=_moment(details.get("original_time")),
        excluded=bool(details.get("excluded")),
        speaker=read_speaker(details.get("speaker")),
        confirmed_voice=details.get("confirmed_voice", ""),  # earlier versions wrote none
        capture=details.get("capture") or {},
        spoken=SpokenLanguage.of_form(details.get("spoken") or {}),
        spoken_sent=details.get("spoken_sent"),
        attempt=details.get("attempt", 1),  # earlier versions wrote none
        named=details.get("named", False),
        asked=row["asked_at"] is not None,
        searched_only=_is_searched_only(row),
        released=row["released"] is None or bool(row["released"]),
        not_before=_moment(row["not_before"]),
        bundle_id=row["bundle_id"],
        sent_sha256=row["sent_sha256"],
        result_at=_moment(row["result_at"]),
        audio_gone_at=_moment(row["audio_gone_at"]),
        deleted_at=_moment(row["deleted_at"]),
        fault=fault,
    )


def _is_searched_only(row: Mapping[str, Any]) -> bool:
    """Whether a bundle is the only reason to search the service: a request from here follows an upload."""
    from_bundle = row["bundle_id"] is not None and row["asked_at"] is not None
    return from_bundle and row["asked_service_at"] is None and row["upload_ref"] is None


def _is_unique(noted: bool | None, *, imported: bool) -> bool:
    """Whether a capture time identifies a recording. That of a file from an earlier version does not."""
    return not imported if noted is None else noted


def _time_doubt(row: Mapping[str, Any], details: Mapping[str, Any]) -> TimeDoubt | None:
    """Why the time is doubtful; earlier releases stored by how much the clock was ahead."""
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
    "target": (RecordingTarget.parse, "model:?"),
    "duration_s": (float, 0.0),
    "recorded_at": (_aware, _LONG_AGO),
    "created_at": (_aware, _LONG_AGO),
    "updated_at": (_aware, _LONG_AGO),
    "not_before": (_aware, None),
    "result_at": (_aware, None),
    "audio_gone_at": (_aware, None),
    "deleted_at": (_aware, None),
}
"""How to parse each column, and its default."""

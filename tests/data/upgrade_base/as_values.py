"""What a library, a bundle and a service hold, as JSON values: read through the program, compared with the record.

When a name of the program changes, the reading here follows it. The record (`recorded.json`) never changes.
"""

import hashlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

import httpx

sys.path.append(str(Path(__file__).parents[2] / "outbox"))

from service_in_process import API, ServiceInProcess

from vbdesk.outbox.bundles.bundle_export import bundles
from vbdesk.outbox.library.audit import AuditEntry
from vbdesk.outbox.library.audit_reader import AuditReader
from vbdesk.outbox.library.corrections import Correction
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.sync.upload_queue import PendingEvent, UploadQueue

LATER = {"attempt": 1, "named": False}  # fields of later versions: their values in old data
COUNTERS = {"version", "encrypted_result", "bytes_sent", "bytes_total"}  # of the running program, not of a recording
OF_THE_TRASH = {"deleted_at"}  # compared with the entry of the trash


def plain(value: object) -> Any:
    """A value of the program as JSON can hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, Path):
        return value.name
    if isinstance(value, Mapping):
        return {str(key.value if isinstance(key, Enum) else key): plain(each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def item_values(item: RecordingItem) -> dict[str, Any]:
    """Every field of a recording; its result as a digest of what the service sent."""
    values = {
        field.name: plain(getattr(item, field.name))
        for field in fields(item)
        if field.name not in COUNTERS | OF_THE_TRASH
    }
    assert {name: values.pop(name) for name in LATER} == LATER
    return values | {"result": None if item.encrypted_result is None else plain(item.encrypted_result.open())}


def correction_values(entry: Correction) -> dict[str, Any]:
    """Every field of a correction; none of the base version is of an erased subject."""
    values: dict[str, Any] = plain(entry)
    assert values.pop("erased") is False
    return values


def entry_values(entry: AuditEntry) -> dict[str, Any]:
    """Every field of an entry of the audit log; the base version wrote none with content."""
    values = plain(entry) | {"mac": None}
    return {name: value for name, value in values.items() if name not in ("subject_keys", "sealed")}


def event_values(event: PendingEvent, library: Library) -> dict[str, Any]:
    """Every field of an event; the promise of keys that the program no longer reads comes from its row."""
    values = plain(event)
    assert values.pop("named") is False
    [row] = library.store.rows("SELECT key_kept_s FROM pending WHERE event_id = ?", (event.event_id,))
    return {**values, "key_kept_s": row["key_kept_s"]}


def library_values(library: Library, folder: Path, key: bytes) -> dict[str, Any]:
    """Everything that a person or the service has put into a library."""
    items = sorted(library.list(), key=lambda item: (item.recorded_at, item.take_id))
    sounds = {item.take_id: library.whole_audio(item.take_id).sha256() for item in items if item.audio_gone_at is None}
    rows = library.store.rows
    return {
        "recordings": [item_values(item) for item in items],
        "sounds": sounds,
        "queue": [event_values(event, library) for event in UploadQueue(library.store).events()],
        "jobs": sorted([row["job_id"], row["take_id"]] for row in rows("SELECT job_id, take_id FROM jobs")),
        "trash": [
            plain({"take_id": each.take_id, "deleted_at": each.deleted_at, "destroyed_at": each.destroyed_at})
            | {"item": None if each.item is None else item_values(each.item), "fault": each.fault}
            for each in library.trash.items()
        ],
        "consents": plain(library.consents.all()),
        "corrections": [correction_values(entry) for entry in library.corrections.all()],
        "corrections_in_force": [entry.number for entry in library.corrections.in_force()],
        "subjects": plain(library.subject_notes.all()),
        "opened": sorted(row["take_id"] for row in rows("SELECT take_id FROM opened")),
        "settings": plain(library.settings()),
        "letterhead": plain(library.letterhead.read()),
        "credits": plain(library.responses.read("credits")),
        "histories": {name: plain(library.responses.trajectory(name)) for name in library.responses.trajectories()},
        "bundles": plain(bundles(library)),
        "erasures": [] if library.erasures is None else plain(library.erasures.due()),
        "audit": [entry_values(entry) for entry in AuditReader(folder, key).entries()],
        "warnings": plain(library.warnings),
        "findings": plain(library.findings),
    }


def service_values(service: ServiceInProcess, known: Mapping[str, Any]) -> dict[str, Any]:
    """The answers of every route that only reads, and what the database holds besides."""
    headers = {"X-Account-ID": known["account_id"], "X-API-Key": known["api_key"]}

    def get(path: str) -> Any:
        answer = service.exchange(httpx.Request("GET", f"{API}{path}", headers=headers), b"")
        return {"status": answer.status_code, "body": answer.json()}

    jobs = {name: get(f"/v2/jobs/{job_id}") for name, job_id in known["jobs"].items()}
    groups = [group["group_id"] for group in get("/v2/groups")["body"]["groups"]]
    return {
        "jobs": jobs,
        "groups": get("/v2/groups"),
        "jobs_of_groups": {group_id: get(f"/v2/groups/{group_id}/jobs") for group_id in groups},
        "histories": {group_id: get(f"/v2/groups/{group_id}/longitudinal") for group_id in groups},
        "credits": get("/v2/account/credits"),
    }

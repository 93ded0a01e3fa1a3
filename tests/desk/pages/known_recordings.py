"""A recording as the library gives it, without a library."""

from datetime import UTC, datetime

from vbdesk.outbox.library.items import RecordingItem, RecordingTarget
from vbdesk.outbox.library.states import OutboxState

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def recording(take_id: str, state: OutboxState = OutboxState.WAITING, **fields: object) -> RecordingItem:
    """A recording of 21 seconds, made and changed at noon; `fields` override values."""
    usual = {
        "group_id": "ward4-0172",
        "recorded_at": NOON,
        "protocol": "",
        "note": "",
        "tags": (),
        "consented_at": None,
        "target": RecordingTarget("model", "pulse"),
        "longitudinal": True,
        "duration_s": 21.0,
        "quality": {},
        "trim_s": None,
        "imported": False,
        "reason": None,
        "fix": None,
        "job_id": None,
        "encrypted_result": None,
        "bytes_sent": 0,
        "bytes_total": 0,
        "created_at": NOON,
        "updated_at": NOON,
        "version": 1,
    }
    return RecordingItem(take_id=take_id, state=state, **{**usual, **fields})

"""Details of the recordings of a library, for exports."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from vbdesk.outbox.library.consent import ConsentStatus
from vbdesk.outbox.library.consent_gate import ConsentGate
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.library import Library, capture_facts
from vbdesk.outbox.library.listing import RecordingList
from vbdesk.report.recording_details import RecordingDetails


def recording_details(library: RecordingList, group_ids: Collection[str]) -> Mapping[str, RecordingDetails]:
    """Details of every recording of these subjects that has a job, by job id. Reads the disk."""
    wanted = set(group_ids)
    consents = ConsentGate(library.store).all()
    return {
        item.job_id: _details(item, _capture(library, item), consents.of_recording(item))
        for item in library.list()
        if item.job_id is not None and item.fault is None and item.group_id in wanted
    }


def _capture(library: RecordingList, item: RecordingItem) -> Mapping[str, Any]:
    """What the recorder noted; takes of earlier versions have it only in their sound."""
    if item.capture or item.imported or item.audio_gone_at is not None or not isinstance(library, Library):
        return item.capture
    with suppress(OSError, ValueError):
        return capture_facts(library.whole_audio(item.take_id))
    return {}


def _details(item: RecordingItem, capture: Mapping[str, Any], consent: ConsentStatus) -> RecordingDetails:
    start, end = item.trim_s or (0.0, float("inf"))
    marks = [float(mark) for mark in capture.get("marks_s", ())]
    return RecordingDetails(
        protocol=item.protocol,
        protocol_version=capture.get("protocol_version"),
        protocol_language=str(capture.get("language", "")),
        microphone=str(capture.get("device", "")),
        microphone_sample_rate=capture.get("sample_rate"),
        imported=item.imported,
        tags=item.tags,
        note=item.note,
        markers_s=tuple(mark - start for mark in marks if start <= mark <= end),
        check=item.quality,
        recorder_version=str(capture.get("app_version", "")),
        consent=consent.kind or consent.state,
    )

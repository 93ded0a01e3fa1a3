"""FHIR Bundles: finished recordings with report, observations and provenance, and the subject's consents.

The same record gives the same bytes: ids are UUIDs of version 5, and all times are from the record, never from a clock.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import quote

from vbdesk.contract.timestamps import format_timestamp
from vbdesk.report.fhir.codes import RESOURCE, Element, fhir_codes, fhir_string, hl7_concept, resource_reference
from vbdesk.report.fhir.consents import consent_resources
from vbdesk.report.fhir.observations import (
    RecordingContext,
    narrative,
    recording_observations,
    recording_times,
    sign_observation,
    subject_reference,
)
from vbdesk.report.fhir.provenance import analysis_device, analysis_provenance, exporter_device, verification
from vbdesk.report.result_texts import result_texts
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord

RECORDINGS_EACH = 40
"""Recordings of one transaction: about 400 resources, which servers take in seconds."""


def fhir_bundle(record: SubjectRecord, *, scores: bool = False, sign_off: SignOff | None = None) -> bytes:
    """A FHIR R4 Bundle of type collection, as JSON in UTF-8.

    Args:
        record: the subject; recordings without a result are omitted.
        scores: include raw scores as components, for research.
        sign_off: reader of the newest recording, and time.
    """
    codes = fhir_codes()
    resources = _resources(record, scores, sign_off)
    times = [recording.job.completed_at or recording.job.created_at for recording in record.finished]
    name = codes.resource_id(record.source.account_id, record.group_id, *resources)
    bundle: Element = {
        "resourceType": "Bundle",
        "id": name,
        "language": record.language,
        "identifier": {"system": codes.system("export"), "value": name},
        "type": "collection",
        **({"timestamp": format_timestamp(max(times))} if times else {}),
    }
    if resources:  # FHIR forbids empty lists
        bundle["entry"] = [_entry(resource) for resource in resources.values()]
    return _json(bundle)


def fhir_transactions(
    record: SubjectRecord, *, scores: bool = False, sign_off: SignOff | None = None
) -> Iterator[bytes]:
    """The same resources as Bundles of type transaction, to be sent in this order; none without a resource.

    A repeated transaction changes nothing: a server creates a resource only if it has none with its identifier. A
    consent that has ended is updated, and never made active again, because only an active one is created.
    """
    finished = record.finished
    for start in range(0, max(len(finished), 1), RECORDINGS_EACH):
        part = replace(
            record,
            recordings=finished[start : start + RECORDINGS_EACH],
            consents=() if start else record.consents,
        )
        resources = _resources(part, scores, sign_off if start + RECORDINGS_EACH >= len(finished) else None)
        if resources:
            entries = [_transaction_entry(resource) for resource in resources.values()]
            yield _json({"resourceType": "Bundle", "type": "transaction", "entry": entries})


def _resources(record: SubjectRecord, scores: bool, sign_off: SignOff | None) -> Mapping[str, Element]:
    """All resources by id; those of several recordings once."""
    finished = record.finished
    resources = {resource["id"]: resource for resource in consent_resources(record)}
    for recording in finished:
        read_by = sign_off if recording is finished[-1] else None
        for resource in _of_recording(record, recording, scores, read_by):
            resources.setdefault(resource["id"], resource)
    return resources


def _of_recording(
    record: SubjectRecord, recording: RecordingRecord, scores: bool, sign_off: SignOff | None
) -> Iterator[Element]:
    analysis, exporter = analysis_device(record, recording), exporter_device()
    context = RecordingContext(record, recording, resource_reference(analysis["id"]), scores)
    signs = [sign_observation(context, signal) for signal in recording.signals]
    observations = [*signs, *recording_observations(context)]
    report = _report(context, observations, sign_off)
    yield analysis
    yield exporter
    yield from observations
    yield report
    yield analysis_provenance(context, [*observations, report], analysis, exporter)
    if sign_off is not None:
        yield verification(context, report, sign_off)


def _report(context: RecordingContext, observations: list[Element], sign_off: SignOff | None) -> Element:
    codes, recording = fhir_codes(), context.recording
    level, action = recording.level, recording.action
    if level is None or action is None:
        raise ValueError("A recording without a result has no report.")
    advice = result_texts().action[action]
    conclusion = f"Overall level: {codes.level[level].display}. {advice.title} {advice.sentence} {codes.disclaimer}"
    reader = fhir_string(sign_off.name) if sign_off else None
    resource_id = context.resource_id("report")
    return {
        "resourceType": "DiagnosticReport",
        "id": resource_id,
        "language": context.record.language,
        "text": narrative(conclusion),
        "identifier": codes.identifiers(resource_id, {"system": codes.system("job"), "value": recording.job.job_id}),
        "status": "final",
        "category": [hl7_concept("v2-0074", "OTH", "Other")],
        "code": codes.own_concept("document", codes.document.code, codes.document.display),
        "subject": subject_reference(context.record),
        **recording_times(recording),
        **({"resultsInterpreter": [{"display": reader}]} if reader else {}),
        "result": [{"reference": resource_reference(observation["id"])} for observation in observations],
        "conclusion": conclusion,
        "conclusionCode": [
            codes.own_concept("level", level.value, codes.level[level].display),
            codes.own_concept("action", action.value, advice.title.rstrip(".")),
        ],
    }


def _entry(resource: Element) -> Element:
    return {"fullUrl": resource_reference(resource["id"]), "resource": resource}


def _transaction_entry(resource: Element) -> Element:
    """The entry without the id of the resource: the server gives its own."""
    content = {name: value for name, value in resource.items() if name != "id"}
    return _entry(resource) | {"resource": content, "request": _request(resource)}


def _request(resource: Element) -> Element:
    """What a server does with a resource: create it if it has none with this identifier, or update an ended consent."""
    kind = resource["resourceType"]
    key = "identifier" if "identifier" in resource else "_tag"
    query = f"{key}={quote(fhir_codes().system(RESOURCE), safe=':/')}|{resource['id']}"
    if kind == "Consent" and resource["status"] != "active":
        return {"method": "PUT", "url": f"{kind}?{query}"}
    return {"method": "POST", "url": kind, "ifNoneExist": query}


def _json(bundle: Element) -> bytes:
    return json.dumps(bundle, ensure_ascii=False, separators=(",", ":")).encode("utf-8")

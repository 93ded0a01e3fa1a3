"""FHIR Bundles: finished recordings with report, observations and provenance, and the subject's consents.

The same record gives the same bytes: ids are UUIDs of version 5, and all times are from the record, never from a clock.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import quote

from vbdesk.contract.timestamps import format_timestamp
from vbdesk.report.fhir.codes import (
    HL7,
    LOINC,
    RESOURCE,
    Element,
    fhir_codes,
    fhir_string,
    hl7_concept,
    resource_reference,
)
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
from vbdesk.report.subject_consent import ConsentGrant
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


_PATIENT_CONSENT = {"system": LOINC, "code": "59284-0", "display": "Patient Consent"}
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


def consent_resources(record: SubjectRecord) -> Iterator[Element]:
    """A Consent for each purpose of each consent; no name of the person who asked.

    A consent that was withdrawn or replaced is inactive. An agreed end does not make it inactive: it is stated as the
    end of the period, so that the same events give the same resources at any time.
    """
    for grant in record.consents:
        yield _consent(record, grant)


def _consent(record: SubjectRecord, grant: ConsentGrant) -> Element:
    codes = fhir_codes()
    code = codes.consent[grant.purpose]
    resource_id = codes.resource_id(record.source.account_id, record.group_id, "consent", grant.event_id, grant.purpose)
    status = "active" if grant.active else "inactive"
    return {
        "resourceType": "Consent",
        "id": resource_id,
        "language": record.language,
        "text": narrative(f"{code.display}: {'refused' if grant.refused else status}."),
        "identifier": codes.identifiers(resource_id),
        "status": status,
        "scope": hl7_concept("consentscope", code.scope, code.scope_display),
        "category": [
            {"coding": [_PATIENT_CONSENT]},
            codes.own_concept("consent", grant.purpose.replace("_", "-"), code.display),
        ],
        "patient": subject_reference(record),
        "dateTime": format_timestamp(grant.at),
        **_wording(grant),
        "policyRule": hl7_concept("v3-ActCode", "OPTIN", "opt-in"),
        "provision": {
            "type": "deny" if grant.refused else "permit",
            "period": _period(grant),
            **({"purpose": [{"system": f"{HL7}/v3-ActReason", "code": code.reason}]} if code.reason else {}),
        },
    }


def _period(grant: ConsentGrant) -> Element:
    start = {"start": format_timestamp(grant.at)}
    if grant.until is None:
        return start
    return start | {"end": format_timestamp(max(grant.until, grant.at))}  # FHIR forbids an end before the start


def _wording(grant: ConsentGrant) -> Element:
    title = fhir_string(grant.wording)
    language = {"language": grant.language} if _LANGUAGE.fullmatch(grant.language) else {}
    if title is None and not language:
        return {}
    return {"sourceAttachment": {**language, **({"title": f"Wording {title}"} if title else {})}}

"""FHIR Bundle: finished recordings with report, observations, provenance.

The same record gives the same bytes: ids are UUIDs of version 5, and all times are from the record, never from a clock.
"""

import json
from collections.abc import Iterator

from vbdesk import __version__
from vbdesk.contract.jobs import JobType
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.report.fhir.codes import Element, fhir_codes, fhir_string, hl7_concept
from vbdesk.report.fhir.observations import (
    RecordingContext,
    narrative,
    recording_observations,
    recording_times,
    sign_observation,
    subject_reference,
)
from vbdesk.report.result_texts import result_texts
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord


def fhir_bundle(record: SubjectRecord, *, scores: bool = False, sign_off: SignOff | None = None) -> bytes:
    """A FHIR R4 Bundle of type collection, as JSON in UTF-8.

    Args:
        record: the subject; recordings without a result are omitted.
        scores: include raw scores as components, for research.
        sign_off: reader of the newest recording, and time.
    """
    codes = fhir_codes()
    finished = record.finished
    resources: dict[str, Element] = {}
    for recording in finished:
        read_by = sign_off if recording is finished[-1] else None
        for resource in _of_recording(record, recording, scores, read_by):
            resources.setdefault(resource["id"], resource)
    times = [recording.job.completed_at or recording.job.created_at for recording in finished]
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
        bundle["entry"] = [{"fullUrl": _reference(key), "resource": value} for key, value in resources.items()]
    return json.dumps(bundle, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _of_recording(
    record: SubjectRecord, recording: RecordingRecord, scores: bool, sign_off: SignOff | None
) -> Iterator[Element]:
    analysis, exporter = _analysis_device(record, recording), _exporter_device()
    context = RecordingContext(record, recording, _reference(analysis["id"]), scores)
    signs = [sign_observation(context, signal) for signal in recording.signals]
    observations = [*signs, *recording_observations(context)]
    report = _report(context, observations, sign_off)
    yield analysis
    yield exporter
    yield from observations
    yield report
    yield _provenance(context, [*observations, report], analysis, exporter)
    if sign_off is not None:
        yield _verification(context, report, sign_off)


def _analysis_device(record: SubjectRecord, recording: RecordingRecord) -> Element:
    """The analysing software: model and calibration of this recording."""
    codes = fhir_codes()
    kind, target = recording.target
    versions = sorted({signal.sign_version for signal in recording.signals if signal.sign_version})
    address = record.source.url
    resource_id = codes.resource_id("device", address, kind.value, target, *versions)
    return {
        "resourceType": "Device",
        "id": resource_id,
        "identifier": [{"system": codes.system("device"), "value": resource_id}],
        "deviceName": [{"name": f"{codes.device.analysis}, {_job_type_text(kind)} {target}", "type": "model-name"}],
        "type": {"text": codes.device.type},
        **({"version": [{"value": version} for version in versions]} if versions else {}),
        "url": address,
    }


def _exporter_device() -> Element:
    codes = fhir_codes()
    resource_id = codes.resource_id("device", codes.device.exporter, __version__)
    return {
        "resourceType": "Device",
        "id": resource_id,
        "identifier": [{"system": codes.system("device"), "value": resource_id}],
        "deviceName": [{"name": codes.device.exporter, "type": "model-name"}],
        "type": {"text": codes.device.type},
        "version": [{"value": __version__}],
    }


def _report(context: RecordingContext, observations: list[Element], sign_off: SignOff | None) -> Element:
    codes, recording = fhir_codes(), context.recording
    level, action = recording.level, recording.action
    if level is None or action is None:
        raise ValueError("A recording without a result has no report.")
    advice = result_texts().action[action]
    conclusion = f"Overall level: {codes.level[level].display}. {advice.title} {advice.sentence} {codes.disclaimer}"
    reader = fhir_string(sign_off.name) if sign_off else None
    return {
        "resourceType": "DiagnosticReport",
        "id": context.resource_id("report"),
        "language": context.record.language,
        "text": narrative(conclusion),
        "identifier": [{"system": codes.system("job"), "value": recording.job.job_id}],
        "status": "final",
        "category": [hl7_concept("v2-0074", "OTH", "Other")],
        "code": codes.own_concept("document", codes.document.code, codes.document.display),
        "subject": subject_reference(context.record),
        **recording_times(recording),
        **({"resultsInterpreter": [{"display": reader}]} if reader else {}),
        "result": [{"reference": _reference(observation["id"])} for observation in observations],
        "conclusion": conclusion,
        "conclusionCode": [
            codes.own_concept("level", level.value, codes.level[level].display),
            codes.own_concept("action", action.value, advice.title.rstrip(".")),
        ],
    }


def _provenance(context: RecordingContext, targets: list[Element], analysis: Element, exporter: Element) -> Element:
    job = context.recording.job
    return {
        "resourceType": "Provenance",
        "id": context.resource_id("provenance"),
        "target": [{"reference": _reference(target["id"])} for target in targets],
        "recorded": format_timestamp(job.completed_at or job.created_at),
        "activity": hl7_concept("v3-DataOperation", "CREATE", "create"),
        "agent": [
            _agent("author", "Author", {"reference": _reference(analysis["id"])}),
            _agent("assembler", "Assembler", {"reference": _reference(exporter["id"])}),
        ],
        "entity": [
            {
                "role": "source",
                "what": {"identifier": {"system": fhir_codes().system("job"), "value": job.job_id}},
            }
        ],
    }


def _verification(context: RecordingContext, report: Element, sign_off: SignOff) -> Element:
    return {
        "resourceType": "Provenance",
        "id": context.resource_id("sign-off", sign_off.name, format_timestamp(sign_off.at)),
        "target": [{"reference": _reference(report["id"])}],
        "recorded": format_timestamp(sign_off.at),
        "activity": hl7_concept("v3-DocumentCompletion", "AU", "authenticated"),
        "agent": [_agent("verifier", "Verifier", {"display": fhir_string(sign_off.name) or "unnamed"})],
    }


def _agent(code: str, display: str, who: Element) -> Element:
    return {"type": hl7_concept("provenance-participant-type", code, display), "who": who}


def _reference(resource_id: str) -> str:
    return f"urn:uuid:{resource_id}"


def _job_type_text(kind: JobType) -> str:
    return kind.value.replace("_", " ")

"""FHIR Devices and Provenance: what analysed a recording, what exported it, and who has read it."""

from vbdesk import __version__
from vbdesk.contract.jobs import JobType
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.report.fhir.codes import RESOURCE, Element, fhir_codes, fhir_string, hl7_concept, resource_reference
from vbdesk.report.fhir.observations import RecordingContext
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord


def analysis_device(record: SubjectRecord, recording: RecordingRecord) -> Element:
    """The analysing software: model, calibration and longitudinal method of this recording."""
    codes = fhir_codes()
    kind, target = recording.target
    versions = sorted({signal.sign_version for signal in recording.signals if signal.sign_version})
    methods = [record.trajectory.method] if record.trajectory is not None and recording.longitudinal else []
    return _device(
        f"{codes.device.analysis}, {_job_type_text(kind)} {target}",
        [
            *({"type": {"text": codes.device.calibration}, "value": version} for version in versions),
            *({"type": {"text": codes.device.longitudinal}, "value": method} for method in methods),
        ],
        codes.resource_id("device", record.source.url, kind.value, target, *versions, *methods),
        url=record.source.url,
    )


def exporter_device() -> Element:
    """The software that wrote the Bundle: this release."""
    names = fhir_codes().device
    version = {"type": {"text": names.software}, "value": __version__}
    return _device(names.exporter, [version], fhir_codes().resource_id("device", names.exporter, __version__))


def analysis_provenance(
    context: RecordingContext, targets: list[Element], analysis: Element, exporter: Element
) -> Element:
    """Who made the resources of a recording: the analysis from the job, and vbdesk from its result."""
    job = context.recording.job
    return {
        **_provenance(context.resource_id("provenance"), targets),
        "occurredDateTime": format_timestamp(context.recording.recorded_at),
        "recorded": format_timestamp(job.completed_at or job.created_at),
        "activity": hl7_concept("v3-DataOperation", "CREATE", "create"),
        "agent": [
            _agent("author", "Author", {"reference": resource_reference(analysis["id"])}),
            _agent("assembler", "Assembler", {"reference": resource_reference(exporter["id"])}),
        ],
        "entity": [
            {
                "role": "source",
                "what": {"identifier": {"system": fhir_codes().system("job"), "value": job.job_id}},
            }
        ],
    }


def verification(context: RecordingContext, report: Element, sign_off: SignOff) -> Element:
    """Who has read the report, and when. The id has no time, so that a reader verifies a report once."""
    return {
        **_provenance(context.resource_id("sign-off", sign_off.name), [report]),
        "recorded": format_timestamp(sign_off.at),
        "activity": hl7_concept("v3-DocumentCompletion", "AU", "authenticated"),
        "agent": [_agent("verifier", "Verifier", {"display": fhir_string(sign_off.name) or "unnamed"})],
    }


def _device(name: str, versions: list[Element], resource_id: str, **more: str) -> Element:
    codes = fhir_codes()
    own = {"system": codes.system("device"), "value": resource_id}
    return {
        "resourceType": "Device",
        "id": resource_id,
        "identifier": codes.identifiers(resource_id, own),
        "deviceName": [{"name": name, "type": "model-name"}],
        "type": {"text": codes.device.type},
        **({"version": versions} if versions else {}),
        **more,
    }


def _provenance(resource_id: str, targets: list[Element]) -> Element:
    """Provenance has no identifier in FHIR R4, so a tag takes its place."""
    return {
        "resourceType": "Provenance",
        "id": resource_id,
        "meta": {"tag": [{"system": fhir_codes().system(RESOURCE), "code": resource_id}]},
        "target": [{"reference": resource_reference(target["id"])} for target in targets],
    }


def _agent(code: str, display: str, who: Element) -> Element:
    return {"type": hl7_concept("provenance-participant-type", code, display), "who": who}


def _job_type_text(kind: JobType) -> str:
    return kind.value.replace("_", " ")

"""The Bundle: every finished recording with its report, observations, device and provenance.

The same record gives the same bytes: ids follow from what a resource stands for (UUID version 5), and every time is
one of the record. Nothing here asks a clock.
"""

import json
from collections.abc import Iterator

from vbdesk import __version__
from vbdesk.contract.jobs import JobType
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.report.fhir.codes import Element, fhir_codes, hl7, text
from vbdesk.report.fhir.observations import (
    RecordingContext,
    moment_of,
    narrative,
    sign_observation,
    sound_observations,
    subject_reference,
)
from vbdesk.report.result_texts import result_texts
from vbdesk.report.sign_off import SignOff
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord


def fhir_bundle(record: SubjectRecord, *, scores: bool = False, sign_off: SignOff | None = None) -> bytes:
    """A FHIR R4 Bundle of type collection, as JSON in UTF-8.

    Args:
        record: the subject; recordings without a result stay out.
        scores: with raw scores as components, for research.
        sign_off: who read the newest recording, and when.
    """
    words = fhir_codes()
    finished = record.finished
    resources: dict[str, Element] = {}
    for recording in finished:
        read_by = sign_off if recording is finished[-1] else None
        for resource in _of_recording(record, recording, scores, read_by):
            resources.setdefault(resource["id"], resource)
    times = [recording.job.completed_at or recording.job.created_at for recording in finished]
    name = words.identity(record.source.account_id, record.group_id, *resources)
    bundle: Element = {
        "resourceType": "Bundle",
        "id": name,
        "language": record.language,
        "identifier": {"system": words.system("export"), "value": name},
        "type": "collection",
        **({"timestamp": format_timestamp(max(times))} if times else {}),
    }
    if resources:  # FHIR knows no empty list
        bundle["entry"] = [{"fullUrl": _reference(key), "resource": value} for key, value in resources.items()]
    return json.dumps(bundle, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def _of_recording(
    record: SubjectRecord, recording: RecordingRecord, scores: bool, sign_off: SignOff | None
) -> Iterator[Element]:
    analysis, exporter = _analysis_device(record, recording), _exporter_device()
    context = RecordingContext(record, recording, _reference(analysis["id"]), scores)
    signs = [sign_observation(context, signal) for signal in recording.signals]
    observations = [*signs, *sound_observations(context)]
    report = _report(context, observations, sign_off)
    yield analysis
    yield exporter
    yield from observations
    yield report
    yield _provenance(context, [*observations, report], analysis, exporter)
    if sign_off is not None:
        yield _verification(context, report, sign_off)


def _analysis_device(record: SubjectRecord, recording: RecordingRecord) -> Element:
    """The software that analysed: the service's model in the calibration that scored this recording."""
    words = fhir_codes()
    kind, target = recording.target
    versions = sorted({signal.sign_version for signal in recording.signals if signal.sign_version})
    address = record.source.service
    identity = words.identity("device", address, kind.value, target, *versions)
    return {
        "resourceType": "Device",
        "id": identity,
        "identifier": [{"system": words.system("device"), "value": identity}],
        "deviceName": [{"name": f"{words.device.analysis}, {_kind_words(kind)} {target}", "type": "model-name"}],
        "type": {"text": words.device.type},
        **({"version": [{"value": version} for version in versions]} if versions else {}),
        "url": address,
    }


def _exporter_device() -> Element:
    words = fhir_codes()
    identity = words.identity("device", words.device.exporter, __version__)
    return {
        "resourceType": "Device",
        "id": identity,
        "identifier": [{"system": words.system("device"), "value": identity}],
        "deviceName": [{"name": words.device.exporter, "type": "model-name"}],
        "type": {"text": words.device.type},
        "version": [{"value": __version__}],
    }


def _report(context: RecordingContext, observations: list[Element], sign_off: SignOff | None) -> Element:
    words, recording = fhir_codes(), context.recording
    level, action = recording.level, recording.action
    if level is None or action is None:
        raise ValueError("A recording without a result has no report.")
    advice = result_texts().action[action]
    conclusion = f"Overall level: {words.level[level].display}. {advice.title} {advice.sentence} {words.disclaimer}"
    reader = text(sign_off.name) if sign_off else None
    return {
        "resourceType": "DiagnosticReport",
        "id": context.identity("report"),
        "language": context.record.language,
        "text": narrative(conclusion),
        "identifier": [{"system": words.system("job"), "value": recording.job.job_id}],
        "status": "final",
        "category": [hl7("v2-0074", "OTH", "Other")],
        "code": words.own("document", words.document.code, words.document.display),
        "subject": subject_reference(context.record),
        **moment_of(recording),
        **({"resultsInterpreter": [{"display": reader}]} if reader else {}),
        "result": [{"reference": _reference(observation["id"])} for observation in observations],
        "conclusion": conclusion,
        "conclusionCode": [
            words.own("level", level.value, words.level[level].display),
            words.own("action", action.value, advice.title.rstrip(".")),
        ],
    }


def _provenance(context: RecordingContext, targets: list[Element], analysis: Element, exporter: Element) -> Element:
    job = context.recording.job
    return {
        "resourceType": "Provenance",
        "id": context.identity("provenance"),
        "target": [{"reference": _reference(target["id"])} for target in targets],
        "recorded": format_timestamp(job.completed_at or job.created_at),
        "activity": hl7("v3-DataOperation", "CREATE", "create"),
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
        "id": context.identity("sign-off", sign_off.name, format_timestamp(sign_off.at)),
        "target": [{"reference": _reference(report["id"])}],
        "recorded": format_timestamp(sign_off.at),
        "activity": hl7("v3-DocumentCompletion", "AU", "authenticated"),
        "agent": [_agent("verifier", "Verifier", {"display": text(sign_off.name) or "unnamed"})],
    }


def _agent(code: str, display: str, who: Element) -> Element:
    return {"type": hl7("provenance-participant-type", code, display), "who": who}


def _reference(identity: str) -> str:
    return f"urn:uuid:{identity}"


def _kind_words(kind: JobType) -> str:
    return kind.value.replace("_", " ")

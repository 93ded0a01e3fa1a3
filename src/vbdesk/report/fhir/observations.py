"""FHIR Observations of a recording: signs, quality, features, metrics."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from vbdesk.contract.levels import Level
from vbdesk.contract.results import LongitudinalSignal, ModelResult, Signal, ValueInterpretation
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.report.data_dictionary import ucum_code
from vbdesk.report.fhir.codes import Element, fhir_codes, fhir_string, hl7_concept, quantity
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord


@dataclass(frozen=True, slots=True)
class RecordingContext:
    """What all resources of one recording share.

    Attributes:
        device: reference to the analysing software.
        scores: include raw scores, for research.
    """

    record: SubjectRecord
    recording: RecordingRecord
    device: str
    scores: bool

    def resource_id(self, *names: str) -> str:
        """The id of a resource of this recording."""
        account_id, job_id = self.record.source.account_id, self.recording.job.job_id
        return fhir_codes().resource_id(account_id, self.record.group_id, job_id, *names)


def subject_reference(record: SubjectRecord) -> Element:
    """Reference to the patient by pseudonym; the service knows no person."""
    system = fhir_codes().system("group", record.source.account_id)
    return {"type": "Patient", "identifier": {"system": system, "value": record.group_id}}


def recording_times(recording: RecordingRecord) -> Element:
    """Capture time, and time of the result."""
    job = recording.job
    return {
        "effectiveDateTime": format_timestamp(recording.recorded_at),
        "issued": format_timestamp(job.completed_at or job.created_at),
    }


def narrative(*sentences: str) -> Element:
    """Human-readable text of a resource, with the tag of its language: the resource's own is that of the analysis."""
    tag = fhir_codes().language
    joined = " ".join(sentence for sentence in sentences if sentence)
    return {
        "status": "generated",
        "div": f'<div xmlns="http://www.w3.org/1999/xhtml" lang="{tag}" xml:lang="{tag}">'
        f"{escape(fhir_string(joined) or '', quote=False)}</div>",
    }


def sign_observation(context: RecordingContext, signal: Signal) -> Element:
    """Observation of one sign's level; inconclusive is a missing value with a reason."""
    codes = fhir_codes()
    level = codes.level[signal.level]
    if signal.level is Level.INCONCLUSIVE:
        unknown = hl7_concept("data-absent-reason", "unknown", "Unknown")
        value = {"dataAbsentReason": unknown | {"text": codes.inconclusive}}
    else:
        value = {"valueCodeableConcept": codes.own_concept("level", signal.level.value, level.display)}
    return _observation(
        context,
        f"sign/{signal.name}",
        codes.sign_code(signal.name, signal.label),
        value | {"interpretation": list(_interpretations(signal))},
        _sign_components(context, signal),
        f"{signal.label}: {level.display}.",
    )


def recording_observations(context: RecordingContext) -> Iterator[Element]:
    """Observations of quality, vocal features and, with scores, metrics."""
    codes = fhir_codes()
    yield _observation(context, "quality", codes.measure_concept("recording-quality"), {}, _quality_components(context))
    result = context.recording.job.result
    if not isinstance(result, ModelResult):
        return
    if features := result.summary.description.vocal_features:
        components: list[Element] = [
            {
                "code": codes.own_concept("measure", feature.feature, feature.label),
                "valueQuantity": quantity(feature.value, ucum_code(feature.unit)),
                "interpretation": [_band(feature.value_interpretation)],
            }
            for feature in features
        ]
        yield _observation(context, "features", codes.measure_concept("vocal-features"), {}, components)
    if context.scores and result.extended_metrics:
        components = [
            {
                "code": codes.own_concept("measure", metric.metric_id, metric.label),
                "valueQuantity": quantity(metric.score_mean, "1"),
            }
            for metric in result.extended_metrics
        ]
        yield _observation(context, "metrics", codes.measure_concept("extended-metrics"), {}, components)


def _observation(
    context: RecordingContext,
    kind: str,
    code: Element,
    value: Element,
    components: Iterable[Element],
    sentence: str = "",
) -> Element:
    codes, recording = fhir_codes(), context.recording
    parts, resource_id = list(components), context.resource_id(kind)
    own = {"system": codes.system("observation"), "value": f"{recording.job.job_id}/{kind}"}
    return {
        "resourceType": "Observation",
        "id": resource_id,
        "language": context.record.language,
        "text": narrative(sentence or f"{code['text']}.", codes.disclaimer),
        "identifier": codes.identifiers(resource_id, own),
        "status": "final",
        "category": [hl7_concept("observation-category", "procedure", "Procedure")],
        "code": code,
        "subject": subject_reference(context.record),
        **recording_times(recording),
        **value,
        "note": [{"text": codes.disclaimer}],
        "method": {"text": codes.method},
        "device": {"reference": context.device},
        **({"component": parts} if parts else {}),
    }


def _interpretations(signal: Signal) -> Iterator[Element]:
    codes = fhir_codes()
    yield codes.interpretation_concept(codes.level[signal.level].interpretation)
    if isinstance(signal, LongitudinalSignal) and signal.anomaly and signal.z_score is not None:
        yield codes.interpretation_concept("U" if signal.z_score > 0 else "D")


def _sign_components(context: RecordingContext, signal: Signal) -> Iterator[Element]:
    codes = fhir_codes()
    if signal.evidence_grade:
        yield {"code": codes.measure_concept("evidence-grade"), "valueString": signal.evidence_grade}
    if isinstance(signal, LongitudinalSignal) and signal.anomaly is not None:
        yield {"code": codes.measure_concept("anomaly"), "valueBoolean": signal.anomaly}
    if not context.scores:
        return
    yield _number("score", signal.score, "1")
    if signal.score_interval is not None:
        low, high = (quantity(end, "1") for end in signal.score_interval)
        yield {"code": codes.measure_concept("score-interval"), "valueRange": {"low": low, "high": high}}
    if isinstance(signal, LongitudinalSignal):
        for field in ("latest_score", "baseline_score", "deviation_from_baseline", "z_score", "population_z"):
            if (value := getattr(signal, field)) is not None:
                yield _number(field.replace("_", "-"), value, "1")


def _quality_components(context: RecordingContext) -> Iterator[Element]:
    codes, quality = fhir_codes(), context.recording.quality
    seconds = context.recording.job.audio_duration_seconds
    yield _number("audio-duration", seconds, "s")
    if quality is None:
        return
    if quality.voice_percentage is not None:
        yield _number("voice-percentage", quality.voice_percentage, "%")
    if quality.audio_clarity is not None:
        yield _number("audio-clarity", quality.audio_clarity, "{score}")
    for issue in quality.issues:
        yield {
            "code": codes.measure_concept("issue"),
            "valueCodeableConcept": codes.own_concept("issue", issue, issue.replace("_", " ")),
        }


def _number(measure: str, value: float, unit: str) -> Element:
    """Component with the value of a measure."""
    return {"code": fhir_codes().measure_concept(measure), "valueQuantity": quantity(value, unit)}


def _band(band: ValueInterpretation) -> Element:
    return fhir_codes().own_concept("band", band.value.replace(" ", "-"), band.value.capitalize())

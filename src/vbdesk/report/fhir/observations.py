"""Observations: one for each sign of a recording, and those of its sound."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from vbdesk.contract.levels import Level
from vbdesk.contract.results import LongitudinalSignal, ModelResult, Signal, ValueInterpretation
from vbdesk.contract.timestamps import format_timestamp
from vbdesk.report.data_dictionary import ucum_code
from vbdesk.report.fhir.codes import Element, fhir_codes, hl7, quantity, text
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord


@dataclass(frozen=True, slots=True)
class RecordingContext:
    """What all resources of one recording have in common.

    Attributes:
        device: reference to the software that analysed it.
        scores: with raw scores, for research.
    """

    record: SubjectRecord
    recording: RecordingRecord
    device: str
    scores: bool

    def identity(self, *names: str) -> str:
        """The id of a resource of this recording."""
        account_id, job_id = self.record.source.account_id, self.recording.job.job_id
        return fhir_codes().identity(account_id, self.record.group_id, job_id, *names)


def subject_reference(record: SubjectRecord) -> Element:
    """The patient by pseudonym alone: there is no Patient resource, since the service knows no person."""
    system = fhir_codes().system("group", record.source.account_id)
    return {"type": "Patient", "identifier": {"system": system, "value": record.group_id}}


def moment_of(recording: RecordingRecord) -> Element:
    """When it was recorded, and when the result was there."""
    job = recording.job
    return {
        "effectiveDateTime": format_timestamp(recording.recorded_at),
        "issued": format_timestamp(job.completed_at or job.created_at),
    }


def narrative(*sentences: str) -> Element:
    """The text that shows a resource to a person who has nothing else."""
    words = " ".join(sentence for sentence in sentences if sentence)
    return {
        "status": "generated",
        "div": f'<div xmlns="http://www.w3.org/1999/xhtml">{escape(text(words) or "", quote=False)}</div>',
    }


def sign_observation(context: RecordingContext, signal: Signal) -> Element:
    """The level of one sign; inconclusive is a missing value with its reason."""
    words = fhir_codes()
    level = words.level[signal.level]
    if signal.level is Level.INCONCLUSIVE:
        unknown = hl7("data-absent-reason", "unknown", "Unknown")
        value = {"dataAbsentReason": unknown | {"text": words.inconclusive}}
    else:
        value = {"valueCodeableConcept": words.own("level", signal.level.value, level.display)}
    return _observation(
        context,
        f"sign/{signal.name}",
        words.own("sign", signal.name, signal.label),
        value | {"interpretation": list(_interpretations(signal))},
        _sign_components(context, signal),
        f"{signal.label}: {level.display}.",
    )


def sound_observations(context: RecordingContext) -> Iterator[Element]:
    """The quality of the recording, its vocal features and, for research, its extended metrics."""
    words = fhir_codes()
    yield _observation(context, "quality", words.measured("recording-quality"), {}, _quality_components(context))
    result = context.recording.job.result
    if not isinstance(result, ModelResult):
        return
    if features := result.summary.description.vocal_features:
        components: list[Element] = [
            {
                "code": words.own("measure", feature.feature, feature.label),
                "valueQuantity": quantity(feature.value, ucum_code(feature.unit)),
                "interpretation": [_band(feature.value_interpretation)],
            }
            for feature in features
        ]
        yield _observation(context, "features", words.measured("vocal-features"), {}, components)
    if context.scores and result.extended_metrics:
        components = [
            {
                "code": words.own("measure", metric.metric_id, metric.label),
                "valueQuantity": quantity(metric.score_mean, "1"),
            }
            for metric in result.extended_metrics
        ]
        yield _observation(context, "metrics", words.measured("extended-metrics"), {}, components)


def _observation(
    context: RecordingContext,
    kind: str,
    code: Element,
    value: Element,
    components: Iterable[Element],
    sentence: str = "",
) -> Element:
    words, recording = fhir_codes(), context.recording
    parts = list(components)
    return {
        "resourceType": "Observation",
        "id": context.identity(kind),
        "language": context.record.language,
        "text": narrative(sentence or f"{code['text']}.", words.disclaimer),
        "identifier": [{"system": words.system("observation"), "value": f"{recording.job.job_id}/{kind}"}],
        "status": "final",
        "category": [hl7("observation-category", "procedure", "Procedure")],
        "code": code,
        "subject": subject_reference(context.record),
        **moment_of(recording),
        **value,
        "note": [{"text": words.disclaimer}],
        "method": {"text": words.method},
        "device": {"reference": context.device},
        **({"component": parts} if parts else {}),
    }


def _interpretations(signal: Signal) -> Iterator[Element]:
    words = fhir_codes()
    yield words.interpreted(words.level[signal.level].interpretation)
    if isinstance(signal, LongitudinalSignal) and signal.anomaly and signal.z_score is not None:
        yield words.interpreted("U" if signal.z_score > 0 else "D")


def _sign_components(context: RecordingContext, signal: Signal) -> Iterator[Element]:
    words = fhir_codes()
    if signal.evidence_grade:
        yield {"code": words.measured("evidence-grade"), "valueString": signal.evidence_grade}
    if isinstance(signal, LongitudinalSignal) and signal.anomaly is not None:
        yield {"code": words.measured("anomaly"), "valueBoolean": signal.anomaly}
    if not context.scores:
        return
    yield {"code": words.measured("score"), "valueQuantity": quantity(signal.score, "1")}
    if signal.score_interval is not None:
        low, high = (quantity(end, "1") for end in signal.score_interval)
        yield {"code": words.measured("score-interval"), "valueRange": {"low": low, "high": high}}
    if isinstance(signal, LongitudinalSignal):
        for field in ("latest_score", "baseline_score", "deviation_from_baseline", "z_score", "population_z"):
            if (value := getattr(signal, field)) is not None:
                yield {"code": words.measured(field.replace("_", "-")), "valueQuantity": quantity(value, "1")}


def _quality_components(context: RecordingContext) -> Iterator[Element]:
    words, quality = fhir_codes(), context.recording.quality
    seconds = context.recording.job.audio_duration_seconds
    yield {"code": words.measured("audio-duration"), "valueQuantity": quantity(seconds, "s")}
    if quality is None:
        return
    if quality.voice_percentage is not None:
        yield {"code": words.measured("voice-percentage"), "valueQuantity": quantity(quality.voice_percentage, "%")}
    if quality.audio_clarity is not None:
        yield {"code": words.measured("audio-clarity"), "valueQuantity": quantity(quality.audio_clarity, "{score}")}
    for issue in quality.issues:
        yield {
            "code": words.measured("issue"),
            "valueCodeableConcept": words.own("issue", issue, issue.replace("_", " ")),
        }


def _band(band: ValueInterpretation) -> Element:
    return fhir_codes().own("band", band.value.replace(" ", "-"), band.value.capitalize())

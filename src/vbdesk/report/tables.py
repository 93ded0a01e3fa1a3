"""A subject as tidy tables, one per kind of observation."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from vbdesk import __version__
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.contract.results import AudioQuality, LongitudinalSignal, ModelResult, Signal, SpeakerResult
from vbdesk.contract.spoken_language import is_widened
from vbdesk.report.comparison_basis import split_version
from vbdesk.report.data_dictionary import ucum_code
from vbdesk.report.recording_details import RecordingDetails
from vbdesk.report.subject_record import RecordingRecord, SubjectRecord

if TYPE_CHECKING:
    from vbdesk.report.own_ranges import OwnRange

Value = str | int | float | bool | datetime | None
Row = dict[str, Value]

_DECIMALS = 3  # of own ranges; values of features have two


def table_rows(table: str, records: Iterable[SubjectRecord]) -> Iterator[Row]:
    """Rows of one table of tables.toml, by subject and recording time."""
    for record in records:
        yield from _TABLES[table](record)


def _recordings(record: SubjectRecord) -> Iterator[Row]:
    points = {} if record.trajectory is None else {point.job_id: point for point in record.trajectory.data_points}
    for recording in record.recordings:
        job, quality, point = recording.job, recording.quality, points.get(recording.job.job_id)
        kind, target = recording.target
        speakers = job.result.speakers if job.result else None
        yield _row_key(record, recording) | {
            "status": job.status.value,
            "created_at": job.created_at,
            "completed_at": job.completed_at,
            "target_type": kind.value,
            "target": target,
            "longitudinal": recording.longitudinal if recording.done else None,
            "overall_level": recording.level,
            "recommended_action": recording.action,
            "flagged_count": sum(signal.flagged for signal in recording.signals) if recording.done else None,
            "voice_percentage": quality.voice_percentage if quality else None,
            "audio_clarity": quality.audio_clarity if quality else None,
            "issues": ";".join(quality.issues) if quality else None,
            "audio_duration_seconds": job.audio_duration_seconds,
            "audio_size_bytes": job.audio_size_bytes,
            "audio_sample_rate": job.audio_sample_rate,
            "audio_content_type": job.audio_content_type,
            "timepoint": point.timepoint if point else None,
            "relative_weight": point.relative_weight if point else None,
            "speakers": None if speakers is None else len(speakers),
            "narrative": job.result.summary.description.summary if isinstance(job.result, ModelResult) else None,
            "language": record.language,
            "service": record.source.service,
            "account_id": record.source.account_id,
            **_details(recording.details or RecordingDetails(), known=recording.details is not None),
            "consent": recording.consent or None,
            **_versions(recording),
        }


def _details(details: RecordingDetails, *, known: bool) -> Row:
    check = details.check
    return {
        "protocol": details.protocol or None,
        "protocol_version": details.protocol_version,
        "protocol_language": details.protocol_language or None,
        "microphone": details.microphone or None,
        "microphone_sample_rate": details.microphone_sample_rate,
        "imported": details.imported if known else None,
        "tags": ";".join(tag.replace(";", ",") for tag in details.tags) or None,
        "note": details.note or None,
        "markers": ";".join(f"{mark:.2f}" for mark in details.markers_s) or None,
        "check": _text(check.get("overall")),
        "check_speech_seconds": _number(check.get("speech_seconds")),
        "check_rms_dbfs": _number(check.get("rms_dbfs")),
        "check_peak_dbfs": _number(check.get("peak_dbfs")),
        "check_clipped_percentage": _number(check.get("clipped_percent")),
        "recorder_version": details.recorder_version or None,
        "spoken_language": details.spoken_language or None,
        "second_language": details.second_language,
    }


def _versions(recording: RecordingRecord) -> Row:
    found = sorted({signal.sign_version for signal in recording.signals if signal.sign_version})
    norms = sorted({norms for version in found if (norms := split_version(version)[1])})
    return {
        "sign_versions": ";".join(found) or None,
        "norms_version": ";".join(norms) or None,
        "compared_cautiously": any(is_widened(version) for version in found) if found else None,
        "export_version": __version__,
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _signs(record: SubjectRecord) -> Iterator[Row]:
    points = () if record.trajectory is None else record.trajectory.data_points
    in_trajectory = {(point.job_id, signal.name): signal.sign_version for point in points for signal in point.signals}
    for recording in record.finished:
        for signal in recording.signals:
            low, high = signal.score_interval or (None, None)
            yield _row_key(record, recording) | {
                "target": recording.target[1],
                "sign": signal.name,
                "label": signal.label,
                "language": record.language,
                "level": signal.level.value,
                "level_rank": None if signal.level is Level.INCONCLUSIVE else LEVEL_ORDER.index(signal.level),
                "flagged": signal.flagged,
                "score": signal.score,
                "score_low": low,
                "score_high": high,
                **_longitudinal_fields(signal),
                "evidence_grade": signal.evidence_grade,
                "sign_version": signal.sign_version,
                "trajectory_sign_version": in_trajectory.get((recording.job.job_id, signal.name)),
            }


def _longitudinal_fields(signal: Signal) -> Row:
    fields = ("latest_score", "baseline_score", "deviation_from_baseline", "anomaly", "z_score", "population_z")
    known = isinstance(signal, LongitudinalSignal)
    return {field: getattr(signal, field) if known else None for field in fields}


def _measures(record: SubjectRecord) -> Iterator[Row]:
    # imported late: windows open without the longitudinal method
    from vbdesk.report.own_ranges import CountedResult, own_ranges_by_job

    own = own_ranges_by_job(
        CountedResult(each.job.job_id, each.recorded_at, each.job.result, each.job.audio_duration_seconds)
        for each in record.finished
        if each.job.result is not None
    )
    for recording in record.finished:
        result, ranges = recording.job.result, own.get(recording.job.job_id, {})
        key = _row_key(record, recording) | {"language": record.language}
        if isinstance(result, ModelResult):
            for feature in result.summary.description.vocal_features:
                yield key | {
                    "kind": "vocal_feature",
                    "measure": feature.feature,
                    "label": feature.label,
                    "value": feature.value,
                    "unit": ucum_code(feature.unit),
                    "interpretation": feature.value_interpretation.value,
                    **_own_range(ranges.get(feature.feature)),
                }
            for metric in result.extended_metrics:
                yield key | {
                    "kind": "extended_metric",
                    "measure": metric.metric_id,
                    "label": metric.label,
                    "value": metric.score_mean,
                    "spread": metric.score_std,
                    "unit": "1",
                    "low_anchor": metric.low_anchor,
                    "high_anchor": metric.high_anchor,
                }
        for measure, label, value, unit in _quality_measures(recording.quality):
            yield key | {"kind": "audio_quality", "measure": measure, "label": label, "value": value, "unit": unit}


def _own_range(own: "OwnRange | None") -> Row:
    if own is None:
        return {}
    return {
        "own_low": round(own.low, _DECIMALS),
        "own_high": round(own.high, _DECIMALS),
        "own_z": round(own.z, _DECIMALS),
        "own_position": own.position,
        "own_changed": own.changed,
        "own_days": own.days,
    }


def _quality_measures(quality: AudioQuality | None) -> Iterator[tuple[str, str, float, str]]:
    if quality is not None and quality.voice_percentage is not None:
        yield "voice_percentage", "Voice percentage", quality.voice_percentage, "%"
    if quality is not None and quality.audio_clarity is not None:
        yield "audio_clarity", "Audio clarity", quality.audio_clarity, "{score}"


def _speakers(record: SubjectRecord) -> Iterator[Row]:
    for recording in record.finished:
        result = recording.job.result
        for speaker in (result.speakers if result else None) or []:
            key = _row_key(record, recording) | {"speaker": speaker.speaker, "speech_seconds": speaker.speech_seconds}
            signals = signals_of_speaker(speaker)
            if not signals:
                yield key
            for signal in signals:
                yield key | {
                    "sign": signal.name,
                    "level": signal.level.value,
                    "flagged": signal.flagged,
                    "score": signal.score,
                }


def signals_of_speaker(speaker: SpeakerResult) -> list[Signal]:
    """Readings of one speaker; empty if the speaker spoke too little."""
    return list(speaker.signals or []) or ([speaker.signal] if speaker.signal else [])


def _trajectory(record: SubjectRecord) -> Iterator[Row]:
    measured = {recording.recorded_at: recording.measured_at for recording in record.recordings}
    for sign in record.trajectory.signs if record.trajectory else []:
        for point in sign.series:
            yield {
                "group_id": record.group_id,
                "sign": sign.name,
                "recorded_at": measured.get(point.t, point.t),
                "recordings": point.n,
                "reading": point.reading,
                "latest_score": point.latest,
                "latest_low": point.latest_interval[0],
                "latest_high": point.latest_interval[1],
                "baseline_score": point.baseline,
                "normal_low": point.normal_range[0],
                "normal_high": point.normal_range[1],
                "z_score": point.z,
                "z_sustained": point.z_sustained,
                "anomaly": point.anomaly,
                "anomaly_kind": point.kind,
            }


def _row_key(record: SubjectRecord, recording: RecordingRecord) -> Row:
    return {
        "group_id": record.group_id,
        "job_id": recording.job.job_id,
        "recorded_at": recording.measured_at,
    }


_TABLES: Mapping[str, Callable[[SubjectRecord], Iterator[Row]]] = {
    "recordings": _recordings,
    "signs": _signs,
    "measures": _measures,
    "speakers": _speakers,
    "trajectory": _trajectory,
}

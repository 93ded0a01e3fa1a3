"""Synthetic subjects, filtered by the longitudinal method, for the tests and benchmarks of reports."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, label_of
from vbdesk.contract.jobs import Job, JobStatus, JobType
from vbdesk.contract.levels import FLAGGED_LEVELS, LEVEL_ORDER, Level, overall_level, recommended_action
from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.contract.results import (
    AudioQuality,
    Description,
    ExtendedMetric,
    LongitudinalSignal,
    ModelResult,
    SignResult,
    SpeakerResult,
    Summary,
    ValueInterpretation,
    VocalFeature,
)
from vbdesk.longitudinal import HistoryEntry, SignReading, trajectory, wire_fields
from vbdesk.longitudinal.incremental_filter import estimates_by_job
from vbdesk.report.shipped_signs import shipped_signs
from vbdesk.report.subject_record import RecordSource, SubjectRecord, subject_record

SOURCE = RecordSource("https://service.example.org", "acct-7")
AS_OF = datetime(2026, 11, 21, 10, 41, 7, tzinfo=UTC)
PULSE = ModelName.PULSE
NARRATIVE = "Speech was slower than this person's usual. This alone decides nothing; a repeat recording may help."
FEATURES = [
    ("speech_rate", "Speech rate", 2.46, "syllables/s", ValueInterpretation.REDUCED),
    ("pause_duration", "Mean pause duration", 1.347, "s", ValueInterpretation.HIGH),
    ("pitch_range", "Pitch range", 4.21, "semitones", ValueInterpretation.WITHIN_RANGE),
    ("voice_shimmer", "Shimmer", 0.42, "dB", ValueInterpretation.SLIGHTLY_ELEVATED),
    ("vowel_space", "Vowel space", 7.908, "Bark^2", ValueInterpretation.LOW),
]
METRICS = [
    ("anxious-mood", "Anxious Mood", 0.725, 0.0973, "at ease", "very anxious"),
    ("vitality", "Vitality", 0.31, 0.08, "drained", "lively"),
]


def level_at(sign: str, score: float) -> Level:
    """Level of a score by the shipped calibration."""
    cuts = shipped_signs()[sign].score_cuts
    return [Level.NONE, *(level for level in LEVEL_ORDER[1:] if level in cuts and score >= cuts[level])][-1]


def pulse_scores(n: int, seed: int = 3) -> list[dict[str, float]]:
    """Scores of `n` recordings around a third, for the six signs of pulse."""
    generator = np.random.default_rng(seed)
    names = [sign.value for sign in MODEL_SIGNS[PULSE]]
    values = 1.0 / (1.0 + np.exp(1.1 - 0.45 * generator.normal(size=(n, len(names)))))
    return [dict(zip(names, row.round(4).tolist(), strict=True)) for row in values]


def spread_days(n: int, days: float = 260.0) -> list[float]:
    """`n` moments in days before `AS_OF`, oldest first."""
    return np.linspace(days, 0, n).tolist() if n > 1 else [0.0]


def subject(
    scores: Sequence[Mapping[str, float]],
    *,
    days_ago: Sequence[float] | None = None,
    group_id: str = "ward4-0172",
    issues: Mapping[int, Sequence[str]] | None = None,
    level: Level | None = None,
    model: ModelName | None = PULSE,
    speakers: int = 0,
    narrative: str = NARRATIVE,
    source: RecordSource = SOURCE,
) -> SubjectRecord:
    """A subject with one finished longitudinal job for each of `scores`; `level` replaces every level."""
    days = spread_days(len(scores)) if days_ago is None else days_ago
    entries = [_entry(k, days[k], row, (issues or {}).get(k, ()), level) for k, row in enumerate(scores)]
    jobs = [
        (entry.recorded_at, _job(entry, wire_fields(standings), model, speakers, narrative))
        for entry, standings in estimates_by_job(entries)
    ]
    labels = {sign: label_of(sign) for row in scores for sign in row}
    return subject_record(group_id, source, jobs, trajectory(group_id, entries, AS_OF, labels=labels))


def unfinished(job_id: str, status: JobStatus, recorded_at: datetime = AS_OF) -> tuple[datetime, Job]:
    """A job without a result."""
    return recorded_at, Job(
        job_id=job_id,
        status=status,
        created_at=recorded_at,
        completed_at=None,
        job_type=JobType.MODEL,
        api_version="v2",
        audio_content_type="audio/flac",
        audio_size_bytes=1000,
        audio_duration_seconds=30.0,
        audio_sample_rate=None,
        model_name="pulse",
        result=None,
    )


def golden() -> dict[str, SubjectRecord]:
    """Subjects that every export must handle."""
    steady = pulse_scores(24)
    drift = [
        {sign: min(0.95, score + 0.45 * (sign == "mood-disruption" and k > 17)) for sign, score in row.items()}
        for k, row in enumerate(steady)
    ]
    gap = [260.0 - 5 * k if k < 12 else 55.0 - 5 * (k - 12) for k in range(24)]
    stress = [{"stress": row["stress"]} for row in steady[:3]]
    mixed = subject_record(
        "mixed",
        SOURCE,
        [
            *[(item.recorded_at, item.job) for item in subject(drift[-4:], group_id="mixed").recordings],
            *[
                (item.recorded_at - timedelta(hours=1), item.job.model_copy(update={"job_id": f"s-{item.job.job_id}"}))
                for item in subject(stress, group_id="mixed", model=None).recordings
            ],
            unfinished("failed-1", JobStatus.FAILED),
            unfinished("late-1", JobStatus.TIMED_OUT),
            unfinished("open-1", JobStatus.RUNNING),
        ],
        subject(drift[-4:], group_id="mixed").trajectory,
    )
    inconclusive = subject(
        steady[:3],
        group_id="quiet",
        level=Level.INCONCLUSIVE,
        issues=dict.fromkeys(range(3), ("insufficient_speech", "high_background_noise", "unheard_of")),
    )
    return {
        "nothing yet": subject_record("empty", SOURCE, []),
        "first recording": subject(drift[-1:], group_id="first"),
        "two": subject(drift[-2:], group_id="two", issues={1: ("clipping",)}),
        "gaps and anomalies": subject(drift, days_ago=gap, issues={3: ("high_background_noise",), 20: ("clipping",)}),
        "mixed models": mixed,
        "inconclusive only": inconclusive,
        "diarized": subject(drift[-2:], group_id="pair", speakers=2),
        "one sign": subject(stress, group_id="single", model=None),
    }


def long_history() -> SubjectRecord:
    """401 recordings by six signs, ten times what a page lists."""
    return subject(pulse_scores(401), days_ago=spread_days(401, 269.0), group_id="long")


def _entry(
    number: int, days_ago: float, scores: Mapping[str, float], issues: Sequence[str], level: Level | None
) -> HistoryEntry:
    signs = {}
    for sign, score in scores.items():
        reading = level or level_at(sign, score)
        signs[sign] = SignReading(score, reading.value, reading in FLAGGED_LEVELS)
    return HistoryEntry(
        job_id=f"job-{number:04d}",
        recorded_at=AS_OF - timedelta(days=days_ago),
        status="done",
        duration_s=41.5,
        voice_percentage=66.9,
        audio_clarity=45.0 if issues else 88.0,
        issues=tuple(issues),
        recommended_action=None,
        signs=signs,
    )


def _job(
    entry: HistoryEntry,
    fields: Mapping[str, LongitudinalFields],
    model: ModelName | None,
    speakers: int,
    narrative: str,
) -> Job:
    signals = [
        LongitudinalSignal(
            name=sign,
            label=label_of(sign),
            score=reading.score,
            level=Level(reading.level),
            flagged=reading.flagged,
            evidence_grade=shipped_signs()[sign].evidence_grade,
            score_interval=(max(0.0, reading.score - 0.08), min(1.0, reading.score + 0.08)),
            sign_version="1.0.0",
            **fields.get(sign, LongitudinalFields()).model_dump(),
        )
        for sign, reading in entry.signs.items()
    ]
    quality = AudioQuality(
        issues=list(entry.issues), voice_percentage=entry.voice_percentage, audio_clarity=entry.audio_clarity
    )
    result = SignResult(signal=signals[0], audio_quality=quality)
    if model is not None:
        result = _model_result(signals, quality, speakers, narrative)
    return Job(
        job_id=entry.job_id,
        status=JobStatus.DONE,
        created_at=entry.recorded_at + timedelta(minutes=4),
        completed_at=entry.recorded_at + timedelta(minutes=4, seconds=12),
        job_type=JobType.SIGN if model is None else JobType.MODEL,
        api_version="v2",
        audio_content_type="audio/flac",
        audio_size_bytes=651_813,
        audio_duration_seconds=41.544,
        audio_sample_rate=16_000,
        model_name=None if model is None else model.value,
        sign_name=signals[0].name if model is None else None,
        result=result,
    )


def _model_result(
    signals: list[LongitudinalSignal], quality: AudioQuality, speakers: int, narrative: str
) -> ModelResult:
    levels = [signal.level for signal in signals]
    summary = Summary(
        overall_level=overall_level(levels),
        recommended_action=recommended_action(levels),
        flagged_count=sum(signal.flagged for signal in signals),
        primary_signals=[signal.name for signal in sorted(signals, key=lambda signal: -signal.score)[:3]],
        description=Description(
            summary=narrative,
            vocal_features=[
                VocalFeature(feature=feature, label=label, value=value, unit=unit, value_interpretation=word)
                for feature, label, value, unit, word in FEATURES
            ],
        ),
    )
    return ModelResult(
        summary=summary,
        signals=signals,
        audio_quality=quality,
        extended_metrics=[
            ExtendedMetric(metric_id=id_, label=label, score_mean=mean, score_std=sd, low_anchor=low, high_anchor=high)
            for id_, label, mean, sd, low, high in METRICS
        ],
        speakers=[_speaker(k, summary, signals) for k in range(speakers)] or None,
    )


def _speaker(number: int, summary: Summary, signals: list[LongitudinalSignal]) -> SpeakerResult:
    segments = [(2.0 * number, 2.0 * number + 1.5)]
    if number:  # the second voice said too little
        return SpeakerResult(speaker=f"speaker_{number + 1}", speech_seconds=4.5, segments=segments)
    return SpeakerResult(speaker="speaker_1", speech_seconds=31.25, segments=segments, summary=summary, signals=signals)

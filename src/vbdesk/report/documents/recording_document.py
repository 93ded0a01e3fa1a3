"""What the report of one recording shows, as plain data for the template `recording.typ`."""

from collections.abc import Iterator
from typing import Any

from vbdesk.contract.catalog import label_of
from vbdesk.contract.feature_texts import is_finding, plain_words
from vbdesk.contract.jobs import JobType
from vbdesk.contract.levels import Level
from vbdesk.contract.results import LongitudinalSignal, ModelResult, Signal, ValueInterpretation, VocalFeature
from vbdesk.report.comparison_basis import comparison_basis
from vbdesk.report.documents.appendix import appendix
from vbdesk.report.documents.attached import Attached, attached_bundle, attached_tables
from vbdesk.report.documents.course import course
from vbdesk.report.documents.frame import document_frame, sign_off
from vbdesk.report.documents.report_input import ReportInput
from vbdesk.report.documents.table_cell import cell, cell_of_level
from vbdesk.report.reader_words import level_word
from vbdesk.report.report_texts import report_texts
from vbdesk.report.result_texts import overall_word, quality_text, result_texts
from vbdesk.report.shipped_signs import healthy_flagged_share, shipped_signs
from vbdesk.report.tables import signals_of_speaker
from vbdesk.report.time_format import format_duration, format_moment

OWN_RANGE_Z = 1.96
"""Up to this z-score a change is within the subject's own range."""
_BANDS = tuple(ValueInterpretation)


def recording_document(subject: ReportInput) -> dict[str, Any]:
    """Everything that `recording.typ` shows, in its order."""
    texts = report_texts()
    said = quality_text(subject.quality)
    when = format_moment(subject.recording.recorded_at, subject.options.zone)
    frame = document_frame(
        subject.options,
        title=texts.title,
        name=subject.record.group_id,
        description=f"{texts.fact.recorded} {when}.",
        attachments=_attachments(subject) if subject.options.attach else (),
    )
    return frame | {
        "subject": {
            "label": texts.fact.subject,
            "name": subject.record.group_id,
            "line": subject.options.subject_line,
        },
        "facts": [{"label": label, "value": value} for label, value in _facts(subject)],
        "overall": _overall(subject),
        "signals": _signals(subject),
        "caution": {"title": texts.caution.title, "words": _caution(subject)},
        "quality_title": texts.fact.quality,
        "quality_notes": " ".join((*said.issues, *said.advice)) if said.issues else "",
        "sign_off": sign_off(subject.options),
        "course": course(subject.record, subject.options, subject.signals),
        "narrative": _narrative(subject),
        "features": _features(subject),
        "metrics": _metrics(subject),
        "quality": {"title": texts.details.quality, "words": _quality_words(subject)},
        "tables": [*_speakers(subject), *_scores(subject)],
        "appendix": appendix(subject.signals, subject.recording.job.job_id) if subject.options.appendix else None,
    }


def _attachments(subject: ReportInput) -> list[Attached]:
    alone = subject.record.only(subject.recording)
    return [*attached_tables([subject.record], subject.options), attached_bundle(alone, subject.options)]


def change_text(signal: Signal) -> str:
    """Text of a sign's change from the subject's baseline."""
    words = report_texts().signals
    if not isinstance(signal, LongitudinalSignal) or signal.level is Level.INCONCLUSIVE:
        return words.not_compared
    if signal.z_score is None:
        return words.first if signal.baseline_score is None else words.not_compared
    if signal.anomaly or abs(signal.z_score) > OWN_RANGE_Z:
        return words.above if signal.z_score > 0 else words.below
    return words.within


def _facts(subject: ReportInput) -> Iterator[tuple[str, str]]:
    texts, job, zone = report_texts(), subject.recording.job, subject.options.zone
    fact = texts.fact
    yield fact.recorded, format_moment(subject.recording.recorded_at, zone)
    yield fact.analysed, format_moment(job.completed_at or job.created_at, zone)
    yield fact.length, format_duration(job.audio_duration_seconds)
    kind, name = subject.recording.target
    versions = sorted({signal.sign_version for signal in subject.signals if signal.sign_version})
    target = (fact.sign if kind in (JobType.SIGN, JobType.CONDITION) else fact.model).format(name=label_of(name))
    yield fact.analysis, ", ".join([target, *(fact.version.format(version=version) for version in versions)])
    count = len([other for other in subject.record.finished if other.recorded_at <= subject.recording.recorded_at])
    yield fact.history, texts.counted(count) if subject.recording.longitudinal else fact.no_history
    issues = len(subject.quality.issues)
    yield (
        fact.quality,
        fact.issues.format(count=issues) if issues > 1 else fact.one_issue if issues else fact.good_quality,
    )


def _overall(subject: ReportInput) -> dict[str, Any]:
    advice = result_texts().action[subject.action]
    return {
        "level": subject.level,
        "word": overall_word(subject.level),
        "caption": "" if subject.level is Level.NONE else report_texts().overall.caption,
        "advice": f"{advice.title} {advice.sentence}",
    }


def _signals(subject: ReportInput) -> dict[str, Any]:
    texts = report_texts().signals
    rows = []
    for signal in subject.signals:
        reference = shipped_signs().get(signal.name)
        compared = isinstance(signal, LongitudinalSignal) and signal.level is not Level.INCONCLUSIVE
        rows.append(
            {
                "label": signal.label,
                "level": signal.level,
                "word": level_word(signal.level),
                "change": change_text(signal),
                "z": signal.z_score if compared and isinstance(signal, LongitudinalSignal) else None,
                "evidence": reference.evidence_text(signal.evidence_grade) if reference else "",
            }
        )
    columns = [texts.signal, texts.level, texts.baseline, f"{texts.lower}  ·  {texts.higher}", texts.evidence]
    return {"title": texts.title, "columns": columns, "rows": rows}


def _caution(subject: ReportInput) -> str:
    compared = report_texts().compared.of(comparison_basis(subject.signals))
    return " ".join(words for words in (report_texts().caution.what, _flagged(subject), compared) if words)


def _flagged(subject: ReportInput) -> str:
    texts, share = report_texts().caution, healthy_flagged_share().get(subject.model or "")
    if share is None or not subject.model:
        return texts.flagged_unknown
    return texts.flagged.format(model=label_of(subject.model), percent=round(share * 100))


def _narrative(subject: ReportInput) -> dict[str, str] | None:
    if not isinstance(subject.result, ModelResult) or not subject.result.summary.description.summary.strip():
        return None
    words = subject.result.summary.description.summary
    return {"title": report_texts().details.for_staff, "words": words, "language": subject.record.language[:2]}


def _features(subject: ReportInput) -> dict[str, Any]:
    texts = report_texts().details
    features = subject.result.summary.description.vocal_features if isinstance(subject.result, ModelResult) else []
    rows = [
        {
            "name": _named(feature),
            "value": f"{_rounded(feature.value)} {feature.unit}".replace("^2", "²").strip(),
            "place": _BANDS.index(feature.value_interpretation),
            "band": _band_text(feature),
        }
        for feature in features
    ]
    columns = [texts.feature, texts.value, "", texts.band]
    return {"title": texts.features, "about": texts.features_about, "columns": columns, "rows": rows}


def _named(feature: VocalFeature) -> str:
    """`Shimmer (local, dB): Uneven strength of the vocal folds`."""
    plain = plain_words(feature.feature)
    return report_texts().details.feature_plain.format(label=feature.label, plain=plain) if plain else feature.label


def _band_text(feature: VocalFeature) -> str:
    """The band in a word, and whether it is no finding."""
    band = feature.value_interpretation
    word = band.value.capitalize()
    if band is ValueInterpretation.WITHIN_RANGE or is_finding(feature.feature, band):
        return word
    return report_texts().details.no_finding.format(band=word)


def _metrics(subject: ReportInput) -> dict[str, Any]:
    texts = report_texts().details
    shown = (
        subject.result.extended_metrics if subject.options.scores and isinstance(subject.result, ModelResult) else []
    )
    rows = [
        {
            "name": metric.label,
            "low": metric.low_anchor,
            "high": metric.high_anchor,
            "mean": metric.score_mean,
            "spread": metric.score_std,
        }
        for metric in shown or []
    ]
    return {
        "title": texts.metrics,
        "about": texts.metrics_about,
        "columns": [texts.metric, texts.between],
        "rows": rows,
    }


def _quality_words(subject: ReportInput) -> str:
    texts, said = report_texts().details, quality_text(subject.quality)
    found = " ".join(said.issues) or texts.quality_good
    advice = f"{texts.next_time}: {' '.join(said.advice)}" if said.advice else ""
    return " ".join(words for words in (said.figures, found, advice) if words)


def _speakers(subject: ReportInput) -> Iterator[dict[str, Any]]:
    texts, speakers = report_texts().details, subject.result.speakers or []
    if not speakers:
        return
    rows = []
    for speaker in speakers:
        levels = {signal.name: signal.level for signal in signals_of_speaker(speaker)}
        marks = [levels.get(signal.name) for signal in subject.signals]
        rows.append(
            [
                cell(speaker.speaker.replace("_", " ")),
                cell(format_duration(speaker.speech_seconds)),
                *(cell_of_level(mark) for mark in marks),
                cell("" if levels else texts.too_little),
            ]
        )
    columns = [texts.speaker, texts.speech, *(signal.label for signal in subject.signals), ""]
    shares = [14, 11, *(10 for _ in subject.signals), 12]
    yield {
        "title": texts.speakers,
        "about": texts.speakers_about,
        "columns": columns,
        "shares": shares,
        "rows": rows,
    }


def _scores(subject: ReportInput) -> Iterator[dict[str, Any]]:
    if not subject.options.scores:
        return
    texts, rows = report_texts().details, []
    for signal in subject.signals:
        low, high = signal.score_interval or (None, None)
        known = signal if isinstance(signal, LongitudinalSignal) else None
        figures = (
            f"{signal.score:.3f}",
            "–" if low is None else f"{low:.3f} to {high:.3f}",
            _format_figure(known.latest_score if known else None, ".3f"),
            _format_figure(known.baseline_score if known else None, ".3f"),
            _format_figure(known.z_score if known else None, "+.2f"),
        )
        rows.append([cell(signal.label), *(cell(figure) for figure in figures)])
    columns = [report_texts().signals.signal, texts.score, texts.interval, texts.latest, texts.baseline, texts.z]
    yield {
        "title": texts.scores,
        "about": texts.scores_about,
        "columns": columns,
        "shares": [30, *(14 for _ in columns[1:])],
        "rows": rows,
    }


def _rounded(value: float) -> str:
    """Format with about three significant digits."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}".replace("-", "−")


def _format_figure(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form).replace("-", "−")

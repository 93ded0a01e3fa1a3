"""What the report of one recording shows, as plain data for the template `recording.typ`."""

from collections.abc import Iterator
from typing import Any

from vbdesk.contract.baseline_changes import OWN_RANGE_Z
from vbdesk.contract.catalog import label_of
from vbdesk.contract.feature_texts import is_finding, plain_words
from vbdesk.contract.jobs import JobType
from vbdesk.contract.levels import Level
from vbdesk.contract.results import LongitudinalSignal, ModelResult, Signal, ValueInterpretation, VocalFeature
from vbdesk.language import _, current, formats, isolated, ngettext, pgettext
from vbdesk.report.comparison_basis import comparison_basis
from vbdesk.report.documents.appendix import appendix
from vbdesk.report.documents.attached import Attached, attached_bundle, attached_tables
from vbdesk.report.documents.caution import caution_text, caution_title, compared_text, flagged_text
from vbdesk.report.documents.frame import document_frame, sign_off
from vbdesk.report.documents.report_input import ReportInput
from vbdesk.report.documents.table_cell import cell, cell_of_level
from vbdesk.report.documents.trajectory_section import trajectory_section
from vbdesk.report.narrative import narrative_of
from vbdesk.report.reader_words import band_word, label_word, level_word, speaker_word, with_unit
from vbdesk.report.result_texts import overall_word, quality_text, result_texts
from vbdesk.report.shipped_signs import healthy_flagged_share, shipped_signs
from vbdesk.report.tables import signals_of_speaker
from vbdesk.report.time_format import format_duration, format_moment

"""Up to this z-score a change is within the subject's own range."""
_BANDS = tuple(ValueInterpretation)


def recording_document(subject: ReportInput) -> dict[str, Any]:
    """Everything that `recording.typ` shows, in its order."""
    said = quality_text(subject.quality)
    when = format_moment(subject.recording.recorded_at, subject.options.zone)
    frame = document_frame(
        subject.options,
        title=_("Voice biomarker report"),
        name=subject.record.group_id,
        description=_("Recorded {moment}.", moment=when),
        attachments=_attachments(subject) if subject.options.attach else (),
    )
    return frame | {
        "subject": {
            "label": _("Subject"),
            "name": isolated(subject.record.group_id),
            "line": isolated(subject.options.subject_line),
        },
        "facts": [{"label": label, "value": value} for label, value in _facts(subject)],
        "overall": _overall(subject),
        "signals": _signals(subject),
        "caution": {"title": caution_title(), "words": _caution(subject)},
        "quality_title": _("Recording quality"),
        "quality_notes": " ".join((*said.issues, *said.advice)) if said.issues else "",
        "sign_off": sign_off(subject.options),
        "course": trajectory_section(subject.record, subject.options, subject.signals),
        "narrative": _narrative(subject),
        "features": _features(subject),
        "metrics": _metrics(subject),
        "quality": {"title": _("Recording quality"), "words": _quality_text(subject)},
        "tables": [*_speakers(subject), *_scores(subject)],
        "appendix": appendix(subject.signals, subject.recording.job.job_id) if subject.options.appendix else None,
    }


def _attachments(subject: ReportInput) -> list[Attached]:
    alone = subject.record.only(subject.recording)
    return [*attached_tables([subject.record], subject.options), attached_bundle(alone, subject.options)]


def change_text(signal: Signal) -> str:
    """Text of a sign's change from the subject's baseline."""
    if not isinstance(signal, LongitudinalSignal) or signal.level is Level.INCONCLUSIVE:
        return _("Not compared")
    if signal.z_score is None:
        return _("First recording") if signal.baseline_score is None else _("Not compared")
    if signal.anomaly or abs(signal.z_score) > OWN_RANGE_Z:
        return _("Above baseline") if signal.z_score > 0 else _("Below baseline")
    return _("In own range")


def _facts(subject: ReportInput) -> Iterator[tuple[str, str]]:
    job, zone = subject.recording.job, subject.options.zone
    yield _("Recorded"), format_moment(subject.recording.recorded_at, zone)
    yield _("Analysed"), format_moment(job.completed_at or job.created_at, zone)
    yield _("Length"), format_duration(job.audio_duration_seconds)
    yield _("Analysis"), _analysis(subject)
    count = len([other for other in subject.record.finished if other.recorded_at <= subject.recording.recorded_at])
    history = ngettext("{count} recording", "{count} recordings", count)
    yield _("History"), history if subject.recording.longitudinal else _("Not compared with a history")
    issues = len(subject.quality.issues)
    found = ngettext("{count} thing to note", "{count} things to note", issues)
    yield _("Recording quality"), found if issues else _("Nothing to improve")


def _analysis(subject: ReportInput) -> str:
    """`Pulse analysis, calibration 2.0.0`."""
    kind, name = subject.recording.target
    label = label_of(name)
    alone = kind in (JobType.SIGN, JobType.CONDITION)
    versions = sorted({signal.sign_version for signal in subject.signals if signal.sign_version})
    if not versions:
        return label_word(label) if alone else _("{model} analysis", model=label)
    version = formats.list_of(versions)
    if alone:
        return _("{sign}, calibration {version}", sign=label_word(label), version=version)
    return _("{model} analysis, calibration {version}", model=label, version=version)


def _overall(subject: ReportInput) -> dict[str, Any]:
    advice = result_texts().action[subject.action]
    return {
        "level": subject.level,
        "word": overall_word(subject.level),
        "caption": "" if subject.level is Level.NONE else _("overall level"),
        "advice": f"{_(advice.title)} {_(advice.sentence)}",
    }


def _signals(subject: ReportInput) -> dict[str, Any]:
    rows = []
    for signal in subject.signals:
        reference = shipped_signs().get(signal.name)
        compared = isinstance(signal, LongitudinalSignal) and signal.level is not Level.INCONCLUSIVE
        rows.append(
            {
                "label": label_word(signal.label),
                "level": signal.level,
                "word": level_word(signal.level),
                "change": change_text(signal),
                "z": signal.z_score if compared and isinstance(signal, LongitudinalSignal) else None,
                "evidence": reference.evidence_text(signal.evidence_grade) if reference else "",
            }
        )
    ends = {"low": _("lower"), "high": _("higher")}
    columns = [_("Signal"), _("Level"), _("Against own baseline"), ends, _("Research support")]
    return {"title": _("Signals"), "columns": columns, "rows": rows}


def _caution(subject: ReportInput) -> str:
    model = subject.model or ""
    flagged = flagged_text(label_of(model), healthy_flagged_share().get(model))
    return " ".join((caution_text(), flagged, compared_text(comparison_basis(subject.signals))))


def _narrative(subject: ReportInput) -> dict[str, str] | None:
    if not isinstance(subject.result, ModelResult):
        return None
    narrative = narrative_of(subject.result.signals, subject.result.summary, subject.quality.issues)
    if not narrative.text:
        return None
    language = subject.record.language[:2] if narrative.of_service else current().name[:2]
    return {"title": _("For care staff, not a diagnosis"), "words": narrative.text, "language": language}


def _features(subject: ReportInput) -> dict[str, Any]:
    features = subject.result.summary.description.vocal_features if isinstance(subject.result, ModelResult) else []
    rows = [
        {
            "name": _named(feature),
            "value": _amount(feature),
            "place": _BANDS.index(feature.value_interpretation),
            "band": _band_text(feature),
        }
        for feature in features
    ]
    columns = [_("Feature"), pgettext("of a measure", "Value"), "", pgettext("of a measure", "Band")]
    about = _("Five bands against the reference of healthy speakers, from low to high.")
    return {"title": _("Vocal features"), "about": about, "columns": columns, "rows": rows}


def _named(feature: VocalFeature) -> str:
    """`Shimmer (local, dB) · Uneven strength of the vocal folds`."""
    plain, label = plain_words(feature.feature), label_word(feature.label)
    return " · ".join((label, _(plain))) if plain else label


def _amount(feature: VocalFeature) -> str:
    """`4.21 semitones`."""
    return with_unit(feature.value, feature.unit)


def _band_text(feature: VocalFeature) -> str:
    """The band in a word, and whether it is no finding."""
    band = feature.value_interpretation
    word = band_word(band)
    if band is ValueInterpretation.WITHIN_RANGE or is_finding(feature.feature, band):
        return word
    return _("{band}, no finding", band=word)


def _metrics(subject: ReportInput) -> dict[str, Any]:
    shown = (
        subject.result.extended_metrics if subject.options.scores and isinstance(subject.result, ModelResult) else []
    )
    rows = [
        {
            "name": label_word(metric.label),
            "low": label_word(metric.low_anchor),
            "high": label_word(metric.high_anchor),
            "mean": metric.score_mean,
            "spread": metric.score_std,
        }
        for metric in shown or []
    ]
    about = _(
        "Descriptive scales between two words, with the spread that other words of the same person would have given."
    )
    return {
        "title": _("How the voice sounded"),
        "about": about,
        "columns": [_("Scale"), pgettext("scale between two words", "Between")],
        "rows": rows,
    }


def _quality_text(subject: ReportInput) -> str:
    said = quality_text(subject.quality)
    found = " ".join(said.issues) or _("Nothing to improve.")
    advice = _("Next time: {advice}", advice=" ".join(said.advice)) if said.advice else ""
    return " ".join(text for text in (said.figures, found, advice) if text)


def _speakers(subject: ReportInput) -> Iterator[dict[str, Any]]:
    speakers = subject.result.speakers or []
    if not speakers:
        return
    rows = []
    for speaker in speakers:
        levels = {signal.name: signal.level for signal in signals_of_speaker(speaker)}
        marks = [levels.get(signal.name) for signal in subject.signals]
        rows.append(
            [
                cell(speaker_word(speaker.speaker)),
                cell(format_duration(speaker.speech_seconds)),
                *(cell_of_level(mark) for mark in marks),
                cell("" if levels else _("too little speech")),
            ]
        )
    columns = [_("Voice"), _("Speech"), *(label_word(signal.label) for signal in subject.signals), ""]
    shares = [14, 11, *(10 for _ in subject.signals), 12]
    yield {
        "title": _("Speakers"),
        "about": _("Voices separated within this recording. The same name in two recordings can be two persons."),
        "columns": columns,
        "shares": shares,
        "rows": rows,
    }


def _scores(subject: ReportInput) -> Iterator[dict[str, Any]]:
    if not subject.options.scores:
        return
    rows = []
    for signal in subject.signals:
        low, high = signal.score_interval or (None, None)
        known = signal if isinstance(signal, LongitudinalSignal) else None
        figures = (
            formats.number(signal.score, ".3f"),
            "–" if low is None else _("{low:.3f} to {high:.3f}", low=low, high=high),
            _format_figure(known.latest_score if known else None, ".3f"),
            _format_figure(known.baseline_score if known else None, ".3f"),
            _format_figure(known.z_score if known else None, "+.2f"),
        )
        rows.append([cell(label_word(signal.label)), *(cell(figure) for figure in figures)])
    columns = [_("Signal"), _("Score"), _("Interval"), _("Estimate"), _("Baseline"), _("z")]
    yield {
        "title": _("Scores"),
        "about": _("Raw scores, for research. The cut between levels differs from sign to sign."),
        "columns": columns,
        "shares": [30, *(14 for _ in columns[1:])],
        "rows": rows,
    }


def _format_figure(value: float | None, form: str) -> str:
    return "–" if value is None else formats.number(value, form).replace("-", "−")

"""Sheets of signs as text."""

from typing import TYPE_CHECKING

from vbdesk.cli.output import table, wrapped
from vbdesk.language import N_, _, formats, pgettext
from vbdesk.report.reader_words import label_word, level_word

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vbdesk.contract.levels import Level
    from vbdesk.signs.fact_sheets import CutPoint, RecordingRequirements, SignFactSheet
    from vbdesk.signs.plugins.fact_sheet import PluginFactSheet, PluginModel

NOTICE = N_("A biomarker signal, not a diagnosis.")


def shipped(sheet: "SignFactSheet") -> "Iterable[str]":
    """The sheet of a shipped sign."""
    title = _(
        "{sign} ({name}), calibration {version}", sign=label_word(sheet.label), name=sheet.name, version=sheet.version
    )
    yield from (title, _(NOTICE), "")
    sentences = [f"{sheet.evidence_grade}.", _(sheet.evidence_grade_means)]
    if sheet.placeholder:
        sentences.insert(1, _("A placeholder: no feature has a confirmed direction of its own."))
    highest = _("{level} (what the evidence allows)", level=_level(sheet.max_level))
    yield from _fields(
        (_("Evidence grade"), " ".join(sentences)),
        (_("Highest level"), highest),
        (pgettext("how fast a sign changes", "Changes"), _(sheet.changes)),
        (pgettext("what a sign measures", "Measures"), _(sheet.measures)),
        (pgettext("what research knows", "Known"), _(sheet.known)),
        (_("Scored for"), _(sheet.scored_for)),
        (_("Models"), ", ".join(sheet.models)),
        (pgettext("what a recording needs", "Needs"), _needs(sheet.needs)),
        (pgettext("how well a reading repeats", "Repeats"), _repeats(sheet)),
    )
    yield ""
    yield from table(
        (_("Weight"), pgettext("direction of a feature", "Moves"), pgettext("by research", "Support"), _("Feature")),
        [
            (
                formats.number(row.weight, "+.4f"),
                _(row.direction),
                _(row.strength),
                _feature(label_word(row.label), row.feature, row.only_voices),
            )
            for row in sheet.features
        ],
    )
    yield from _cuts(sheet.cuts, sheet.max_level, _("Healthy readers at or above it"))
    yield from wrapped(_(sheet.cut_rationale))
    yield from _flagged(sheet)
    yield from _confounders(sheet.confounders)
    if sheet.not_told_apart_from:
        yield from ("", _("Signs that move with it in healthy readers, not separated by this version (correlation):"))
        for other, r in sheet.not_told_apart_from.items():
            twin = "  " + _("twin: the one with less evidence stays low") if other in sheet.twins else ""
            yield f"  {other} {formats.number(r, '+.2f')}{twin}"
    yield from ("", _("Sources:"))
    for source in sheet.sources:
        yield from wrapped(source.cited, "  ", "    ")


def own(sheet: "PluginFactSheet") -> "Iterable[str]":
    """The sheet of a lab's own sign."""
    title = _(
        "{sign} ({name}), version {version}, a sign of your own",
        sign=sheet.label,
        name=sheet.name,
        version=sheet.version,
    )
    yield from (title, _(NOTICE), "")
    grade = _("{grade}, as its file says.", grade=sheet.evidence_grade)
    yield from _fields(
        (_("Evidence grade"), f"{grade} {_(sheet.evidence_grade_means)}"),
        (_("Highest level"), _("{level} (what its file allows)", level=_level(sheet.max_level))),
        (pgettext("how fast a sign changes", "Changes"), _(sheet.changes)),
        (pgettext("what a sign measures", "Measures"), sheet.measures),
        (pgettext("what research knows", "Known"), _(sheet.known)),
        (_("Model"), _model(sheet.model)),
        (_("Found in"), sheet.found_in),
        (pgettext("what a recording needs", "Needs"), _needs(sheet.needs)),
        (
            pgettext("how well a reading repeats", "Repeats"),
            _("ICC {icc:.2f}, as its file says", icc=sheet.repeatability.icc),
        ),
    )
    yield ""
    yield from table(
        (_("Weight"), _("Feature")),
        [
            (
                "–" if row.weight is None else formats.number(row.weight, "+.4f"),
                f"{label_word(row.label)} ({row.feature})",
            )
            for row in sheet.features
        ],
    )
    yield from _cuts(sheet.cuts, sheet.max_level, _("People without the sign at or above it, as its file says"))
    yield from _confounders(sheet.confounders)


def _level(level: "str | Level") -> str:
    from vbdesk.contract.levels import Level

    return level_word(Level(level))


def _feature(label: str, name: str, only_voices: str | None) -> str:
    match only_voices:
        case "female-typical":
            return _("{feature} ({name}, in female-typical voices only)", feature=label, name=name)
        case "male-typical":
            return _("{feature} ({name}, in male-typical voices only)", feature=label, name=name)
    return f"{label} ({name})"


def _fields(*fields: tuple[str, str]) -> "Iterable[str]":
    width = max(len(title) for title, _text in fields) + 1
    for title, text in fields:
        yield from wrapped(text, title.ljust(width))


def _needs(needs: "RecordingRequirements") -> str:
    if needs.audio_clarity is None:
        return _(
            "{seconds:g} s of speech, {share:.0%} of the recording, features with {weight:.0%} of the weight; else"
            " inconclusive",
            seconds=needs.speech_seconds,
            share=needs.voice_percentage / 100,
            weight=needs.share_of_weight_measured,
        )
    return _(
        "{seconds:g} s of speech, {share:.0%} of the recording, clarity {clarity:g} of {most}, features with"
        " {weight:.0%}"
        " of the weight; else inconclusive",
        seconds=needs.speech_seconds,
        share=needs.voice_percentage / 100,
        clarity=needs.audio_clarity,
        most=100,
        weight=needs.share_of_weight_measured,
    )


def _model(model: "PluginModel") -> str:
    more = [
        model.file,
        _gives(model.gives),
        model.scikit_learn and f"scikit-learn {model.scikit_learn}",
        model.sha256 and f"SHA-256 {model.sha256}",
    ]
    return ", ".join([model.kind, *(part for part in more if part)])


def _gives(gives: str | None) -> str | None:
    match gives:
        case "probability":
            return _("gives a probability")
        case "score":
            return _("gives a score")
    return None


def _cuts(cuts: "Sequence[CutPoint]", max_level: str, who: str) -> "Iterable[str]":
    rows = []
    for cut in cuts:
        above = "" if cut.reported else _("(reported as “{level}”)", level=_level(max_level))
        rows.append(
            (
                _level(cut.level),
                formats.number(cut.index, ".3f"),
                formats.number(cut.score, ".4f"),
                formats.number(cut.expected_share, ".2%"),
                above,
            )
        )
    yield ""
    yield from table((_("Level"), _("From index"), _("Score"), who, ""), rows)


def _confounders(confounders: "Sequence[str]") -> "Iterable[str]":
    yield from ("", _("What can sound the same:"))
    yield from (f"  {_(confounder)}" for confounder in confounders)


def _repeats(sheet: "SignFactSheet") -> str:
    icc, change = sheet.repeatability.icc, sheet.repeatability.smallest_real_change
    if change is None:
        return _("ICC {icc:.2f} in free speech, from the literature, provisional", icc=icc)
    return _(
        "ICC {icc:.2f} in free speech, from the literature, provisional; 95 of 100 repeats lie within {change:g} SD"
        " of"
        " the index",
        icc=icc,
        change=change,
    )


def _flagged(sheet: "SignFactSheet") -> "Iterable[str]":
    native, second = sheet.flagged_reference, sheet.flagged_second_language
    if native is not None:
        yield from wrapped(
            _("At consider or above when the cuts were set: {share:.1%} of healthy native readers.", share=native)
        )
    if second is not None:
        yield from wrapped(
            _(
                "At consider or above when the cuts were set: {share:.1%} of healthy second-language readers.",
                share=second,
            )
        )

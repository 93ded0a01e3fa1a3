"""Sheets of signs as text."""

from typing import TYPE_CHECKING

from vbdesk.cli.output import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vbdesk.signs.fact_sheets import CutPoint, RecordingRequirements, SignFactSheet
    from vbdesk.signs.plugins.fact_sheet import PluginFactSheet, PluginModel

NOTICE = "A biomarker signal, not a diagnosis."


def shipped(sheet: "SignFactSheet") -> "Iterable[str]":
    """The sheet of a shipped sign."""
    placeholder = ", placeholder: no feature has a confirmed direction of its own" if sheet.placeholder else ""
    yield from (f"{sheet.label} ({sheet.name}), calibration {sheet.version}", NOTICE, "")
    yield from _fields(
        ("Evidence grade", f"{sheet.evidence_grade}{placeholder}. {sheet.evidence_grade_means}"),
        ("Highest level", f"{sheet.max_level} (what the evidence allows)"),
        ("Changes", sheet.changes),
        ("Measures", sheet.measures),
        ("Known", sheet.known),
        ("Scored for", sheet.scored_for),
        ("Models", ", ".join(sheet.models)),
        ("Needs", _needs(sheet.needs)),
        ("Repeats", _repeats(sheet)),
    )
    yield from ("", "Weight   Moves   Support      Feature")
    for row in sheet.features:
        only = f", {row.only_voices} voices only" if row.only_voices else ""
        yield f"{row.weight:+.4f}  {row.direction:<6}  {row.strength:<11}  {row.label} ({row.feature}{only})"
    yield from _cuts(sheet.cuts, sheet.max_level, "Healthy readers at or above it")
    yield from wrapped(sheet.cut_rationale)
    yield from _flagged(sheet)
    yield from _confounders(sheet.confounders)
    if sheet.not_told_apart_from:
        yield from ("", "Signs that move with it in healthy readers, not separated by this version (correlation):")
        for other, r in sheet.not_told_apart_from.items():
            twin = "" if other not in sheet.twins else "  twin: the one with less evidence stays low"
            yield f"  {other} {r:+.2f}{twin}"
    yield from ("", "Sources:")
    for source in sheet.sources:
        yield from wrapped(source.cited, "  ", "    ")


def own(sheet: "PluginFactSheet") -> "Iterable[str]":
    """The sheet of a lab's own sign."""
    yield from (f"{sheet.label} ({sheet.name}), version {sheet.version}, a sign of your own", NOTICE, "")
    yield from _fields(
        ("Evidence grade", f"{sheet.evidence_grade}, as its file says. {sheet.evidence_grade_means}"),
        ("Highest level", f"{sheet.max_level} (what its file allows)"),
        ("Changes", sheet.changes),
        ("Measures", sheet.measures),
        ("Known", sheet.known),
        ("Model", _model(sheet.model)),
        ("Found in", sheet.found_in),
        ("Needs", _needs(sheet.needs)),
        ("Repeats", f"ICC {sheet.repeatability.icc:.2f}, as its file says"),
    )
    yield from ("", "Weight   Feature")
    for row in sheet.features:
        weight = "      –" if row.weight is None else f"{row.weight:+.4f}"
        yield f"{weight}  {row.label} ({row.feature})"
    yield from _cuts(sheet.cuts, sheet.max_level, "People without the sign at or above it, as its file says")
    yield from _confounders(sheet.confounders)


def _fields(*fields: tuple[str, str]) -> "Iterable[str]":
    for title, text in fields:
        yield from wrapped(text, f"{title:<15} ")


def _needs(needs: "RecordingRequirements") -> str:
    clarity = "" if needs.audio_clarity is None else f", clarity {needs.audio_clarity:g} of 100"
    return (
        f"{needs.speech_seconds:g} s of speech, {needs.voice_percentage:g} % of the recording{clarity}"
        f", features with {100 * needs.share_of_weight_measured:g} % of the weight; else inconclusive"
    )


def _model(model: "PluginModel") -> str:
    more = [
        model.file,
        model.gives and f"gives a {model.gives}",
        model.scikit_learn and f"scikit-learn {model.scikit_learn}",
        model.sha256 and f"SHA-256 {model.sha256}",
    ]
    return ", ".join([model.kind, *(part for part in more if part)])


def _cuts(cuts: "Sequence[CutPoint]", max_level: str, who: str) -> "Iterable[str]":
    yield from ("", f"Level     From index  Score   {who}")
    for cut in cuts:
        above = "" if cut.reported else f"  (reported as {max_level})"
        yield f"{cut.level:<8}  {cut.index:>10.3f}  {cut.score:.4f}  {100 * cut.expected_share:.2f} %{above}"


def _confounders(confounders: "Sequence[str]") -> "Iterable[str]":
    yield from ("", "What can sound the same:")
    yield from (f"  {confounder}" for confounder in confounders)


def _repeats(sheet: "SignFactSheet") -> str:
    change = sheet.repeatability.smallest_real_change
    least = "" if change is None else f"; 95 of 100 repeats lie within {change:g} SD of the index"
    return f"ICC {sheet.repeatability.icc:.2f} in free speech, from the literature, provisional{least}"


def _flagged(sheet: "SignFactSheet") -> "Iterable[str]":
    shares = (("native", sheet.flagged_reference), ("second-language", sheet.flagged_second_language))
    told = [f"{100 * share:.1f} % of healthy {who} readers" for who, share in shares if share is not None]
    if told:
        yield from wrapped(f"At consider or above when the cuts were set: {', '.join(told)}.")

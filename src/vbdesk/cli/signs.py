"""`vbdesk signs`: what stands behind each sign."""

from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.output import fail, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vbdesk.signs.sheets import SignSheet

USAGE = 2
LIST_NOTE = (
    "Flagged: share of healthy readers expected at consider or above, by the calibration; how many affected people are "
    "missed is unknown. These are biomarker signals, not diagnoses."
)

signs = typer.Typer(no_args_is_help=True, help="What stands behind each sign.")

AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]


@signs.callback()
def _root() -> None:
    """Evidence and calibration of the signs."""


@signs.command("list")
def list_signs(as_json: AsJson = False) -> None:
    """List all signs with grade of evidence, highest level, and how many healthy readers are flagged."""
    import json

    from vbdesk.contract.catalog import SignName
    from vbdesk.signs.reference import load_reference
    from vbdesk.signs.sheets import sign_sheet

    sheets = [sign_sheet(name, load_reference()) for name in SignName]
    if as_json:
        typer.echo(json.dumps([sheet.model_dump(mode="json") for sheet in sheets], indent=2))
        return
    typer.echo(f"{'Sign':<27} {'Grade':<14} {'Highest level':<14} {'Flagged':>8}  Models")
    for sheet in sheets:
        grade = sheet.evidence_grade + (" placeholder" if sheet.placeholder else "")
        flagged = next(cut.expected_share if cut.reported else 0.0 for cut in sheet.cuts if cut.level.flagged)
        row = f"{sheet.name:<27} {grade:<14} {sheet.max_level:<14} {100 * flagged:>6.1f} %  {', '.join(sheet.models)}"
        typer.echo(row)
    typer.echo("\n".join(["", *wrapped(LIST_NOTE)]))


@signs.command()
def show(name: Annotated[str, typer.Argument(help="Name of a sign, such as stress.")], as_json: AsJson = False) -> None:
    """Print evidence, weights, cut-points, confounders, expected rates and sources of one sign."""
    from vbdesk.contract.catalog import SignName
    from vbdesk.signs.reference import load_reference
    from vbdesk.signs.sheets import sign_sheet

    if name not in list(SignName):
        fail(f"There is no sign {name!r}. Choose one of: {', '.join(SignName)}.", USAGE)
    sheet = sign_sheet(SignName(name), load_reference())
    typer.echo(sheet.model_dump_json(indent=2) if as_json else "\n".join(_readable(sheet)))


def _readable(sheet: "SignSheet") -> "Iterable[str]":
    yield f"{sheet.label} ({sheet.name}), calibration {sheet.version}"
    yield "A biomarker signal, not a diagnosis."
    yield ""
    placeholder = ", placeholder: no feature has a confirmed direction" if sheet.placeholder else ""
    clarity = "" if sheet.needs.audio_clarity is None else f", clarity {sheet.needs.audio_clarity:g} of 100"
    for title, text in (
        ("Evidence grade", f"{sheet.evidence_grade}{placeholder}. {sheet.evidence_grade_means}"),
        ("Highest level", f"{sheet.max_level} (what the evidence allows)"),
        ("Changes", sheet.changes),
        ("Measures", sheet.measures),
        ("Known", sheet.known),
        ("Scored for", sheet.scored_for),
        ("Models", ", ".join(sheet.models)),
        (
            "Needs",
            f"{sheet.needs.speech_seconds:g} s of speech, {sheet.needs.voice_percentage:g} % of the recording{clarity}"
            f", features with {100 * sheet.needs.share_of_weight_measured:g} % of the weight; else inconclusive",
        ),
        ("Repeats", _repeats(sheet)),
    ):
        yield from wrapped(text, f"{title:<15} ")
    yield from ("", "Weight   Moves   Support      Feature")
    for row in sheet.features:
        only = f", {row.only_voices} voices only" if row.only_voices else ""
        yield f"{row.weight:+.4f}  {row.direction:<6}  {row.strength:<11}  {row.label} ({row.feature}{only})"
    yield from ("", "Level     From index  Score   Healthy readers at or above it")
    for cut in sheet.cuts:
        above = "" if cut.reported else f"  (reported as {sheet.max_level})"
        yield f"{cut.level:<8}  {cut.index:>10.3f}  {cut.score:.4f}  {100 * cut.expected_share:.2f} %{above}"
    yield from wrapped(sheet.cut_rationale)
    yield from _flagged(sheet)
    yield from ("", "What can sound the same:")
    yield from (f"  {confounder}" for confounder in sheet.confounders)
    if sheet.not_told_apart_from:
        yield from ("", "Signs that move with it in healthy readers, not told apart by this version (correlation):")
        yield from (f"  {other} {r:+.2f}" for other, r in sheet.not_told_apart_from.items())
    yield from ("", "Sources:")
    for source in sheet.sources:
        yield from wrapped(source.cited, "  ", "    ")


def _repeats(sheet: "SignSheet") -> str:
    change = sheet.repeatability.smallest_real_change
    least = "" if change is None else f"; two recordings differ for certain from {change:g} SD of the index on"
    return f"ICC {sheet.repeatability.icc:.2f} in free speech, from the literature, provisional{least}"


def _flagged(sheet: "SignSheet") -> "Iterable[str]":
    shares = (("native", sheet.flagged_reference), ("second-language", sheet.flagged_second_language))
    told = [f"{100 * share:.1f} % of healthy {who} readers" for who, share in shares if share is not None]
    if told:
        yield from wrapped(f"At consider or above when the cuts were set: {', '.join(told)}.")

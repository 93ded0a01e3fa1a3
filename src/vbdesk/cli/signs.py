"""`vbdesk signs`: what stands behind each sign."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from vbdesk.contract.catalog import SignName
    from vbdesk.signs.reference import Reference

signs = typer.Typer(no_args_is_help=True, help="What stands behind each sign.")


@signs.callback()
def _root() -> None:
    """Evidence and calibration of the signs."""


@signs.command()
def show(name: Annotated[str, typer.Argument(help="Name of a sign, such as stress.")]) -> None:
    """Print evidence grade, weights, cut-points, confounders and expected rates of one sign."""
    from vbdesk.contract.catalog import SignName
    from vbdesk.signs.reference import load_reference

    try:
        sign = SignName(name)
    except ValueError as error:
        typer.echo(f"There is no sign {name!r}. Choose one of: {', '.join(SignName)}.", err=True)
        raise typer.Exit(2) from error
    typer.echo("\n".join(_description(sign, load_reference())))


def _description(name: "SignName", reference: "Reference") -> list[str]:
    calibration = reference.calibration
    sign = calibration.signs[name]
    rates = calibration.expected_rates(name, reference.norms)
    placeholder = ", placeholder: no feature has a confirmed direction" if sign.placeholder else ""
    return [
        f"{sign.label} ({name}), calibration {calibration.meta.version}",
        "A biomarker signal, not a diagnosis.",
        "",
        f"Evidence grade  {sign.evidence_grade}{placeholder}",
        f"Highest level   {sign.max_level}",
        f"Changes         {'within days' if sign.timescale == 'fast' else 'over weeks'}",
        f"Measures        {sign.meaning}",
        f"Known           {sign.known}",
        "",
        "Weight   Feature",
        *(f"{row.weight:+.4f}  {reference.norms.features[row.feature].label}" for row in sign.evidence),
        "",
        "Level     From index  Healthy readers expected at or above it",
        *(f"{level:<8}  {cut:>10.3f}  {100 * rates[level]:.2f} %" for level, cut in sign.cuts.items()),
        "",
        "What can sound the same:",
        *(f"  {confounder}" for confounder in sign.confounders),
    ]

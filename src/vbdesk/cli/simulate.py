"""`vbdesk simulate`: repeat the published simulations."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from vbdesk.cli.output import fail

BEGIN, END = "<!-- simulation: begin -->", "<!-- simulation: end -->"
PUBLISHED_SEED = 20240611

app = typer.Typer(no_args_is_help=True, help="Repeat published simulations.")


@app.callback()
def _root() -> None:
    """Repeat published simulations."""


@app.command()
def longitudinal(
    seed: Annotated[int, typer.Option(min=0, help="Seed of all draws.")] = PUBLISHED_SEED,
    subjects: Annotated[
        int | None, typer.Option(min=30, help="Stable subjects on the weekly schedule; default: as published.")
    ] = None,
    sign_class: Annotated[str | None, typer.Option("--class", help="Only this class of signs, fast or slow.")] = None,
    write: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the tables between the marks of this file.")
    ] = None,
) -> None:
    """False alarms, power, delay and coverage of the longitudinal method next to the published figures, as Markdown.

    Exit status 1 if a bar is missed; with few subjects that can happen by chance.
    """
    from vbdesk.simulation.longitudinal.report import bar_results, markdown, published_results
    from vbdesk.simulation.longitudinal.run import WEEKLY_SUBJECTS, Simulation, all_settings

    classes = sorted(published_results().published)
    if sign_class is not None and sign_class not in classes:
        fail(f"There is no class {sign_class}; choose {' or '.join(classes)}.", 2)
    before, after = _text_around_marks(write) if write else ("", "")
    simulation = Simulation(seed, subjects or WEEKLY_SUBJECTS)
    results = {}
    settings = list(all_settings([sign_class] if sign_class else classes))
    for number, setting in enumerate(settings, 1):
        if sys.stderr.isatty():
            typer.echo(f"\r{number} of {len(settings)}", err=True, nl=number == len(settings))
        results[setting] = simulation.run(setting)
    text = markdown(results, simulation.seed, simulation.subjects)
    _write_tables(text, write, before, after)
    missed = [row for row in bar_results(results) if not row.holds]
    if missed:
        worst = missed[0]
        bars = "1 bar is" if len(missed) == 1 else f"{len(missed)} bars are"
        fail(
            f"{bars} missed, the first: {worst.bar.figure} ({worst.setting.sign_class}, "
            f"{worst.setting.schedule}, {worst.setting.scenario}) is {worst.measured:.3f}, the bar {worst.bar.text}."
        )


@app.command()
def capacity(
    seed: Annotated[int, typer.Option(min=0, help="Seed of all draws.")] = PUBLISHED_SEED,
    write: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the tables between the marks of this file.")
    ] = None,
) -> None:
    """Resources for 1, 10 and 1,000 million recordings a day, and which part breaks first, as Markdown."""
    from vbdesk.simulation.capacity.inputs import shipped_assumptions, shipped_costs
    from vbdesk.simulation.capacity.report import markdown

    before, after = _text_around_marks(write) if write else ("", "")
    _write_tables(markdown(shipped_assumptions(), shipped_costs(), seed), write, before, after)


def _write_tables(text: str, write: Path | None, before: str, after: str) -> None:
    if write is None:
        typer.echo(text, nl=False)
        return
    try:
        write.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")
    except OSError as error:
        fail(f"{write.name} cannot be written: {error.strerror}.", 2)


def _text_around_marks(path: Path) -> tuple[str, str]:
    try:
        with path.open("r+", encoding="utf-8") as file:  # fail before the simulation if it is not writable
            text = file.read()
    except OSError as error:
        fail(f"{path.name} cannot be opened: {error.strerror}.", 2)
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        fail(f"{path.name} lacks the marks {BEGIN} and {END}.", 2)
    return before, after

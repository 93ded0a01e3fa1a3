"""`vbdesk simulate`: repeat the published simulations."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from vbdesk.cli.output import fail
from vbdesk.language import _, system_reason, translated

BEGIN, END = "<!-- simulation: begin -->", "<!-- simulation: end -->"
VARIANCES_BEGIN, VARIANCES_END = "<!-- variances: begin -->", "<!-- variances: end -->"
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
    from vbdesk.lab.simulation.longitudinal.report import bar_results, markdown, published_results
    from vbdesk.lab.simulation.longitudinal.run import WEEKLY_SUBJECTS, Simulation, all_settings

    classes = sorted(published_results().published)
    if sign_class is not None and sign_class not in classes:
        fail(_("There is no class {name}. Choose one of: {names}.", name=sign_class, names=", ".join(classes)), 2)
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
        fail(
            _(
                "Bars that are missed: {count}. The first: {figure} ({sign_class}, {schedule}, {scenario}) is"
                " {measured:.3f}, the bar {bar}.",
                count=len(missed),
                figure=worst.bar.figure,
                sign_class=worst.setting.sign_class,
                schedule=worst.setting.schedule,
                scenario=worst.setting.scenario,
                measured=worst.measured,
                bar=worst.bar.text,
            )
        )


@app.command()
def variances(
    seed: Annotated[int, typer.Option(min=0, help="Seed of all draws.")] = PUBLISHED_SEED,
    scale: Annotated[float, typer.Option(min=0.01, help="Number of subjects over the published one.")] = 1.0,
    parameters: Annotated[
        Path | None, typer.Option(help="Parameters of your own instead of those of tss-2, to tune their limits.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the tables between the marks of this file.")
    ] = None,
) -> None:
    """False alarms and power of both versions of the longitudinal method for people who vary little and much.

    Exit status 1 if the second version misses a bar; with few subjects that can happen by chance.
    """
    from vbdesk.data_files import DataFileError
    from vbdesk.lab.simulation.longitudinal.variance_report import measure, tables
    from vbdesk.longitudinal.parameters import read_parameters, shipped_parameters

    marks = VARIANCES_BEGIN, VARIANCES_END
    before, after = _text_around_marks(write, marks) if write else ("", "")
    try:
        second = shipped_parameters("tss-2") if parameters is None else read_parameters(parameters)
    except DataFileError as error:
        fail(translated(error), 2)
    results = [measure(used, seed, scale) for used in (shipped_parameters("tss-1"), second)]
    _write_tables(tables(results), write, before, after, marks)
    if missed := results[-1].missed:
        fail(_("Bars that are missed: {count}. The first: {bar}", count=len(missed), bar=missed[0]))


@app.command()
def capacity(
    seed: Annotated[int, typer.Option(min=0, help="Seed of all draws.")] = PUBLISHED_SEED,
    write: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write the tables between the marks of this file.")
    ] = None,
) -> None:
    """Resources for 1, 10 and 1,000 million recordings a day, and which part breaks first, as Markdown."""
    from vbdesk.lab.simulation.capacity.inputs import shipped_assumptions, shipped_costs
    from vbdesk.lab.simulation.capacity.report import markdown

    before, after = _text_around_marks(write) if write else ("", "")
    _write_tables(markdown(shipped_assumptions(), shipped_costs(), seed), write, before, after)


def _write_tables(
    text: str, write: Path | None, before: str, after: str, marks: tuple[str, str] = (BEGIN, END)
) -> None:
    if write is None:
        typer.echo(text, nl=False)
        return
    try:
        write.write_text(f"{before}{marks[0]}\n{text}{marks[1]}{after}", encoding="utf-8")
    except OSError as error:
        fail(_("{file} cannot be written: {reason}.", file=write.name, reason=system_reason(error)), 2)


def _text_around_marks(path: Path, marks: tuple[str, str] = (BEGIN, END)) -> tuple[str, str]:
    try:
        with path.open("r+", encoding="utf-8") as file:  # fail before the simulation if it is not writable
            text = file.read()
    except OSError as error:
        fail(_("{file} cannot be opened: {reason}.", file=path.name, reason=system_reason(error)), 2)
    before, begin, rest = text.partition(marks[0])
    _between, end, after = rest.partition(marks[1])
    if not (begin and end):
        fail(_("{file} lacks the marks {begin} and {end}.", file=path.name, begin=marks[0], end=marks[1]), 2)
    return before, after

"""`vbdesk norms`: measure reference values."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.output import fail
from vbdesk.cli.spoken_language import known_language
from vbdesk.contract.audio_formats import ANY_FORMAT
from vbdesk.lab.commands.batch_measurement import list_failed, measure_with_bar, processes
from vbdesk.language import _, ngettext, system_reason, translated

if TYPE_CHECKING:
    from vbdesk.lab.variability.person_recordings import ScoredRecording

USAGE = 2

norms = typer.Typer(no_args_is_help=True, help="The reference that voices are compared with.")


@norms.callback()
def _root() -> None:
    """Norms: the distribution of each feature in a healthy reference group."""


@norms.command()
def measure(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help=f"Folder of the recordings: {ANY_FORMAT}, one voice each.")
    ],
    speakers: Annotated[
        Path, typer.Option(help="CSV with columns path (within FOLDER), speaker, sex (female or male), age if known.")
    ],
    out: Annotated[Path, typer.Option(help="Norms file to write.")] = Path("norms.toml"),
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel processes. Default: one per core.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--anew", help="Keep what an earlier run measured, or measure all again.")
    ] = True,
    language: Annotated[
        str, typer.Option(help="Language that the speakers read, as their first (BCP 47), such as en or de.")
    ] = "en",
    fewest: Annotated[
        int, typer.Option(min=3, help="Speakers of each sex that a feature needs; below, it keeps its shipped numbers.")
    ] = 20,
) -> None:
    """Measure reference recordings with vbdesk's own extractor and write a norms file in the shipped format.

    Measurements are also stored next to the norms file, in a file that ends in .measured.jsonl, so that an interrupted
    run can continue. The result does not depend on the order of files or the number of processes.
    """
    from vbdesk.contract.catalog import SignName
    from vbdesk.data_files import DataFileError
    from vbdesk.lab.corpus.recording_table import TableError
    from vbdesk.lab.norms.norms_writer import measure_norms, write_norms
    from vbdesk.lab.norms.reference_group import group_by_speaker, read_recording_speakers
    from vbdesk.voice.errors import ModelUnavailable

    read_language = known_language(language) or "en"
    if not folder.is_dir():
        fail(_("There is no folder {folder}.", folder=folder), USAGE)
    try:
        readers = read_recording_speakers(speakers, folder)
        journal = out.with_name(f"{out.name}.measured.jsonl")
        measured, failed = measure_with_bar(list(readers), journal, jobs, resume=resume)
        group = group_by_speaker(readers, measured)
        list_failed(failed, folder)
        result = measure_norms(group, fewest, read_language)
        if not result.measured:
            fail(_nothing_to_write(fewest, [speaker.sex for speaker in group]))
        write_norms(result, out)
    except TableError as error:
        fail(translated(error), USAGE)
    except (DataFileError, ModelUnavailable) as error:
        fail(translated(error))
    except OSError as error:
        fail(_("{file} cannot be written: {reason}.", file=error.filename or out, reason=system_reason(error)))
    typer.echo(
        _(
            "{file}: features {features}, speakers {speakers}, recordings {recordings}.",
            file=out,
            features=result.measured,
            speakers=len(group),
            recordings=len(measured),
        )
    )
    for name, count in result.at_limit.items():
        sentence = ngettext(
            "{feature}: {count} speaker on the floor or ceiling, kept as censored",
            "{feature}: {count} speakers on the floor or ceiling, kept as censored",
            count,
            feature=name,
        )
        typer.echo(f"  {sentence}")
    for name, reason in result.kept.items():
        typer.echo("  " + _("{feature} keeps its shipped numbers: {reason}", feature=name, reason=reason))
    typer.echo(
        _(
            "The reference of {signs} of {total} signs was measured with them.",
            signs=result.signs,
            total=len(SignName),
        )
    )
    if result.signs < len(SignName):
        typer.echo(_("The others keep the one that ships."))
    typer.echo(_("Use it with --norms, or the setting norms_file. Signs of your own have to be fitted on it again."))


@norms.command()
def variability(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder with one sub-folder for each person, of recordings in different sessions."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Parameters file to write.")] = Path("tss-2.toml"),
    version: Annotated[str, typer.Option(help="Version that trajectories name.")] = "own",
    data: Annotated[str, typer.Option(help="What the recordings are, for readers of the file.")] = "",
    features_out: Annotated[
        Path | None, typer.Option(help="File of vocal features' own ranges to write as well.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel processes. Default: one per core.")] = None,
) -> None:
    """Measure how much one person's readings vary, and write parameters of the longitudinal method with it.

    Every recording is analysed whole and in halves. Rules and limits of the file are the shipped ones; check them with
    vbdesk simulate variances --parameters FILE. Use the file with vbdesk longitudinal --parameters FILE.
    """
    from vbdesk.data_files import DataFileError
    from vbdesk.lab.variability.feature_scales import fit_feature_scales, write_feature_scales
    from vbdesk.lab.variability.fit import fit_variability
    from vbdesk.lab.variability.fitted_parameters import with_variability, write_parameters
    from vbdesk.lab.variability.person_recordings import find_persons
    from vbdesk.longitudinal.parameters import shipped_parameters
    from vbdesk.signs.reference_data import load_reference_data
    from vbdesk.voice.errors import ModelUnavailable

    if not folder.is_dir():
        fail(_("There is no folder {folder}.", folder=folder), USAGE)
    persons = find_persons(folder)
    shipped = shipped_parameters("tss-2")
    try:
        scored = _score_with_bar([path for paths in persons.values() for path in paths], jobs, folder)
        people = {name: [scored[path].whole for path in paths if path in scored] for name, paths in persons.items()}
        halves = [one.halves for one in scored.values()]
        fitted = fit_variability(people, halves, shipped)
        record: dict[str, str | int | float] = {
            "command": "vbdesk norms variability",
            "data": data or folder.resolve().name,
            "people": sum(len(entries) > 1 for entries in people.values()),
            "recordings": sum(len(entries) for entries in people.values() if len(entries) > 1),
            "state_share": round(fitted.state_share or 0.0, 3),
        }
        for name, found in fitted.classes.items():
            record |= {f"{name}_median": round(found.prior.median, 4), f"{name}_weight": round(found.prior.weight, 1)}
        write_parameters(with_variability(shipped, fitted, version, record), out)
        if features_out is not None:
            norms_now = load_reference_data().norms
            measured = {
                name: [scored[path].features for path in paths if path in scored] for name, paths in persons.items()
            }
            source = {
                "command": "vbdesk norms variability --features-out",
                "data": record["data"],
                "people": record["people"],
                "recordings": record["recordings"],
                "norms": norms_now.meta.version,
            }
            write_feature_scales(fit_feature_scales(measured, norms_now, source), features_out)
    except ValueError as error:
        fail(f"{folder}: {translated(error)}")
    except (DataFileError, ModelUnavailable) as error:
        fail(translated(error))
    except OSError as error:
        fail(_("{file} cannot be written: {reason}.", file=error.filename or out, reason=system_reason(error)))
    typer.echo(
        _(
            "{file}: {people} people with {recordings} recordings.",
            file=out,
            people=record["people"],
            recordings=record["recordings"],
        )
    )
    for name, found in fitted.classes.items():
        prior = found.prior
        typer.echo(
            "  "
            + _(
                "{name}: median variance {median:.3f}, weight {weight:.1f} readings, from {estimates} people and signs",
                name=name,
                median=prior.median,
                weight=prior.weight,
                estimates=prior.estimates,
            )
        )
    typer.echo("  " + _("share that a session has in common: {share:.2f}", share=fitted.state_share or 0.0))


def _score_with_bar(paths: Sequence[Path], jobs: int | None, folder: Path) -> "dict[Path, ScoredRecording]":
    """Score every recording under a progress bar; failures go to standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from vbdesk.lab.variability.person_recordings import score_all

    columns = TextColumn(_("Analysing")), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(paths))
        outcomes = score_all(paths, processes(jobs), lambda _done: progress.update(task, advance=1))
    list_failed({path: reason for path, reason in outcomes.items() if isinstance(reason, str)}, folder)
    return {path: outcome for path, outcome in outcomes.items() if not isinstance(outcome, str)}


def _nothing_to_write(fewest: int, sexes: list[str]) -> str:
    return _(
        "No norms were written: {male} male and {female} female speakers could be measured, and {fewest} of each are"
        " needed. Add recordings, or lower --fewest.",
        male=sexes.count("male"),
        female=sexes.count("female"),
        fewest=fewest,
    )

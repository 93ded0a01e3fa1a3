"""`vbdesk norms`: measure reference values."""

from pathlib import Path
from typing import Annotated

import typer

from vbdesk.cli.batch_measurement import list_failed, measure_with_bar
from vbdesk.cli.output import fail
from vbdesk.cli.spoken_language import known_language

USAGE = 2

norms = typer.Typer(no_args_is_help=True, help="The reference that voices are compared with.")


@norms.callback()
def _root() -> None:
    """Norms: the distribution of each feature in a healthy reference group."""


@norms.command()
def measure(
    folder: Annotated[Path, typer.Argument(help="Folder of the recordings: WAV, FLAC, MP3 or M4A, one voice each.")],
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
    from vbdesk.signs.corpus.recording_table import TableError
    from vbdesk.signs.norms_measure.norms_writer import measure_norms, write_norms
    from vbdesk.signs.norms_measure.reference_group import group_by_speaker, read_recording_speakers
    from vbdesk.voice.errors import ModelUnavailable

    read_language = known_language(language) or "en"
    if not folder.is_dir():
        fail(f"There is no folder {folder}.", USAGE)
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
        fail(str(error), USAGE)
    except (DataFileError, ModelUnavailable) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or out} cannot be written: {error.strerror}.")
    typer.echo(f"{out}: features {result.measured}, speakers {len(group)}, recordings {len(measured)}.")
    for name, count in result.at_limit.items():
        typer.echo(
            f"  {name}: {count} {'speaker' if count == 1 else 'speakers'} on the floor or ceiling, kept as censored"
        )
    for name, reason in result.kept.items():
        typer.echo(f"  {name} keeps its shipped numbers: {reason}")
    kept = "" if result.signs == len(SignName) else " The others keep the one that ships."
    typer.echo(f"The reference of {result.signs} of {len(SignName)} signs was measured with them.{kept}")
    typer.echo("Use it with --norms, or the setting norms_file. Signs of your own have to be fitted on it again.")


def _nothing_to_write(fewest: int, sexes: list[str]) -> str:
    return (
        f"No norms were written: {sexes.count('male')} male and {sexes.count('female')} female speakers could be "
        f"measured, and {fewest} of each are needed. Add recordings, or lower --fewest."
    )

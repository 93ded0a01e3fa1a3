"""`vbdesk features`: definitions of the acoustic features, and their values in a recording."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.output import fail, print_json, say, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vbdesk.signs.fact_sheets import FeatureFactSheet, MeasuredFeature

USAGE = 2
FAILURE = 1

features = typer.Typer(no_args_is_help=True, help="What is measured in a voice, and how.")

AsJson = Annotated[bool, typer.Option("--json", help="Print as JSON.")]


@features.callback()
def _root() -> None:
    """Definitions and values of the acoustic features."""


@features.command("list")
def list_features(as_json: AsJson = False) -> None:
    """List all features with unit and definition."""

    from vbdesk.signs.fact_sheets import feature_fact_sheet
    from vbdesk.signs.reference_data import load_reference_data

    reference = load_reference_data()
    sheets = [feature_fact_sheet(name, reference) for name in reference.norms.features]
    if as_json:
        print_json([sheet.model_dump(mode="json") for sheet in sheets], indent=2)
        return
    for sheet in sheets:
        say(f"{sheet.feature} ({sheet.unit})", *wrapped(sheet.definition, "    "))


@features.command()
def show(
    name: Annotated[str, typer.Argument(help="Name of a feature, such as voice_jitter.")], as_json: AsJson = False
) -> None:
    """Print definition, unit, scale, meaning, signs and sources of one feature."""
    from vbdesk.signs.fact_sheets import feature_fact_sheet
    from vbdesk.signs.reference_data import load_reference_data

    reference = load_reference_data()
    if name not in reference.norms.features:
        fail(f"There is no feature {name!r}. Choose one of: {', '.join(reference.norms.features)}.", USAGE)
    sheet = feature_fact_sheet(name, reference)
    if as_json:
        print_json(sheet, indent=2)
    else:
        say(*_readable(sheet))


@features.command()
def measure(
    file: Annotated[Path, typer.Argument(help="A WAV, FLAC, MP3 or M4A recording of 15 seconds to 20 minutes.")],
    as_json: AsJson = False,
) -> None:
    """Measure every feature of a recording; say why if one has no value."""

    from vbdesk.data_files import DataFileError
    from vbdesk.signs.analysis import measure_recording
    from vbdesk.signs.fact_sheets import measured_features
    from vbdesk.signs.reference_data import load_reference_data
    from vbdesk.voice.decode import decode
    from vbdesk.voice.errors import AudioError, ModelUnavailable

    if not file.exists():
        fail(f"There is no file {file}.", USAGE)
    if not file.is_file():
        fail(f"{file} is not a file. Name a recording.", USAGE)
    try:
        rows = measured_features(measure_recording(decode(file)).passages[0], load_reference_data())
    except (AudioError, ModelUnavailable, DataFileError, FileNotFoundError) as error:
        fail(str(error), FAILURE)
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}.", FAILURE)
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows], indent=2)
    else:
        say(*_table(rows))


def _readable(sheet: "FeatureFactSheet") -> "Iterable[str]":
    yield f"{sheet.label} ({sheet.feature}), {sheet.unit}"
    yield ""
    for title, text in (
        ("Definition", sheet.definition),
        ("Scale", f"{sheet.scale}; SD times {sheet.free_speech_inflation:g} for speech of an unknown task"),
        ("High", sheet.high_means),
        ("Low", sheet.low_means),
        ("Signs", ", ".join(sheet.used_by) or "none"),
    ):
        yield from wrapped(text, f"{title:<11} ")
    for title, sources, without in (
        ("Definition after", sheet.definition_sources, "vbdesk's own"),
        ("Reference values from", sheet.norm_sources, "measured for this norms file"),
    ):
        yield from ("", f"{title}:")
        for cited in [source.cited for source in sources] or [without]:
            yield from wrapped(cited, "  ", "    ")


def _table(rows: "list[MeasuredFeature]") -> "Iterable[str]":
    for row in rows:
        if row.value is None:
            yield f"{row.feature:<27} {row.reason}"
        else:
            yield f"{row.feature:<27} {row.value:>10.3f} {row.unit:<12} {row.value_interpretation or 'no reference'}"

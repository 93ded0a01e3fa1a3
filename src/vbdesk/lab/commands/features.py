"""`vbdesk features`: definitions of the acoustic features, and their values in a recording."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.output import columns, fail, print_json, say, wrapped
from vbdesk.contract.audio_formats import ANY_FORMAT
from vbdesk.language import _, formats, pgettext, system_reason, translated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vbdesk.signs.fact_sheets import FeatureFactSheet, MeasuredFeature
    from vbdesk.signs.norms import FeatureNorm

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
    from vbdesk.report.reader_words import unit_word
    from vbdesk.signs.fact_sheets import feature_fact_sheet
    from vbdesk.signs.reference_data import load_reference_data

    reference = load_reference_data()
    sheets = [feature_fact_sheet(name, reference) for name in reference.norms.features]
    if as_json:
        print_json([sheet.model_dump(mode="json") for sheet in sheets], indent=2)
        return
    for sheet in sheets:
        say(f"{sheet.feature} ({unit_word(sheet.unit)})", *wrapped(_(sheet.definition), "    "))


@features.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of a feature, such as voice_jitter.")],
    as_json: AsJson = False,
) -> None:
    """Print definition, unit, scale, meaning, signs and sources of one feature."""
    from vbdesk.signs.fact_sheets import feature_fact_sheet
    from vbdesk.signs.reference_data import load_reference_data

    reference = load_reference_data()
    if name not in reference.norms.features:
        fail(
            _(
                "There is no feature '{name}'. Choose one of: {names}.",
                name=name,
                names=", ".join(reference.norms.features),
            ),
            USAGE,
        )
    sheet = feature_fact_sheet(name, reference)
    if as_json:
        print_json(sheet, indent=2)
    else:
        say(*_readable(sheet, reference.norms.features[name]))


@features.command()
def measure(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help=f"{ANY_FORMAT} recordings of 15 seconds to 20 minutes, and folders of them."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="CSV file to write, with a data dictionary next to it. Default: standard output."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel processes. Default: one per core.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--anew", help="Keep what an earlier run for --out measured, or measure all again.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure every feature of recordings.

    One file is shown with a reason for each feature that has no value. Several files, folders, or --out give one table
    with a row for each recording; a recording that cannot be measured has a row with the reason, and the command ends
    with status 1.
    """
    for path in paths:
        if not path.exists():
            fail(_("There is no file {file}.", file=path), USAGE)
    if len(paths) == 1 and not paths[0].is_dir() and out is None:
        _measure_one(paths[0], as_json=as_json)
    else:
        _measure_many(paths, out, jobs, resume=resume, force=force, as_json=as_json)


def _measure_one(file: Path, *, as_json: bool) -> None:
    from vbdesk.data_files import DataFileError
    from vbdesk.signs.analysis import measure_recording
    from vbdesk.signs.fact_sheets import measured_features
    from vbdesk.signs.reference_data import load_reference_data
    from vbdesk.voice.decode import decode
    from vbdesk.voice.errors import AudioError, ModelUnavailable

    if not file.is_file():
        fail(_("{file} is not a file. Name a recording.", file=file), USAGE)
    try:
        rows = measured_features(measure_recording(decode(file)).passages[0], load_reference_data())
    except (AudioError, ModelUnavailable, DataFileError, FileNotFoundError) as error:
        fail(translated(error), FAILURE)
    except OSError as error:
        fail(_("{file} cannot be read: {reason}.", file=file, reason=system_reason(error)), FAILURE)
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows], indent=2)
    else:
        say(*_table(rows))


def _measure_many(
    paths: Sequence[Path], out: Path | None, jobs: int | None, *, resume: bool, force: bool, as_json: bool
) -> None:
    from vbdesk.data_files import DataFileError
    from vbdesk.lab.commands.batch_measurement import outcomes_with_bar
    from vbdesk.lab.commands.feature_table import FAILED, feature_csv, feature_dictionary, feature_rows, recordings_in
    from vbdesk.report.exports import WouldOverwrite, refuse_overwriting, write_files
    from vbdesk.signs.reference_data import load_reference_data
    from vbdesk.voice.errors import ModelUnavailable

    files = recordings_in(paths)
    if not files:
        fail(_("There is no {formats} file in it.", formats=ANY_FORMAT), USAGE)
    names = [] if out is None else [out.name, f"{out.stem}_dictionary.csv"]
    folder = Path() if out is None else out.parent
    try:
        if not force:
            refuse_overwriting(folder, names)
        reference = load_reference_data()
        with TemporaryDirectory() as here:
            journal = Path(here) / "measured.jsonl" if out is None else out.with_name(f"{out.name}.measured.jsonl")
            rows = list(feature_rows(outcomes_with_bar(files, journal, jobs, resume=resume), files))
        if out is not None:
            contents = (feature_csv(rows, reference), feature_dictionary(reference))
            write_files(folder, dict(zip(names, contents, strict=True)), overwrite=force)
            say(str(out))
        elif as_json:
            print_json(rows, indent=2)
        else:
            typer.echo(feature_csv(rows, reference), nl=False)
    except WouldOverwrite as error:
        fail(_("{error} With --force files are replaced.", error=translated(error)), FAILURE)
    except (ModelUnavailable, DataFileError) as error:
        fail(translated(error), FAILURE)
    except OSError as error:
        fail(_("{file} cannot be written: {reason}.", file=error.filename or out, reason=system_reason(error)), FAILURE)
    failed = sum(row["status"] == FAILED for row in rows)
    if failed:
        fail(
            _("Not measured: {failed} of {total} recordings. Their rows say why.", failed=failed, total=len(rows)),
            FAILURE,
        )


def _readable(sheet: "FeatureFactSheet", norm: "FeatureNorm") -> "Iterable[str]":
    from vbdesk.report.reader_words import label_word, unit_word

    yield f"{label_word(sheet.label)} ({sheet.feature}), {unit_word(sheet.unit)}"
    yield ""
    facts = (
        (_("Definition"), _(sheet.definition)),
        (
            _("Scale"),
            " ".join(_scale(norm)),
        ),
        (pgettext("what a high value means", "High"), _(sheet.high_means)),
        (pgettext("what a low value means", "Low"), _(sheet.low_means)),
        (_("Signs"), ", ".join(sheet.used_by) or "-"),
    )
    width = max(11, *(len(title) for title, _text in facts))
    for title, text in facts:
        yield from wrapped(text, f"{title:<{width}} ")
    for title, sources, without in (
        (_("Definition after:"), sheet.definition_sources, _("vbdesk's own")),
        (_("Reference values from:"), sheet.norm_sources, _("measured for this norms file")),
    ):
        yield from ("", title)
        for cited in [source.cited for source in sources] or [without]:
            yield from wrapped(cited, "  ", "    ")


def _scale(norm: "FeatureNorm") -> "Iterable[str]":
    yield _("Logarithmic.") if norm.scale == "log" else _("Linear.")
    if norm.floor:
        yield _("Smaller values count as {floor:g}.", floor=norm.floor)
    if norm.ceiling:
        yield _("Larger values count as {ceiling:g}.", ceiling=norm.ceiling)
    yield _("SD times {factor:g} for speech of an unknown task.", factor=norm.sd_inflation_free_speech)


def _table(rows: "list[MeasuredFeature]") -> list[str]:
    from vbdesk.contract.results import ValueInterpretation
    from vbdesk.report.reader_words import band_word, unit_word

    lines = []
    for row in rows:
        if row.value is None:
            lines.append((row.feature, "", "", translated(row.reason)))
            continue
        band = row.value_interpretation
        word = band_word(ValueInterpretation(band)) if band else _("no reference")
        lines.append((row.feature, f"{formats.number(row.value, '.3f'):>9}", unit_word(row.unit), word))
    return columns(*lines)

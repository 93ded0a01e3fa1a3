"""`vbdesk signs fit`: a sign of your own from labelled recordings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vbdesk.cli.batch_measurement import list_failed, measure_with_bar
from vbdesk.cli.output import fail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import ValidationError

    from vbdesk.signs.calibration import ExpectedRates, Grade

USAGE = 2
RATED = ("low", "consider", "moderate", "elevated")


def fit(
    data: Annotated[
        Path, typer.Argument(help="CSV with columns path, speaker, label (1 or 0), and session, recorded_at if known.")
    ],
    sign: Annotated[str, typer.Option(help="Name of the new sign, such as hoarse-voice.")],
    out: Annotated[Path, typer.Option(help="Folder of the sign and its card.")] = Path("signs"),
    grade: Annotated[str, typer.Option(help="Evidence behind it: B, C or D. Sets rates and top level.")] = "D",
    rates: Annotated[
        str | None,
        typer.Option(help="Share of label 0 to flag at low,consider,moderate,elevated. Default: that of the grade."),
    ] = None,
    max_level: Annotated[str | None, typer.Option(help="Highest level, if not that of the grade.")] = None,
    meaning: Annotated[str, typer.Option(help="What it is meant to measure.")] = "likeness to recordings with label 1",
    timescale: Annotated[str, typer.Option(help="How soon it changes in a person: fast or slow.")] = "slow",
    confounder: Annotated[list[str] | None, typer.Option(help="What sounds the same. May be given again.")] = None,
    fewest: Annotated[
        int | None, typer.Option(min=5, help="Speakers needed with each label. Default: 10; the card warns of fewer.")
    ] = None,
    norms: Annotated[
        Path | None, typer.Option(help="Norms of your own to fit it on. Default: those that ship.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes at once. Default: one a core.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--anew", help="Keep what an earlier run measured, or measure all again.")
    ] = True,
) -> None:
    """Fit a sign to labelled recordings: weights and cut-points by cross-validation, with a card of how good it is.

    Paths in DATA are relative to its folder. No speaker is ever both learnt from and tested. Writes SIGN.toml, ready
    for --signs-dir, SIGN.card.md and SIGN.card.json; the same input gives the same files, whatever the order of lines.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError:
        fail("Fitting needs scikit-learn. Install it with: pip install 'vbdesk[fit]'.")
    from pydantic import ValidationError

    from vbdesk.data_files import DataFileError
    from vbdesk.signs.corpus.recording_table import TableError
    from vbdesk.signs.fit.run import fit_sign
    from vbdesk.signs.fit.sign_builder import FitRequest
    from vbdesk.signs.fit.study import StudyError, read_labels, reject_shared_recordings
    from vbdesk.signs.reference_data import load_reference_data
    from vbdesk.voice.errors import ModelUnavailable

    try:
        reference = load_reference_data(norms_file=norms)
        request = FitRequest.model_validate(
            {
                "sign": sign,
                "grade": grade,
                "rates": _rates(rates, grade, reference.calibration.levels.expected_rate),
                "max_level": max_level,
                "meaning": meaning,
                "timescale": timescale,
                "confounders": confounder or ["whatever else differs between the labels in these recordings"],
            }
        )
        labels = read_labels(data)
        reject_shared_recordings(labels)
        measured, failed = measure_with_bar(list(labels), out / "measured.jsonl", jobs, resume=resume)
        list_failed(failed, data.parent)
        fitted = fit_sign(labels, measured, request, reference.norms, fewest)
        written = fitted.write(out)
    except (TableError, StudyError) as error:
        fail(str(error), USAGE)
    except ValidationError as error:
        fail(_slip(error), USAGE)
    except (DataFileError, ModelUnavailable) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or out} cannot be written: {error.strerror}.")
    typer.echo("\n".join(_summary(fitted.card, written)))


def _rates(
    given: str | None, grade: str, shipped: "Mapping[Grade, ExpectedRates]"
) -> dict[str, str] | dict[str, float]:
    """The rates that were given, else those of the grade."""
    if given is None:
        found = {str(known): rates for known, rates in shipped.items()}
        return found[grade].model_dump() if grade in found else {}
    parts = given.split(",")
    if len(parts) != len(RATED):
        fail(f"--rates: name four shares, for {', '.join(RATED)}, with commas between them.", USAGE)
    return dict(zip(RATED, parts, strict=True))


def _slip(error: "ValidationError") -> str:
    """The option that does not fit, and why."""
    first = error.errors(include_url=False)[0]
    option, *inner = (str(part).replace("_", "-") for part in first["loc"])
    place = f"--{option}" + (f" ({inner[0]})" if inner else "")
    reason = first["msg"].removeprefix("Value error, ")
    if first["type"] == "string_pattern_mismatch":
        reason = "use small letters, digits and single hyphens, such as hoarse-voice"
    return f"{place}: {reason}."


def _summary(card: "Mapping[str, Any]", written: "Sequence[Path]") -> list[str]:
    study, auc = card["study"], card["auc"]
    low, high = auc["low"], auc["high"]
    interval = "" if low is None or high is None else f" (95 % interval {low:.2f} to {high:.2f})"
    return [
        f"{card['sign']} {card['version']}: {study['recordings']} recordings of {study['speakers']} speakers, "
        f"AUC {auc['value']:.2f}{interval}, highest level {card['max_level']}.",
        *(f"Mind: {sentence}" for sentence in card["warnings"]),
        *(f"Wrote {path}" for path in written),
    ]

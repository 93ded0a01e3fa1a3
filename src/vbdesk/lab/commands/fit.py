"""`vbdesk signs fit`: fit a sign of your own to labelled recordings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vbdesk.cli.output import fail, say
from vbdesk.lab.commands.batch_measurement import list_failed, outcomes_with_bar, sources_with_bar, usable
from vbdesk.language import _, formats, joined, message, system_reason, translated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import ValidationError

    from vbdesk.lab.corpus.measurement import MeasuredFile
    from vbdesk.lab.fit.study import RecordingLabel
    from vbdesk.signs.calibration import ExpectedRates, Grade

USAGE = 2
RATED = ("low", "consider", "moderate", "elevated")


def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="CSV with columns path, speaker, label (1 or 0), and session, recorded_at if known."
        ),
    ],
    sign: Annotated[str, typer.Option(help="Name of the new sign, such as hoarse-voice.")],
    out: Annotated[Path, typer.Option(help="Folder of the sign and its card.")] = Path("signs"),
    grade: Annotated[str, typer.Option(help="Evidence for it: B, C or D. Sets rates and top level.")] = "D",
    rates: Annotated[
        str | None,
        typer.Option(help="Share of label 0 to flag at low,consider,moderate,elevated. Default: that of the grade."),
    ] = None,
    max_level: Annotated[str | None, typer.Option(help="Highest level, if not that of the grade.")] = None,
    meaning: Annotated[str, typer.Option(help="What it is meant to measure.")] = "likeness to recordings with label 1",
    timescale: Annotated[str, typer.Option(help="How soon it changes in a person: fast or slow.")] = "slow",
    confounder: Annotated[list[str] | None, typer.Option(help="What sounds the same; repeatable.")] = None,
    fewest: Annotated[
        int | None, typer.Option(min=5, help="Speakers needed with each label. Default: 10; the card warns of fewer.")
    ] = None,
    corpus_column: Annotated[
        str | None, typer.Option(help="Column naming the corpus: tests each corpus on a fit on the others.")
    ] = None,
    norms: Annotated[
        Path | None, typer.Option(help="Norms of your own to fit it on. Default: the shipped ones.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel processes. Default: one per core.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--anew", help="Keep what an earlier run measured, or measure all again.")
    ] = True,
) -> None:
    """Fit a sign to labelled recordings: weights and cut-points by cross-validation, with a card of its quality.

    Paths in DATA are relative to its folder. No speaker is in both training and test data. Writes SIGN.toml for
    --signs-dir, SIGN.card.md and SIGN.card.json; the same input gives the same files, in any order of lines.
    """
    try:
        import sklearn  # noqa: F401
    except ImportError:
        fail(_("Fitting needs scikit-learn. Install it with: pip install 'vbdesk[lab]'."))
    from pydantic import ValidationError

    from vbdesk.data_files import DataFileError
    from vbdesk.lab.corpus.recording_table import TableError
    from vbdesk.lab.fit.run import fit_sign
    from vbdesk.lab.fit.sign_builder import FitRequest
    from vbdesk.lab.fit.study import StudyError, read_labels, reject_shared_recordings
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
                "confounders": confounder or ["anything else that differs between the labels in these recordings"],
            }
        )
        labels = read_labels(data, corpus_column)
        reject_shared_recordings(labels)
        labels, measured, failed = _measured(labels, out / "measured.jsonl", jobs, resume=resume)
        list_failed(failed, data.parent)
        fitted = fit_sign(labels, measured, request, reference.norms, fewest)
        written = fitted.write(out)
    except (TableError, StudyError) as error:
        fail(translated(error), USAGE)
    except ValidationError as error:
        fail(_slip(error), USAGE)
    except (DataFileError, ModelUnavailable) as error:
        fail(translated(error))
    except OSError as error:
        fail(_("{file} cannot be written: {reason}.", file=error.filename or out, reason=system_reason(error)))
    typer.echo("\n".join(_summary(fitted.card, written)))


def _measured(
    labels: "Mapping[Path, RecordingLabel]", journal: Path, jobs: int | None, *, resume: bool
) -> "tuple[dict[Path, RecordingLabel], dict[Path, MeasuredFile], dict[Path, str]]":
    """Labels, measurements and reasons of failures; short clips are joined, under the path of their first."""
    from vbdesk.lab.corpus.joined_clips import is_clip, joined_digest, measure_joined
    from vbdesk.lab.fit.study import joinable_clips

    outcomes = outcomes_with_bar(list(labels), journal, jobs, resume=resume)
    measured, failed = usable({path: outcomes[path] for path in labels})
    found = dict(labels)
    clips_of = joinable_clips(labels, outcomes)
    alone = [path for path in failed if is_clip(outcomes[path])]
    for path in set(alone).difference(*(source.paths for source in clips_of)):
        failed[path] = joined(
            failed[path], message("There is no other clip of this speaker, label and session to join.")
        )
    if clips_of:
        clips = sum(len(source.paths) for source in clips_of)
        say(
            _(
                "Joined {clips} short clips to {count} recordings, one of each speaker, label and session. Features"
                " of pauses and phrases are left out.",
                clips=clips,
                count=len(clips_of),
            ),
            err=True,
        )
        together = sources_with_bar(list(clips_of), measure_joined, joined_digest, journal, jobs, resume=True)
        long_enough, short = usable({source: together[source] for source in clips_of})
        for source, label in clips_of.items():
            first, *others = source.paths
            for path in source.paths:
                del failed[path]
            if source in long_enough:
                measured[first], found[first] = long_enough[source], label
            else:
                failed[first] = message("Joined with {others} more: {reason}", others=len(others), reason=short[source])
    return found, measured, failed


def _rates(
    given: str | None, grade: str, shipped: "Mapping[Grade, ExpectedRates]"
) -> dict[str, str] | dict[str, float]:
    """The given rates, else those of the grade."""
    if given is None:
        found = {str(known): rates for known, rates in shipped.items()}
        return found[grade].model_dump() if grade in found else {}
    parts = given.split(",")
    if len(parts) != len(RATED):
        fail(_("--rates: name four shares, for {names}, with commas between them.", names=", ".join(RATED)), USAGE)
    return dict(zip(RATED, parts, strict=True))


def _slip(error: "ValidationError") -> str:
    """The wrong option, and why it is wrong."""
    first = error.errors(include_url=False)[0]
    option, *inner = (str(part).replace("_", "-") for part in first["loc"])
    place = f"--{option}" + (f" ({inner[0]})" if inner else "")
    reason = first["msg"].removeprefix("Value error, ")
    if first["type"] == "string_pattern_mismatch":
        reason = _("use small letters, digits and single hyphens, such as hoarse-voice")
    return f"{place}: {reason}."


def _summary(card: "Mapping[str, Any]", written: "Sequence[Path]") -> list[str]:
    from vbdesk.contract.levels import Level
    from vbdesk.report.reader_words import level_in_sentence

    study, auc = card["study"], card["auc"]
    head = _(
        "{sign} {version}: {recordings} recordings of {speakers} speakers. AUC: {auc}. Highest level: {level}.",
        sign=card["sign"],
        version=card["version"],
        recordings=study["recordings"],
        speakers=study["speakers"],
        auc=_auc_words(auc),
        level=level_in_sentence(Level(card["max_level"])),
    )
    return [
        head,
        *(_corpus_line(part) for part in card["other_corpora"]),
        *(_("Mind: {warning}", warning=sentence) for sentence in card["warnings"]),
        *(_("Wrote {file}", file=path) for path in written),
    ]


def _auc_words(auc: "Mapping[str, Any]") -> str:
    """`0.81 (95% interval 0.72 to 0.89)`."""
    if auc["low"] is None or auc["high"] is None:
        return formats.number(auc["value"], ".2f")
    return _("{value:.2f} (95% interval {low:.2f} to {high:.2f})", value=auc["value"], low=auc["low"], high=auc["high"])


def _corpus_line(part: "Mapping[str, Any]") -> str:
    auc = part["auc"]
    if auc is None:
        return _("Corpus {corpus}, by a fit on the others: not tested.", corpus=part["corpus"])
    words = _auc_words(auc)
    if auc["low"] is None:
        words = _("{value} (interval unknown)", value=words)
    return _("Corpus {corpus}, by a fit on the others. AUC: {auc}.", corpus=part["corpus"], auc=words)

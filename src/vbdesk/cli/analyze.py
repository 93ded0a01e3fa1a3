"""`vbdesk analyze`: analyse one recording on this computer, without a service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.output import columns, fail, fail_without_target, print_json, say, wrapped
from vbdesk.cli.spoken_language import known_language
from vbdesk.contract.audio_formats import ANY_FORMAT
from vbdesk.contract.spoken_language import SpokenLanguage
from vbdesk.language import N_, _, current, system_reason, translated

if TYPE_CHECKING:
    from vbdesk.contract.results import AudioQuality, ModelResult, Signal, SignResult
    from vbdesk.signs.plugins.discovery import PluginSign
    from vbdesk.signs.target import ScoringTarget

USAGE = 2
FAILURE = 1
NOTICE = N_("For care staff, not a diagnosis.")


def analyze(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help=f"A {ANY_FORMAT} recording of 15 seconds to 20 minutes.")
    ],
    model: Annotated[str | None, typer.Option(help="Analyse for this model, such as pulse.")] = None,
    sign: Annotated[str | None, typer.Option(help="Analyse for this sign only, such as stress.")] = None,
    signs_dir: Annotated[Path | None, typer.Option(help="Folder of signs of your own, for --sign.")] = None,
    allow_pickled_signs: Annotated[
        bool, typer.Option("--allow-pickled-signs", help="Open such a sign even if it is a pickle, which can run code.")
    ] = False,
    norms: Annotated[
        Path | None,
        typer.Option(help="Norms of your own, as vbdesk norms measure writes them. Default: the shipped ones."),
    ] = None,
    diarize: Annotated[bool, typer.Option("--diarize", help="Analyse each speaker separately.")] = False,
    language: Annotated[
        str | None, typer.Option(help="Language of the summary of a model, such as de or fr-CA.")
    ] = None,
    recording_language: Annotated[
        str | None, typer.Option(help="Language of the recording (BCP 47), such as en, de or pt-BR.")
    ] = None,
    second_language: Annotated[
        bool | None,
        typer.Option(
            "--second-language/--no-second-language", help="Whether that is a second language of the speaker."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result object as JSON.")] = False,
) -> None:
    """Analyse a recording on this computer and print the result."""
    target = _target(model, sign, signs_dir, allow_pickled_signs)
    language = language or ("en" if as_json else current().tag)
    _check_language(language)
    spoken_language = SpokenLanguage(known_language(recording_language), second_language)
    if not file.exists():
        fail(_("There is no file {file}.", file=file), USAGE)
    if not file.is_file():
        fail(_("{file} is not a file. Name a recording.", file=file), USAGE)
    result = _analyze(file, target, diarize, language, norms, spoken_language)
    if as_json:
        print_json(result, indent=2)
    else:
        say(*result_lines(result), *_norms_line(norms))


def _target(
    model: str | None, sign: str | None, signs_dir: Path | None, allow_pickles: bool
) -> "ScoringTarget | PluginSign":
    from vbdesk.signs.plugins.analysis import find_sign
    from vbdesk.signs.plugins.source import PluginSource
    from vbdesk.signs.target import ScoringTarget, UnknownTarget

    if (model is None) == (sign is None):
        fail_without_target(USAGE)
    if signs_dir is not None and not signs_dir.is_dir():
        fail(_("There is no folder {folder}.", folder=signs_dir), USAGE)
    try:
        if model is not None:
            return ScoringTarget.model(model)
        return find_sign(sign or "", PluginSource(signs_dir, allow_pickles))
    except UnknownTarget as error:
        fail(translated(error), USAGE)


def _check_language(tag: str) -> None:
    from vbdesk.contract.narrative_texts import UnknownLanguage, find_language

    try:
        find_language(tag)
    except UnknownLanguage as error:
        fail(translated(error), USAGE)


def _analyze(
    file: Path,
    target: "ScoringTarget | PluginSign",
    diarize: bool,
    language: str,
    norms: Path | None,
    spoken_language: SpokenLanguage,
) -> "ModelResult | SignResult":
    from vbdesk.data_files import DataFileError
    from vbdesk.signs.analysis import analyze as analyze_recording
    from vbdesk.signs.plugins.analysis import analyze_plugin
    from vbdesk.signs.plugins.discovery import PluginSign
    from vbdesk.signs.plugins.scorers import PluginError
    from vbdesk.voice.decode import decode
    from vbdesk.voice.errors import AudioError, ModelUnavailable

    try:
        if isinstance(target, PluginSign):
            return analyze_plugin(decode(file), target, diarize=diarize, norms_file=norms, spoken=spoken_language)
        return analyze_recording(
            decode(file), target, diarize=diarize, language=language, norms_file=norms, spoken=spoken_language
        )
    except (AudioError, ModelUnavailable, DataFileError, PluginError, FileNotFoundError) as error:
        fail(translated(error), FAILURE)
    except OSError as error:
        fail(_("{file} cannot be read: {reason}.", file=file, reason=system_reason(error)), FAILURE)


def result_lines(result: "ModelResult | SignResult") -> list[str]:
    """A result as text."""
    from vbdesk.contract.results import ModelResult, signals_of
    from vbdesk.contract.rounding import whole
    from vbdesk.report.reader_words import speaker_word
    from vbdesk.report.result_texts import overall_word, result_texts

    lines: list[str] = []
    if isinstance(result, ModelResult):
        summary = result.summary
        action = result_texts().action[summary.recommended_action]
        flagged = _("{count} of {total}", count=summary.flagged_count, total=len(result.signals))
        lines += columns(
            (_("Overall level"), overall_word(summary.overall_level)),
            (_("Recommended action"), _(action.title)),
            (_("Flagged"), flagged),
        )
        lines.append("")
    lines += _signal_table(signals_of(result))
    if result.speakers is not None and len(result.speakers) == 1:
        lines += ["", _("One speaker is heard; the levels are those of the whole recording.")]
    for speaker in result.speakers or []:
        lines += [
            "",
            _(
                "{speaker}: {seconds} s of speech",
                speaker=speaker_word(speaker.speaker),
                seconds=whole(speaker.speech_seconds),
            ),
        ]
        lines += _signal_table(speaker.signals or ([speaker.signal] if speaker.signal else []))
    lines += ["", *wrapped(_quality_line(result.audio_quality)), ""]
    if isinstance(result, ModelResult):
        lines += wrapped(result.summary.description.summary)
    return [*lines, *wrapped(_(NOTICE))]


def _norms_line(norms: Path | None) -> list[str]:
    from vbdesk.signs.reference_data import load_reference_data

    if norms is None:
        return []
    version = load_reference_data(norms_file=norms).norms.meta.version
    return [_("Norms {version}, of {file}", version=version, file=norms.name)]


def _signal_table(signals: "list[Signal]") -> list[str]:
    from vbdesk.report.reader_words import label_word, level_word

    return columns(
        *(
            (label_word(signal.label), level_word(signal.level), _("evidence {grade}", grade=signal.evidence_grade))
            for signal in signals
        )
    )


def _quality_line(quality: "AudioQuality") -> str:
    from vbdesk.report.result_texts import quality_text

    said = quality_text(quality)
    return " ".join((said.figures or _("Speech and clarity are not known."), *(said.issues or [_("No issue.")])))

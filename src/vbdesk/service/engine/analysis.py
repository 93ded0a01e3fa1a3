"""Analysis task of a child process: a recording in, a JSON result out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from vbdesk.contract.results import ModelResult, SignResult
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.signs.plugins.source import PluginSource
from vbdesk.signs.stage_timing import Lap, Stopwatch


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """Request sent to the child.

    Attributes:
        plugins: location of the site's sign plugins.
        language: language of the summary in model results.
        norms_file: the site's norms; None for the built-in ones.
        spoken: what is known about the language of the recording.
    """

    kind: Literal["model", "sign"]
    name: str
    diarize: bool
    plugins: PluginSource
    language: str
    norms_file: Path | None = None
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE


@dataclass(frozen=True, slots=True)
class Analysed:
    """Response of the child: the JSON result and the duration of each stage."""

    result: str
    laps: Sequence[Lap] = ()


class Analysis(Protocol):
    """Top-level function, so that a child can import it by name."""

    def __call__(self, recording: BinaryIO, request: AnalysisRequest) -> Analysed:
        """Return the result. Any exception fails the job."""
        ...


def prepare() -> None:
    """Import what an analysis needs and load its tables; model sessions load with the first recording.

    The imports are inside functions because the parent passes these by name and must not load them itself.
    """
    import vbdesk.signs.analysis
    import vbdesk.signs.plugins.analysis
    import vbdesk.signs.plugins.scorers
    import vbdesk.voice.decode  # noqa: F401
    from vbdesk.signs.reference_data import load_reference_data
    from vbdesk.voice.blas_threads import one_blas_thread
    from vbdesk.voice.libraries import load_libraries

    load_libraries()
    load_reference_data()
    with one_blas_thread():  # threadpoolctl searches for libraries once, which the sandbox would forbid
        pass


def analyse_file(recording: BinaryIO, request: AnalysisRequest) -> Analysed:
    """Decode and analyse one recording."""
    from vbdesk.signs.analysis import ScoringTarget, analyze
    from vbdesk.signs.plugins.analysis import analyze_sign
    from vbdesk.voice.decode import decode

    stages = Stopwatch()
    with stages("decode"):
        decoded = decode(recording)
    diarize, norms_file, spoken = request.diarize, request.norms_file, request.spoken
    result: ModelResult | SignResult
    if request.kind == "sign":
        result = analyze_sign(
            decoded,
            request.name,
            request.plugins,
            diarize=diarize,
            norms_file=norms_file,
            spoken=spoken,
            stages=stages,
        )
    else:
        target, language = ScoringTarget.model(request.name), request.language
        result = analyze(
            decoded,
            target,
            diarize=diarize,
            language=language,
            norms_file=norms_file,
            spoken=spoken,
            stages=stages,
        )
    return Analysed(result.model_dump_json(), stages.laps)


def present_calibration(norms_file: Path | None) -> str:
    """Version of the calibration that an analysis with these norms uses, for a child: it loads the tables anyway."""
    from vbdesk.signs.reference_data import load_reference_data

    return load_reference_data(norms_file=norms_file).calibration.meta.version

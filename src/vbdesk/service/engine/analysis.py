"""The analysis as a child process runs it: a recording in, a result as JSON out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from vbdesk.contract.results import ModelResult, SignResult
from vbdesk.signs.plugins.source import PluginSource
from vbdesk.signs.stage_timing import Lap, Stopwatch


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """What goes to the child.

    Attributes:
        plugins: where signs of the lab's own lie.
        language: of the summary, which a model's result has.
        norms_file: norms of the site's own; None for those that ship.
    """

    kind: Literal["model", "sign"]
    name: str
    diarize: bool
    plugins: PluginSource
    language: str
    norms_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Analysed:
    """What comes back from the child: the result as JSON, and how long each stage of its making took."""

    result: str
    laps: Sequence[Lap] = ()


class Analysis(Protocol):
    """A function at the top level of a module, so that a child can import it by name."""

    def __call__(self, recording: BinaryIO, request: AnalysisRequest) -> Analysed:
        """The result. Raises what it likes: then the job fails."""
        ...


def prepare() -> None:
    """Import what an analysis needs, and load its tables; its model sessions load with the first recording.

    Imports stand inside functions: the parent passes these by name and must not load any of it itself.
    """
    import vbdesk.signs.engine
    import vbdesk.voice.decode  # noqa: F401
    from vbdesk.signs.reference_data import load_reference_data
    from vbdesk.voice.blas_threads import one_blas_thread

    load_reference_data()
    with one_blas_thread():  # it looks for the libraries once, where the sandbox lets nobody look
        pass


def analyse_file(recording: BinaryIO, request: AnalysisRequest) -> Analysed:
    """Decode and analyse one recording."""
    from vbdesk.signs.engine import ScoringTarget, analyze
    from vbdesk.signs.plugins.analysis import analyze_sign
    from vbdesk.voice.decode import decode

    stages = Stopwatch()
    with stages("decode"):
        decoded = decode(recording)
    diarize, norms_file = request.diarize, request.norms_file
    result: ModelResult | SignResult
    if request.kind == "sign":
        result = analyze_sign(
            decoded, request.name, request.plugins, diarize=diarize, norms_file=norms_file, stages=stages
        )
    else:
        target, language = ScoringTarget.model(request.name), request.language
        result = analyze(decoded, target, diarize=diarize, language=language, norms_file=norms_file, stages=stages)
    return Analysed(result.model_dump_json(), stages.laps)

"""The analysis as a child process runs it: a file in, a result as JSON out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from vbdesk.contract.results import ModelResult, SignResult
from vbdesk.signs.plugins.source import PluginSource
from vbdesk.signs.stages import Lap, Stopwatch


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """What goes to the child.

    Attributes:
        path: where the recording lies.
        plugins: where signs of the lab's own lie.
        language: of the summary, which a model's result has.
        norms_file: norms of the site's own; None for those that ship.
    """

    path: Path
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

    def __call__(self, request: AnalysisRequest) -> Analysed:
        """The result. Raises what it likes: then the job fails."""
        ...


def prepare() -> None:
    """Import what an analysis needs, and load its tables; its model sessions load with the first recording.

    Imports stand inside functions: the parent passes these by name and must not load any of it itself.
    """
    import vbdesk.signs.engine
    import vbdesk.voice.decode  # noqa: F401
    from vbdesk.signs.reference import load_reference

    load_reference()


def analyse_file(request: AnalysisRequest) -> Analysed:
    """Decode and analyse one recording."""
    from vbdesk.signs.engine import Target, analyze
    from vbdesk.signs.plugins.reading import analyze_sign
    from vbdesk.voice.decode import decode

    stages = Stopwatch()
    with stages("decode"):
        recording = decode(request.path)
    diarize, norms_file = request.diarize, request.norms_file
    result: ModelResult | SignResult
    if request.kind == "sign":
        result = analyze_sign(
            recording, request.name, request.plugins, diarize=diarize, norms_file=norms_file, stages=stages
        )
    else:
        target, language = Target.model(request.name), request.language
        result = analyze(recording, target, diarize=diarize, language=language, norms_file=norms_file, stages=stages)
    return Analysed(result.model_dump_json(), stages.laps)

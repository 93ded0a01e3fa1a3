"""The analysis as a child process runs it: a file in, a result as JSON out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from vbdesk.signs.plugins.source import PluginSource


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


class Analysis(Protocol):
    """A function at the top level of a module, so that a child can import it by name."""

    def __call__(self, request: AnalysisRequest) -> str:
        """The result as JSON. Raises what it likes: then the job fails."""
        ...


def prepare() -> None:
    """Import what an analysis needs, and load its tables; its model sessions load with the first recording.

    Imports stand inside functions: the parent passes these by name and must not load any of it itself.
    """
    import vbdesk.signs.engine
    import vbdesk.voice.decode  # noqa: F401
    from vbdesk.signs.reference import load_reference

    load_reference()


def analyse_file(request: AnalysisRequest) -> str:
    """Decode and analyse one recording."""
    from vbdesk.signs.engine import Target, analyze
    from vbdesk.signs.plugins.reading import analyze_sign
    from vbdesk.voice.decode import decode

    recording = decode(request.path)
    if request.kind == "sign":
        return analyze_sign(
            recording, request.name, request.plugins, diarize=request.diarize, norms_file=request.norms_file
        ).model_dump_json()
    return analyze(
        recording,
        Target.model(request.name),
        diarize=request.diarize,
        language=request.language,
        norms_file=request.norms_file,
    ).model_dump_json()

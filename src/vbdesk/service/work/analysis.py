"""The analysis as a child process runs it: a file in, a result as JSON out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """What goes to the child: where the recording lies, and what it is to be analysed for."""

    path: Path
    kind: Literal["model", "sign"]
    name: str
    diarize: bool


class Analysis(Protocol):
    """A function at the top level of a module, so that a child can import it by name."""

    def __call__(self, request: AnalysisRequest) -> str:
        """The result as JSON. Raises what it likes: then the job fails."""
        ...


def prepare() -> None:
    """Import and load everything that an analysis needs, once in every child.

    Imports stand inside functions: the parent passes these by name and must not load models itself.
    """
    import numpy as np

    from vbdesk.signs.engine import Target, analyze
    from vbdesk.voice.decode import from_samples
    from vbdesk.voice.recording import ANALYSIS_RATE

    noise = np.random.default_rng(0).standard_normal(2 * ANALYSIS_RATE).astype(np.float32) * 0.01
    analyze(from_samples(noise, ANALYSIS_RATE), Target.model("pulse"), diarize=True)


def analyse_file(request: AnalysisRequest) -> str:
    """Decode and analyse one recording."""
    from vbdesk.signs.engine import Target, analyze
    from vbdesk.voice.decode import decode

    target = Target(request.kind, request.name)
    return analyze(decode(request.path), target, diarize=request.diarize).model_dump_json()

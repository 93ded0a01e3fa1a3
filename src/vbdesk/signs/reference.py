"""All that is known before a recording is heard: norms, calibration, metrics and words, loaded once and checked."""

from dataclasses import dataclass
from functools import cache

from vbdesk.resource_files import resource
from vbdesk.signs.calibration import Calibration, citation_keys
from vbdesk.signs.data_file import read_data
from vbdesk.signs.metrics import MetricSet
from vbdesk.signs.norms import Norms
from vbdesk.signs.wording import Wording


@dataclass(frozen=True, slots=True)
class Reference:
    """The data behind every analysis."""

    norms: Norms
    calibration: Calibration
    metrics: MetricSet
    wording: Wording


@cache
def load_reference() -> Reference:
    """Read and check the data files that ship with the product.

    Raises:
        DataFileError: one of them does not hold what it must.
        FileNotFoundError: the installation is incomplete.
    """
    norms = read_data(resource("norms", "norms.toml"), Norms)
    known = {
        "features": frozenset(norms.features),
        "citations": citation_keys(resource("signs", "bibliography.bib")),
    }
    calibration = read_data(resource("signs", "signs.toml"), Calibration, known)
    return Reference(
        norms=norms,
        calibration=calibration,
        metrics=read_data(resource("metrics", "metrics.toml"), MetricSet, known),
        wording=read_data(
            resource("narrative", "narrative.toml"), Wording, {"norms": norms, "calibration": calibration}
        ),
    )

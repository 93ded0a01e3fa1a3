"""Extended metrics of the shipped calibration: what each is, its evidence, and the signs of nearly the same name."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from vbdesk.data_files import read_toml
from vbdesk.report.shipped_signs import evidence_text
from vbdesk.resource_files import resource

End = Literal["low", "high"]


@dataclass(frozen=True, slots=True)
class ShippedMetric:
    """One metric.

    Attributes:
        kind: what it was validated against, as a sentence.
        features: the features that it weighs.
        same_family: signs of nearly the same name, and the end of the scale that corresponds to a higher level.
    """

    evidence_grade: str
    kind: str
    definition: str
    features: frozenset[str]
    same_family: Mapping[str, End]

    @property
    def evidence_text(self) -> str:
        """The evidence grade in the reader's language."""
        return evidence_text(self.evidence_grade)


@cache
def shipped_metrics() -> Mapping[str, ShippedMetric]:
    """Metrics by id; the first call reads a file."""
    data = read_toml(resource("metrics", "metrics.toml"))
    return {
        name: ShippedMetric(
            evidence_grade=entry["evidence_grade"],
            kind=data["kind"][entry["kind"]],
            definition=entry["definition"],
            features=frozenset(feature["id"] for feature in entry["feature"]),
            same_family={kin["sign"]: kin["end"] for kin in entry.get("same_family", ())},
        )
        for name, entry in data["metric"].items()
    }

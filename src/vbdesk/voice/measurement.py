"""A measured feature, or the reason why it could not be measured."""

from collections.abc import Mapping
from dataclasses import dataclass

MISSING_CODES = ("too_little_speech", "too_few_pauses", "noise", "narrow_bandwidth")
"""Why a feature can have no value; the sentences for users are among the narrative texts of each language."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One feature of one recording.

    Attributes:
        value: in the unit of the norms file; None if it could not be measured.
        missing: why `value` is None, one of `MISSING_CODES`; otherwise None.
    """

    value: float | None
    missing: str | None = None


FeatureSet = Mapping[str, Measurement]
"""Feature identifier of the norms file to its measurement; all 36 identifiers are always present."""

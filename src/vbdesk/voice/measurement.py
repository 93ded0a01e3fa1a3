"""A measured feature, or the reason why it could not be measured."""

from collections.abc import Mapping
from dataclasses import dataclass

MISSING_CODES = ("too_little_speech", "too_few_pauses", "noise", "narrow_bandwidth")
"""Why a feature may have no value; the sentences for people stand with the words of each language."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One feature of one recording.

    Attributes:
        value: in the unit of the norms file; None when it could not be measured.
        missing: why `value` is None, one of `MISSING_CODES`; else None.
    """

    value: float | None
    missing: str | None = None


FeatureSet = Mapping[str, Measurement]
"""Feature identifier (as in the norms file) to its measurement; all 36 identifiers are always present."""

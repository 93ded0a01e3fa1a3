"""A measured feature, or the reason why it could not be measured."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measurement:
    """One feature of one recording.

    Attributes:
        value: in the unit of the norms file; None when it could not be measured.
        missing: why `value` is None, as a short code (`too_little_speech`, `too_few_pauses`,
            `noise`, `narrow_bandwidth`); else None.
    """

    value: float | None
    missing: str | None = None


FeatureSet = Mapping[str, Measurement]
"""Feature identifier (as in the norms file) to its measurement; all 36 identifiers are always present."""

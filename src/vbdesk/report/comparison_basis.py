"""The people that a result was compared with, from the version that it names."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from vbdesk.contract.results import Signal
from vbdesk.contract.spoken_language import without_widening
from vbdesk.data_files import read_toml
from vbdesk.report.shipped_signs import shipped_signs
from vbdesk.resource_files import resource


class Basis(Enum):
    """What is known about the reference of a result."""

    SHIPPED = auto()
    SITE = auto()
    OWN_SIGN = auto()
    OTHER_RELEASE = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class ComparisonBasis:
    """The reference of a result.

    Attributes:
        calibration: version of the weights and cut-points; several are separated by commas, empty if unknown.
        norms: version of the norms; empty where only the calibration is known.
        readers: number of reference readers; 0 where unknown.
    """

    kind: Basis
    calibration: str = ""
    norms: str = ""
    readers: int = 0


@dataclass(frozen=True, slots=True)
class _ShippedNorms:
    version: str
    readers: int


def comparison_basis(signals: Sequence[Signal]) -> ComparisonBasis:
    """Find the reference of a result from the versions of its signals."""
    sign_versions = [signal.sign_version for signal in signals if signal.sign_version]
    versions = list(dict.fromkeys(without_widening(version) for version in sign_versions))
    if not versions:
        return ComparisonBasis(Basis.UNKNOWN)
    known = [reference for signal in signals if (reference := shipped_signs().get(signal.name)) is not None]
    if not known:
        return ComparisonBasis(Basis.OWN_SIGN, ", ".join(versions))
    calibration, norms = split_version(versions[0])
    if len(versions) > 1 or calibration != known[0].version:
        return ComparisonBasis(Basis.OTHER_RELEASE, ", ".join(versions))
    if norms:
        return ComparisonBasis(Basis.SITE, calibration, norms)
    shipped = _shipped_norms()
    return ComparisonBasis(Basis.SHIPPED, calibration, shipped.version, shipped.readers)


def split_version(sign_version: str) -> tuple[str, str]:
    """Version of the calibration, and that of a site's own norms, which the analysis appends; empty without any."""
    calibration, _, norms = sign_version.partition("norms.")
    return (calibration[:-1], norms) if norms else (sign_version, "")


@cache
def _shipped_norms() -> _ShippedNorms:
    meta = read_toml(resource("norms", "norms.toml"))["meta"]
    return _ShippedNorms(meta["version"], meta["n_native"])

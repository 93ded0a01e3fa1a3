"""How far two recordings of one person differ by chance, from the calibration's repeatability."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource

_SMALLEST_LOGGED = 1e-9
_ERROR_AT_95 = 1.96 * math.sqrt(2)


@dataclass(frozen=True, slots=True)
class SignRepeatability:
    """One sign of the shipped calibration.

    Attributes:
        version: of the calibration.
        smallest_change: smallest change of the index between two recordings that is more than error, at 95 %, in
            reference SD: with the same task, and with any.
        healthy_share: share of healthy native readers that this sign flags; None if not measured.
    """

    version: str
    slope: float
    smallest_change: Mapping[bool, float | None]
    healthy_share: float | None

    def more_than_error(self, before: float, after: float, *, same_task: bool) -> bool | None:
        """Whether two scores, 0..1, differ by more than chance; None if unknown."""
        smallest = self.smallest_change[same_task]
        if smallest is None or not (0 < before < 1 and 0 < after < 1):
            return None
        return abs(_logit(after) - _logit(before)) / self.slope >= smallest


@dataclass(frozen=True, slots=True)
class FeatureRepeatability:
    """One vocal feature: the SD between healthy people on its scale, and how much of the variance a person keeps.

    Attributes:
        sd: the larger of the two voice classes, since the class of a person is unknown.
        icc: with the same task, and with any.
    """

    logarithmic: bool
    sd: float
    icc: Mapping[bool, float]

    def smallest_change(self, value: float, *, same_task: bool, upwards: bool = True) -> float:
        """Smallest real change from `value`, in the feature's unit and positive: 1.96 sqrt(2) SD sqrt(1 - ICC)."""
        error = _ERROR_AT_95 * self.sd * math.sqrt(1 - self.icc[same_task])
        return value * abs(math.expm1(error if upwards else -error)) if self.logarithmic else error

    def more_than_error(self, before: float, after: float, *, same_task: bool) -> bool:
        """Whether two values differ by more than chance."""
        low, high = sorted((before, after))
        if self.logarithmic:
            low, high = max(low, _SMALLEST_LOGGED), max(high, _SMALLEST_LOGGED)
        return high - low >= self.smallest_change(low, same_task=same_task)


@cache
def sign_repeatability() -> Mapping[str, SignRepeatability]:
    """Signs of the shipped calibration by name. Reads a file once; call it first on a worker."""
    data = _read("signs", "signs.toml")
    version = data["meta"]["version"]
    return {name: _sign(version, entry) for name, entry in data["sign"].items()}


@cache
def feature_repeatability() -> Mapping[str, FeatureRepeatability]:
    """Every vocal feature of the shipped norms by name. Reads a file once; call it first on a worker."""
    features = _read("norms", "norms.toml")["feature"]
    return {name: _feature(entry) for name, entry in features.items()}


def _read(*path: str) -> Mapping[str, Any]:
    return read_toml(resource(*path))


def _sign(version: str, entry: Mapping[str, Any]) -> SignRepeatability:
    return SignRepeatability(
        version=version,
        slope=entry["logit_slope"],
        smallest_change={True: entry.get("mdc95_same_task"), False: entry.get("mdc95_free_speech")},
        healthy_share=entry.get("measured_flag_rate_reference"),
    )


def _feature(entry: Mapping[str, Any]) -> FeatureRepeatability:
    return FeatureRepeatability(
        logarithmic=entry["scale"] == "log",
        sd=max(entry["male"]["t_sd"], entry["female"]["t_sd"]),
        icc={True: entry["icc_same_task"], False: entry["icc_free_speech"]},
    )


def _logit(score: float) -> float:
    return math.log(score / (1 - score))

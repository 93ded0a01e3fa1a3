"""A more cautious comparison of rate and pauses for other languages and for second-language readers.

The amounts are measured on second-language readers of English: the mean square of their z, above 1, is variance that
the reference has to add. Nobody measured other languages; the same amounts are used for them.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, ValidationInfo, model_validator

from vbdesk.contract.spoken_language import WIDENED
from vbdesk.data_files import DataModel
from vbdesk.signs.norms import FeatureNorm, Norms

SEED = 20_261_123  # fixed, so that the same samples give the same result


class LanguageWidening(DataModel):
    """How much the reference is widened.

    Attributes:
        extra_variance: by feature, variance to add, in variances of native readers reading aloud.
        correlation: of z of these readers, in the order of `extra_variance`.
    """

    extra_variance: Annotated[dict[str, Annotated[float, Field(ge=0)]], Field(min_length=1)]
    correlation: list[list[Annotated[float, Field(ge=-1, le=1)]]]

    @model_validator(mode="after")
    def _is_consistent(self, info: ValidationInfo) -> Self:
        context: dict[str, Any] = info.context or {}
        unknown = [name for name in self.extra_variance if name not in context.get("features", self.extra_variance)]
        if unknown:
            raise ValueError(f"extra_variance: there is no feature {unknown[0]}")
        matrix = self.correlation
        if [len(row) for row in matrix] != [len(self.extra_variance)] * len(self.extra_variance):
            raise ValueError("correlation needs one row and one column for each feature of extra_variance")
        if not np.allclose(matrix, np.transpose(matrix)) or not np.allclose(np.diag(matrix), 1):
            raise ValueError("correlation must be symmetric, with 1 on its diagonal")
        return self

    @cached_property
    def _factor(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """A matrix F with F F' = correlation; rounding may have made an eigenvalue slightly negative."""
        values, vectors = np.linalg.eigh(np.array(self.correlation))
        return np.asarray(vectors * np.sqrt(np.clip(values, 0, None)))

    def widen(self, norms: Norms) -> Norms:
        """The norms with the variance of each feature increased, so that z shrinks and keeps its order."""
        features = {
            name: norm.model_copy(update={"sd_inflation_free_speech": self._inflation(name, norm)})
            for name, norm in norms.features.items()
        }
        return norms.model_copy(update={"features": features})

    def _inflation(self, name: str, norm: FeatureNorm) -> float:
        return math.sqrt(norm.sd_inflation_free_speech**2 + self.extra_variance.get(name, 0.0))

    def shifts(self, widened: Norms, quantiles: Sequence[float]) -> list[Mapping[str, float]]:
        """Draw where speakers of another language may have their own average, in z of the `widened` norms.

        Each feature has the given quantiles of the standard normal, each once, so that few draws have its SD.
        """
        random = np.random.default_rng(SEED)
        independent = np.array([random.permutation(quantiles) for _ in self.extra_variance])
        correlated = self._factor @ independent
        sds = {
            name: math.sqrt(extra) / widened.features[name].sd_inflation_free_speech
            for name, extra in self.extra_variance.items()
        }
        return [
            {name: sd * float(place) for (name, sd), place in zip(sds.items(), draw, strict=True)}
            for draw in correlated.T
        ]


def widened_version(version: str) -> str:
    """Append to `version` that the comparison was widened, as build metadata of Semantic Versioning."""
    return f"{version}.{WIDENED}" if "+" in version else f"{version}+{WIDENED}"

"""Prices of analyses, and how many a balance pays for."""

from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from vbdesk.contract.catalog import MODEL_SIGNS, label_of
from vbdesk.data_files import read_toml
from vbdesk.language import N_
from vbdesk.resource_files import resource


class _Costs(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    sign: PositiveInt
    diarize: NonNegativeInt


@dataclass(frozen=True, slots=True)
class Price:
    """Price of a recording.

    Attributes:
        what: the model, or a single sign; to be translated.
        signs: number of signs.
        credits: for one recording.
    """

    what: str
    signs: int
    credits: int

    def recordings(self, balance: int) -> int:
        """Number of recordings that `balance` credits pay for."""
        return balance // self.credits


@cache
def prices() -> tuple[Price, ...]:
    """Prices of all models, by number of signs, and of a single sign. Reads a file: call it in a task."""
    sign = _costs().sign
    models = [Price(label_of(name), len(signs), len(signs) * sign) for name, signs in MODEL_SIGNS.items()]
    return Price(N_("One sign"), 1, sign), *sorted(models, key=lambda price: (price.credits, price.what))


def diarize_price() -> int:
    """Additional price of separating speakers, for one recording."""
    return _costs().diarize


@cache
def _costs() -> _Costs:
    return _Costs.model_validate(read_toml(resource("service", "costs.toml")))

"""What credits buy: the price of an analysis, and how many of each a balance pays for."""

from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from vbdesk.contract.catalog import MODEL_SIGNS
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource


class _Costs(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    sign: PositiveInt
    diarize: NonNegativeInt


@dataclass(frozen=True, slots=True)
class Price:
    """What a recording costs.

    Attributes:
        what: the model, or one sign by itself.
        signs: how many signs are read from it.
        credits: for one recording.
    """

    what: str
    signs: int
    credits: int

    def recordings(self, balance: int) -> int:
        """How many recordings `balance` credits pay for."""
        return balance // self.credits


@cache
def prices() -> tuple[Price, ...]:
    """Every model, the one with the fewest signs first, and one sign by itself. Reads a file: call it in a task."""
    sign = _costs().sign
    models = [Price(name.value.capitalize(), len(signs), len(signs) * sign) for name, signs in MODEL_SIGNS.items()]
    return Price("One sign", 1, sign), *sorted(models, key=lambda price: (price.credits, price.what))


def diarize_price() -> int:
    """What it costs beyond that to tell speakers apart, for one recording."""
    return _costs().diarize


@cache
def _costs() -> _Costs:
    return _Costs.model_validate(read_toml(resource("service", "costs.toml")))

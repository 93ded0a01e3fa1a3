"""What an analysis is asked for."""

from dataclasses import dataclass
from typing import Literal, Self

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, SignName


class UnknownTarget(Exception):
    """There is no such model, or no such sign to be asked for by itself."""


@dataclass(frozen=True, slots=True)
class Target:
    """A model or a single sign.

    Raises:
        UnknownTarget: at construction, if the name cannot be asked for.
    """

    kind: Literal["model", "sign"]
    name: str

    def __post_init__(self) -> None:
        """Refuse a name that is not in the catalog."""
        known = [model.value for model in ModelName] if self.kind == "model" else standalone_names()
        if self.name not in known:
            raise UnknownTarget(f"There is no {self.kind} {self.name!r}. Choose one of: {', '.join(known)}.")

    @classmethod
    def model(cls, name: str) -> Self:
        """The target that is the model `name`."""
        return cls("model", name)

    @classmethod
    def sign(cls, name: str) -> Self:
        """The target that is the sign `name`."""
        return cls("sign", name)

    @property
    def signs(self) -> tuple[SignName, ...]:
        """The signs to read, in the order of the catalog."""
        return MODEL_SIGNS[ModelName(self.name)] if self.kind == "model" else (SignName(self.name),)


def standalone_names() -> list[str]:
    """Names of the signs that may be asked for by themselves."""
    return [sign.value for sign in SignName if sign.standalone]

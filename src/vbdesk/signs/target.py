"""The model or sign that an analysis is requested for."""

from dataclasses import dataclass
from typing import Literal, Self

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName, SignName
from vbdesk.language import message


class UnknownTarget(Exception):
    """There is no such model or standalone sign."""


@dataclass(frozen=True, slots=True)
class ScoringTarget:
    """A model or a single sign.

    Raises:
        UnknownTarget: the name is not a model or a standalone sign.
    """

    kind: Literal["model", "sign"]
    name: str

    def __post_init__(self) -> None:
        """Reject a name that is not in the catalog."""
        known = [model.value for model in ModelName] if self.kind == "model" else standalone_sign_names()
        if self.name not in known:
            names = ", ".join(known)
            if self.kind == "model":
                raise UnknownTarget(
                    message("There is no model '{name}'. Choose one of: {names}.", name=self.name, names=names)
                )
            raise UnknownTarget(
                message("There is no sign '{name}'. Choose one of: {names}.", name=self.name, names=names)
            )

    @classmethod
    def model(cls, name: str) -> Self:
        """Target the model `name`."""
        return cls("model", name)

    @classmethod
    def sign(cls, name: str) -> Self:
        """Target the sign `name`."""
        return cls("sign", name)

    @property
    def signs(self) -> tuple[SignName, ...]:
        """The signs to score, in the order of the catalog."""
        return MODEL_SIGNS[ModelName(self.name)] if self.kind == "model" else (SignName(self.name),)


def standalone_sign_names() -> list[str]:
    """Names of the signs that can be requested alone."""
    return [sign.value for sign in SignName if sign.standalone]

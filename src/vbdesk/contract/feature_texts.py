"""Voice features in everyday words, and the direction of each that is no finding; from resources/features.toml."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from vbdesk.contract.results import ValueInterpretation
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.language import _
from vbdesk.resource_files import resource

_BELOW = frozenset({ValueInterpretation.LOW, ValueInterpretation.REDUCED})
_ABOVE = frozenset({ValueInterpretation.HIGH, ValueInterpretation.SLIGHTLY_ELEVATED})


class FeatureText(StrictDataModel):
    """One feature.

    Attributes:
        plain: the feature in everyday words, next to its technical name.
        no_finding: the direction that says nothing about a person, such as less noise in the voice.
    """

    plain: Annotated[str, Field(min_length=1)]
    no_finding: Literal["lower", "higher"] | None = None

    def is_finding(self, *, higher: bool) -> bool:
        """Whether a value beyond the normal range in this direction may be listed as a finding."""
        return self.no_finding != ("higher" if higher else "lower")


_TEXTS = TypeAdapter(dict[str, FeatureText])


@cache
def feature_texts() -> Mapping[str, FeatureText]:
    """The texts by feature, read once per process.

    Raises:
        pydantic.ValidationError: a text is missing or unknown.
    """
    return _TEXTS.validate_python(read_toml(resource("features.toml")))


def plain_words(feature: str) -> str:
    """A feature in everyday words; empty for one that is not known here."""
    text = feature_texts().get(feature)
    return "" if text is None else _(text.plain)


def is_finding(feature: str, value: ValueInterpretation) -> bool:
    """Whether a value in this band may be listed as a finding; never within the normal range."""
    if value not in _BELOW | _ABOVE:
        return False
    text = feature_texts().get(feature)
    return text is None or text.is_finding(higher=value in _ABOVE)

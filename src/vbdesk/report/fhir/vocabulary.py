"""Codes and texts of the FHIR export: our own code systems under one base, and the few of HL7 that fit."""

import uuid
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from pydantic import model_validator

from vbdesk.contract.levels import Level
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.report.plain_text import plain
from vbdesk.resource_files import resource

HL7 = "http://terminology.hl7.org/CodeSystem"
UCUM = "http://unitsofmeasure.org"

Element = dict[str, Any]
"""A FHIR element or resource, as JSON values."""


class Named(StrictDataModel):
    """A code and what people call it."""

    code: str
    display: str


class LevelCode(StrictDataModel):
    """A level's name, and HL7's interpretation of it."""

    display: str
    interpretation: str


class DeviceNames(StrictDataModel):
    """What the software is called."""

    analysis: str
    exporter: str
    type: str


class Vocabulary(StrictDataModel):
    """All of fhir.toml.

    Attributes:
        base: URI that every code system and identifier system of ours begins with.
        inconclusive: why there is no value.
    """

    base: str
    language: str
    disclaimer: str
    method: str
    inconclusive: str
    document: Named
    device: DeviceNames
    level: Mapping[Level, LevelCode]
    interpretation: Mapping[str, str]
    measure: Mapping[str, str]

    @model_validator(mode="after")
    def _complete(self) -> "Vocabulary":
        if set(self.level) != set(Level):
            raise ValueError("a level has no code")
        if not {level.interpretation for level in self.level.values()} <= set(self.interpretation):
            raise ValueError("an interpretation has no name")
        return self

    def system(self, *names: str) -> str:
        """URI of one of our own systems."""
        return ":".join((self.base, *names))

    def identity(self, *names: str) -> str:
        """The id of whatever these names stand for: the same at every export."""
        return str(uuid.uuid5(uuid.uuid5(uuid.NAMESPACE_URL, self.base), plain("\n".join(names))))

    def own(self, system: str, code: str, display: str) -> Element:
        """A concept of one of our own code systems."""
        name = text(display) or code
        return {"coding": [{"system": self.system(system), "code": code_of(code), "display": name}], "text": name}

    def measured(self, code: str) -> Element:
        """The concept of a measure that fhir.toml names."""
        return self.own("measure", code, self.measure[code])

    def interpreted(self, code: str) -> Element:
        """HL7's interpretation of an observation."""
        return hl7("v3-ObservationInterpretation", code, self.interpretation[code])


@cache
def vocabulary() -> Vocabulary:
    """The vocabulary of fhir.toml, validated."""
    return Vocabulary.model_validate(read_toml(resource("report", "fhir.toml")))


def hl7(system: str, code: str, display: str) -> Element:
    """A concept of a code system of HL7."""
    return {"coding": [{"system": f"{HL7}/{system}", "code": code, "display": display}]}


@lru_cache(maxsize=4096)
def text(words: str) -> str | None:
    """`words` as a FHIR string, which is never blank."""
    return plain(words).strip() or None


def code_of(name: str) -> str:
    """`name` as a FHIR code, which has no blanks at its ends nor two together."""
    return " ".join((text(name) or "unknown").split())


def quantity(value: float, unit: str) -> Element:
    """A number with its UCUM code."""
    return {"value": value, "unit": unit, "system": UCUM, "code": unit}

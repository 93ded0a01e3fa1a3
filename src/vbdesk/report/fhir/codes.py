"""FHIR codes: our systems (signs, levels, measures), and HL7's."""

import uuid
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, get_args

from pydantic import model_validator

from vbdesk.contract.levels import Level
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.report.safe_text import safe_text
from vbdesk.report.subject_consent import ConsentPurpose
from vbdesk.resource_files import resource

HL7 = "http://terminology.hl7.org/CodeSystem"
LOINC = "http://loinc.org"
UCUM = "http://unitsofmeasure.org"

RESOURCE = "resource"
"""Identifier system, or tag where FHIR has no identifier, of every resource: the same in every export."""

Element = dict[str, Any]
"""A FHIR element or resource, as JSON values."""


class NamedCode(StrictDataModel):
    """A code and its display name."""

    code: str
    display: str


class LevelCode(StrictDataModel):
    """Display name of a level, and its HL7 interpretation code."""

    display: str
    interpretation: str


class DeviceNames(StrictDataModel):
    """Names of the software."""

    analysis: str
    exporter: str
    type: str
    calibration: str
    longitudinal: str
    software: str


class ConsentCode(StrictDataModel):
    """Name of a purpose, its HL7 scope, and its HL7 reason; the reason may be empty."""

    display: str
    scope: str
    scope_display: str
    reason: str


class FhirCodes(StrictDataModel):
    """All codes and texts of fhir.toml.

    Attributes:
        base: prefix of the URI of every code system and identifier system of ours.
        inconclusive: reason for a missing value.
    """

    base: str
    language: str
    disclaimer: str
    method: str
    inconclusive: str
    document: NamedCode
    device: DeviceNames
    consent: Mapping[ConsentPurpose, ConsentCode]
    level: Mapping[Level, LevelCode]
    interpretation: Mapping[str, str]
    measure: Mapping[str, str]

    @model_validator(mode="after")
    def _complete(self) -> "FhirCodes":
        if set(self.level) != set(Level):
            raise ValueError("a level has no code")
        if not {level.interpretation for level in self.level.values()} <= set(self.interpretation):
            raise ValueError("an interpretation has no name")
        if set(self.consent) != set(get_args(ConsentPurpose)):
            raise ValueError("a purpose of consent has no code")
        return self

    def system(self, *names: str) -> str:
        """URI of one of our code systems or identifier systems."""
        return ":".join((self.base, *names))

    def resource_id(self, *names: str) -> str:
        """Id of the resource with these names; the same in every export (UUID version 5)."""
        return str(uuid.uuid5(uuid.uuid5(uuid.NAMESPACE_URL, self.base), safe_text("\n".join(names))))

    def identifiers(self, resource_id: str, *others: Element) -> list[Element]:
        """Identifiers of a resource: `others`, and the one by which a server finds it."""
        return [*others, {"system": self.system(RESOURCE), "value": resource_id}]

    def own_concept(self, system: str, code: str, display: str) -> Element:
        """Concept of one of our code systems."""
        name = fhir_string(display) or code
        return {"coding": [{"system": self.system(system), "code": fhir_code(code), "display": name}], "text": name}

    def sign_code(self, name: str, label: str) -> Element:
        """Code of a sign: its name in our code system `sign`."""
        return self.own_concept("sign", name, label)

    def measure_concept(self, code: str) -> Element:
        """Concept of a measure of fhir.toml."""
        return self.own_concept("measure", code, self.measure[code])

    def interpretation_concept(self, code: str) -> Element:
        """HL7 interpretation of an observation."""
        return hl7_concept("v3-ObservationInterpretation", code, self.interpretation[code])


@cache
def fhir_codes() -> FhirCodes:
    """The codes of fhir.toml, validated."""
    return FhirCodes.model_validate(read_toml(resource("report", "fhir.toml")))


def hl7_concept(system: str, code: str, display: str) -> Element:
    """Concept of an HL7 code system."""
    return {"coding": [{"system": f"{HL7}/{system}", "code": code, "display": display}]}


@lru_cache(maxsize=4096)
def fhir_string(value: str) -> str | None:
    """`value` as a FHIR string; None if blank, because FHIR strings are not."""
    return safe_text(value).strip() or None


def resource_reference(resource_id: str) -> str:
    """Address of a resource within its Bundle."""
    return f"urn:uuid:{resource_id}"


def fhir_code(name: str) -> str:
    """`name` as a FHIR code: no leading, trailing or repeated spaces."""
    return " ".join((fhir_string(name) or "unknown").split())


def quantity(value: float, unit: str) -> Element:
    """FHIR Quantity with a UCUM unit."""
    return {"value": value, "unit": unit, "system": UCUM, "code": unit}

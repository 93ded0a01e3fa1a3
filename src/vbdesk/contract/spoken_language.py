"""What is known about the language of a recording: two optional fields of every analyze route.

They are an addition of our service, which announces them in every authenticated answer. Another service may refuse
unknown fields, so a client sends them only to a service that announced them.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from vbdesk.language import N_

ANNOUNCEMENT_HEADER = "X-Vbdesk-Fields"
"""Header of every authenticated answer of our service: the names of the fields that it adds to the interface."""

LANGUAGE_FIELD = "language"
SECOND_LANGUAGE_FIELD = "second_language"

WIDENED = "widened"
"""Part of the build metadata of a `sign_version`: the sign was compared more cautiously."""

BAD_LANGUAGE = N_("Send a language tag of BCP 47, such as en, de or pt-BR.")

_SHAPE = re.compile(  # RFC 5646, 2.1; no subtag of four to eight letters is registered as a language
    r"(?P<language>[a-z]{2,3})(?:-[a-z]{3}){0,3}"
    r"(?:-[a-z]{4})?"
    r"(?:-(?:[a-z]{2}|[0-9]{3}))?"
    r"(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*"
    r"(?:-[0-9a-wy-z](?:-[a-z0-9]{2,8})+)*"
    r"(?:-x(?:-[a-z0-9]{1,8})+)?"
    r"|x(?:-[a-z0-9]{1,8})+"
)
_LONGEST_TAG = 35  # RFC 5646, 4.4.1
_UNDETERMINED = "und"
_SHORT = {"eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es"}


@dataclass(frozen=True, slots=True)
class SpokenLanguage:
    """The language of a recording and its speaker.

    Attributes:
        language: BCP 47 tag of the language that is spoken; None if unknown.
        second_language: whether it is a second language of the speaker; None if unknown.
    """

    language: str | None = None
    second_language: bool | None = None

    @property
    def is_known(self) -> bool:
        """Whether anything is known."""
        return self.language is not None or self.second_language is not None

    @property
    def form(self) -> dict[str, str]:
        """The fields of an analyze route; what is unknown is left out."""
        fields = {} if self.language is None else {LANGUAGE_FIELD: self.language}
        if self.second_language is not None:
            fields[SECOND_LANGUAGE_FIELD] = "true" if self.second_language else "false"
        return fields

    @property
    def json(self) -> str | None:
        """The fields as JSON; None if nothing is known."""
        return json.dumps(self.form) if self.is_known else None

    @classmethod
    def of_json(cls, text: str | None) -> "SpokenLanguage":
        """Read what `json` wrote. Raises ValueError."""
        return cls() if text is None else cls.of_form(json.loads(text))

    @classmethod
    def of_form(cls, fields: Mapping[str, str]) -> "SpokenLanguage":
        """Read what `form` wrote. Raises ValueError, for a damaged text."""
        language, second = fields.get(LANGUAGE_FIELD), fields.get(SECOND_LANGUAGE_FIELD)
        return cls(None if language is None else language_tag(language), None if second is None else second == "true")

    def differs_from(self, reference_language: str) -> bool:
        """Whether rate and pauses may differ from those of native readers of the reference's language."""
        other = self.language is not None and primary_language(self.language) != primary_language(reference_language)
        return other or self.second_language is True


UNKNOWN_LANGUAGE = SpokenLanguage()


def language_tag(text: str) -> str | None:
    """Check the form of a BCP 47 tag and write it in its usual case; None for an undetermined language.

    Raises:
        ValueError: it is not a language tag; the message is one sentence.
    """
    tag = text.strip().lower()
    if len(tag) > _LONGEST_TAG or not tag.isascii() or not _SHAPE.fullmatch(tag):
        raise ValueError(BAD_LANGUAGE)
    if tag.partition("-")[0] == _UNDETERMINED:
        return None
    return _in_usual_case(tag)


def primary_language(tag: str) -> str:
    """The language of a tag without script, region and variants; the two-letter code where some use three letters."""
    first = tag.lower().partition("-")[0]
    return _SHORT.get(first, first)


def is_widened(sign_version: str | None) -> bool:
    """Whether a sign of this version was compared more cautiously because of the language."""
    build = (sign_version or "").partition("+")[2]
    return WIDENED in build.partition("norms.")[0].split(".")


def without_widening(sign_version: str) -> str:
    """The same calibration without the mark of a more cautious comparison."""
    if not is_widened(sign_version):
        return sign_version
    version, _, build = sign_version.partition("+")
    own, norms, name = build.partition("norms.")
    parts = [part for part in own.rstrip(".").split(".") if part != WIDENED]
    left = ".".join([*parts, norms + name] if norms else parts)
    return f"{version}+{left}" if left else version


def _in_usual_case(tag: str) -> str:
    """Script with a capital, region in capitals, the rest in small letters (RFC 5646, 2.1.1)."""
    first, *others = tag.split("-")
    shown = [first]
    for index, part in enumerate(others):
        if any(len(earlier) == 1 for earlier in [first, *others[:index]]):
            shown.append(part)
        elif len(part) == 2 and part.isalpha():
            shown.append(part.upper())
        else:
            shown.append(part.capitalize() if len(part) == 4 and part.isalpha() else part)
    return "-".join(shown)

"""Rules and texts of the narrative, read from data: one file of rules, and one file of texts per language."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, model_validator

from vbdesk.contract.catalog import SignName
from vbdesk.contract.language import look_up_language
from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.results import IssueCode
from vbdesk.data_files import StrictDataModel, read_data
from vbdesk.language import message
from vbdesk.resource_files import resource

DEFAULT_LANGUAGE = "en"

_ARABIC = "\u060c\u061b\u061f-\u0652"  # letters, vowel signs and punctuation
_CAPITAL = f"[A-ZÀ-ÖØ-Þ{_ARABIC}]"  # Arabic has no capitals
_APOSTROPHE = "\u2019"  # of French
_TEXT = rf"[ -\-/-~À-ÖØ-öø-ÿ{_APOSTROPHE}{_ARABIC}]"  # letters and punctuation, without the full stop

Sentence = Annotated[str, Field(pattern=rf"^{_CAPITAL}{_TEXT}*\.$")]
"""Starts with a capital and has one full stop, at the end."""

Phrase = Annotated[str, Field(pattern=rf"^{_TEXT}+$")]
"""Has no full stop."""

Count = Annotated[int, Field(gt=0)]


class UnknownLanguage(Exception):
    """There are no texts for this language; the message names the available languages."""


class LengthLimits(StrictDataModel):
    """Limits on the length of a summary, and on how much it names."""

    max_characters: Count
    max_signals: Count
    max_features: Count


class SpecialSentence(StrictDataModel):
    """A sentence for some signs: `always`, or only if one of them is at `low` or more."""

    words: str
    signs: list[SignName]
    always: bool


class CauseRules(StrictDataModel):
    """The everyday cause to name for each confounder of the signs."""

    unspoken: frozenset[str]
    without_baseline: frozenset[str]
    in_noise: dict[str, str]
    always: dict[str, str]


class VocalFeatureChoice(StrictDataModel):
    """Which measured features are listed with the text."""

    max_count: Count
    filler: list[str]
    never: frozenset[str]


class NarrativeRules(StrictDataModel):
    """Rules for every language.

    The validation context holds `features`, the names of all features, and `confounders` by sign.
    """

    length: LengthLimits
    special: list[SpecialSentence]
    causes: Annotated[CauseRules, Field(alias="cause")]
    vocal_features: VocalFeatureChoice

    @model_validator(mode="after")
    def _covers_every_confounder(self, info: ValidationInfo) -> Self:
        context: dict[str, Any] = info.context or {}
        if "features" in context:
            _require("feature", [*self.vocal_features.filler, *self.vocal_features.never], context["features"])
        causes = self.causes
        covered = causes.unspoken | causes.without_baseline | causes.in_noise.keys() | causes.always.keys()
        for name, confounders in context.get("confounders", {}).items():
            _require(f"cause ({name})", confounders, covered)
            if not any(confounder in causes.always for confounder in confounders):
                raise ValueError(f"{name} has no cause that can always be said")
        return self


class ListSeparators(StrictDataModel):
    """Separators of a list: `last` before the last part, `comma` before the others."""

    comma: str
    last: str

    def join(self, parts: list[str]) -> str:
        """Join `parts` as "a, b and c"."""
        return self.last.join([self.comma.join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


class FeatureSentences(StrictDataModel):
    """Sentences about features; `heard` contains {clauses}. `compared_cautiously` is for another language."""

    heard: Annotated[str, Field(pattern=rf"^{_CAPITAL}{_TEXT}*\{{clauses\}}{_TEXT}*\.$")]
    none_stood_out: Sentence
    compared_cautiously: Sentence


class HistorySentences(StrictDataModel):
    """Sentences that compare the recording with the subject's earlier ones."""

    changed: Sentence
    in_line: Sentence
    unconfirmed: Sentence
    changed_elsewhere: Sentence


class EvidenceSentences(StrictDataModel):
    """Sentences about the strength of the evidence, weakest first."""

    placeholder: Sentence
    D: Sentence
    C: Sentence
    B: Sentence
    A: Sentence


class SeveralEvidenceSentences(StrictDataModel):
    """The same for several signs of different grades; B is never the weakest of several."""

    placeholder: Sentence
    D: Sentence
    C: Sentence


class CausePhrases(StrictDataModel):
    """Everyday causes; `sentence` contains {cause}, at its start where the language has no words before it."""

    sentence: Annotated[str, Field(pattern=rf"^{_TEXT}*\{{cause\}}{_TEXT}*\.$")]
    phrase: dict[str, Annotated[str, Field(pattern=rf"^{_CAPITAL}{_TEXT}*$")]]


class Clause(StrictDataModel):
    """Description of the voice for a high and a low feature."""

    higher: Phrase
    lower: Phrase


class NarrativeTexts(StrictDataModel):
    """The texts of one language.

    The validation context holds `rules`, `features`, the names of all features, and `missing`, why one has no value.
    """

    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Z]{2})?$")]
    name: Phrase
    list: ListSeparators
    quality: dict[IssueCode, Sentence]
    finding: dict[Level, Sentence]
    features: FeatureSentences
    history: HistorySentences
    evidence: EvidenceSentences
    evidence_of_several: SeveralEvidenceSentences
    action: dict[RecommendedAction, Sentence]
    special: dict[str, Sentence]
    missing: dict[str, Sentence]
    signs: Annotated[dict[SignName, Phrase], Field(alias="sign")]
    causes: Annotated[CausePhrases, Field(alias="cause")]
    clauses: Annotated[dict[str, Clause], Field(alias="clause")]

    @model_validator(mode="after")
    def _has_a_text_for_every_case(self, info: ValidationInfo) -> Self:
        _require("quality", IssueCode, self.quality)
        _require("finding", Level, self.finding)
        _require("action", RecommendedAction, self.action)
        _require("sign", SignName, self.signs)
        context: dict[str, Any] = info.context or {}
        rules: NarrativeRules = context["rules"]
        _require("missing", context.get("missing", ()), self.missing)
        _require("clause", context.get("features", ()), self.clauses)
        _require("special", [special.words for special in rules.special], self.special)
        _require("cause", [*rules.causes.in_noise.values(), *rules.causes.always.values()], self.causes.phrase)
        return self


@dataclass(frozen=True, slots=True)
class Narrative:
    """Rules, and the texts of one language."""

    rules: NarrativeRules
    texts: NarrativeTexts


@cache
def languages() -> tuple[str, ...]:
    """Tags of the languages that have narrative texts, the default first."""
    found = sorted(path.stem for path in resource("narrative").glob("*.toml") if path.stem != "narrative")
    found = [stem.replace("_", "-") for stem in found]
    return (DEFAULT_LANGUAGE, *(language for language in found if language != DEFAULT_LANGUAGE))


def find_language(tag: str) -> str:
    """Find the available language that matches the BCP 47 tag.

    Raises:
        UnknownLanguage: none matches.
    """
    known = languages()
    language = look_up_language(tag, known)
    if language is None:
        raise UnknownLanguage(
            message(
                "There are no words for the language '{tag}'. Choose one of: {names}.", tag=tag, names=", ".join(known)
            )
        )
    return language


@cache
def read_narrative(language: str) -> Narrative:
    """Read the rules and the texts of a language, as they are shipped.

    Raises:
        UnknownLanguage: there are no texts for it.
    """
    rules = read_data(resource("narrative", "narrative.toml"), NarrativeRules)
    return Narrative(rules, read_texts(find_language(language), {"rules": rules}))


def read_texts(language: str, context: Mapping[str, Any]) -> NarrativeTexts:
    """Read the texts of one of `languages()`, and check them against `context`. Raises DataFileError."""
    return read_data(resource("narrative", f"{language.replace('-', '_')}.toml"), NarrativeTexts, dict(context))


def _require(what: str, wanted: Any, present: Any) -> None:
    for key in wanted:
        if key not in present:
            raise ValueError(f"{what}: there are no words for {key}")

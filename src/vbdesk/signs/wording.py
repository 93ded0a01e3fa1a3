"""The words of the summary, as data: rules that hold in every language, and one file of words a language."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, model_validator

from vbdesk.contract.catalog import SignName
from vbdesk.contract.language import look_up_language
from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.results import IssueCode
from vbdesk.data_files import StrictDataModel
from vbdesk.resource_files import resource
from vbdesk.signs.calibration import Calibration
from vbdesk.signs.norms import Norms
from vbdesk.voice.measurement import MISSING_CODES

DEFAULT_LANGUAGE = "en"

_CAPITAL = "[A-ZÀ-ÖØ-Þ]"
_TEXT = r"[ -\-/-~À-ÖØ-öø-ÿ]"  # Latin letters and plain punctuation, without the full stop

Sentence = Annotated[str, Field(pattern=rf"^{_CAPITAL}{_TEXT}*\.$")]
"""Begins with a capital; one full stop, at the end."""

Phrase = Annotated[str, Field(pattern=rf"^{_TEXT}+$")]
"""Without a full stop."""

Count = Annotated[int, Field(gt=0)]


class UnknownLanguage(Exception):
    """The summary cannot be written in this language; the message names those in which it can."""


class Length(StrictDataModel):
    """How long a summary may get, and how much it names."""

    max_characters: Count
    max_signals: Count
    max_features: Count


class Special(StrictDataModel):
    """A sentence that goes with some signs: `always`, or only when one of them is at `low` or more."""

    words: str
    signs: list[SignName]
    always: bool


class CauseRules(StrictDataModel):
    """Which everyday cause stands for each confounder of the signs."""

    unspoken: frozenset[str]
    in_noise: dict[str, str]
    always: dict[str, str]


class VocalFeatureChoice(StrictDataModel):
    """Which measured features stand beside the text."""

    max_count: Count
    filler: list[str]
    never: frozenset[str]


class NarrativeRules(StrictDataModel):
    """What is said when, in every language. Validated against `calibration` and `norms` in the validation context."""

    length: Length
    special: list[Special]
    causes: Annotated[CauseRules, Field(alias="cause")]
    vocal_features: VocalFeatureChoice

    @model_validator(mode="after")
    def _covers_every_confounder(self, info: ValidationInfo) -> Self:
        context: dict[str, Any] = info.context or {}
        norms: Norms | None = context.get("norms")
        calibration: Calibration | None = context.get("calibration")
        if norms is not None:
            _require("feature", [*self.vocal_features.filler, *self.vocal_features.never], norms.features)
        if calibration is not None:
            self._require_causes(calibration)
        return self

    def _require_causes(self, calibration: Calibration) -> None:
        covered = self.causes.unspoken | self.causes.in_noise.keys() | self.causes.always.keys()
        for name, sign in calibration.signs.items():
            _require(f"cause ({name})", sign.confounders, covered)
            if not any(confounder in self.causes.always for confounder in sign.confounders):
                raise ValueError(f"{name} has no cause that can always be said")


class ListJoints(StrictDataModel):
    """What stands between the parts of a list: `last` before the last part, `comma` before the others."""

    comma: str
    last: str

    def join(self, parts: list[str]) -> str:
        """Join as "a, b and c"."""
        return self.last.join([self.comma.join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


class FeatureSentences(StrictDataModel):
    """What was heard; `heard` takes {clauses}."""

    heard: Annotated[str, Field(pattern=rf"^{_CAPITAL}{_TEXT}*\{{clauses\}}{_TEXT}*\.$")]
    none_stood_out: Sentence


class HistorySentences(StrictDataModel):
    """How the recording stands to the subject's own earlier ones."""

    changed: Sentence
    in_line: Sentence
    unconfirmed: Sentence
    changed_elsewhere: Sentence


class EvidenceSentences(StrictDataModel):
    """How much weight a link deserves, weakest first."""

    placeholder: Sentence
    D: Sentence
    C: Sentence
    B: Sentence
    A: Sentence


class SeveralEvidenceSentences(StrictDataModel):
    """The same where signs of different grades are named together; B is never the weakest of several."""

    placeholder: Sentence
    D: Sentence
    C: Sentence


class CausePhrases(StrictDataModel):
    """Everyday causes; `sentence` takes {cause}, at its start."""

    sentence: Annotated[str, Field(pattern=rf"^\{{cause\}}{_TEXT}*\.$")]
    phrase: dict[str, Annotated[str, Field(pattern=rf"^{_CAPITAL}{_TEXT}*$")]]


class Clause(StrictDataModel):
    """What the voice does when a feature is high or low."""

    higher: Phrase
    lower: Phrase


class Words(StrictDataModel):
    """The words of one language. Validated against `rules` and `norms` in the validation context."""

    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$")]
    name: Phrase
    list: ListJoints
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
    def _leaves_no_case_without_words(self, info: ValidationInfo) -> Self:
        _require("quality", IssueCode, self.quality)
        _require("finding", Level, self.finding)
        _require("action", RecommendedAction, self.action)
        _require("missing", MISSING_CODES, self.missing)
        _require("sign", SignName, self.signs)
        context: dict[str, Any] = info.context or {}
        norms: Norms | None = context.get("norms")
        rules: NarrativeRules | None = context.get("rules")
        if norms is not None:
            _require("clause", norms.features, self.clauses)
        if rules is not None:
            _require("special", [special.words for special in rules.special], self.special)
            _require("cause", [*rules.causes.in_noise.values(), *rules.causes.always.values()], self.causes.phrase)
        return self


@dataclass(frozen=True, slots=True)
class Wording:
    """Everything that the summary needs to be written in one language."""

    rules: NarrativeRules
    words: Words


@cache
def languages() -> tuple[str, ...]:
    """Languages in which summaries can be written, the default first."""
    found = sorted(path.stem for path in resource("narrative").glob("*.toml") if path.stem != "narrative")
    return (DEFAULT_LANGUAGE, *(language for language in found if language != DEFAULT_LANGUAGE))


def find_language(tag: str) -> str:
    """The language that serves the BCP 47 tag best.

    Raises:
        UnknownLanguage: none does.
    """
    known = languages()
    language = look_up_language(tag, known)
    if language is None:
        raise UnknownLanguage(f"There are no words for the language {tag!r}. Choose one of: {', '.join(known)}.")
    return language


def _require(what: str, wanted: Any, present: Any) -> None:
    for key in wanted:
        if key not in present:
            raise ValueError(f"{what}: there are no words for {key}")

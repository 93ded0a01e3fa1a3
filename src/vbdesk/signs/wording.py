"""The words of the summary, as data."""

from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, model_validator

from vbdesk.contract.catalog import SignName
from vbdesk.contract.levels import Level, RecommendedAction
from vbdesk.contract.results import IssueCode
from vbdesk.signs.calibration import Calibration
from vbdesk.signs.data_file import StrictDataModel
from vbdesk.signs.norms import Norms

Sentence = Annotated[str, Field(pattern=r"^[A-Z{][ -~]*\.$")]
"""Plain ASCII that ends with a full stop."""

Phrase = Annotated[str, Field(pattern=r"^[ -\-/-~]+$")]
"""Plain ASCII without a full stop."""

Count = Annotated[int, Field(gt=0)]


class Length(StrictDataModel):
    """How long a summary may get."""

    max_characters: Count
    max_signals: Count
    max_features: Count


class FeatureSentences(StrictDataModel):
    """What was heard; `heard` takes {clauses}."""

    heard: Sentence
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


class Special(StrictDataModel):
    """A sentence that goes with some signs: `always`, or only when one of them is at `low` or more."""

    signs: list[SignName]
    always: bool
    sentence: Sentence


class Causes(StrictDataModel):
    """An everyday cause for each confounder of the signs; `sentence` takes {cause}."""

    sentence: Sentence
    unspoken: frozenset[str]
    in_noise: dict[str, Phrase]
    always: dict[str, Phrase]


class Clause(StrictDataModel):
    """What the voice does when a feature is high or low."""

    higher: Phrase
    lower: Phrase


class VocalFeatureChoice(StrictDataModel):
    """Which measured features stand beside the text."""

    max_count: Count
    filler: list[str]
    never: frozenset[str]


class Wording(StrictDataModel):
    """All texts. Validated against `calibration` and `norms` in the validation context."""

    length: Length
    quality: dict[IssueCode, Sentence]
    finding: dict[Level, Sentence]
    features: FeatureSentences
    history: HistorySentences
    evidence: EvidenceSentences
    action: dict[RecommendedAction, Sentence]
    special: list[Special]
    causes: Annotated[Causes, Field(alias="cause")]
    clauses: Annotated[dict[str, Clause], Field(alias="clause")]
    vocal_features: VocalFeatureChoice

    @model_validator(mode="after")
    def _leaves_no_case_without_words(self, info: ValidationInfo) -> Self:
        _require("quality", IssueCode, self.quality)
        _require("finding", Level, self.finding)
        _require("action", RecommendedAction, self.action)
        context: dict[str, Any] = info.context or {}
        norms: Norms | None = context.get("norms")
        calibration: Calibration | None = context.get("calibration")
        if norms is not None:
            _require("clause", norms.features, self.clauses)
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


def _require(what: str, wanted: Any, present: Any) -> None:
    for key in wanted:
        if key not in present:
            raise ValueError(f"{what}: there are no words for {key}")

"""The catalog: names of models, signs, use cases and conditions."""

from collections.abc import Iterable
from enum import StrEnum

from vbdesk.contract.base import WireModel


class ModelName(StrEnum):
    """A fixed bundle of signs."""

    PULSE = "pulse"
    HAVEN = "haven"
    APEX = "apex"
    ARIA = "aria"
    BREATH = "breath"
    CLARITY = "clarity"
    HARBOR = "harbor"
    TIDE = "tide"


def label_of(name: str) -> str:
    """Display name of a sign: the title-cased words of its name."""
    return name.replace("-", " ").title()


class SignName(StrEnum):
    """One signal. The last four appear in models only."""

    AIRWAY_OBSTRUCTION_PATTERN = "airway-obstruction-pattern"
    ALCOHOL_USE_PATTERN = "alcohol-use-pattern"
    ALLERGY = "allergy"
    ANXIETY = "anxiety"
    ATTENTION_DYSREGULATION = "attention-dysregulation"
    COGNITIVE_IMPAIRMENT = "cognitive-impairment"
    DEHYDRATION = "dehydration"
    ELEVATED_ANDROGENS = "elevated-androgens"
    ELEVATED_BLOOD_PRESSURE = "elevated-blood-pressure"
    FATIGUE = "fatigue"
    HEAD_IMPACT = "head-impact"
    HYPERVIGILANCE = "hypervigilance"
    IRON_DEFICIENCY = "iron-deficiency"
    METABOLIC_LOAD = "metabolic-load"
    MOOD_DISRUPTION = "mood-disruption"
    STRESS = "stress"
    SUBSTANCE_USE_PATTERN = "substance-use-pattern"
    COGNITIVE_LOAD = "cognitive-load"
    CARDIOVASCULAR_STRAIN = "cardiovascular-strain"
    EMOTIONAL_DESTABILIZATION = "emotional-destabilization"
    DRY_MOUTH = "dry-mouth"

    @property
    def label(self) -> str:
        """Display name."""
        return label_of(self.value)

    @property
    def standalone(self) -> bool:
        """Whether the sign can be requested alone."""
        return self not in MODEL_INTERNAL_SIGNS


_S = SignName

MODEL_INTERNAL_SIGNS = frozenset(
    {_S.COGNITIVE_LOAD, _S.CARDIOVASCULAR_STRAIN, _S.EMOTIONAL_DESTABILIZATION, _S.DRY_MOUTH}
)
STANDALONE_SIGNS: tuple[SignName, ...] = tuple(sign for sign in SignName if sign not in MODEL_INTERNAL_SIGNS)

MODEL_SIGNS: dict[ModelName, tuple[SignName, ...]] = {
    ModelName.PULSE: (
        _S.MOOD_DISRUPTION,
        _S.ANXIETY,
        _S.STRESS,
        _S.FATIGUE,
        _S.DEHYDRATION,
        _S.ELEVATED_BLOOD_PRESSURE,
    ),
    ModelName.HAVEN: (
        _S.MOOD_DISRUPTION,
        _S.ANXIETY,
        _S.STRESS,
        _S.HYPERVIGILANCE,
        _S.ATTENTION_DYSREGULATION,
        _S.FATIGUE,
    ),
    ModelName.APEX: (
        _S.HEAD_IMPACT,
        _S.COGNITIVE_LOAD,
        _S.FATIGUE,
        _S.DEHYDRATION,
        _S.STRESS,
        _S.ANXIETY,
        _S.CARDIOVASCULAR_STRAIN,
    ),
    ModelName.ARIA: (
        _S.ELEVATED_ANDROGENS,
        _S.IRON_DEFICIENCY,
        _S.DEHYDRATION,
        _S.MOOD_DISRUPTION,
        _S.FATIGUE,
        _S.ANXIETY,
        _S.ELEVATED_BLOOD_PRESSURE,
    ),
    ModelName.BREATH: (_S.AIRWAY_OBSTRUCTION_PATTERN, _S.ALLERGY),
    ModelName.CLARITY: (_S.COGNITIVE_IMPAIRMENT,),
    ModelName.HARBOR: (
        _S.ALCOHOL_USE_PATTERN,
        _S.SUBSTANCE_USE_PATTERN,
        _S.EMOTIONAL_DESTABILIZATION,
        _S.ANXIETY,
        _S.STRESS,
        _S.FATIGUE,
    ),
    ModelName.TIDE: (
        _S.ELEVATED_BLOOD_PRESSURE,
        _S.METABOLIC_LOAD,
        _S.DEHYDRATION,
        _S.IRON_DEFICIENCY,
        _S.FATIGUE,
        _S.DRY_MOUTH,
    ),
}

USE_CASE_MODELS: dict[str, ModelName] = {
    "behavioral-health": ModelName.HAVEN,
    "wellness": ModelName.PULSE,
    "cognitive": ModelName.CLARITY,
    "womens-health": ModelName.ARIA,
    "respiratory": ModelName.BREATH,
    "performance": ModelName.APEX,
    "recovery": ModelName.HARBOR,
    "metabolic": ModelName.TIDE,
}
"""Use case of the earlier v2 form to its model."""

CONDITION_SIGNS: dict[str, SignName] = {
    "depression": _S.MOOD_DISRUPTION,
    "anxiety": _S.ANXIETY,
    "acute-stress": _S.STRESS,
    "cognitive-impairment": _S.COGNITIVE_IMPAIRMENT,
    "fatigue": _S.FATIGUE,
    "dehydration": _S.DEHYDRATION,
    "hypervigilance": _S.HYPERVIGILANCE,
    "metabolic-load": _S.METABOLIC_LOAD,
    "adhd": _S.ATTENTION_DYSREGULATION,
    "hypertension": _S.ELEVATED_BLOOD_PRESSURE,
    "anemia": _S.IRON_DEFICIENCY,
    "hyperandrogenism": _S.ELEVATED_ANDROGENS,
    "airway-obstruction": _S.AIRWAY_OBSTRUCTION_PATTERN,
    "allergic-rhinitis": _S.ALLERGY,
    "alcohol-use": _S.ALCOHOL_USE_PATTERN,
    "substance-use": _S.SUBSTANCE_USE_PATTERN,
    "concussion": _S.HEAD_IMPACT,
}
"""Condition id of the earlier v2 form to its sign."""

SIGN_CONDITIONS: dict[SignName, str] = {sign: condition for condition, sign in CONDITION_SIGNS.items()}

V1_USE_CASES: dict[str, str] = {"wellness": "wellness", "cognitive": "cognitive", "anemia": "womens-health"}
"""v1 condition to the use case with the same result shape."""


class Model(WireModel):
    """A model and its signs."""

    name: str
    signs: list[str]


class ModelList(WireModel):
    """Answer of the model list."""

    models: list[Model]


class Sign(WireModel):
    """A standalone sign in the list."""

    name: str
    label: str


class SignDetail(Sign):
    """A sign with its condition id; null if there is none."""

    condition: str | None


class SignList(WireModel):
    """Answer of the sign list."""

    signs: list[Sign]


def models() -> ModelList:
    """All models, in the interface's order."""
    return ModelList(models=[model(name) for name in ModelName])


def model(name: ModelName) -> Model:
    """One model."""
    return Model(name=name.value, signs=[sign.value for sign in MODEL_SIGNS[name]])


def signs(plugins: Iterable[str] = ()) -> SignList:
    """The standalone signs, then the plug-in signs."""
    names = [*(sign.value for sign in STANDALONE_SIGNS), *sorted(plugins)]
    return SignList(signs=[Sign(name=name, label=label_of(name)) for name in names])


def sign_detail(sign: SignName) -> SignDetail:
    """One sign with its condition."""
    return SignDetail(name=sign.value, label=sign.label, condition=SIGN_CONDITIONS.get(sign))


def plugin_sign(name: str) -> SignDetail:
    """A plug-in sign; it has no condition of the earlier form."""
    return SignDetail(name=name, label=label_of(name), condition=None)

"""What stands behind a sign and a feature, and what a recording gives, for people and programs to read."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from vbdesk.contract.catalog import SignName
from vbdesk.contract.levels import Level
from vbdesk.contract.longitudinal import TimeScale
from vbdesk.contract.results import ValueInterpretation
from vbdesk.resource_files import resource
from vbdesk.signs.bibliography import Source, read_bibliography
from vbdesk.signs.calibration import Evidence, ScoringRules
from vbdesk.signs.norms import FeatureNorm, interpret
from vbdesk.signs.passage import Passage
from vbdesk.signs.reference import Reference
from vbdesk.signs.scoring import Scale, score_of

FEMALE_ONLY = "only voices that clearly resemble the female-typical reference; others are inconclusive"


class Sheet(BaseModel):
    """A part of a sheet."""

    model_config = ConfigDict(frozen=True)


class FeatureWeight(Sheet):
    """A feature of a sign: `weight` is signed, `cites` are keys of `SignSheet.sources`."""

    feature: str
    label: str
    direction: str
    weight: float
    strength: str
    only_voices: str | None
    cites: list[str]
    note: str


class CutPoint(Sheet):
    """Where a level begins.

    Attributes:
        index: in SD of the healthy reference; `score` is what goes over the wire there.
        expected_share: of healthy readers at or above it, as signs are scored here.
        reported: False above the highest level that the evidence allows.
    """

    level: Level
    index: float
    score: float
    expected_share: float
    reported: bool


class Needs(Sheet):
    """What a recording must have, or the level is `inconclusive`; `audio_clarity` None where noise matters less."""

    speech_seconds: float
    voice_percentage: float
    audio_clarity: float | None
    share_of_weight_measured: float


class Repeatability(Sheet):
    """How far the index of one person moves; provisional figures from the literature."""

    icc: float
    smallest_real_change: float | None


class SourceLine(Sheet):
    """A work behind the evidence."""

    key: str
    cited: str
    verified: bool


class SignSheet(Sheet):
    """Everything that stands behind one sign."""

    name: SignName
    label: str
    version: str
    standalone: bool
    condition: str | None
    models: list[str]
    evidence_grade: str
    evidence_grade_means: str
    placeholder: bool
    max_level: Level
    changes: str
    measures: str
    known: str
    scored_for: str
    features: list[FeatureWeight]
    cuts: list[CutPoint]
    cut_rationale: str
    flagged_reference: float | None
    flagged_second_language: float | None
    needs: Needs
    repeatability: Repeatability
    confounders: list[str]
    not_told_apart_from: dict[SignName, float]
    sources: list[SourceLine]


class FeatureSheet(Sheet):
    """Definition of one feature.

    Attributes:
        definition_sources: works that define it; empty where the definition is vbdesk's own.
        norm_sources: works that the reference values are from.
        free_speech_inflation: what the reference SD is multiplied with, since the task of a recording is unknown.
    """

    feature: str
    label: str
    unit: str
    group: str
    definition: str
    scale: str
    high_means: str
    low_means: str
    free_speech_inflation: float
    used_by: list[SignName]
    definition_sources: list[SourceLine]
    norm_sources: list[SourceLine]


class MeasuredFeature(Sheet):
    """One feature of one recording: a value, or in `missing` and `reason` why there is none.

    Attributes:
        value_interpretation: where the value lies in the reference; None where that cannot be told.
    """

    feature: str
    label: str
    value: float | None
    unit: str
    value_interpretation: ValueInterpretation | None
    missing: str | None
    reason: str | None


def sign_sheet(name: SignName, reference: Reference) -> SignSheet:
    """The sheet of the sign `name`."""
    calibration = reference.calibration
    sign, rules = calibration.signs[name], calibration.scoring
    expected = calibration.expected_rates(name, reference.norms)
    pairs = calibration.separability.pair
    alike = {pair.b if pair.a is name else pair.a: pair.r for pair in pairs if name in (pair.a, pair.b)}
    return SignSheet(
        name=name,
        label=sign.label,
        version=calibration.meta.version,
        standalone=sign.standalone,
        condition=sign.condition,
        models=sign.models,
        evidence_grade=sign.evidence_grade,
        evidence_grade_means=calibration.grades[sign.evidence_grade],
        placeholder=sign.placeholder,
        max_level=sign.max_level,
        changes=changes_words(sign.timescale),
        measures=sign.meaning,
        known=sign.known,
        scored_for="all voices" if sign.applies_to == "all" else FEMALE_ONLY,
        features=[_feature_weight(row, reference) for row in sign.evidence],
        cuts=cut_points(sign, {level: round(share, 5) for level, share in expected.items()}),
        cut_rationale=sign.cut_rationale,
        flagged_reference=sign.measured_flag_rate_reference,
        flagged_second_language=sign.measured_flag_rate_second_language,
        needs=needs_of(rules, sign.weights),
        repeatability=Repeatability(icc=sign.icc_free_speech, smallest_real_change=sign.mdc95_free_speech),
        confounders=sign.confounders,
        not_told_apart_from=alike,
        sources=_sources([key for row in sign.evidence for key in row.cites]),
    )


def changes_words(timescale: TimeScale) -> str:
    """How soon a sign changes in a person, in words."""
    return "within days" if timescale == "fast" else "over weeks"


def cut_points(sign: Scale, expected: Mapping[Level, float]) -> list[CutPoint]:
    """Where the levels of a sign begin; `expected` is the share of people without it at or above each."""
    highest = sign.cuts.get(sign.max_level, 0.0)
    return [
        CutPoint(
            level=level,
            index=index,
            score=round(score_of(sign, index), 4),
            expected_share=expected[level],
            reported=index <= highest,
        )
        for level, index in sign.cuts.items()
    ]


def needs_of(rules: ScoringRules, weights: Mapping[str, float]) -> Needs:
    """What a sign of these weights needs."""
    return Needs(
        speech_seconds=rules.min_speech_seconds,
        voice_percentage=rules.min_voice_percentage,
        audio_clarity=rules.min_audio_clarity if rules.noise_sensitive(weights) else None,
        share_of_weight_measured=rules.min_weight_available,
    )


def feature_sheet(name: str, reference: Reference) -> FeatureSheet:
    """The sheet of the feature `name`, a key of the norms."""
    norm = reference.norms.features[name]
    signs = reference.calibration.signs.items()
    return FeatureSheet(
        feature=name,
        label=norm.label,
        unit=norm.unit,
        group=norm.group,
        definition=norm.method,
        scale=_scale(norm),
        high_means=norm.higher_means,
        low_means=norm.lower_means,
        free_speech_inflation=norm.sd_inflation_free_speech,
        used_by=[sign for sign, calibration in signs if name in calibration.weights],
        definition_sources=_sources(norm.method_cites),
        norm_sources=_sources(norm.norm_cites),
    )


def measured_features(passage: Passage, reference: Reference) -> list[MeasuredFeature]:
    """Every feature of the norms as heard in `passage`."""
    rows = []
    for name, norm in reference.norms.features.items():
        measured = passage.features[name]
        rows.append(
            MeasuredFeature(
                feature=name,
                label=norm.label,
                value=measured.value,
                unit=norm.unit,
                value_interpretation=interpret(passage.z[name]) if name in passage.z else None,
                missing=measured.missing,
                reason=None if measured.missing is None else reference.wording.words.missing[measured.missing],
            )
        )
    return rows


def _feature_weight(row: Evidence, reference: Reference) -> FeatureWeight:
    return FeatureWeight(
        feature=row.feature,
        label=reference.norms.features[row.feature].label,
        direction=row.direction,
        weight=row.weight,
        strength=row.strength,
        only_voices=None if row.sex is None else f"{row.sex}-typical",
        cites=row.cites,
        note=row.note,
    )


def _scale(norm: FeatureNorm) -> str:
    limits = [f"at least {norm.floor:g}" if norm.floor else "", f"at most {norm.ceiling:g}" if norm.ceiling else ""]
    held = " and ".join(limit for limit in limits if limit)
    return norm.scale + (f", value held to {held}" if held else "")


def _sources(keys: list[str] | tuple[str, ...]) -> list[SourceLine]:
    works: dict[str, Source] = read_bibliography(resource("signs", "bibliography.bib"))
    found = [works[key] for key in sorted(set(keys))]
    return [SourceLine(key=work.key, cited=work.cited(), verified=work.verified) for work in found]

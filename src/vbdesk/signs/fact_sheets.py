"""Fact sheets of signs and features, and the features of a recording, for readers and programs."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from vbdesk.contract.catalog import SignName
from vbdesk.contract.levels import Level
from vbdesk.contract.longitudinal import TimeScale
from vbdesk.contract.results import ValueInterpretation
from vbdesk.language import N_
from vbdesk.resource_files import resource
from vbdesk.signs.bibliography import Publication, read_bibliography
from vbdesk.signs.calibration import FeatureEvidence, ScoringRules
from vbdesk.signs.norms import FeatureNorm, interpret
from vbdesk.signs.passage import Passage
from vbdesk.signs.reference_data import ReferenceData
from vbdesk.signs.score_to_level import ScoreScale, index_to_score

FEMALE_ONLY = N_("only voices that clearly resemble the female-typical reference; others are inconclusive")


class FactSheetPart(BaseModel):
    """Base of the models of a fact sheet."""

    model_config = ConfigDict(frozen=True)


class FeatureWeight(FactSheetPart):
    """A feature of a sign: `weight` is signed, `cites` are keys of `SignFactSheet.sources`."""

    feature: str
    label: str
    direction: str
    weight: float
    strength: str
    only_voices: str | None
    cites: list[str]
    note: str


class CutPoint(FactSheetPart):
    """The start of a level.

    Attributes:
        index: in SD of the healthy reference; `score` is the score at that index.
        expected_share: expected share of healthy readers at or above it.
        reported: False above the highest level that the evidence allows.
    """

    level: Level
    index: float
    score: float
    expected_share: float
    reported: bool


class RecordingRequirements(FactSheetPart):
    """Requirements for a conclusive level; `audio_clarity` is None for a sign that is not noise-sensitive."""

    speech_seconds: float
    voice_percentage: float
    audio_clarity: float | None
    share_of_weight_measured: float


class Repeatability(FactSheetPart):
    """Repeatability of the index in one person; provisional figures from the literature."""

    icc: float
    smallest_real_change: float | None


class PublicationEntry(FactSheetPart):
    """A publication behind the evidence."""

    key: str
    cited: str
    verified: bool


class SignFactSheet(FactSheetPart):
    """The fact sheet of one sign."""

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
    needs: RecordingRequirements
    repeatability: Repeatability
    confounders: list[str]
    not_told_apart_from: dict[SignName, float]
    twins: list[SignName]
    sources: list[PublicationEntry]


class FeatureFactSheet(FactSheetPart):
    """The fact sheet of one feature.

    Attributes:
        definition_sources: publications that define it; empty for our own definitions.
        norm_sources: publications with the norm values.
        free_speech_inflation: factor on the reference SD, because the task of a recording is unknown.
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
    definition_sources: list[PublicationEntry]
    norm_sources: list[PublicationEntry]


class MeasuredFeature(FactSheetPart):
    """One feature of one recording: a value, or its absence explained in `missing` and `reason`.

    Attributes:
        value_interpretation: position of the value in the reference; None if unknown.
    """

    feature: str
    label: str
    value: float | None
    unit: str
    value_interpretation: ValueInterpretation | None
    missing: str | None
    reason: str | None


def sign_fact_sheet(name: SignName, reference: ReferenceData) -> SignFactSheet:
    """Build the fact sheet of the sign `name`."""
    calibration = reference.calibration
    sign, rules = calibration.signs[name], calibration.scoring
    expected = calibration.expected_rates(name, reference.norms)
    return SignFactSheet(
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
        changes=describe_timescale(sign.timescale),
        measures=sign.meaning,
        known=sign.known,
        scored_for=N_("all voices") if sign.applies_to == "all" else FEMALE_ONLY,
        features=[_feature_weight(row, reference) for row in sign.evidence],
        cuts=cut_points(sign, {level: round(share, 5) for level, share in expected.items()}),
        cut_rationale=sign.cut_rationale,
        flagged_reference=sign.measured_flag_rate_reference,
        flagged_second_language=sign.measured_flag_rate_second_language,
        needs=recording_requirements(rules, sign.weights),
        repeatability=Repeatability(icc=sign.icc_free_speech, smallest_real_change=sign.mdc95_free_speech),
        confounders=sign.confounders,
        not_told_apart_from=calibration.separability.similar(name),
        twins=list(calibration.separability.twins(name)),
        sources=_sources([key for row in sign.evidence for key in row.cites]),
    )


def describe_timescale(timescale: TimeScale) -> str:
    """Describe how fast a sign changes in a person."""
    return N_("within days") if timescale == "fast" else N_("over weeks")


def cut_points(sign: ScoreScale, expected: Mapping[Level, float]) -> list[CutPoint]:
    """Cut-points of a sign; `expected` is the share of people without it at or above each level."""
    highest = sign.cuts.get(sign.max_level, 0.0)
    return [
        CutPoint(
            level=level,
            index=index,
            score=round(index_to_score(sign, index), 4),
            expected_share=expected[level],
            reported=index <= highest,
        )
        for level, index in sign.cuts.items()
    ]


def recording_requirements(rules: ScoringRules, weights: Mapping[str, float]) -> RecordingRequirements:
    """Requirements of a sign with these weights."""
    return RecordingRequirements(
        speech_seconds=rules.min_speech_seconds,
        voice_percentage=rules.min_voice_percentage,
        audio_clarity=rules.min_audio_clarity if rules.noise_sensitive(weights) else None,
        share_of_weight_measured=rules.min_weight_available,
    )


def feature_fact_sheet(name: str, reference: ReferenceData) -> FeatureFactSheet:
    """Build the fact sheet of the feature `name`, a key of the norms."""
    norm = reference.norms.features[name]
    signs = reference.calibration.signs.items()
    return FeatureFactSheet(
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


def measured_features(passage: Passage, reference: ReferenceData) -> list[MeasuredFeature]:
    """Every feature of the norms, as measured in `passage`."""
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
                reason=None if measured.missing is None else reference.narrative.texts.missing[measured.missing],
            )
        )
    return rows


def _feature_weight(row: FeatureEvidence, reference: ReferenceData) -> FeatureWeight:
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


def _sources(keys: list[str] | tuple[str, ...]) -> list[PublicationEntry]:
    works: dict[str, Publication] = read_bibliography(resource("signs", "bibliography.bib"))
    found = [works[key] for key in sorted(set(keys))]
    return [PublicationEntry(key=work.key, cited=work.citation(), verified=work.verified) for work in found]

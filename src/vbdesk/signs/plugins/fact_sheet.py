"""Fact sheet of a plug-in sign, from its calibration file."""

from pydantic import JsonValue

from vbdesk.contract.levels import Level
from vbdesk.signs.fact_sheets import (
    CutPoint,
    FactSheetPart,
    RecordingRequirements,
    Repeatability,
    cut_points,
    describe_timescale,
    recording_requirements,
)
from vbdesk.signs.plugins.discovery import PluginSign
from vbdesk.signs.plugins.sign_file import LinearModel, Model, OnnxModel, PickledModel
from vbdesk.signs.reference_data import ReferenceData


class PluginFeature(FactSheetPart):
    """A feature that the model takes; `weight` is signed, None if the model has no weights."""

    feature: str
    label: str
    weight: float | None


class PluginModel(FactSheetPart):
    """The model of the sign; `file`, `sha256` and `scikit_learn` are None for kinds without them."""

    kind: str
    file: str | None = None
    sha256: str | None = None
    gives: str | None = None
    scikit_learn: str | None = None


class PluginFactSheet(FactSheetPart):
    """The fact sheet of one plug-in sign.

    Attributes:
        found_in: its calibration file.
        fit: how its numbers were obtained, if the file says so.
    """

    name: str
    label: str
    version: str
    found_in: str
    standalone: bool = True
    models: tuple[str, ...] = ()
    evidence_grade: str
    evidence_grade_means: str
    max_level: Level
    changes: str
    measures: str
    known: str
    model: PluginModel
    features: list[PluginFeature]
    cuts: list[CutPoint]
    needs: RecordingRequirements
    repeatability: Repeatability
    confounders: list[str]
    fit: dict[str, JsonValue]


def plugin_fact_sheet(sign: PluginSign, reference: ReferenceData) -> PluginFactSheet:
    """Build the fact sheet of a plug-in sign."""
    file = sign.file
    weights = file.model.weights if isinstance(file.model, LinearModel) else {}
    return PluginFactSheet(
        name=file.name,
        label=file.label,
        version=file.version,
        found_in=str(sign.path),
        evidence_grade=file.evidence_grade,
        evidence_grade_means=reference.calibration.grades[file.evidence_grade],
        max_level=file.max_level,
        changes=describe_timescale(file.timescale),
        measures=file.meaning,
        known=file.known,
        model=_model(file.model),
        features=[
            PluginFeature(feature=name, label=reference.norms.features[name].label, weight=weights.get(name))
            for name in file.features
        ],
        cuts=cut_points(file, {level: getattr(file.expected_rate, level.value) for level in file.cuts}),
        needs=recording_requirements(reference.calibration.scoring, file.weights),
        repeatability=Repeatability(icc=file.reference.icc, smallest_real_change=None),
        confounders=file.confounders,
        fit=file.fit,
    )


def _model(model: Model) -> PluginModel:
    match model:
        case OnnxModel():
            return PluginModel(kind=model.kind, file=model.file, sha256=model.sha256, gives=model.gives)
        case PickledModel():
            return PluginModel(kind=model.kind, file=model.file, sha256=model.sha256, scikit_learn=model.scikit_learn)
        case _:
            return PluginModel(kind=model.kind)

"""What stands behind a sign of a lab's own, as far as its file tells."""

from pydantic import JsonValue

from vbdesk.contract.levels import Level
from vbdesk.signs.plugins.discovery import PluginSign
from vbdesk.signs.plugins.sign_file import LinearModel, Model, OnnxModel, PickledModel
from vbdesk.signs.reference import Reference
from vbdesk.signs.sheets import CutPoint, Needs, Repeatability, Sheet, changes_words, cut_points, needs_of


class OwnFeature(Sheet):
    """A feature that the model takes; `weight` is signed, None where the model does not show any."""

    feature: str
    label: str
    weight: float | None


class OwnModel(Sheet):
    """What computes the sign; `file`, `sha256` and `scikit_learn` are None where the kind has none."""

    kind: str
    file: str | None = None
    sha256: str | None = None
    gives: str | None = None
    scikit_learn: str | None = None


class PluginSheet(Sheet):
    """Everything that is known of one sign of a lab's own.

    Attributes:
        found_in: its file.
        fit: how its numbers came about, if `vbdesk signs fit` or somebody wrote it down.
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
    model: OwnModel
    features: list[OwnFeature]
    cuts: list[CutPoint]
    needs: Needs
    repeatability: Repeatability
    confounders: list[str]
    fit: dict[str, JsonValue]


def plugin_sheet(sign: PluginSign, reference: Reference) -> PluginSheet:
    """The sheet of a sign of a lab's own."""
    file = sign.file
    weights = file.model.weights if isinstance(file.model, LinearModel) else {}
    return PluginSheet(
        name=file.name,
        label=file.label,
        version=file.version,
        found_in=str(sign.path),
        evidence_grade=file.evidence_grade,
        evidence_grade_means=reference.calibration.grades[file.evidence_grade],
        max_level=file.max_level,
        changes=changes_words(file.timescale),
        measures=file.meaning,
        known=file.known,
        model=_model(file.model),
        features=[
            OwnFeature(feature=name, label=reference.norms.features[name].label, weight=weights.get(name))
            for name in file.features
        ],
        cuts=cut_points(file, {level: getattr(file.expected_rate, level.value) for level in file.cuts}),
        needs=needs_of(reference.calibration.scoring, file.weights),
        repeatability=Repeatability(icc=file.reference.icc, smallest_real_change=None),
        confounders=file.confounders,
        fit=file.fit,
    )


def _model(model: Model) -> OwnModel:
    match model:
        case OnnxModel():
            return OwnModel(kind=model.kind, file=model.file, sha256=model.sha256, gives=model.gives)
        case PickledModel():
            return OwnModel(kind=model.kind, file=model.file, sha256=model.sha256, scikit_learn=model.scikit_learn)
        case _:
            return OwnModel(kind=model.kind)

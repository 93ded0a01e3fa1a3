"""Build the sign file of a fit: reference, cut-points by stated rates, and highest level."""

import hashlib
from importlib.metadata import version
from statistics import NormalDist
from typing import Annotated, Any, Literal

import numpy as np
import tomli_w
from pydantic import Field

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.data_files import StrictDataModel
from vbdesk.lab.corpus.measurement import extractor_fingerprint
from vbdesk.lab.fit.regression import FittedWeights
from vbdesk.lab.fit.rules import CutPointRules, FittedGrade
from vbdesk.lab.fit.study import Floats, Study, StudyError
from vbdesk.lab.fit.validity import IndexScale, Validity
from vbdesk.language import message
from vbdesk.signs.plugins.sign_file import FORMAT, FlagRates, SignFile, SignId

DECIMALS = 4
LARGEST_ICC = 0.95
TAIL = 0.95  # quantile at which the reference is compared with a normal distribution

_HEADER = "# A sign fitted by `vbdesk signs fit`. Its card says how good it is.\n\n"


class FitRequest(StrictDataModel):
    """What the caller requests of the fit.

    Attributes:
        rates: stated share of people without the label at or above each level.
        max_level: highest level; None takes that of the grade.
        meaning: what the sign is meant to measure; `confounders`: what sounds the same.
    """

    sign: SignId
    grade: FittedGrade
    rates: FlagRates
    max_level: Level | None
    meaning: Annotated[str, Field(min_length=1)]
    timescale: Literal["fast", "slow"]
    confounders: Annotated[list[str], Field(min_length=1)]


def make_scale(study: Study, fitted: FittedWeights, rates: FlagRates, rules: CutPointRules) -> IndexScale:
    """Standardise the cross-validated output on the people without the label, and set the cut-points.

    A cut-point is the normal quantile of its stated rate times a stretch. The stretch matches the measured 95th
    percentile, because a study has too few people in the tails.

    Raises:
        StudyError: the output of people without the label does not vary.
    """
    without = study.labels == 0
    raw, weights = fitted.raw[without], study.weights[without]
    mean = float(np.average(raw, weights=weights))
    sd = float(np.sqrt(np.average((raw - mean) ** 2, weights=weights)))
    if not sd > 0:
        raise StudyError(
            message("The recordings with label 0 all sound the same. There is no reference to compare with.")
        )
    mean, sd = float(f"{mean:.{DECIMALS + 2}g}"), float(f"{sd:.{DECIMALS + 2}g}")
    index = (fitted.raw - mean) / sd
    normal = NormalDist()
    tail = _weighted_quantile(index[without], weights, TAIL) / normal.inv_cdf(TAIL)
    stretch = min(max(tail, 1.0), rules.largest_stretch)
    cuts = {
        level: round(stretch * normal.inv_cdf(1 - getattr(rates, level.value)), DECIMALS) for level in LEVEL_ORDER[1:]
    }
    return IndexScale(mean, sd, cuts, index)


def make_sign(
    study: Study,
    fitted: FittedWeights,
    scale: IndexScale,
    validity: Validity,
    request: FitRequest,
    rules: CutPointRules,
) -> SignFile:
    """Build the plug-in sign."""
    allowed = request.max_level or rules.max_level[request.grade]
    held = allowed if validity.has_signal else min(allowed, rules.max_level_without_signal, key=LEVEL_ORDER.index)
    weights = {
        name: weight for name, weight in zip(study.features, fitted.weights.tolist(), strict=True) if weight != 0
    }
    content: dict[str, Any] = {
        "format": FORMAT,
        "name": request.sign,
        "evidence_grade": request.grade,
        "max_level": held.value,
        "meaning": request.meaning,
        "known": _known(study, validity),
        "timescale": request.timescale,
        "confounders": request.confounders,
        "model": {"kind": "linear", "weights": weights},
        "reference": {"mean": scale.mean, "sd": scale.sd, **_icc(validity)},
        "cut_points": {level.value: cut for level, cut in scale.cuts.items()},
        "expected_rate": request.rates.model_dump(),
        "fit": {"study_sha256": study.digest, "inverse_penalty": fitted.inverse_penalty, "versions": versions()},
    }
    digest = hashlib.sha256(tomli_w.dumps(content).encode()).hexdigest()
    return SignFile.model_validate({"version": f"fit-{digest[:12]}", **content})


def sign_text(sign: SignFile) -> str:
    """Write the sign as TOML."""
    return _HEADER + tomli_w.dumps(sign.model_dump(mode="json", exclude={"models"}))


def versions() -> dict[str, str]:
    """Versions of the extractor and the packages that the numbers depend on."""
    packages = ("vbdesk", "numpy", "scipy", "scikit-learn")
    return {"extractor": extractor_fingerprint(), **{package: version(package) for package in packages}}


def _icc(validity: Validity) -> dict[str, float]:
    """The measured ICC of repeats, limited so that no reading counts as certain; empty if unknown."""
    if validity.retest is None:
        return {}
    return {"icc": round(min(max(validity.retest.icc.value, 0.0), LARGEST_ICC), DECIMALS)}


def _known(study: Study, validity: Validity) -> str:
    found = (
        f"{study.labels.size} recordings of {study.speakers.max() + 1} speakers; "
        f"AUC {validity.auc.value:.2f} ({validity.auc.low or 0:.2f} to {validity.auc.high or 1:.2f}) in speakers "
        "that were not learnt from"
    )
    return found if validity.has_signal else f"no signal was found: {found}"


def _weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    return float(np.quantile(values, share, weights=weights, method="inverted_cdf"))

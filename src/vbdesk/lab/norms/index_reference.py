"""Mean and SD of each sign's weighted sum in the group that the norms were measured on."""

from collections.abc import Mapping, Sequence

import numpy as np

from vbdesk.contract.catalog import SignName
from vbdesk.lab.norms.reference_group import ReferenceSpeaker, Sex
from vbdesk.lab.norms.spread import significant
from vbdesk.signs.calibration import Calibration
from vbdesk.signs.norms import Norms
from vbdesk.signs.scoring import feature_contributions, measured_weight_share, sign_applies
from vbdesk.voice.measurement import Measurement

DIGITS = 4


def sign_references(
    norms: Norms, calibration: Calibration, group: Sequence[ReferenceSpeaker], fewest: int
) -> dict[SignName, dict[str, float | int]]:
    """Mean, SD and number of speakers by sign, without signs with fewer than `fewest` speakers in a class.

    As in the shipped reference, z is not widened for free speech, and each class counts as half of the group. A sign
    for female-typical voices uses these voices only.
    """
    as_read = _not_widened(norms)
    sums: dict[SignName, dict[Sex, list[float]]] = {name: {"male": [], "female": []} for name in calibration.signs}
    rules = calibration.scoring
    for speaker in group:
        features = {name: Measurement(value) for name, value in speaker.features.items()}
        voice = as_read.locate(features)
        z = as_read.standardise(features, voice)
        for name, sign in calibration.signs.items():
            enough = measured_weight_share(sign, z, voice.tract_share) >= rules.min_weight_available
            if enough and sign_applies(rules, sign, voice.female_share):
                sums[name][speaker.sex].append(sum(feature_contributions(sign, z, voice.tract_share).values()))
    found = {
        name: _spread(
            by_sex, ("male", "female") if calibration.signs[name].applies_to == "all" else ("female",), fewest
        )
        for name, by_sex in sums.items()
    }
    return {name: entry for name, entry in found.items() if entry is not None}


def _not_widened(norms: Norms) -> Norms:
    features = {
        name: norm.model_copy(update={"sd_inflation_free_speech": 1.0}) for name, norm in norms.features.items()
    }
    return norms.model_copy(update={"features": features})


def _spread(sums: Mapping[Sex, Sequence[float]], sexes: Sequence[Sex], fewest: int) -> dict[str, float | int] | None:
    if min(len(sums[sex]) for sex in sexes) < fewest:
        return None
    values = np.concatenate([sums[sex] for sex in sexes])
    weights = np.concatenate([np.full(len(sums[sex]), 1 / len(sums[sex])) for sex in sexes])
    mean = float(np.average(values, weights=weights))
    sd = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
    if not sd > 0:
        return None
    return {"mean": significant(mean, DIGITS), "sd": significant(sd, DIGITS), "n": values.size}

"""What the weighted sum of each sign is in the people whom norms were measured on: mean and SD of its index."""

from collections.abc import Mapping, Sequence

import numpy as np

from vbdesk.contract.catalog import SignName
from vbdesk.signs.calibration import Calibration
from vbdesk.signs.norms import Norms
from vbdesk.signs.norms_measure.group import Sex, Speaker
from vbdesk.signs.norms_measure.spread import significant
from vbdesk.signs.scoring import applies, contributions, weight_available
from vbdesk.voice.measurement import Measurement

DIGITS = 4


def sign_references(
    norms: Norms, calibration: Calibration, group: Sequence[Speaker], fewest: int
) -> dict[SignName, dict[str, float | int]]:
    """Mean, SD and number of speakers by sign; signs that fewer than `fewest` of a class give are left out.

    As in the reference that ships, z is not widened for free speech, and each class counts as half of the group. A sign
    that applies to female-typical voices rests on these alone.
    """
    as_read = _not_widened(norms)
    sums: dict[SignName, dict[Sex, list[float]]] = {name: {"male": [], "female": []} for name in calibration.signs}
    rules = calibration.scoring
    for speaker in group:
        features = {name: Measurement(value) for name, value in speaker.features.items()}
        share = as_read.female_share(features)
        z = as_read.standardise(features, share)
        for name, sign in calibration.signs.items():
            enough = weight_available(sign, z, share) >= rules.min_weight_available
            if enough and applies(rules, sign, share):
                sums[name][speaker.sex].append(sum(contributions(sign, z, share).values()))
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

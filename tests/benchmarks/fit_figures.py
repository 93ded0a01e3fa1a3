"""False and true findings of `vbdesk signs fit` on simulated studies, without audio.

    python tests/benchmarks/fit_figures.py [--studies N]

A study has two recordings of each speaker and 32 correlated features: two thirds of a feature's variance is between
speakers, half of that in six shared factors. Labels belong to speakers. They are random, or shift one factor by a given
number of its SD. Every study runs through the steps of `vbdesk signs fit`: folds, choice of the penalty, widened
interval.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from figures import Row, judged, reported, show
from threadpoolctl import threadpool_limits

from vbdesk.lab.fit.bootstrap import IntervalEstimate
from vbdesk.lab.fit.regression import fit_weights
from vbdesk.lab.fit.rules import fitting_rules
from vbdesk.lab.fit.study import Floats, Study
from vbdesk.lab.fit.validity import CHANCE, cross_validated_auc

TOPIC = "fitted signs"
FEATURES = 32
FACTORS = 6
RECORDINGS = 2  # of each speaker
BETWEEN = 2 / 3  # share of a feature's variance between speakers
SHARED = 0.5  # share of that in the factors
STUDIES = 200
LARGEST_FALSE_SHARE = 0.025
NORMAL_95 = NormalDist().inv_cdf(0.975)
SEED = 20250103  # not the seed of the studies that the widening was fitted on


@dataclass(frozen=True)
class Kind:
    """A kind of study: number of speakers, half of them labelled, and shift of the first factor (SD)."""

    speakers: int
    shift: float


def rows(studies: int = STUDIES) -> Iterator[Row]:
    """Every figure; half a second of processor time per study."""
    for speakers in (20, 40, 100):
        kind = Kind(speakers, 0.0)
        areas = fit_studies(kind, studies)
        called = sum(area.low is not None and area.low > CHANCE for area in areas)
        low, high = wilson(called, len(areas))
        spread = np.std([area.value for area in areas])
        what = f"labels without a signal, {speakers} speakers: fits that call one"
        measured = f"{share(called / len(areas))} of {len(areas)} ({share(low)} to {share(high)})"
        bar = f"{share(LARGEST_FALSE_SHARE)}, within chance"
        yield judged(TOPIC, what, bar, measured, low <= LARGEST_FALSE_SHARE)
        yield reported(TOPIC, f"SD of the AUC of labels without a signal, {speakers} speakers", f"{spread:.3f}")
    for speakers, shift in ((20, 2.0), (100, 1.0)):
        areas = fit_studies(Kind(speakers, shift), max(studies // 4, 1))
        found = sum(area.low is not None and area.low > CHANCE for area in areas)
        middle = float(np.median([area.value for area in areas]))
        what = f"labels that move one factor by {shift:g} SD, {speakers} speakers: fits that find it"
        yield reported(TOPIC, what, f"{share(found / len(areas))} of {len(areas)}, median AUC {middle:.2f}")


def fit_studies(kind: Kind, studies: int) -> list[IntervalEstimate]:
    """AUC and interval of each study."""
    random = np.random.default_rng([SEED, kind.speakers, round(10 * kind.shift)])
    rules = fitting_rules()
    areas = []
    with threadpool_limits(1):
        for _ in range(studies):
            study = make_study(kind, random)
            areas.append(cross_validated_auc(fit_weights(study, rules.regression).raw, study, rules.bootstrap))
    return areas


def make_study(kind: Kind, random: np.random.Generator) -> Study:
    """One study."""
    people = kind.speakers
    labels = random.permutation(np.arange(people) % 2)
    factors = random.normal(size=(people, FACTORS))
    factors[:, 0] += kind.shift * (labels - 0.5)
    loadings = random.normal(size=(FACTORS, FEATURES))
    loadings /= np.sqrt((loadings**2).sum(axis=0))
    own = np.sqrt(SHARED) * factors @ loadings + np.sqrt(1 - SHARED) * random.normal(size=(people, FEATURES))
    speakers = np.repeat(np.arange(people), RECORDINGS)
    n = speakers.size
    z: Floats = np.sqrt(BETWEEN) * own[speakers] + np.sqrt(1 - BETWEEN) * random.normal(size=(n, FEATURES))
    return Study(
        features=tuple(f"feature_{number}" for number in range(FEATURES)),
        z=z.clip(-3, 3),
        labels=labels[speakers],
        speakers=speakers,
        sessions=None,
        days=np.full(n, np.nan),
        clarity=np.full(n, 100.0),
        sample_rates=np.full(n, 16000.0),
        speech_s=np.full(n, 40.0),
        left_out=(),
        digest="",
    )


def wilson(count: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    spread = NORMAL_95**2 / n
    middle = (count / n + spread / 2) / (1 + spread)
    half = NORMAL_95 / (1 + spread) * np.sqrt(count / n * (1 - count / n) / n + spread / (4 * n))
    return max(float(middle - half), 0.0), min(float(middle + half), 1.0)


def share(value: float) -> str:
    """A share in percent."""
    return f"{100 * value:.1f} %"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES, help="without a signal, of each size")
    show(rows(parser.parse_args().studies))

"""The tools that measure whether signs mean their name."""

import sys
from pathlib import Path

import numpy as np
import pytest

from vbdesk.contract.catalog import SignName
from vbdesk.lab.corpus.measurement import MeasuredFile
from vbdesk.signs.norms import Z_LIMIT

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def tools():
    """The benchmark modules, which import each other by bare names."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import reference_calibration
        import sign_figures

        yield reference_calibration, sign_figures
    finally:
        sys.path.remove(str(BENCHMARKS))


def made_readers(tools, norms, count=80):
    """Readers whose pitch, brightness and liveliness go together, as arousal does."""
    random = np.random.default_rng(4)
    readers = []
    for number in range(count):
        shared = random.standard_normal()
        features = {}
        for name, norm in norms.features.items():
            own = random.standard_normal()
            z = 0.8 * shared + 0.6 * own if name in ("pitch_mean", "alpha_ratio", "pitch_variability") else own
            line = norm.reference or norm.mixed
            transformed = line.t_mean + line.t_sd * np.clip(z, -Z_LIMIT, Z_LIMIT)
            features[name] = float(np.exp(transformed)) if norm.scale == "log" else float(transformed)
        measured = MeasuredFile(features, 30.0, 25.0, 16_000, 80.0, 90.0, ())
        readers.append(tools[0].Reader(f"r{number}", ("female", "male")[number % 2], None, measured))
    return readers


def test_what_is_left_of_a_sign_does_not_correlate_with_arousal(tools, reference, calibration):
    calibrating, _ = tools
    readers = made_readers(tools, reference.norms)
    arousal = reference.metrics.metrics["vad-arousal"].weights
    share, weights = calibrating.without_arousal(calibration.signs[SignName.ANXIETY], arousal, reference.norms, readers)
    as_read = calibrating.not_widened(reference.norms)
    placed = [calibrating.z_of(as_read, reader)[0] for reader in readers]

    def index(own):
        return [sum(weight * z.get(feature, 0.0) for feature, weight in own.items()) for z in placed]

    evidence = {row.feature: row.evidence_weight for row in calibration.signs[SignName.ANXIETY].evidence}
    assert share > 0.1
    assert abs(np.corrcoef(index(evidence), index(arousal))[0, 1]) > 0.1
    assert np.corrcoef(index(weights), index(arousal))[0, 1] == pytest.approx(0, abs=0.01)
    assert sum(map(abs, weights.values())) == pytest.approx(1, abs=1e-3)


def test_states_are_compared_with_the_own_mean_of_each_actor(tools):
    _, figures = tools
    table = np.array([[1.0, 5.0], [3.0, 1.0], [11.0, 25.0], [13.0, 21.0]])
    left = figures.from_own_mean(table, ["a", "a", "b", "b"])
    assert left.tolist() == [[-1, 2], [1, -2], [-1, 2], [1, -2]]
    assert figures.correlations(table)[0, 1] > 0.9
    assert figures.correlations(left)[0, 1] == pytest.approx(-1)


def test_the_area_compares_recordings_and_draws_actors(tools):
    _, figures = tools
    values = np.array([2.0, 1.0, 3.0, 1.0, 0.0, 4.0])
    high = np.array([True, False, True, False, True, False])
    actors = np.array(["a", "a", "b", "b", "c", "c"])
    value, low, top = figures.area(values, high, ~high, actors)
    assert value == pytest.approx(4 / 9)  # nine pairs: four the right way
    assert low <= value <= top

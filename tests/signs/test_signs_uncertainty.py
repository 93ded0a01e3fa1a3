"""The interval of a score: its basis, and its reproducibility on any computer."""

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from vbdesk.contract.catalog import SignName
from vbdesk.contract.levels import Level
from vbdesk.signs.analysis import ScoringTarget, analyze, measure_recording
from vbdesk.signs.score_to_level import index_to_score
from vbdesk.signs.scoring import Reading
from vbdesk.signs.uncertainty import add_score_interval, index_error
from vbdesk.voice.decode import decode

SPOKEN = "speech_male_20s.flac"
PRINT_RESULT = """
import sys
from pathlib import Path
from vbdesk.signs.analysis import ScoringTarget, analyze
from vbdesk.voice.decode import decode
print(analyze(decode(Path(sys.argv[1])), ScoringTarget("model", "haven")).model_dump_json())
"""


@pytest.fixture(scope="module")
def recording_path(request):
    return request.path.parents[1] / "data" / SPOKEN


@pytest.fixture(scope="module")
def haven(recording_path):
    return analyze(decode(recording_path), ScoringTarget("model", "haven")).model_dump_json()


def test_the_error_is_the_spread_of_the_index_over_resampled_speech(calibration):
    sign = calibration.signs[SignName.HYPERVIGILANCE]  # no feature of it is noise-sensitive
    first = sign.evidence[0]
    replicates = [{first.feature: z} for z in (-1.0, 0.0, 1.0)]
    error = index_error(sign, calibration.scoring, replicates, 0.5)
    assert error == pytest.approx(abs(first.weight) / sign.reference_sd)


def test_noise_sensitive_signs_have_a_larger_error_than_their_phrases(calibration):
    rules = calibration.scoring
    assert rules.error_factor(calibration.signs[SignName.HYPERVIGILANCE].weights) == 1
    assert rules.error_factor(calibration.signs[SignName.DRY_MOUTH].weights) == pytest.approx(1.7)


def test_the_interval_is_symmetrical_on_the_index_and_holds_the_score(calibration):
    sign = calibration.signs[SignName.STRESS]
    replicates = [dict.fromkeys(sign.weights, z) for z in (-0.5, 0.5, 1.0)]
    reading = Reading(SignName.STRESS, 1.0, index_to_score(sign, 1.0), Level.LOW)
    low, high = add_score_interval(reading, sign, calibration.scoring, replicates, 0.5).interval
    assert low < reading.score < high
    below, above = ((math.log(end / (1 - end)) - sign.logit_intercept) / sign.logit_slope - 1.0 for end in (low, high))
    assert below == pytest.approx(-above)


def test_with_nothing_to_resample_the_error_is_that_of_a_retest(calibration):
    sign = calibration.signs[SignName.STRESS]
    assert index_error(sign, calibration.scoring, [], 0.5) == pytest.approx(math.sqrt(1 - sign.icc_free_speech))


def test_nothing_measured_has_no_interval(calibration):
    unread = Reading(SignName.STRESS, None, 0.2, Level.INCONCLUSIVE)
    sign = calibration.signs[SignName.STRESS]
    assert add_score_interval(unread, sign, calibration.scoring, [{}, {}], 0.5).interval is None


def test_more_speech_gives_a_narrower_interval(recording_path, calibration):
    once = decode(recording_path)
    twice = replace(once, samples=np.tile(once.samples, 2), duration_s=2 * once.duration_s)
    errors = [
        [
            index_error(sign, calibration.scoring, passage.replicates, passage.voice.tract_share)
            for sign in calibration.signs.values()
        ]
        for passage in (measure_recording(recording).passages[0] for recording in (once, twice))
    ]
    assert 1.2 < np.median(np.divide(*errors)) < 2.0


def test_threads_at_the_same_time_give_the_same_bits(recording_path, haven):
    recording = decode(recording_path)
    with ThreadPoolExecutor(3) as threads:
        results = threads.map(lambda _: analyze(recording, ScoringTarget("model", "haven")).model_dump_json(), range(3))
        assert set(results) == {haven}


@pytest.mark.parametrize("thread_count", ["1", "3"])
def test_another_process_gives_the_same_bits_whatever_its_threads_and_hash_seed(recording_path, haven, thread_count):
    environment = {
        "OMP_NUM_THREADS": thread_count,
        "OPENBLAS_NUM_THREADS": thread_count,
        "PYTHONHASHSEED": thread_count,
    }
    printed = subprocess.run(
        [sys.executable, "-c", PRINT_RESULT, str(recording_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.strip() == haven

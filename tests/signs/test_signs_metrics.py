import math
from dataclasses import replace

import numpy as np
import pytest

from vbdesk.contract.catalog import ModelName
from vbdesk.signs.metrics import extended_metrics
from vbdesk.signs.passage import Window


def measure(reference, model, passage):
    metrics = extended_metrics(reference.metrics, reference.calibration.scoring, model, passage)
    return {metric.metric_id: metric for metric in metrics}


@pytest.mark.parametrize("model", list(ModelName))
def test_each_model_carries_its_metrics(reference, make_passage, model):
    assert list(measure(reference, model, make_passage())) == reference.metrics.carry[model]
    assert (model is ModelName.TIDE) == (not reference.metrics.carry[model])


def test_voice_clarity_agrees_with_a_manual_calculation(reference, make_passage):
    z = {"cepstral_peak_prominence": 1.0, "harmonics_to_noise": 2.0, "voice_shimmer": -1.0, "voice_jitter": 0.5}
    index = (0.4 * 1 + 0.25 * 2 + 0.2 * 1 - 0.15 * 0.5 - 0.02849) / 0.765
    metric = measure(reference, ModelName.BREATH, make_passage(z))["voice-clarity"]
    assert metric.score_mean == pytest.approx(1 / (1 + math.exp(-1.2 * index)), abs=1e-4)
    assert (metric.low_anchor, metric.high_anchor) == ("hoarse or breathy", "clear")


def test_the_mean_is_that_of_the_windows_by_their_speech(reference, make_passage):
    sounds = [-1.0, 0.0, 2.0]
    features = [feature.id for feature in reference.metrics.metrics["voice-clarity"].features]
    windows = [
        Window(speech_s, dict.fromkeys(features, z)) for speech_s, z in zip([9.0, 5.0, 6.0], sounds, strict=True)
    ]
    metric = measure(reference, ModelName.BREATH, make_passage(windows=windows))["voice-clarity"]
    scores = [reference.metrics.metrics["voice-clarity"].score(window.z, 1.2) for window in windows]
    assert metric.score_mean == pytest.approx(np.average(scores, weights=[9, 5, 6]), abs=1e-4)


def test_windows_with_little_speech_do_not_count(reference, make_passage):
    loud = {"cepstral_peak_prominence": 3.0}
    windows = [Window(9.0, {}), Window(9.0, {}), Window(9.0, {}), Window(3.9, loud)]
    with_it, without_it = (
        measure(reference, ModelName.BREATH, make_passage(windows=some)) for some in (windows, windows[:3])
    )
    assert with_it == without_it


def test_pauses_are_those_of_the_whole_recording_in_every_window(reference, make_passage):
    windows = [Window(8.0, {"pause_rate": 3.0, "phrase_length": -3.0})] * 3
    calm = measure(reference, ModelName.CLARITY, make_passage())["speech-fluency"]
    assert (
        measure(reference, ModelName.CLARITY, make_passage(windows=windows))["speech-fluency"].score_mean
        == calm.score_mean
    )


def test_the_spread_is_that_of_resampled_speech_with_or_without_windows(reference, make_passage):
    replicates = [{"vowel_space": z, "formant_2_variability": z} for z in (-1.0, -0.5, 0.5, 1.0)]
    scores = [reference.metrics.metrics["articulation-clarity"].score(z, 1.2) for z in replicates]
    for windows in ((), [Window(9.0, {"vowel_space": z}) for z in (-3.0, 0.0, 3.0)]):
        passage = make_passage(replicates=replicates, windows=windows)
        metric = measure(reference, ModelName.CLARITY, passage)["articulation-clarity"]
        assert metric.score_std == pytest.approx(np.std(scores, ddof=1), abs=1e-4)


def test_noise_sensitive_metrics_have_a_larger_spread_than_their_phrases(reference, make_passage):
    features = [feature.id for feature in reference.metrics.metrics["voice-clarity"].features]
    replicates = [dict.fromkeys(features, z) for z in (-1.0, -0.5, 0.5, 1.0)]
    metric = measure(reference, ModelName.BREATH, make_passage(replicates=replicates))["voice-clarity"]
    scores = [reference.metrics.metrics["voice-clarity"].score(z, 1.2) for z in replicates]
    assert metric.score_std == pytest.approx(1.7 * np.std(scores, ddof=1), abs=1e-4)


def test_the_spread_is_never_zero(reference, make_passage):
    for passage in (make_passage(), make_passage(windows=[Window(9.0, {})] * 4)):
        metrics = measure(reference, ModelName.PULSE, passage).values()
        assert metrics
        assert all(metric.score_std > 0 for metric in metrics)


def test_without_speech_to_resample_there_is_no_metric(reference, make_passage):
    assert measure(reference, ModelName.PULSE, make_passage(replicates=[{}])) == {}


def test_with_less_speech_than_a_level_needs_there_is_no_metric(reference, make_passage):
    enough = make_passage()
    assert measure(reference, ModelName.PULSE, replace(enough, speech_s=10.0)) != {}
    assert measure(reference, ModelName.PULSE, replace(enough, speech_s=9.9)) == {}


def test_a_metric_without_most_of_its_features_is_left_out(reference, make_passage):
    noisy = make_passage(without=("harmonics_to_noise", "cepstral_peak_prominence"))
    assert "vad-dominance" in measure(reference, ModelName.PULSE, make_passage())
    assert "vad-dominance" not in measure(reference, ModelName.PULSE, noisy)

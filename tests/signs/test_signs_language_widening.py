"""Rate and pauses are compared more cautiously in another language: z shrinks, keeps its order, and is less certain."""

import math

import numpy as np
import pytest
import tomli_w

from vbdesk.contract.spoken_language import SpokenLanguage, is_widened
from vbdesk.data_files import read_toml
from vbdesk.resource_files import resource
from vbdesk.signs.analysis import ScoringTarget, measure_recording, score_recording
from vbdesk.signs.language_widening import LanguageWidening, widened_version
from vbdesk.signs.norms import UNKNOWN_VOICE
from vbdesk.signs.passage import DEVIATIONS
from vbdesk.signs.reference_data import load_reference_data, read_widening
from vbdesk.voice.decode import decode

SECOND = SpokenLanguage("en", second_language=True)
NATIVE = SpokenLanguage("en-GB", second_language=False)


@pytest.fixture(scope="module")
def widened():
    return load_reference_data(spoken=SECOND)


def test_only_rate_and_pauses_are_widened_by_the_measured_variance(reference, widened):
    amounts = read_widening().extra_variance
    for name, norm in widened.norms.features.items():
        before = reference.norms.features[name].sd_inflation_free_speech
        assert norm.sd_inflation_free_speech**2 == pytest.approx(before**2 + amounts.get(name, 0))
    assert {reference.norms.features[name].group for name in amounts} == {"timing"}
    assert min(amounts.values()) > 0.1


def test_z_shrinks_towards_0_and_keeps_its_order(reference, widened):
    name = "speech_rate"
    values = np.linspace(2.0, 7.0, 40)
    before = [reference.norms.features[name].z(value, UNKNOWN_VOICE) for value in values]
    after = [widened.norms.features[name].z(value, UNKNOWN_VOICE) for value in values]
    assert np.all(np.diff([z for z in after if abs(z) < 3]) > 0)
    assert all(abs(new) < abs(old) for old, new in zip(before, after, strict=True) if 0 < abs(old) < 3)


@pytest.mark.parametrize(
    ("spoken", "is_wider"),
    [
        (SpokenLanguage(), False),
        (NATIVE, False),
        (SpokenLanguage("en"), False),
        (SpokenLanguage(None, second_language=False), False),
        (SECOND, True),
        (SpokenLanguage(None, second_language=True), True),
        (SpokenLanguage("de", second_language=False), True),
        (SpokenLanguage("zh-Hant-TW"), True),
    ],
)
def test_unknown_and_native_recordings_are_compared_as_before(reference, spoken, is_wider):
    found = load_reference_data(spoken=spoken)
    assert (found.norms == reference.norms) is not is_wider
    assert (found.widening is not None) is is_wider
    assert is_widened(found.calibration.meta.version) is is_wider


def test_site_norms_in_another_language_are_the_reference_for_that_language(tmp_path):
    content = read_toml(resource("norms", "norms.toml"))
    content["meta"] |= {"version": "german.1", "language": "de"}
    path = tmp_path / "norms.toml"
    path.write_text(tomli_w.dumps(content), encoding="utf-8")
    versions = {
        language: load_reference_data(norms_file=path, spoken=SpokenLanguage(language)).calibration.meta.version
        for language in ("de-AT", "en")
    }
    assert not is_widened(versions["de-AT"])
    assert is_widened(versions["en"])
    assert versions["en"].endswith(".norms.german.1")


def test_the_draws_have_the_measured_spread_and_correlation(widened):
    amounts = widened.widening
    draws = amounts.shifts(widened.norms, DEVIATIONS)
    table = np.array([[draw[name] for name in amounts.extra_variance] for draw in draws])
    wanted = [
        math.sqrt(extra) / widened.norms.features[name].sd_inflation_free_speech
        for name, extra in amounts.extra_variance.items()
    ]
    assert np.allclose(table.mean(axis=0), 0, atol=1e-9)
    assert np.allclose(table.std(axis=0), wanted, rtol=0.25)
    assert np.abs(np.corrcoef(table.T) - np.array(amounts.correlation)).mean() < 0.15


def test_a_table_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="one row and one column"):
        LanguageWidening(extra_variance={"speech_rate": 1.0}, correlation=[])
    with pytest.raises(ValueError, match="symmetric"):
        LanguageWidening(extra_variance={"a": 1.0, "b": 1.0}, correlation=[[1, 0.5], [0.4, 1]])


@pytest.mark.parametrize("version", ["2.0.0", "2.0.0+norms.x", "1.0+lab"])
def test_a_version_says_that_it_was_widened(version):
    assert is_widened(widened_version("2.0.0"))
    assert not is_widened(version)
    assert not is_widened("2.0.0+norms.widened")
    assert not is_widened(None)


def test_the_signs_of_a_recording_have_wider_intervals_and_say_why(request):
    recording = decode(request.path.parents[1] / "data" / "speech_male_20s.flac")
    target = ScoringTarget.model("pulse")
    alone, cautious = (
        score_recording(measure_recording(recording, spoken=spoken), target) for spoken in (SpokenLanguage(), SECOND)
    )
    for before, after in zip(alone.signals, cautious.signals, strict=True):
        assert is_widened(after.sign_version)
        assert not is_widened(before.sign_version)
        low, high = after.score_interval
        assert low <= after.score <= high
    rate_signs = ("mood-disruption", "fatigue")
    widths = [
        {signal.name: math.log(signal.score_interval[1] / signal.score_interval[0]) for signal in result.signals}
        for result in (alone, cautious)
    ]
    assert all(widths[1][name] > widths[0][name] for name in rate_signs)

import pytest
import soxr

from vbdesk.signs.analysis import measure_recording
from vbdesk.signs.norms import UNKNOWN_VOICE
from vbdesk.signs.passage import (
    LONGEST_UNIT_S,
    MeasurementOptions,
    clip,
    measure_passage,
    merge_turns,
    resampling_units,
)
from vbdesk.voice.decode import decode, from_samples


def test_long_phrases_are_cut_into_equal_units():
    units = resampling_units([(0.0, 1.0), (1.0, 10.0)], None)
    assert units == [(0.0, 1.0), (1.0, 4.0), (4.0, 7.0), (7.0, 10.0)]
    assert all(end - start <= LONGEST_UNIT_S for start, end in units)


def test_only_units_within_the_own_turns_are_drawn():
    assert resampling_units([(0.0, 3.0), (5.0, 8.0)], [(2.0, 6.0)]) == [(2.0, 3.0), (5.0, 6.0)]


def test_clip_keeps_the_parts_within():
    assert clip([(0.0, 2.0), (3.0, 5.0)], [(1.0, 4.0)]) == [(1.0, 2.0), (3.0, 4.0)]
    assert clip([(0.0, 1.0)], [(1.0, 2.0)]) == []


def test_a_speaker_keeps_the_pauses_of_a_turn_but_not_the_words_of_others():
    own = [(0.0, 2.0), (3.0, 4.0), (8.0, 9.0)]
    assert merge_turns(own, [(5.0, 7.0)]) == [(0.0, 4.0), (8.0, 9.0)]
    assert merge_turns(own, []) == [(0.0, 9.0)]


def test_a_passage_without_speech_has_no_values(reference):
    passage = measure_passage(None, [], 0.0, None, MeasurementOptions(reference.norms))
    assert (passage.z, passage.replicates, passage.windows, passage.voice) == ({}, [], [], UNKNOWN_VOICE)
    assert all(measurement.value is None for measurement in passage.features.values())


def test_features_outside_a_narrow_band_are_missing_with_a_reason(reference):
    listening = MeasurementOptions(reference.norms, left_out={"alpha_ratio": "narrow_bandwidth"})
    assert listening.measure(None, None)["alpha_ratio"].missing == "narrow_bandwidth"


def test_through_a_telephone_pitch_is_read_without_its_resonances(reference, request):
    """A band to 3.4 kHz moves F3, and with it the tract: pitch is then compared with all readers."""
    data = request.config.rootpath / "tests" / "data"
    samples = decode(data / "speech_kathleen_20s.flac").samples
    whole, narrow = (
        measure_recording(recording)
        for recording in (
            from_samples(samples, 16_000),
            from_samples(soxr.resample(samples, 16_000, 8_000), 8_000),
        )
    )
    passage = narrow.passages[0]
    assert "narrow_bandwidth" in narrow.quality.issues
    assert (passage.voice.tract_share, passage.voice.female_share) == (0.5, None)
    assert passage.voice.pitch == pytest.approx(whole.passages[0].voice.pitch, abs=0.1)
    assert "pitch_mean" in passage.z
    assert not reference.calibration.scoring.not_measured_in_narrow_band & passage.z.keys()


@pytest.mark.parametrize("seconds", [0.5, 3.0])
def test_a_phrase_alone_is_still_resampled_when_it_is_long_enough(seconds):
    assert len(resampling_units([(0.0, 2 * seconds)], None)) == (1 if seconds == 0.5 else 2)

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.outbox.imports.take_check import check_take
from vbdesk.voice.decode import decode
from vbdesk.voice.quality import assess_quality

SPEECH = Path(__file__).parents[1] / "data" / "speech_kathleen_20s.flac"


@pytest.fixture(scope="module")
def spoken():
    samples, rate = sf.read(SPEECH, dtype="int16")
    return TakeAudio(samples, rate, True, {}, ())


def changed(take, samples):
    return TakeAudio(samples.astype(np.int16), take.sample_rate, True, {}, ())


def verdicts(check):
    return {row.name: row.verdict for row in check.rows}


def test_good_speech_passes_every_row(spoken):
    check = check_take(spoken)
    assert verdicts(check) == dict.fromkeys(("Length", "Speech", "Clarity", "Clipping", "Loudness"), "pass")
    assert (check.overall, check.sentence, check.issues) == ("good", "Good to send.", ())
    assert check.waveform.shape == (2000, 2)


def test_the_figures_are_the_services_own(spoken):
    check, quality = check_take(spoken), assess_quality(decode(SPEECH))
    assert check.quality["audio_clarity"] == pytest.approx(quality.audio_clarity, abs=0.5)
    assert check.quality["voice_percentage"] == pytest.approx(quality.voice_percentage, abs=0.5)
    assert check.quality["issues"] == quality.issues


def test_a_short_take_is_bad_and_says_why(spoken):
    check = check_take(changed(spoken, spoken.samples[: 9 * spoken.sample_rate]))
    assert verdicts(check)["Length"] == "fail"
    assert check.overall == "bad"
    assert check.sentence.startswith("Likely inconclusive if sent. 9 s of sound, under the 15 s minimum.")


def test_noise_over_the_voice_is_told_with_its_number(spoken):
    noise = np.random.default_rng(5).normal(0, 2500, len(spoken.samples))
    check = check_take(changed(spoken, np.clip(spoken.samples + noise, -32768, 32767)))
    assert verdicts(check)["Clarity"] == "fail"
    assert "needs 50" in check.sentence
    assert "high_background_noise" in check.issues


def test_an_overloaded_microphone_is_told(spoken):
    check = check_take(changed(spoken, np.clip(spoken.samples.astype(float) * 12, -32768, 32767)))
    assert verdicts(check)["Clipping"] == "fail"
    assert "overloads" in check.sentence


def test_a_soft_voice_is_told(spoken):
    check = check_take(changed(spoken, spoken.samples / 200))
    assert verdicts(check)["Loudness"] == "fail"
    assert check.overall == "bad"


def test_silence_is_bad_and_breaks_nothing(spoken):
    check = check_take(changed(spoken, np.zeros(20 * spoken.sample_rate)))
    assert check.overall == "bad"
    assert verdicts(check)["Speech"] == "fail"
    loudness = next(row for row in check.rows if row.name == "Loudness")
    assert (loudness.value, loudness.verdict) == (None, "fail")


def test_no_sound_at_all_is_refused(spoken):
    with pytest.raises(ValueError, match="Nothing was recorded"):
        check_take(changed(spoken, spoken.samples[:0]))


def test_silence_at_both_ends_is_offered_for_trimming(spoken):
    quiet = np.zeros(2 * spoken.sample_rate)
    check = check_take(changed(spoken, np.concatenate([quiet, spoken.samples, quiet])))
    start_s, end_s = check.suggested_trim_s
    assert 1.4 <= start_s <= 2.5
    assert 21.5 <= end_s <= 23.1
    assert check_take(spoken).suggested_trim_s is None or check_take(spoken).suggested_trim_s[0] < 1.0


def test_a_muted_microphone_is_named_as_what_it_mostly_is(spoken):
    check = check_take(changed(spoken, np.zeros(20 * spoken.sample_rate)))
    assert "muted" in check.sentence


def test_sound_that_never_came_is_told_with_what_to_do(spoken):
    lossy = replace(spoken, closing={"missing_s": 1.24, "overflows": 3})
    assert check_take(lossy).hints == (
        "About 1.2 s of sound never arrived: the computer was too busy. Close other programs and record again.",
    )
    assert "lost 3 times" in check_take(replace(spoken, closing={"missing_s": 0.0, "overflows": 3})).hints[0]
    assert check_take(spoken).hints == ()


def test_pauses_that_were_cut_off_are_hinted_at_and_kept_with_the_figures(spoken):
    rate, pieces = spoken.sample_rate, []
    for start in range(0, len(spoken.samples), 2 * rate):
        pieces += [spoken.samples[start : start + 2 * rate], np.zeros(rate)]
    check = check_take(changed(spoken, np.concatenate(pieces)))
    assert "noise suppression" in check.hints[0]
    assert check.quality["enhancement"] == "gate"


def test_the_check_tells_how_far_it_is(spoken):
    told = []
    check_take(spoken, told.append)
    assert told == sorted(told)
    assert (len(told), told[-1]) == (3, 1.0)

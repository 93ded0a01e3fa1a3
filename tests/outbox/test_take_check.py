from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.outbox.imports.take_check import Silence, TakeFigures, check_take, rate, silence_sentence, take_fault
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
    return {row.name: row.rating for row in check.rows}


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
    assert (loudness.value, loudness.rating) == (None, "fail")


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


def test_a_muted_take_says_so_and_one_with_too_soft_sound_does_not(spoken):
    zeros = np.zeros(20 * spoken.sample_rate)
    muted = check_take(changed(spoken, zeros))
    assert muted.silence is Silence.MUTED
    assert muted.sentence == silence_sentence(Silence.MUTED)
    hiss = np.random.default_rng(3).integers(-4, 5, len(zeros))
    silent = check_take(changed(spoken, hiss))
    assert silent.silence is Silence.SILENT
    assert "muted" not in silent.sentence
    assert check_take(spoken).silence is Silence.NONE


def test_a_microphone_muted_for_a_part_is_told_with_its_seconds(spoken):
    part = np.concatenate([spoken.samples, np.zeros(6 * spoken.sample_rate)])
    assert "muted for about 6 s" in check_take(changed(spoken, part)).hints[-1]
    pause = np.concatenate([spoken.samples, np.zeros(spoken.sample_rate)])
    assert not any("muted" in hint for hint in check_take(changed(spoken, pause)).hints)


@pytest.mark.parametrize(
    ("seconds", "share", "shown"),
    [
        (6.9, 46.0, ("s", "at least 10 s", "6 s of speech, under the 10 s minimum")),
        (20.0, 29.9, ("%", "at least 30%", "Only 29% of the recording is speech")),
        (6.9, 20.0, ("s", "at least 10 s", "6 s of speech")),
    ],
)
def test_the_limit_shown_is_the_one_that_was_missed(seconds, share, shown):
    row = {row.name: row for row in rate(40.0, TakeFigures(share, seconds, 90.0, 0.0, -20.0))}["Speech"]
    unit, limit, said = shown
    assert (row.rating, row.unit, row.limit_text, row.missed) == ("fail", unit, limit, "Too little")
    assert row.sentence.startswith(said)


@pytest.mark.parametrize(
    ("duration_s", "missed", "limit"),
    [(14.97, "Too short", "at least 15 s"), (1201.0, "Too long", "at most 20 min"), (60.0, "", "at least 15 s")],
)
def test_a_length_is_short_or_long_and_never_low_or_high(duration_s, missed, limit):
    row = rate(duration_s, TakeFigures(60.0, 30.0, 90.0, 0.0, -20.0))[0]
    assert (row.missed, row.limit_text) == (missed, limit)
    assert not row.sentence.startswith("15 s of sound, under the 15 s minimum")


def test_a_kept_take_is_judged_from_its_stored_figures_as_it_was_when_checked(spoken):
    noise = np.random.default_rng(5).normal(0, 2500, len(spoken.samples))
    for take in (spoken, changed(spoken, np.clip(spoken.samples + noise, -32768, 32767))):
        check = check_take(take)
        stored = {**check.quality, "overall": check.overall}
        fault = take_fault(take.duration_s, stored)
        assert fault == (None if check.overall == "good" else (check.sentence, False))
    muted = check_take(changed(spoken, np.zeros(20 * spoken.sample_rate)))
    assert take_fault(20.0, muted.quality) == (silence_sentence(Silence.MUTED), True)
    assert take_fault(9.0, {}) == ("It cannot be analysed. 9 s of sound, under the 15 s minimum. Let the person speak "
                                   "longer.", True)  # fmt: skip


@pytest.mark.parametrize("foreign", [{}, {"overall": "bad"}, {"overall": "bad", "voice_percentage": "x", "silence": 7}])
def test_figures_of_another_origin_judge_nothing(foreign):
    assert take_fault(60.0, foreign) is None

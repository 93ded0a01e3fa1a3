import numpy as np
import pytest

from vbdesk.capture.spectrogram import FRAMES_PER_COLUMN, shades_of, spectrogram, spectrogram_db


def tone(hz, seconds=3.0, rate=48_000):
    return (8000 * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)).astype(np.int16)


@pytest.mark.parametrize("rate", [16_000, 48_000])
@pytest.mark.parametrize("hz", [300, 1000, 5000])
def test_a_tone_is_a_line_at_its_frequency(hz, rate):
    picture = spectrogram(tone(hz, rate=rate), rate, 200)
    assert picture.shape == (150, 128)
    assert abs(np.argmax(picture.mean(axis=0)) * 8000 / 128 - hz) < 80
    assert picture.max() == 255


def test_silence_before_a_sound_is_dark():
    picture = spectrogram(np.concatenate([np.zeros(48_000, np.int16), tone(1000, 1.0)]), 48_000, 100)
    assert picture[:45].max() == 0
    assert picture[55:].max() == 255


def test_no_sound_and_silence_draw_nothing():
    assert spectrogram(np.zeros(100, np.int16), 48_000, 500).shape == (0, 128)
    assert spectrogram(np.zeros(48_000, np.int16), 48_000, 20).shape == (20, 128)


def test_the_work_for_a_picture_is_bounded_by_its_width(monkeypatch):
    transformed = []
    rfft = np.fft.rfft

    def counting(frames, *arguments, **options):
        transformed.append(len(frames))
        return rfft(frames, *arguments, **options)

    monkeypatch.setattr(np.fft, "rfft", counting)
    assert spectrogram(np.tile(tone(1000, 10.0), 120), 48_000, 1500).shape == (1500, 128)
    assert 1500 <= sum(transformed) <= FRAMES_PER_COLUMN * 1500


def test_takes_of_two_rates_and_levels_can_be_drawn_on_one_scale():
    loud, quiet = tone(1000, rate=48_000), tone(1000, rate=16_000) // 4
    levels = [spectrogram_db(loud, 48_000, 100), spectrogram_db(quiet, 16_000, 100)]
    assert levels[0].max() - levels[1].max() == pytest.approx(12, abs=0.2)
    shades = [shades_of(level_db, levels[0].max()) for level_db in levels]
    assert shades[0].max() == 255
    assert shades[1].max() == pytest.approx(255 * (1 - 12 / 70), abs=1)

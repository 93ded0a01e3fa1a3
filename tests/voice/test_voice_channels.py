"""Mixing channels to mono without losing the voice."""

import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile as sf
import soxr
from m4a_files import write_m4a
from numpy.typing import NDArray

from vbdesk.voice.decode import _read, decode, from_samples
from vbdesk.voice.errors import UnsupportedAudio
from vbdesk.voice.ffmpeg_reader import _Unpacker
from vbdesk.voice.recording import ANALYSIS_RATE, Recording

Floats = NDArray[np.float32]


def hiss(count: int, level: float = 0.05, seed: int = 1) -> Floats:
    return level * np.random.default_rng(seed).standard_normal(count).astype(np.float32)


def decode_channels(folder: Path, *channels: Floats, rate: int = ANALYSIS_RATE) -> Recording:
    path = folder / "take.wav"
    sf.write(path, np.column_stack(channels), rate, subtype="FLOAT")
    return decode(path)


def correlation(recording: Recording, voice: Floats) -> float:
    return float(np.corrcoef(recording.samples, voice)[0, 1])


def level_db(recording: Recording, voice: Floats) -> float:
    return float(10 * np.log10(np.mean(recording.samples**2) / np.mean(voice**2)))


@pytest.mark.parametrize("rate", [16_000, 44_100])
@pytest.mark.parametrize("copies", [2, 4])
def test_copies_are_the_mono_recording_sample_for_sample(
    tmp_path: Path, kathleen: Recording, rate: int, copies: int
) -> None:
    voice = soxr.resample(kathleen.samples, ANALYSIS_RATE, rate)
    mono = decode_channels(tmp_path, voice, rate=rate)
    assert np.array_equal(decode_channels(tmp_path, *[voice] * copies, rate=rate).samples, mono.samples)


def test_channels_in_antiphase_do_not_cancel(tmp_path: Path, kathleen: Recording) -> None:
    voice = kathleen.samples
    assert np.array_equal(decode_channels(tmp_path, voice, -voice).samples, voice)
    assert np.array_equal(from_samples(np.column_stack([voice, -voice]), ANALYSIS_RATE).samples, voice)


def test_two_microphones_in_opposite_phase_add_up(tmp_path: Path, kathleen: Recording) -> None:
    voice = kathleen.samples
    recording = decode_channels(tmp_path, voice + hiss(len(voice), 0.001), -0.7 * voice + hiss(len(voice), 0.001, 2))
    assert correlation(recording, voice) > 0.999
    assert level_db(recording, voice) == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("channel", [0, 1, 3])
def test_a_single_active_channel_keeps_its_level(tmp_path: Path, kathleen: Recording, channel: int) -> None:
    channels = [np.zeros_like(kathleen.samples) for _ in range(4)]
    channels[channel] = kathleen.samples
    assert np.abs(decode_channels(tmp_path, *channels).samples - kathleen.samples).max() < 1e-6


@pytest.mark.parametrize("noise_level", [0.005, 0.05, 0.3])
def test_a_channel_with_only_hiss_is_left_out(tmp_path: Path, kathleen: Recording, noise_level: float) -> None:
    voice = kathleen.samples
    assert np.array_equal(decode_channels(tmp_path, hiss(len(voice), noise_level), voice).samples, voice)


def test_a_channel_with_only_hum_is_left_out(tmp_path: Path, male: Recording) -> None:
    hum = 0.2 * np.sin(2 * np.pi * 50 * np.arange(len(male.samples)) / ANALYSIS_RATE).astype(np.float32)
    assert np.array_equal(decode_channels(tmp_path, hum, male.samples).samples, male.samples)


def test_a_constant_in_a_channel_is_not_sound(tmp_path: Path, male: Recording) -> None:
    constant = np.full_like(male.samples, 0.9)
    assert np.array_equal(decode_channels(tmp_path, constant, male.samples).samples, male.samples)


def test_both_speakers_of_a_call_keep_their_level(tmp_path: Path, kathleen: Recording, male: Recording) -> None:
    silence = np.zeros(len(kathleen.samples) + len(male.samples), np.float32)
    left, right = silence.copy(), silence.copy()
    left[: len(kathleen.samples)] = kathleen.samples
    right[len(kathleen.samples) :] = male.samples
    recording = decode_channels(tmp_path, left + hiss(len(left), 1e-4), right + hiss(len(left), 1e-4, 2))
    assert correlation(recording, left + right) > 0.999
    assert level_db(recording, left + right) == pytest.approx(0, abs=3)


def test_channels_of_noise_are_all_kept(tmp_path: Path) -> None:
    """Without speech no channel is left out."""
    noise = [hiss(20 * ANALYSIS_RATE, seed=seed) for seed in (1, 2)]
    assert decode_channels(tmp_path, *noise).channels == 2


DECODE = """
import sys
from pathlib import Path
from vbdesk.voice.decode import decode
recording = decode(Path(sys.argv[1]))
print(recording.channels, round(recording.duration_s))
"""


@pytest.mark.parametrize(("codec", "layout"), [("aac", "7.1"), ("alac", "7.1(wide)")])
def test_eight_channels_do_not_crash_the_process(tmp_path: Path, codec: str, layout: str) -> None:
    generator = np.random.default_rng(1)
    write_m4a(
        tmp_path / "take.m4a", codec, layout, generator.normal(0, 0.1, (16 * ANALYSIS_RATE, 8)).astype(np.float32)
    )
    done = subprocess.run(
        [sys.executable, "-c", DECODE, str(tmp_path / "take.m4a")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "8 16\n"), done.stderr


@pytest.mark.parametrize("layout", ["5.1", "7.1(wide)"])
def test_every_channel_of_an_m4a_is_read_value_for_value(tmp_path: Path, layout: str) -> None:
    channels = av.AudioLayout(layout).nb_channels
    sent = np.random.default_rng(2).integers(-(2**15), 2**15, (3 * ANALYSIS_RATE, channels)).astype(np.float32) / 2**15
    write_m4a(tmp_path / "take.m4a", "alac", layout, sent)
    with (tmp_path / "take.m4a").open("rb") as file:
        read = np.concatenate([block for _, block in _read(file, "m4a")])
    assert np.array_equal(read, sent)


def test_more_than_eight_channels_are_rejected_before_their_planes_are_read() -> None:
    frame = av.AudioFrame(format="fltp", layout="hexadecagonal", samples=1024)
    with pytest.raises(UnsupportedAudio, match="There are 16 channels"):
        _Unpacker().to_float(frame)


def test_a_file_with_nine_channels_is_rejected(tmp_path: Path) -> None:
    sf.write(tmp_path / "take.wav", np.random.default_rng(3).normal(0, 0.1, (16 * ANALYSIS_RATE, 9)), ANALYSIS_RATE)
    with pytest.raises(UnsupportedAudio, match="There are 9 channels"):
        decode(tmp_path / "take.wav")

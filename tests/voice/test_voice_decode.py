"""Decoding: accepted files, rejected files, and unchanged samples."""

import csv
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile as sf
import soxr
from numpy.typing import NDArray
from scipy.signal import correlate

from vbdesk.contract.errors import ErrorCode
from vbdesk.contract.limits import MAX_AUDIO_BYTES
from vbdesk.voice.decode import decode, from_samples
from vbdesk.voice.errors import (
    AudioError,
    AudioFileTooLarge,
    NothingToAnalyse,
    RecordingTooLong,
    RecordingTooShort,
    UnsupportedAudio,
)
from vbdesk.voice.recording import Recording

RATE = 16_000


def speech(kathleen: Recording, rate: int, seconds: float = 16.0) -> NDArray[np.float32]:
    samples = soxr.resample(kathleen.samples, RATE, rate)
    return np.asarray(np.resize(samples, round(seconds * rate)), np.float32)


def seven_bits(size: int) -> bytes:
    """Encode `size` as in the tag of an MP3 file."""
    return bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))


def encode(
    path: Path,
    container: str,
    codec: str,
    samples: NDArray[np.float32],
    rate: int,
    *,
    video: bool = False,
    quality: int | None = None,
) -> Path:
    """Write `samples` with FFmpeg; `video` adds a few grey pictures, `quality` selects a variable bit rate."""
    with av.open(str(path), "w", format=container) as output:
        if video:
            pictures = output.add_stream("mpeg4", rate=25)
            pictures.width = pictures.height = 64
            pictures.pix_fmt = "yuv420p"
        stream = output.add_stream(codec, rate=rate)
        stream.layout = "mono"
        if quality is not None:
            stream.codec_context.qscale = True
            stream.codec_context.global_quality = quality * 118
        frame = av.AudioFrame.from_ndarray(samples[None], format="fltp", layout="mono")
        frame.sample_rate = rate
        resampler = av.AudioResampler(
            format=stream.format, layout="mono", rate=rate, frame_size=stream.codec_context.frame_size or 1024
        )
        for piece in [*resampler.resample(frame), *resampler.resample(None)]:
            output.mux(stream.encode(piece))
        output.mux(stream.encode(None))
        if video:
            for _ in range(5):
                picture = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 128, np.uint8), format="rgb24")
                output.mux(pictures.encode(picture))
            output.mux(pictures.encode(None))
    return path


@pytest.mark.parametrize(
    ("subtype", "container", "tolerance"),
    [
        ("PCM_U8", "WAV", 0.01),
        ("PCM_16", "WAV", 1e-4),
        ("PCM_24", "WAVEX", 1e-6),
        ("PCM_32", "WAV", 1e-6),
        ("FLOAT", "WAVEX", 1e-6),
        ("DOUBLE", "WAV", 1e-6),
        ("PCM_16", "RF64", 1e-4),
        ("ALAW", "WAV", 0.03),
        ("ULAW", "WAV", 0.03),
        ("PCM_16", "FLAC", 1e-4),
        ("PCM_24", "FLAC", 1e-6),
    ],
)
def test_uncompressed_files_of_every_width_keep_their_samples(
    tmp_path: Path, kathleen: Recording, subtype: str, container: str, tolerance: float
) -> None:
    samples = speech(kathleen, RATE)
    path = tmp_path / "take"
    sf.write(path, samples, RATE, subtype=subtype, format=container)
    recording = decode(path)
    assert recording.container == ("flac" if container == "FLAC" else "wav")
    assert (recording.sample_rate, recording.channels, recording.duration_s) == (RATE, 1, 16.0)
    assert recording.size_bytes == path.stat().st_size
    assert np.abs(recording.samples - samples).max() < tolerance


@pytest.mark.parametrize("rate", [8_000, 11_025, 22_050, 44_100, 48_000, 96_000])
def test_duration_is_counted_at_the_rate_of_the_file(tmp_path: Path, kathleen: Recording, rate: int) -> None:
    path = tmp_path / "take.wav"
    sf.write(path, speech(kathleen, rate), rate)
    recording = decode(path)
    assert recording.duration_s == 16.0
    assert recording.sample_rate == rate
    assert abs(len(recording.samples) - 16 * RATE) <= 1


def test_resampling_by_block_equals_resampling_at_once(tmp_path: Path, kathleen: Recording) -> None:
    samples = speech(kathleen, 44_100)
    path = tmp_path / "take.wav"
    sf.write(path, samples, 44_100, subtype="FLOAT")
    expected = soxr.resample(samples, 44_100, RATE)
    assert np.abs(decode(path).samples - expected).max() < 1e-5


@pytest.mark.parametrize(
    ("name", "container", "codec", "expected"),
    [("a.m4a", "ipod", "aac", "m4a"), ("b.m4a", "mp4", "alac", "m4a"), ("c.mp3", "mp3", "mp3", "mp3")],
)
def test_compressed_files_sound_like_their_source(
    tmp_path: Path, kathleen: Recording, name: str, container: str, codec: str, expected: str
) -> None:
    samples = speech(kathleen, 44_100)
    recording = decode(encode(tmp_path / name, container, codec, samples, 44_100))
    assert recording.container == expected
    assert recording.duration_s == pytest.approx(16.0, abs=0.05)
    source = soxr.resample(samples, 44_100, RATE)
    shifted = correlate(recording.samples, source)  # an encoder may delay
    assert shifted.max() / np.sqrt((recording.samples**2).sum() * (source**2).sum()) > 0.98


def test_the_file_name_has_no_influence(tmp_path: Path, data_folder: Path) -> None:
    path = tmp_path / "recording.wav"
    path.write_bytes((data_folder / "speech_kathleen_20s.mp3").read_bytes())
    assert decode(path).content_type == "audio/mpeg"


def test_a_large_id3_tag_is_skipped(tmp_path: Path, data_folder: Path) -> None:
    size = 420_000
    path = tmp_path / "tagged.mp3"
    path.write_bytes(
        b"ID3\x03\x00\x00" + seven_bits(size) + bytes(size) + (data_folder / "speech_kathleen_20s.mp3").read_bytes()
    )
    assert decode(path).duration_s == pytest.approx(20.5, abs=0.1)


@pytest.mark.parametrize("picture_bytes", [0, 900_000])
def test_variable_rates_and_album_art_are_read(tmp_path: Path, kathleen: Recording, picture_bytes: int) -> None:
    """Lame writes a Xing header before frames of variable rate; players put a picture into the tag."""
    samples = speech(kathleen, 44_100)
    plain = encode(tmp_path / "plain.mp3", "mp3", "libmp3lame", samples, 44_100, quality=7)
    content = plain.read_bytes()
    assert b"Xing" in content[:4096]
    picture = b"\x00image/jpeg\x00\x03\x00\xff\xd8\xff\xe0" + b"\xff\xfb\x90\x64" * (picture_bytes // 4)
    frame = b"APIC" + len(picture).to_bytes(4, "big") + b"\x00\x00" + picture
    path = tmp_path / "art.mp3"
    path.write_bytes(b"ID3\x03\x00\x00" + seven_bits(len(frame)) + frame + content)
    recording = decode(path)
    assert recording.container == "mp3"
    assert recording.duration_s == pytest.approx(16.0, abs=0.1)
    assert np.array_equal(recording.samples, decode(plain).samples)


@pytest.mark.parametrize(
    ("container", "codec", "rate"),
    [
        ("ogg", "libopus", 48_000),
        ("webm", "libopus", 48_000),
        ("mp4", "libopus", 48_000),
        ("mp4", "mp3", 44_100),
        ("wav", "mp3", 44_100),
        ("adts", "aac", 44_100),
        ("aiff", "pcm_s16be", 16_000),
        ("mov", "pcm_s16le", 16_000),
    ],
)
def test_other_formats_and_codecs_are_rejected(
    tmp_path: Path, kathleen: Recording, container: str, codec: str, rate: int
) -> None:
    path = encode(tmp_path / "take.m4a", container, codec, speech(kathleen, rate), rate)
    with pytest.raises(UnsupportedAudio, match="WAV, FLAC, MP3 or M4A"):
        decode(path)


def test_vorbis_is_rejected(tmp_path: Path, kathleen: Recording) -> None:
    path = tmp_path / "take.flac"
    sf.write(path, speech(kathleen, RATE), RATE, format="OGG", subtype="VORBIS")
    with pytest.raises(UnsupportedAudio, match="Ogg"):
        decode(path)


def test_gsm_in_wav_is_rejected(tmp_path: Path, kathleen: Recording) -> None:
    path = tmp_path / "phone.wav"
    sf.write(path, speech(kathleen, 8_000), 8_000, subtype="GSM610")
    with pytest.raises(UnsupportedAudio, match="GSM610"):
        decode(path)


def test_a_video_is_rejected(tmp_path: Path, kathleen: Recording) -> None:
    path = encode(tmp_path / "clip.m4a", "mp4", "aac", speech(kathleen, 44_100), 44_100, video=True)
    with pytest.raises(UnsupportedAudio, match="video"):
        decode(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"ID3\x04\x00\x00\x00\x00\x00\x00",
        b"This is a text and no sound at all. " * 40,
        b"RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00",
        b"fLaC" + bytes(100),
        b"\x00\x00\x00\x18ftypM4A " + bytes(12) + b"\x00\x00\x00\x00moov" + bytes(50),
        b"#EXTM3U\n#EXTINF:10,\nhttp://127.0.0.1:9/a.ts\n",
    ],
)
def test_a_file_without_sound_is_rejected(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "take.mp3"
    path.write_bytes(content)
    with pytest.raises(UnsupportedAudio):
        decode(path)


@pytest.mark.parametrize("name", ["speech_kathleen_20s.flac", "speech_kathleen_20s.m4a"])
def test_a_truncated_file_is_rejected_if_detectable(tmp_path: Path, data_folder: Path, name: str) -> None:
    content = (data_folder / name).read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(content[: len(content) * 9 // 10])
    with pytest.raises(UnsupportedAudio, match="cut off"):
        decode(path)


def test_damage_inside_a_flac_is_rejected(tmp_path: Path, data_folder: Path) -> None:
    content = bytearray((data_folder / "speech_kathleen_20s.flac").read_bytes())
    content[150_000:150_200] = b"\xaa" * 200
    path = tmp_path / "damaged.flac"
    path.write_bytes(content)
    with pytest.raises(UnsupportedAudio, match="damaged"):
        decode(path)


@pytest.mark.parametrize("subtype", ["FLOAT", "DOUBLE"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -1e300])
def test_values_that_are_not_sound_are_rejected(
    tmp_path: Path, kathleen: Recording, value: float, subtype: str
) -> None:
    samples = speech(kathleen, RATE).astype(np.float64)
    samples[[1000, 200_000]] = value
    path = tmp_path / "wild.wav"
    if subtype == "FLOAT":
        with np.errstate(over="ignore"):
            samples = samples.astype(np.float32)
    sf.write(path, samples, RATE, subtype=subtype)
    with pytest.raises(UnsupportedAudio, match="not sound"):
        decode(path)


def test_a_file_of_only_absurd_values_is_rejected(tmp_path: Path, kathleen: Recording) -> None:
    path = tmp_path / "huge.wav"
    sf.write(path, speech(kathleen, RATE) * np.float32(1e30), RATE, subtype="FLOAT")
    with pytest.raises(UnsupportedAudio, match="not sound"):
        decode(path)


def test_a_file_of_tiny_values_is_silence(tmp_path: Path, kathleen: Recording) -> None:
    path = tmp_path / "tiny.wav"
    sf.write(path, speech(kathleen, RATE) * np.float32(1e-30), RATE, subtype="FLOAT")
    with pytest.raises(NothingToAnalyse):
        decode(path)


@pytest.mark.parametrize(("rate", "channels"), [(3_999, 1), (1_000_000, 1), (16_000, 33)])
def test_implausible_rates_and_channels_are_rejected(tmp_path: Path, rate: int, channels: int) -> None:
    path = tmp_path / "odd.wav"
    sf.write(path, np.full((4_000, channels), 0.1), rate)
    with pytest.raises(UnsupportedAudio, match=r"rate|channels"):
        decode(path)


def test_fifteen_seconds_are_enough_and_a_sample_less_is_not(tmp_path: Path, kathleen: Recording) -> None:
    enough, short = tmp_path / "enough.wav", tmp_path / "short.wav"
    samples = speech(kathleen, RATE, seconds=15)
    sf.write(enough, samples, RATE)
    sf.write(short, samples[:-1], RATE)
    assert decode(enough).duration_s == 15.0
    with pytest.raises(RecordingTooShort, match="at least 15 seconds"):
        decode(short)
    assert decode(short, check_duration=False).duration_s == pytest.approx(15.0, abs=1e-3)


def test_twenty_minutes_are_accepted_and_a_second_more_is_not(tmp_path: Path, kathleen: Recording) -> None:
    path = tmp_path / "long.flac"
    samples = speech(kathleen, 8_000, seconds=1201)
    sf.write(path, samples[: 1200 * 8_000], 8_000)
    assert decode(path).duration_s == 1200.0
    sf.write(path, samples, 8_000)
    with pytest.raises(RecordingTooLong, match="20 minutes"):
        decode(path)


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.wav"
    with path.open("wb") as file:
        file.truncate(MAX_AUDIO_BYTES + 1)
    with pytest.raises(AudioFileTooLarge, match="32 MB"):
        decode(path)


@pytest.mark.parametrize("value", [0.0, 0.5])
@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_silence_and_constants_have_nothing_to_analyse(tmp_path: Path, value: float, rate: int) -> None:
    path = tmp_path / "empty.wav"
    sf.write(path, np.full(20 * rate, value, np.float32), rate)
    with pytest.raises(NothingToAnalyse):
        decode(path)


@pytest.mark.parametrize(("level", "is_refused"), [(0.0008, True), (0.0013, False)])
def test_silence_ends_at_minus_sixty_decibels(tmp_path: Path, level: float, is_refused: bool) -> None:
    path = tmp_path / "hum.wav"
    tone = level * np.sqrt(2) * np.sin(2 * np.pi * 200 * np.arange(20 * RATE) / RATE)
    sf.write(path, tone, RATE, subtype="FLOAT")
    if is_refused:
        with pytest.raises(NothingToAnalyse):
            decode(path)
    else:
        assert decode(path).duration_s == 20.0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnsupportedAudio, ErrorCode.UNSUPPORTED_FORMAT),
        (RecordingTooShort, ErrorCode.AUDIO_TOO_SHORT),
        (RecordingTooLong, ErrorCode.AUDIO_TOO_LONG),
        (AudioFileTooLarge, ErrorCode.AUDIO_TOO_LARGE),
        (NothingToAnalyse, ErrorCode.AUDIO_POOR_QUALITY),
    ],
)
def test_every_error_has_its_code_and_says_what_to_do(error: type[AudioError], code: ErrorCode) -> None:
    assert error.code == code
    assert str(error("Found this.")) == f"Found this. {error.advice}"


def test_samples_in_memory_become_a_recording(kathleen: Recording) -> None:
    stereo = np.column_stack([speech(kathleen, 48_000, 5.0)] * 2)
    recording = from_samples(stereo, 48_000)
    assert (recording.duration_s, recording.sample_rate, recording.channels) == (5.0, 48_000, 2)
    assert recording.samples.dtype == np.float32
    assert len(recording.samples) == 5 * RATE


def test_the_collection_of_unusual_files_has_the_expected_verdicts(shared_audio: Path) -> None:
    """Each file is checked by the start of its expected verdict; files with issues have tests of their own."""
    accepted = (type(None),)
    unreadable = (UnsupportedAudio,)
    verdicts = {
        "reject: format": unreadable,
        "reject: codec": unreadable,
        "reject: not audio": unreadable,
        "reject: unreadable": unreadable,
        "reject: empty": unreadable,
        "reject: too short": (RecordingTooShort,),
        "reject or warn: truncated": unreadable,
        "reject or clear message": unreadable,
        "reject/flag": (NothingToAnalyse, type(None)),
        "reject": (UnsupportedAudio, RecordingTooShort),
        "too short": (RecordingTooShort,),
        "accept by content": (type(None), RecordingTooShort),
        "accept": accepted,
        "flag": accepted,
        "decode (content": accepted,
        "decode; music": (RecordingTooShort,),
        "no crash": (UnsupportedAudio, RecordingTooShort, NothingToAnalyse),
    }
    with (shared_audio / "manifest.csv").open(encoding="utf-8") as file:
        odd = [row for row in csv.DictReader(file) if row["path"].startswith("odd/")]
    wrong = []
    for row in odd:
        outcome: Exception | None = None
        try:
            decode(shared_audio / row["path"])
        except AudioError as error:  # anything else fails the test
            outcome = error
        allowed = next(kinds for start, kinds in verdicts.items() if row["expect"].startswith(start))
        if not isinstance(outcome, allowed):
            wrong.append((row["path"], row["expect"], outcome))
    assert len(odd) > 60
    assert wrong == []


def test_a_flac_stream_of_unknown_length_is_read_to_its_end(tmp_path: Path, speech_file: Path) -> None:
    """As encoders write it into a pipe: the count of samples in the header (36 bits up to byte 26) is 0."""
    content = bytearray(speech_file.read_bytes())
    content[21] &= 0xF0
    content[22:26] = bytes(4)
    streamed = tmp_path / "streamed.flac"
    streamed.write_bytes(content)
    told, untold = decode(speech_file), decode(streamed)
    assert untold.duration_s == told.duration_s
    assert np.array_equal(untold.samples, told.samples)

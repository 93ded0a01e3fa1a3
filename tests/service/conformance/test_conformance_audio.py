"""Accepted recordings: formats by content, limits of length and size, and usable sound."""

import functools
import io
from typing import Any

import av
import httpx
import numpy as np
import pytest
from examination import DATA, SPEECH, assert_error, post_form, submit
from sounds import encode_into, encoded, muxed, noise, noise_of, video_in_mp4

PATH = "/v2/signs/stress/analyze"
MIB_32 = 32 * 1024 * 1024


def send(still: httpx.Client, body: bytes, filename: str, content_type: str) -> httpx.Response:
    return still.post(PATH, files={"audio": (filename, body, content_type)})


@functools.cache
def file_of(kind: str) -> bytes:
    speechlike = noise(16, 44_100)
    match kind.split():
        case ["sample", suffix]:
            return (DATA / f"speech_kathleen_20s.{suffix}").read_bytes()
        case ["alac"]:
            return muxed(speechlike, 44_100, "ipod", "alac")
        case ["mp4", codec]:
            return muxed(speechlike, 44_100, "mp4", codec)
        case ["opus", container]:
            return muxed(noise(16, 48_000), 48_000, container, "libopus")
        case ["adts"]:
            return muxed(speechlike, 44_100, "adts", "aac")
        case ["video"]:
            return video_in_mp4(16)
        case ["stereo", container]:
            return encoded(noise(16, 44_100, channels=2), 44_100, container)
        case [container, *subtype]:
            return encoded(speechlike, 44_100, container, *subtype)
    raise AssertionError(kind)


@pytest.mark.parametrize(
    ("kind", "content_type", "rate", "seconds"),
    [
        ("WAV PCM_16", "audio/wav", 44_100, 16),
        ("WAV PCM_24", "audio/wav", 44_100, 16),
        ("WAV PCM_32", "audio/wav", 44_100, 16),
        ("WAV FLOAT", "audio/wav", 44_100, 16),
        ("WAV PCM_U8", "audio/wav", 44_100, 16),
        ("stereo WAV", "audio/wav", 44_100, 16),
        ("FLAC PCM_16", "audio/flac", 44_100, 16),
        ("FLAC PCM_24", "audio/flac", 44_100, 16),
        ("stereo FLAC", "audio/flac", 44_100, 16),
        ("MP3", "audio/mpeg", 44_100, 16),
        ("sample mp3", "audio/mpeg", 44_100, 20.5),
        ("sample m4a", "audio/mp4", 44_100, 20.5),
        ("mp4 aac", "audio/mp4", 44_100, 16),
        ("mp4 alac", "audio/mp4", 44_100, 16),
        ("alac", "audio/mp4", 44_100, 16),
    ],
)
def test_wav_flac_mp3_and_m4a_are_accepted(
    still: httpx.Client, kind: str, content_type: str, rate: int, seconds: float
) -> None:
    body = file_of(kind)
    answer = send(still, body, "take", content_type)
    assert answer.status_code == 200, answer.text
    job = answer.json()
    assert (job["audio_content_type"], job["audio_size_bytes"]) == (content_type, len(body))
    assert job["audio_sample_rate"] == rate
    assert job["audio_duration_seconds"] == pytest.approx(seconds, abs=0.1)


@pytest.mark.parametrize(
    "kind", ["OGG VORBIS", "opus ogg", "opus webm", "AIFF", "CAF PCM_16", "AU PCM_16", "adts", "video"]
)
def test_readable_audio_in_another_container_is_unsupported(still: httpx.Client, kind: str) -> None:
    assert_error(send(still, file_of(kind), "take.wav", "audio/wav"), 400, "UNSUPPORTED_FORMAT")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"hello, this is a text\n" * 4000,
        bytes(100_000),
        np.random.default_rng(1).bytes(400_000),
        SPEECH[:200],
        b"RIFF\x24\x00\x00\x00WAVEfmt ",
        b"<html>" * 1000,
        b"ID3\x04\x00\x00\x00\x00\x00\x00" + b"\x00" * 5000,
    ],
    ids=["empty", "text", "zeros", "random", "head of a FLAC", "head of a WAV", "HTML", "tag of an MP3"],
)
def test_what_is_no_recording_is_unsupported(still: httpx.Client, body: bytes) -> None:
    assert_error(send(still, body, "take.flac", "audio/flac"), 400, "UNSUPPORTED_FORMAT")


def test_m4a_cut_off_before_its_index_is_unsupported(still: httpx.Client) -> None:
    whole = file_of("mp4 aac")
    assert whole.index(b"moov") > whole.index(b"mdat")
    assert_error(send(still, whole[: len(whole) // 2], "a.m4a", "audio/mp4"), 400, "UNSUPPORTED_FORMAT")


def test_corrupt_flac_is_unsupported(still: httpx.Client) -> None:
    corrupt = bytearray(encoded(noise(40), container="FLAC"))
    corrupt[len(corrupt) // 4 : len(corrupt) // 4 * 3] = np.random.default_rng(2).bytes(len(corrupt) // 2)
    assert_error(send(still, bytes(corrupt), "a.flac", "audio/flac"), 400, "UNSUPPORTED_FORMAT")


def test_truncated_flac_is_unsupported(still: httpx.Client) -> None:
    whole = encoded(noise(60), container="FLAC")
    assert_error(send(still, whole[: len(whole) // 2], "a.flac", "audio/flac"), 400, "UNSUPPORTED_FORMAT")


def test_neither_name_nor_declared_type_decides_the_format(still: httpx.Client) -> None:
    assert send(still, encoded(noise(16)), "notes.txt", "text/plain").status_code == 200
    assert still.post(PATH, files={"audio": ("", encoded(noise(16)))}).status_code in (200, 400, 422)
    assert_error(send(still, b"notes" * 9000, "take.wav", "audio/wav"), 400, "UNSUPPORTED_FORMAT")


@pytest.mark.parametrize(
    ("samples", "rate"), [(240_000, 16_000), (120_000, 8_000), (661_500, 44_100)], ids=["16k", "8k", "44k"]
)
@pytest.mark.parametrize("container", ["WAV", "FLAC"])
def test_fifteen_seconds_are_long_enough_and_a_sample_less_is_not(
    still: httpx.Client, container: str, samples: int, rate: int
) -> None:
    job = submit(still, PATH, encoded(noise_of(samples), rate, container))
    assert job["audio_duration_seconds"] == 15.0
    short = encoded(noise_of(samples - 1), rate, container)
    assert_error(send(still, short, "take", "audio/wav"), 400, "AUDIO_TOO_SHORT")


@pytest.mark.parametrize("container", ["WAV", "FLAC", "MP3"])
@pytest.mark.parametrize("seconds", [0.2, 14.9])
def test_under_fifteen_seconds_is_too_short(still: httpx.Client, container: str, seconds: float) -> None:
    assert_error(send(still, encoded(noise(seconds), 16_000, container), "take", "x/y"), 400, "AUDIO_TOO_SHORT")


def test_short_m4a_is_too_short(still: httpx.Client) -> None:
    body = muxed(noise(14.5, 44_100), 44_100, "mp4", "aac")
    assert_error(send(still, body, "take.m4a", "audio/mp4"), 400, "AUDIO_TOO_SHORT")


def test_twenty_minutes_are_accepted_and_a_sample_more_is_not(still: httpx.Client) -> None:
    job = submit(still, PATH, encoded(noise_of(1200 * 8_000), 8_000, "WAV", "PCM_U8"))
    assert job["audio_duration_seconds"] == 1200.0
    body = encoded(noise_of(1200 * 8_000 + 1), 8_000, "WAV", "PCM_U8")
    assert_error(send(still, body, "take.wav", "audio/wav"), 400, "AUDIO_TOO_LONG")


def test_an_hour_of_nothing_in_a_small_file_is_too_long(still: httpx.Client) -> None:
    body = encoded(np.zeros(3600 * 8_000, np.int16), 8_000, "FLAC")
    assert len(body) < 2**20
    assert_error(send(still, body, "take.flac", "audio/flac"), 400, "AUDIO_TOO_LONG")


@pytest.mark.parametrize("claimed", [0, 0xFFFFFFFF], ids=["nothing", "endless"])
def test_length_is_measured_and_not_read_from_the_header(still: httpx.Client, claimed: int) -> None:
    body = bytearray(encoded(noise(16)))
    at = body.index(b"data") + 4
    body[at : at + 4] = claimed.to_bytes(4, "little")
    answer = send(still, bytes(body), "take.wav", "audio/wav")
    if claimed:
        assert answer.status_code == 200, answer.text
        assert answer.json()["audio_duration_seconds"] == pytest.approx(16, abs=0.001)
    else:  # an empty recording only, however many bytes follow
        assert answer.status_code in (200, 400), answer.text


def test_thirty_two_mebibytes_are_accepted_and_a_byte_more_is_not(still: httpx.Client) -> None:
    frames = (MIB_32 - 44) // 4
    body = encoded(noise_of(frames, channels=2), 44_100)
    assert len(body) == MIB_32
    assert submit(still, PATH, body)["audio_size_bytes"] == MIB_32
    assert_error(send(still, body + b"\0", "take.wav", "audio/wav"), 413, "AUDIO_TOO_LARGE")


def test_far_too_large_a_body_is_refused_with_an_answer(still: httpx.Client) -> None:
    assert_error(send(still, bytes(48 * 1024 * 1024), "take.wav", "audio/wav"), 413, "AUDIO_TOO_LARGE")


POOR: dict[str, Any] = {
    "silence": np.zeros(256_000, np.float32),
    "constant": np.full(256_000, 0.25, np.float32),
    "below -60 dBFS": noise(16, level_dbfs=-75),
}


@pytest.mark.parametrize("kind", POOR)
@pytest.mark.parametrize("container", ["WAV", "FLAC"])
def test_nothing_to_analyse_is_poor_quality(still: httpx.Client, kind: str, container: str) -> None:
    assert_error(post_form(still, PATH, encoded(POOR[kind], 16_000, container)), 422, "AUDIO_POOR_QUALITY")


def test_quiet_and_noisy_audio_is_accepted(still: httpx.Client) -> None:
    submit(still, PATH, encoded(noise(16, level_dbfs=-45)))
    submit(still, PATH, encoded(noise(16, level_dbfs=-3)))


def test_length_is_judged_before_quality(still: httpx.Client) -> None:
    assert_error(post_form(still, PATH, encoded(np.zeros(16_000, np.float32))), 400, "AUDIO_TOO_SHORT")


def with_cover(container: str, codec: str) -> bytes:
    """Create a recording with cover art, as music players write it."""
    file = io.BytesIO()
    with av.open(file, "w", format=container) as output:
        sound = output.add_stream(codec, rate=44_100)
        sound.layout = "mono"
        cover = output.add_stream("mjpeg", rate=1)
        cover.width = cover.height = 64
        cover.pix_fmt = "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        image = av.VideoFrame.from_ndarray(np.full((64, 64, 3), 99, np.uint8), format="rgb24")
        for packet in [*cover.encode(image), *cover.encode(None)]:
            packet.pts = packet.dts = 0
            output.mux(packet)
        encode_into(output, sound, noise(16, 44_100))
    return file.getvalue()


@pytest.mark.parametrize(("container", "codec"), [("mp4", "aac"), ("mp3", "libmp3lame"), ("flac", "flac")])
def test_attached_cover_is_no_video(still: httpx.Client, container: str, codec: str) -> None:
    submit(still, PATH, with_cover(container, codec))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_sound_are_refused(still: httpx.Client, value: float) -> None:
    samples = noise(16)
    samples[5] = value
    body = encoded(samples, subtype="FLOAT")
    assert_error(send(still, body, "take.wav", "audio/wav"), 400, "UNSUPPORTED_FORMAT")

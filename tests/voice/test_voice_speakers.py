import numpy as np
import pytest

from vbdesk.voice.activity import SpeechActivity, detect_speech
from vbdesk.voice.decode import decode, from_samples
from vbdesk.voice.features import analyse_frames, summarise_features
from vbdesk.voice.quality_rules import quality_rules
from vbdesk.voice.recording import ANALYSIS_RATE, Recording
from vbdesk.voice.speaker_clusters import _merge_alike, cluster_voices
from vbdesk.voice.speakers import SpeakerTurns, diarize, isolate_speaker

MAN = [(6.60, 11.28), (15.92, 28.24), (33.24, 39.50)]
WOMAN = [(0.98, 6.44), (11.48, 15.53), (28.57, 32.66)]


def share_within(turns: SpeakerTurns, truth: list[tuple[float, float]]) -> float:
    times_s = np.arange(0, 40, 0.01)
    said = SpeechActivity(turns.segments, 0, 0).covers(times_s)
    meant = SpeechActivity(truth, 0, 0).covers(times_s)
    return float(np.mean(meant[said]))


def test_two_speakers_get_their_own_turns(dialogue: Recording) -> None:
    first, second = diarize(dialogue, detect_speech(dialogue))
    assert (first.speaker, second.speaker) == ("speaker_1", "speaker_2")
    assert first.speech_seconds > second.speech_seconds
    assert share_within(first, MAN) > 0.96
    assert share_within(second, WOMAN) > 0.96


def test_an_isolated_speaker_is_measured_without_the_others(dialogue: Recording) -> None:
    only_woman = np.full(dialogue.samples.size, 1e-5, np.float32)
    only_woman *= np.random.default_rng(0).standard_normal(only_woman.size).astype(np.float32)
    for start, end in WOMAN:
        spoken = slice(int(start * ANALYSIS_RATE), int(end * ANALYSIS_RATE))
        only_woman[spoken] = dialogue.samples[spoken]
    truth = summarise_features(analyse_frames(only_woman), WOMAN)
    mixed = summarise_features(analyse_frames(dialogue.samples), WOMAN)
    apart = summarise_features(analyse_frames(isolate_speaker(dialogue.samples, WOMAN)), WOMAN)
    for feature in ("pitch_mean", "harmonics_to_noise", "formant_3_mean", "voice_tremor"):
        assert apart[feature].value == pytest.approx(truth[feature].value, rel=0.02), feature
    assert abs(mixed["harmonics_to_noise"].value - truth["harmonics_to_noise"].value) > 0.3


def test_an_isolated_speaker_keeps_only_its_own_samples(dialogue: Recording) -> None:
    own = isolate_speaker(dialogue.samples, MAN)
    inside = slice(17 * ANALYSIS_RATE, 28 * ANALYSIS_RATE)
    outside = slice(29 * ANALYSIS_RATE, 32 * ANALYSIS_RATE)
    assert np.array_equal(own[inside], dialogue.samples[inside])
    assert np.std(own[outside]) < 0.05 * np.std(dialogue.samples[outside])


def test_turns_cover_the_speech_once(dialogue: Recording) -> None:
    activity = detect_speech(dialogue)
    speakers = diarize(dialogue, activity)
    assert sum(speaker.speech_seconds for speaker in speakers) == pytest.approx(activity.speech_s)
    edges = np.ravel(sorted(segment for speaker in speakers for segment in speaker.segments))
    assert np.all(np.diff(edges) >= 0)


def test_one_reader_is_one_speaker(kathleen: Recording, male: Recording) -> None:
    for recording in (kathleen, male):
        activity = detect_speech(recording)
        (only,) = diarize(recording, activity)
        assert only.speaker == "speaker_1"
        assert only.speech_seconds == pytest.approx(activity.speech_s)


def test_diarization_is_reproducible(dialogue: Recording) -> None:
    activity = detect_speech(dialogue)
    assert diarize(dialogue, activity) == diarize(dialogue, activity)


def test_too_little_speech_is_one_speaker(dialogue: Recording) -> None:
    short = from_samples(dialogue.samples[: 2 * ANALYSIS_RATE], ANALYSIS_RATE)
    assert len(diarize(short, detect_speech(short))) == 1


def test_silence_is_one_speaker_without_speech() -> None:
    silence = from_samples(np.zeros(20 * ANALYSIS_RATE), ANALYSIS_RATE)
    assert diarize(silence, detect_speech(silence)) == [SpeakerTurns("speaker_1", 0, [])]


@pytest.mark.parametrize("voices", [1, 2, 3])
def test_speakers_are_counted(voices: int) -> None:
    generator = np.random.default_rng(voices)
    centres = np.abs(generator.standard_normal((voices, 256)))
    truth = np.repeat(np.arange(voices), 20)
    embeddings = np.abs(centres[truth] + 0.3 * generator.standard_normal((len(truth), 256)))
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    labels = cluster_voices(embeddings.astype(np.float32))
    assert len(set(labels.tolist())) == voices
    assert len(set(zip(truth.tolist(), labels.tolist(), strict=True))) == voices


def windows_of(centres: np.ndarray, truth: np.ndarray, scatter: float, seed: int) -> np.ndarray:
    """Unit vectors of one window each, around the centre of its voice."""
    noise = np.random.default_rng(seed).standard_normal((len(truth), centres.shape[1]))
    windows = centres[truth] + scatter * noise * np.linalg.norm(centres[truth], axis=1, keepdims=True) / np.sqrt(
        centres.shape[1]
    )
    return (windows / np.linalg.norm(windows, axis=1, keepdims=True)).astype(np.float32)


def alike_centres(cosine: float, count: int) -> np.ndarray:
    """Centres of voices, each pair with this cosine."""
    common, *own = np.eye(256)[: count + 1]
    return np.stack([np.sqrt(cosine) * common + np.sqrt(1 - cosine) * direction for direction in own])


def test_scattered_parts_of_one_voice_are_not_two_speakers() -> None:
    """Few windows scatter, so that two parts of a voice look less alike than they are."""
    truth = np.repeat([0, 1], [12, 20])
    embeddings = windows_of(alike_centres(0.6, 2), truth, 1.0, seed=2)
    labels = np.where(np.arange(32) < 6, 2, truth)
    parts = [embeddings[labels == label].mean(axis=0) for label in (0, 2)]
    seen = parts[0] @ parts[1] / np.prod([np.linalg.norm(part) for part in parts])
    assert seen < quality_rules().speakers.one_voice_cosine
    merged = _merge_alike(embeddings, labels)
    assert len(set(merged.tolist())) == 2
    assert len(set(merged[:12].tolist())) == len(set(merged[12:].tolist())) == 1


def test_three_speakers_as_alike_as_voices_are_stay_three() -> None:
    truth = np.repeat([0, 1, 2], 20)
    embeddings = windows_of(alike_centres(0.75, 3), truth, 0.7, seed=3)
    assert np.array_equal(_merge_alike(embeddings, truth), truth)


def test_a_speaker_of_two_windows_is_an_outlier() -> None:
    truth = np.repeat([0, 1, 2], [20, 20, 2])
    merged = _merge_alike(windows_of(alike_centres(0.6, 3), truth, 0.3, seed=4), truth)
    assert sorted(np.bincount(merged).tolist()) == [20, 22]


def test_the_telephone_dialogue_of_the_collection(shared_audio) -> None:
    folder = shared_audio / "diarization"
    recording = decode(folder / "pyannote_sample_2spk_30s.flac")
    speakers = diarize(recording, detect_speech(recording))
    assert len(speakers) == 2
    times_s = np.arange(0, 30, 0.01)
    spoken: dict[str, list[tuple[float, float]]] = {}
    for line in (folder / "pyannote_sample_2spk_30s.rttm").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        spoken.setdefault(fields[7], []).append((float(fields[3]), float(fields[3]) + float(fields[4])))
    truth = np.stack([np.any([(times_s >= a) & (times_s < b) for a, b in turns], axis=0) for turns in spoken.values()])
    found = np.stack([SpeechActivity(speaker.segments, 0, 0).covers(times_s) for speaker in speakers])
    isolate_speaker = truth.sum(axis=0) == 1
    agreement = max(np.mean((truth == found[order])[:, isolate_speaker].all(axis=0)) for order in ([0, 1], [1, 0]))
    assert agreement > 0.85

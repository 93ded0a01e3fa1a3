import numpy as np
import pytest

from vbdesk.voice.activity import SpeechActivity, detect_speech
from vbdesk.voice.decode import decode, from_samples
from vbdesk.voice.features import analyse_frames, summarise_features
from vbdesk.voice.recording import ANALYSIS_RATE, Recording
from vbdesk.voice.speaker_clusters import cluster_voices
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

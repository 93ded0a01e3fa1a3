"""Leave-corpus-out validation and joined clips of `vbdesk signs fit`."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

sys.path.append(str(Path(__file__).parent))  # made_studies, by name
from made_studies import made_data, request_of, run

from vbdesk.lab.corpus.joined_clips import ACROSS_JOINTS, JoinedClips, is_clip, joined_digest, measure_joined
from vbdesk.lab.corpus.journal import MeasurementJournal
from vbdesk.lab.corpus.measurement import (
    MeasuredFile,
    Unmeasurable,
    extractor_fingerprint,
    file_digest,
    measure_file,
)
from vbdesk.lab.corpus.recording_table import TableError
from vbdesk.lab.fit.bootstrap import correlation
from vbdesk.lab.fit.run import fit_sign
from vbdesk.lab.fit.study import RecordingLabel, StudyError, joinable_clips, read_labels

SHORT = Unmeasurable("The recording is 3.0 seconds long.", too_short=True)


@pytest.fixture(scope="module")
def norms(reference):
    return reference.norms


def in_corpora(labels, corpus_of):
    """`labels` with the corpus that `corpus_of` gives for the number and label of the speaker."""
    return {
        path: replace(label, corpus=corpus_of(int(label.speaker[1:]), label.label)) for path, label in labels.items()
    }


def test_what_transfers_is_told_for_each_corpus(norms):
    """Two corpora agree; in the third the labels differ in the opposite direction."""
    labels, measured = made_data(norms, speakers=80, recordings=1, shifts={"speech_rate": -2.5})
    other, turned = made_data(norms, speakers=20, recordings=1, shifts={"speech_rate": 2.5}, seed=9)
    labels = in_corpora(labels, lambda number, _: "AB"[number // 2 % 2])
    for path, label in other.items():
        labels[path.with_suffix(".flac")] = replace(label, speaker=f"t{label.speaker}", corpus="turned")
        measured[path.with_suffix(".flac")] = turned[path]
    card = fit_sign(labels, measured, request_of(), norms)
    found = {part["corpus"]: part for part in card.card["other_corpora"]}
    assert list(found) == ["A", "B", "turned"]
    assert (found["A"]["recordings"], found["A"]["speakers"], found["A"]["with_label"]) == (40, 40, 20)
    assert found["turned"]["auc"]["high"] < 0.5
    assert found["turned"]["correlation"]["high"] < 0
    assert any(sentence.endswith("by chance in: turned.") for sentence in card.card["warnings"])
    assert "| turned | 20 | 20 | 10 | 0." in card.card_for_people


def test_a_corpus_of_one_label_is_trained_on_and_not_tested(norms):
    labels, measured = made_data(norms, speakers=60, recordings=1)
    labels = in_corpora(labels, lambda number, label: "mixed" if number < 40 else f"only {label}")
    fitted = fit_sign(labels, measured, request_of(), norms)
    found = {part["corpus"]: part for part in fitted.card["other_corpora"]}
    assert [part["untested"] for part in found.values()] == [None, "one label here", "one label here"]
    assert found["only 1"]["auc"] is None
    assert "not tested: it has one label only" in fitted.card_for_people
    assert "yet another microphone" in fitted.card_for_people
    assert any(sentence.endswith("could not be tested: only 0, only 1.") for sentence in fitted.card["warnings"])


def test_a_speaker_of_the_tested_corpus_is_never_trained_on(norms):
    """Everybody is in both corpora, so nobody is left for training."""
    labels, measured = made_data(norms, speakers=40, recordings=2)
    labels = {path: replace(label, corpus=path.stem[-1]) for path, label in labels.items()}
    with pytest.raises(StudyError, match="too few speakers with each label"):
        fit_sign(labels, measured, request_of(), norms)


@pytest.mark.parametrize(
    ("corpus_of", "sentence"),
    [
        (lambda number, label: "lab", "All recordings are of one corpus, lab. Leave out --corpus-column"),
        (lambda number, label: f"c{label}", "has one label only, so that labels and corpora cannot be separated"),
    ],
)
def test_corpora_that_cannot_be_compared_are_rejected(norms, corpus_of, sentence):
    labels, measured = made_data(norms, speakers=24, recordings=1)
    with pytest.raises(StudyError, match=sentence):
        fit_sign(in_corpora(labels, corpus_of), measured, request_of(), norms)


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ("site", "d.csv has no column 'site'. Its first line must name: path, speaker, label, site"),
        ("corpus", "d.csv, line 2: corpus is empty."),
        ("label", "The column 'label' does not name corpora."),
    ],
)
def test_an_error_in_the_corpus_column_is_one_sentence(tmp_path, column, sentence):
    (tmp_path / "d.csv").write_text("path,speaker,label,corpus\na.wav,x,1,\n")
    with pytest.raises(TableError) as refusal:
        read_labels(tmp_path / "d.csv", column)
    assert sentence in str(refusal.value)


def test_the_correlation_is_that_of_the_textbook():
    random = np.random.default_rng(1)
    scores, labels = random.normal(size=50), np.arange(50) % 2
    assert correlation(scores, labels, np.ones(50)) == pytest.approx(np.corrcoef(scores, labels)[0, 1])
    assert correlation(-scores, labels, np.ones(50)) == pytest.approx(-np.corrcoef(scores, labels)[0, 1])
    assert np.isnan(correlation(np.zeros(50), labels, np.ones(50)))


def test_joined_clips_measure_as_the_recording_they_were_cut_from(request, tmp_path):
    samples, rate = sf.read(request.config.rootpath / "tests" / "data" / "speech_male_20s.flac", dtype="float32")
    silence = np.zeros(rate, np.float32)
    paths = []
    for number in range(5):
        paths.append(tmp_path / f"{number}.wav")
        clip = samples[number * 4 * rate : (number + 1) * 4 * rate]
        sf.write(paths[-1], np.concatenate([silence, clip, silence]), rate)
    assert is_clip(measure_file(paths[0]))
    whole = measure_file(request.config.rootpath / "tests" / "data" / "speech_male_20s.flac")
    joined = measure_joined(JoinedClips(tuple(paths)))
    assert joined.speech_s == pytest.approx(whole.speech_s, abs=1.5)
    assert joined.duration_s < 20.5  # without the seconds of silence around each clip
    assert joined.features["pitch_mean"] == pytest.approx(whole.features["pitch_mean"], rel=0.02)
    assert joined.features["formant_1_mean"] == pytest.approx(whole.features["formant_1_mean"], rel=0.03)
    assert joined.features["articulation_rate"] == pytest.approx(whole.features["articulation_rate"], rel=0.15)
    assert not ACROSS_JOINTS & set(joined.features)
    assert ACROSS_JOINTS & set(whole.features)


def test_clips_without_speech_or_without_a_file_are_reported(tmp_path):
    noise = np.random.default_rng(2).normal(scale=0.01, size=48_000).astype(np.float32)
    paths = tuple(tmp_path / f"{number}.wav" for number in range(2))
    for path in paths:
        sf.write(path, noise, 16_000)
    assert measure_joined(JoinedClips(paths)).reason == "There is no speech in these clips."
    gone = measure_joined(JoinedClips((paths[0], tmp_path / "gone.wav")))
    assert gone.reason == "gone.wav cannot be read: No such file or directory."


def test_only_clips_of_one_speaker_label_session_and_corpus_are_joined():
    long = MeasuredFile({}, 30.0, 20.0, 16_000, 66.0, 90.0, ())
    quiet = replace(long, speech_s=5.0, voice_percentage=16.0)  # mostly silence: not a clip
    few = replace(long, duration_s=16.0, speech_s=8.0, voice_percentage=50.0)
    table = {
        "a1": ("a", 1, "x", SHORT),
        "a2": ("a", 1, "x", few),
        "a3": ("a", 0, "x", SHORT),
        "a4": ("a", 1, "y", SHORT),
        "a5": ("a", 1, "x", long),
        "a6": ("a", 1, "x", quiet),
        "a7": ("a", 1, "x", Unmeasurable("no sound")),
        "b1": ("b", 1, "x", SHORT),
    }
    labels = {
        Path(name): RecordingLabel(who, label, None, None, corpus) for name, (who, label, corpus, _) in table.items()
    }
    outcomes = {Path(name): outcome for name, (*_, outcome) in reversed(table.items())}
    (joined,) = joinable_clips(labels, outcomes).items()
    assert joined == (JoinedClips((Path("a1"), Path("a2"))), replace(labels[Path("a1")], clips=2))


def test_the_command_joins_short_clips_and_says_so(tmp_path, norms):
    labels, measured = made_data(norms, speakers=24, recordings=1)
    folder, out = tmp_path / "study", tmp_path / "out"
    folder.mkdir()
    lines = []
    with MeasurementJournal(out / "measured.jsonl", extractor_fingerprint()) as journal:
        for path, label in labels.items():
            clips = [folder / f"{path.stem}_{number}.wav" for number in range(3)]
            for clip in clips:
                clip.write_text(clip.name)
                journal.record(file_digest(clip), SHORT)
                lines.append(f"{clip.name},{label.speaker},{label.label}")
            kept = {name: value for name, value in measured[path].features.items() if name not in ACROSS_JOINTS}
            journal.record(joined_digest(JoinedClips(tuple(clips))), replace(measured[path], features=kept))
        (folder / "alone.wav").write_text("alone")
        journal.record(file_digest(folder / "alone.wav"), SHORT)
        lines.append("alone.wav,alone,1")
    (folder / "data.csv").write_text("\n".join(["path,speaker,label", *lines]) + "\n")
    outcome = run(folder / "data.csv", "--sign", "slow-speech", "--out", out)
    assert outcome.exit_code == 0, outcome.output
    told = " ".join(outcome.stderr.split())
    assert "Joined 72 short clips to 24 recordings, one of each speaker, label and session." in told
    assert "Left out: 1 alone.wav: The recording is 3.0 seconds long. There is no other clip of this speaker" in told
    card = json.loads((out / "slow-speech.card.json").read_text())
    assert (card["study"]["recordings"], card["study"]["joined_recordings"], card["study"]["joined_clips"]) == (
        24,
        24,
        72,
    )
    assert not ACROSS_JOINTS & set(card["weights"])
    people = " ".join((out / "slow-speech.card.md").read_text().split())
    assert "24 of the recordings are 72 short clips, joined by speaker, label and session" in people


def test_the_command_names_every_corpus(tmp_path, norms):
    labels, measured = made_data(norms, speakers=48, recordings=1, shifts={"speech_rate": -2.5})
    out = tmp_path / "out"
    lines = []
    with MeasurementJournal(out / "measured.jsonl", extractor_fingerprint()) as journal:
        for path, label in labels.items():
            (tmp_path / path.name).write_text(path.name)
            journal.record(file_digest(tmp_path / path.name), measured[path])
            lines.append(f"{path.name},{label.speaker},{label.label},{'AB'[int(label.speaker[1:]) // 2 % 2]}")
    (tmp_path / "data.csv").write_text("\n".join(["path,speaker,label,site", *lines]) + "\n")
    outcome = run(tmp_path / "data.csv", "--sign", "slow-speech", "--out", out, "--corpus-column", "site")
    assert outcome.exit_code == 0, outcome.output
    assert "Corpus A, by a fit on the others. AUC: 0." in outcome.stdout
    assert "Corpus B, by a fit on the others. AUC: 0." in outcome.stdout
    card = json.loads((out / "slow-speech.card.json").read_text())
    for part in card["other_corpora"]:  # a signal that both corpora share
        assert part["auc"]["low"] > 0.5
        assert part["correlation"]["low"] > 0
    assert not any("other corpora" in sentence for sentence in card["warnings"])
    outcome = run(tmp_path / "data.csv", "--sign", "slow-speech", "--out", out, "--corpus-column", "corpus")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("data.csv has no column 'corpus'.")

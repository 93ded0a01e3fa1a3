"""Signs fitted to simulated recordings with known truth."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))  # made_studies, by name
from made_studies import RATES, SEPARATION, STABLE, made_data, request_of, run

from vbdesk.contract.levels import Level
from vbdesk.lab.corpus.journal import MeasurementJournal
from vbdesk.lab.corpus.measurement import MeasuredFile, extractor_fingerprint, file_digest
from vbdesk.lab.corpus.recording_table import TableError
from vbdesk.lab.fit.bootstrap import auc, bootstrap_interval, intraclass_correlation, slope
from vbdesk.lab.fit.regression import fit_weights, speaker_folds
from vbdesk.lab.fit.rules import fitting_rules
from vbdesk.lab.fit.run import fit_sign
from vbdesk.lab.fit.study import RecordingLabel, StudyError, make_study, read_labels, reject_shared_recordings
from vbdesk.lab.fit.validity import calibrate_probabilities
from vbdesk.signs.plugins.discovery import PluginSource, load_plugins

RULES = fitting_rules()


@pytest.fixture(scope="module")
def norms(reference):
    return reference.norms


@pytest.fixture(scope="module")
def fitted(norms):
    return fit_sign(*made_data(norms), request_of(), norms)


@pytest.fixture(scope="module")
def fitted_to_many(norms):
    return fit_sign(*made_data(norms, speakers=600, recordings=1), request_of(), norms)


@pytest.fixture(scope="module")
def fitted_to_nothing(norms):
    return fit_sign(*made_data(norms, shifts={}), request_of(), norms)


def test_the_auc_is_that_of_the_generated_data(fitted_to_many):
    truth = NormalDist().cdf(SEPARATION / np.sqrt(2))
    area = fitted_to_many.card["auc"]
    assert area["value"] == pytest.approx(truth, abs=0.03)
    assert area["low"] < truth < area["high"]
    assert fitted_to_many.card["has_signal"]


def test_fewer_speakers_give_a_lower_auc(fitted, fitted_to_many):
    assert fitted.card["has_signal"]
    assert 0.65 < fitted.card["auc"]["value"] < fitted_to_many.card["auc"]["value"]


def test_the_weights_have_the_signs_of_the_differences(fitted_to_many):
    weights = fitted_to_many.card["weights"]
    assert list(weights)[:2] == ["speech_rate", "pause_ratio"]
    assert weights["speech_rate"] < 0 < weights["pause_ratio"]
    assert sum(map(abs, weights.values())) == pytest.approx(1, abs=1e-3)


def test_labels_without_a_signal_are_reported(fitted_to_nothing):
    area = fitted_to_nothing.card["auc"]
    assert area["value"] == pytest.approx(0.5, abs=0.12)
    assert area["low"] < 0.5
    assert not fitted_to_nothing.card["has_signal"]
    assert fitted_to_nothing.card["max_level"] == "low"
    assert "No signal was found" in fitted_to_nothing.card_for_people.split("\n\n")[1]
    assert 'known = "no signal was found' in fitted_to_nothing.sign


def test_speakers_without_the_label_are_flagged_as_often_as_stated(fitted_to_many):
    for level, row in fitted_to_many.card["levels"].items():
        assert row["stated_rate"] == RATES[level]
        assert row["measured_rate_without_label"] == pytest.approx(RATES[level], abs=0.035)
        assert row["measured_rate_with_label"] > 2 * row["measured_rate_without_label"]


def test_the_icc_of_repeats_is_that_of_the_generated_data(fitted):
    retest = fitted.card["test_retest"]
    assert (retest["speakers"], retest["recordings"]) == (120, 240)
    assert retest["icc"]["value"] == pytest.approx(STABLE, abs=0.15)
    assert retest["icc_between_sessions"]["value"] == pytest.approx(retest["icc"]["value"])


def test_predicted_shares_agree_with_observed_ones(fitted):
    calibration = fitted.card["calibration"]
    assert calibration["method"] == "platt"
    assert calibration["brier"] < 0.9 * calibration["brier_of_prevalence"]
    assert calibration["expected_error"] < 0.1
    shares = [row["share"] for row in calibration["shares"]]
    assert shares == sorted(shares)


def test_many_recordings_are_calibrated_by_isotonic_regression():
    random = np.random.default_rng(2)
    index = random.normal(size=3000)
    labels = (random.uniform(size=3000) < np.clip(0.1 + 0.8 * (index > 0.5), 0, 1)).astype(np.int64)
    rules = RULES.calibration.model_copy(update={"isotonic_from": 500})
    report = calibrate_probabilities(index, labels, np.arange(3000) % 5, rules)
    assert report.method == "isotonic"
    assert report.expected_error < 0.03
    assert dict(report.shares)[0.0] == pytest.approx(0.1, abs=0.04)


def test_labels_that_change_within_a_speaker_are_fitted_too(norms):
    """For example rested and tired: every speaker has both labels, with the same trait."""
    labels, measured = made_data(norms, speakers=80, recordings=2, shifts={})
    paths = sorted(labels)
    tired = {path: RecordingLabel(labels[path].speaker, number % 2, None, None) for number, path in enumerate(paths)}
    slower = {
        path: replace(
            one, features={**one.features, "speech_rate": one.features["speech_rate"] * 0.7 ** tired[path].label}
        )
        for path, one in measured.items()
    }
    card = fit_sign(tired, slower, request_of(), norms).card
    assert card["study"]["speakers_with_both"] == 80
    assert card["auc"]["low"] > 0.75
    assert next(iter(card["weights"])) == "speech_rate"
    assert card["test_retest"] is None  # no speaker has two recordings with one label


def test_perfectly_separable_labels_are_fitted(norms):
    card = fit_sign(*made_data(norms, speakers=24, shifts=dict.fromkeys(norms.features, 2.0)), request_of(), norms).card
    assert card["auc"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert card["calibration"]["brier"] < 0.01


def test_a_drift_with_time_is_reported(norms):
    card = fit_sign(*made_data(norms, drift=0.25), request_of(), norms).card
    assert card["drift"]["per_30_days"]["high"] < 0
    assert any("moves with the date of the recording" in sentence for sentence in card["warnings"])


def test_leakage_by_the_recording_is_reported(norms, fitted):
    card = fit_sign(*made_data(norms, clarity_by_label=15.0), request_of(), norms).card
    assert card["give_aways"]["audio clarity"]["value"] > 0.9
    assert any(sentence.startswith("The audio clarity alone separates the labels") for sentence in card["warnings"])
    assert not any("alone separates" in sentence for sentence in fitted.card["warnings"])


def test_the_card_contains_no_speaker_names(fitted):
    for text in (fitted.sign, fitted.card_for_people, json.dumps(fitted.card)):
        assert "/made" not in text
        assert "s17" not in text.replace("sha", "")
        assert "visit" not in text


def test_no_speaker_is_both_trained_on_and_tested(norms):
    labels, measured = made_data(norms, speakers=40, recordings=5)
    study = make_study(labels, measured, norms, RULES.study, 10)
    tested = []
    for train, test in speaker_folds(study, np.arange(study.labels.size), 5):
        assert not set(study.speakers[train]) & set(study.speakers[test])
        tested += test.tolist()
    assert sorted(tested) == list(range(200))
    assert set(fit_weights(study, RULES.regression).folds) == {0, 1, 2, 3, 4}


def test_labels_that_only_name_the_speaker_cannot_be_learnt(norms):
    """Every speaker is unique: with a speaker in both parts of a fold, the fit would memorise the speaker."""
    labels, measured = made_data(norms, speakers=40, recordings=8, shifts={}, seed=11)
    card = fit_sign(labels, measured, request_of(), norms).card
    assert card["auc"]["value"] < 0.65
    assert not card["has_signal"]


def test_the_same_recordings_give_the_same_files_in_any_order(norms, fitted, tmp_path):
    labels, measured = made_data(norms)
    shuffled = dict(reversed(labels.items()))
    again = fit_sign(shuffled, dict(reversed(measured.items())), request_of(), norms)
    assert (again.sign, again.card_for_people, again.card) == (fitted.sign, fitted.card_for_people, fitted.card)


def test_the_fitted_sign_is_a_valid_plugin(fitted, tmp_path):
    fitted.write(tmp_path)
    load_plugins.cache_clear()
    signs = load_plugins(PluginSource(tmp_path))
    load_plugins.cache_clear()
    assert not signs.unavailable
    sign = signs.available["slow-speech"]
    assert sign.file.max_level is Level.MODERATE
    assert sign.index({"speech_rate": -2.0, "pause_ratio": 2.0}) > sign.index({"speech_rate": 1.0})


@pytest.mark.parametrize(
    ("speakers", "labels_of", "sentence"),
    [
        (40, lambda label: 1, "have the label 1 only. Both 0 and 1 are needed."),
        (18, lambda label: label, "Speakers with label 0: 9; at least 10 with each label are needed"),
        (0, lambda label: label, "have no label. Both 0 and 1 are needed."),
    ],
)
def test_insufficient_data_is_rejected(norms, speakers, labels_of, sentence):
    labels, measured = made_data(norms, speakers=speakers, recordings=1)
    relabelled = {
        path: RecordingLabel(label.speaker, labels_of(label.label), None, None) for path, label in labels.items()
    }
    with pytest.raises(StudyError) as refusal:
        fit_sign(relabelled, measured, request_of(), norms)
    assert sentence in str(refusal.value)


def test_a_fit_with_few_speakers_is_marked_as_a_trial(norms, fitted):
    labels, measured = made_data(norms, speakers=12)
    card = fit_sign(labels, measured, request_of(), norms, fewest_speakers=5).card
    assert card["warnings"][0].startswith("Speakers with the rarer label: only 6; every figure here is a trial")
    assert not any("a trial" in sentence for sentence in fitted.card["warnings"])


def test_a_recording_with_two_labels_is_rejected(tmp_path):
    for name in ("a.wav", "b.wav"):
        (tmp_path / name).write_bytes(b"the same")
    with pytest.raises(StudyError, match=r"a\.wav and b\.wav are the same recording under another speaker or label"):
        reject_shared_recordings(
            {
                tmp_path / "a.wav": RecordingLabel("x", 0, None, None),
                tmp_path / "b.wav": RecordingLabel("x", 1, None, None),
            }
        )


def test_a_feature_that_is_often_missing_is_left_out(norms):
    labels, measured = made_data(norms, speakers=40, recordings=1)
    scarce = {
        path: MeasuredFile(
            {**one.features} if number % 2 else {k: v for k, v in one.features.items() if k != "pitch_reset"},
            30.0,
            25.0,
            16_000,
            80.0,
            70.0,
            (),
        )
        for number, (path, one) in enumerate(measured.items())
    }
    study = make_study(labels, scarce, norms, RULES.study, 10)
    assert study.left_out == ("pitch_reset",)
    assert "voice_shimmer_percent" not in study.features


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("a.wav,x,2", "line 2: label is '2'. Write 1 with the sign and 0 without"),
        ("a.wav,x,yes", "line 2: label is 'yes'."),
        ("a.wav,x,1,,soon", "line 2: recorded_at is not a time."),
    ],
)
def test_an_error_in_the_table_names_its_line(tmp_path, line, sentence):
    (tmp_path / "d.csv").write_text(f"path,speaker,label,session,recorded_at\n{line}\n")
    with pytest.raises(TableError) as refusal:
        read_labels(tmp_path / "d.csv")
    assert sentence in str(refusal.value)


def test_area_slope_and_icc_agree_with_their_textbook_values():
    labels = np.array([0, 0, 1, 1])
    assert auc(np.array([1.0, 2.0, 2.0, 3.0]), labels, np.ones(4)) == pytest.approx(3.5 / 4)
    assert np.isnan(auc(np.arange(4.0), labels, np.array([1.0, 1.0, 0.0, 0.0])))
    assert slope(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), np.ones(3)) == pytest.approx(2.0)
    # Shrout and Fleiss 1979, table 2: six targets, four judges, ICC(1,1) = 0.17
    ratings = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
    subjects = np.repeat(np.arange(6), 4)
    assert intraclass_correlation(ratings.reshape(-1).astype(float), subjects, np.ones(24)) == pytest.approx(
        0.166, abs=0.001
    )


def test_intervals_have_the_nominal_coverage():
    truth, held = 0.5, 0
    rules = RULES.bootstrap.model_copy(update={"draws": 200})
    labels = np.arange(120) % 2
    for seed in range(60):
        scores = np.random.default_rng(seed).normal(size=120)
        found = bootstrap_interval(lambda w, scores=scores: auc(scores, labels, w), np.arange(120), rules)
        held += found.low <= truth <= found.high
    assert held >= 52  # of 60 at 95 %


@pytest.fixture
def study_on_disk(tmp_path, norms):
    """A table of simulated recordings with measurements already in the journal."""
    labels, measured = made_data(norms, speakers=24, recordings=2)
    folder, out = tmp_path / "study", tmp_path / "out"
    folder.mkdir()
    lines = []
    with MeasurementJournal(out / "measured.jsonl", extractor_fingerprint()) as journal:
        for path, label in labels.items():
            (folder / path.name).write_text(path.name)
            journal.record(file_digest(folder / path.name), measured[path])
            lines.append(f"{path.name},{label.speaker},{label.label},{label.session},{label.recorded_at.isoformat()}")
    (folder / "data.csv").write_text("\n".join(["path,speaker,label,session,recorded_at", *lines]) + "\n")
    return folder / "data.csv", out


def test_the_command_writes_sign_and_card(study_on_disk):
    data, out = study_on_disk
    outcome = run(data, "--sign", "slow-speech", "--out", out, "--grade", "C", "--rates", "0.2,0.1,0.05,0.01")
    assert outcome.exit_code == 0, outcome.output
    assert "48 recordings of 24 speakers. AUC: 0." in outcome.stdout
    assert "Measured now: 0, " in outcome.stderr
    card = json.loads((out / "slow-speech.card.json").read_text())
    assert card["levels"]["low"]["stated_rate"] == 0.2
    people = (out / "slow-speech.card.md").read_text()
    for heading in ("# Slow Speech", "## Calibration", "## Test-retest", "## Drift", "## Weights", "## Made with"):
        assert heading in people
    first = {path.name: path.read_bytes() for path in out.iterdir()}
    lines = data.read_text().splitlines()
    data.write_text("\n".join([lines[0], *reversed(lines[1:])]))
    assert (
        run(data, "--sign", "slow-speech", "--out", out, "--grade", "C", "--rates", "0.2,0.1,0.05,0.01").exit_code == 0
    )
    assert {path.name: path.read_bytes() for path in out.iterdir()} == first


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--sign", "stress"], "--sign: the name stress belongs to vbdesk. Choose another.\n"),
        (["--sign", "Slow Speech"], "--sign: use small letters, digits and single hyphens, such as hoarse-voice.\n"),
        (["--sign", "x", "--grade", "A"], "--grade: Input should be 'B', 'C' or 'D'.\n"),
        (["--sign", "x", "--rates", "0.1"], "--rates: name four shares, for low, consider, moderate, elevated"),
        (["--sign", "x", "--rates", "0.1,0.2,0.01,0.001"], "--rates: the rates must descend from low to elevated.\n"),
        (["--sign", "x", "--rates", "a,b,c,d"], "--rates (low): "),
        (["--sign", "x", "--max-level", "high"], "--max-level: "),
        (["--sign", "x", "--timescale", "hours"], "--timescale: "),
    ],
)
def test_a_usage_error_is_one_sentence(study_on_disk, options, sentence):
    outcome = run(study_on_disk[0], *options)
    assert outcome.exit_code == 2
    assert sentence in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_without_scikit_learn_the_command_says_how_to_get_it(study_on_disk):
    code = "import sys; sys.modules['sklearn'] = None; from vbdesk.cli.main import run; run()"
    command = [sys.executable, "-c", code, "signs", "fit", str(study_on_disk[0]), "--sign", "slow-speech"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stdout) == (1, "")
    assert outcome.stderr == "Fitting needs scikit-learn. Install it with: pip install 'vbdesk[lab]'.\n"


def test_the_interval_of_a_cross_validated_value_is_wider_than_the_bootstrap(norms):
    labels, measured = made_data(norms, speakers=100, recordings=1, shifts={}, seed=8)
    assert fit_sign(labels, measured, request_of(), norms).card["auc"]["low"] < 0.52  # 0.53 by drawing alone

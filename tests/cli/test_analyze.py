import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from typer.testing import CliRunner

from patience import HANGS_S
from vbdesk.cli.main import app
from vbdesk.contract.results import ModelResult, SignResult
from vbdesk.language import Language, reading_in


@pytest.fixture
def run():
    """Run the command in this process; gives exit code, stdout and stderr."""

    def run_command(*arguments):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    return run_command


@pytest.fixture
def sound_file(tmp_path):
    """A WAV file of the given samples at 16 kHz."""

    def write(samples):
        path = tmp_path / "sound.wav"
        sf.write(path, samples, 16_000, subtype="PCM_16")
        return path

    return write


def assert_refused(outcome, code, sentence):
    exit_code, stdout, stderr = outcome
    assert exit_code == code
    assert stdout == ""
    assert sentence in stderr
    assert stderr.count("\n") == 1, stderr


def test_json_is_the_result_object_of_a_model(run, male_speech_file):
    code, stdout, stderr = run("analyze", male_speech_file, "--model", "breath", "--json")
    assert (code, stderr) == (0, "")
    result = ModelResult.model_validate_json(stdout)
    assert [signal.name for signal in result.signals] == ["airway-obstruction-pattern", "allergy"]
    assert set(json.loads(stdout)) == {"summary", "signals", "audio_quality", "extended_metrics"}


def test_json_is_the_result_object_of_a_sign_and_its_speakers(run, male_speech_file):
    code, stdout, _ = run("analyze", male_speech_file, "--sign", "stress", "--diarize", "--json")
    assert code == 0
    assert len(SignResult.model_validate_json(stdout).speakers) == 1


def test_where_one_speaker_is_heard_that_is_said(run, male_speech_file):
    said = "One speaker is heard; the levels are those of the whole recording."
    assert said in run("analyze", male_speech_file, "--sign", "stress", "--diarize")[1]
    assert said not in run("analyze", male_speech_file, "--sign", "stress")[1]
    dialogue = male_speech_file.with_name("dialogue_two_speakers_40s.flac")
    two = run("analyze", dialogue, "--sign", "stress", "--diarize")[1]
    assert said not in two
    assert "Voice 2: " in two


def test_without_json_people_read_levels_and_never_scores(run, male_speech_file):
    code, stdout, _ = run("analyze", male_speech_file, "--model", "breath")
    assert code == 0
    for part in ("Overall level", "Recommended action", "Airway Obstruction Pattern", "Speech", "No issue."):
        assert part in stdout
    assert stdout.endswith("For care staff, not a diagnosis.\n")
    assert not re.search(r"\b0\.\d", stdout)


def test_the_summary_is_in_the_readers_language_and_json_is_english(run, male_speech_file):
    command = ["analyze", male_speech_file, "--model", "pulse"]
    with reading_in(Language("de", "de")):
        people, machines = run(*command)[1], run(*command, "--json")[1]
    assert "Diese Aufnahme allein" in people or "dieser Aufnahme" in people
    assert "this recording" in json.loads(machines)["summary"]["description"]["summary"]


def test_a_missing_file_is_a_slip_of_the_caller(run, tmp_path):
    assert_refused(run("analyze", tmp_path / "none.wav", "--model", "pulse"), 2, "There is no file")


def test_a_folder_is_not_a_recording(run, tmp_path):
    assert_refused(run("analyze", tmp_path, "--model", "pulse"), 2, "is not a file")


@pytest.mark.parametrize("arguments", [[], ["--model", "pulse", "--sign", "stress"]])
def test_a_model_or_a_sign_must_be_named(run, male_speech_file, arguments):
    models = "pulse, haven, apex, aria, breath, clarity, harbor, tide"
    said = f"either --model NAME or --sign NAME. The models are: {models}"
    assert_refused(run("analyze", male_speech_file, *arguments), 2, said)


@pytest.mark.parametrize("arguments", [["--model", "wellness"], ["--sign", "dry-mouth"], ["--sign", "depression"]])
def test_an_unknown_name_is_answered_with_the_known_ones(run, male_speech_file, arguments):
    assert_refused(run("analyze", male_speech_file, *arguments), 2, "Choose one of: ")


def test_what_is_not_sound_is_refused(run, tmp_path):
    path = tmp_path / "notes.wav"
    path.write_text("not sound at all " * 200)
    assert_refused(run("analyze", path, "--model", "pulse"), 1, "WAV, FLAC, MP3 or M4A")


def test_a_short_recording_is_refused(run, sound_file):
    speechlike = np.random.default_rng(1).normal(0, 0.1, 10 * 16_000)
    assert_refused(run("analyze", sound_file(speechlike), "--model", "pulse"), 1, "at least 15 seconds")


def test_what_is_a_moment_too_short_is_not_said_to_be_long_enough(run, sound_file):
    noise = np.random.default_rng(1).normal(0, 0.1, 15 * 16_000 - 1)
    assert_refused(run("analyze", sound_file(noise), "--model", "pulse"), 1, "is 14.9 seconds long. Record at least 15")


def test_a_long_recording_is_refused(run, tmp_path):
    path = tmp_path / "long.wav"
    sf.write(path, np.tile(np.array([0.1, -0.1]), 1201 * 2_000), 4_000, subtype="PCM_U8")
    assert_refused(run("analyze", path, "--model", "pulse"), 1, "at most 20 minutes")


def test_silence_is_refused(run, sound_file):
    assert_refused(run("analyze", sound_file(np.zeros(20 * 16_000)), "--model", "pulse"), 1, "microphone")


def test_a_file_over_the_size_limit_is_refused(run, tmp_path):
    path = tmp_path / "large.wav"
    with path.open("wb") as file:
        file.truncate(32 * 1024 * 1024 + 1)
    assert_refused(run("analyze", path, "--model", "pulse"), 1, "at most 32 MB")


def test_the_evidence_of_a_sign_is_shown(run):
    code, stdout, _ = run("signs", "show", "elevated-blood-pressure")
    assert code == 0
    for part in ("Evidence grade D. A placeholder:", "Highest level  Low", "+0.2500", "antihypertensive drugs"):
        assert part in stdout


def test_signs_within_models_are_shown_too(run):
    assert run("signs", "show", "dry-mouth")[0] == 0


def test_an_unknown_sign_has_no_evidence(run):
    assert_refused(run("signs", "show", "boredom"), 2, "Choose one of: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["signs", "list"], ["features", "list"]])
def test_a_full_disk_behind_the_output_is_said_in_one_line(arguments):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "vbdesk", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANGS_S,
        )
    assert done.returncode == 1
    assert done.stderr == "Nothing more can be written: No space left on device. Free some space and try again.\n"


def test_a_refusal_at_the_shell_is_one_line_without_a_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "vbdesk", "analyze", tmp_path / "none.wav", "--sign", "stress"],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr

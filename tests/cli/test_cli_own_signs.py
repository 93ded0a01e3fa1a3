"""Signs of a lab's own on the command line."""

import json

import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app

SIGN = """\
format = 1
name = "slow-speech"
version = "3.0"
evidence_grade = "C"
max_level = "moderate"
meaning = "how slow the speech is"
known = "nothing yet"
timescale = "fast"
confounders = ["reading aloud"]
model = { kind = "linear", weights = { speech_rate = -0.6, pause_ratio = 0.4 } }
reference = { mean = 0.1, sd = 0.5 }
cut_points = { low = 1.0, consider = 1.5, moderate = 2.0, elevated = 2.5 }
expected_rate = { low = 0.1, consider = 0.05, moderate = 0.015, elevated = 0.005 }
"""


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "slow-speech.toml").write_text(SIGN)
    return tmp_path


@pytest.fixture(scope="module")
def recording(request):
    return request.config.rootpath / "tests" / "data" / "speech_male_20s.flac"


def test_a_recording_is_analysed_for_a_sign_of_ones_own(folder, recording):
    outcome = run("analyze", recording, "--sign", "slow-speech", "--signs-dir", folder, "--json")
    assert outcome.exit_code == 0, outcome.output
    signal = json.loads(outcome.stdout)["signal"]
    assert (signal["name"], signal["label"], signal["sign_version"]) == ("slow-speech", "Slow Speech", "3.0")
    people = run("analyze", recording, "--sign", "slow-speech", "--signs-dir", folder)
    assert people.stdout.startswith("Slow Speech  ")


def test_a_sign_that_is_unknown_or_broken_is_refused_in_one_line(folder, recording):
    unknown = run("analyze", recording, "--sign", "nonsense", "--signs-dir", folder)
    assert unknown.exit_code == 2
    assert unknown.stderr.endswith("substance-use-pattern, slow-speech.\n")
    other = folder / "other"
    other.mkdir()
    (other / "broken.toml").write_text("name = ")
    broken = run("analyze", recording, "--sign", "broken", "--signs-dir", other)
    assert broken.exit_code == 2
    assert broken.stderr.startswith("The sign 'broken' cannot be used: broken.toml is not valid TOML: ")
    nowhere = run("analyze", recording, "--sign", "slow-speech", "--signs-dir", folder / "absent")
    assert (nowhere.exit_code, nowhere.stderr) == (2, f"There is no folder {folder / 'absent'}.\n")


def test_check_tells_which_signs_can_be_used(folder):
    good = run("signs", "check", folder)
    assert (good.exit_code, good.stderr) == (0, "")
    assert good.stdout == "slow-speech  version 3.0, linear, 2 features, evidence C, at most moderate\n"


def test_check_names_what_is_wrong(tmp_path):
    (tmp_path / "slow-speech.toml").write_text(SIGN.replace("sd = 0.5", "sd = -1"))
    bad = run("signs", "check", tmp_path)
    assert bad.exit_code == 1
    assert "slow-speech.toml: reference.sd: Input should be greater than 0." in bad.stderr
    assert run("signs", "check", tmp_path / "absent").exit_code == 2

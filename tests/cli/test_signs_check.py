"""Signs of a lab's own on the command line."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app
from vbdesk.contract.catalog import SignName
from vbdesk.resource_files import resource

SIGN = (Path(__file__).parents[1] / "data" / "slow-speech.toml").read_text(encoding="utf-8")


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
    assert good.stdout == "slow-speech: version 3.0, linear, 2 features. Evidence grade: C. Highest level: Moderate.\n"


def test_check_names_what_is_wrong(tmp_path):
    (tmp_path / "slow-speech.toml").write_text(SIGN.replace("sd = 0.5", "sd = -1"))
    bad = run("signs", "check", tmp_path)
    assert bad.exit_code == 1
    assert "slow-speech.toml: reference.sd: Input should be greater than 0." in bad.stderr
    assert run("signs", "check", tmp_path / "absent").exit_code == 2


def test_a_sign_of_ones_own_is_listed_after_those_that_ship(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")  # a narrower table has several lines in a row
    listed = run("signs", "list", "--signs-dir", folder)
    assert listed.exit_code == 0, listed.output
    row = next(line for line in listed.stdout.splitlines() if line.startswith("slow-speech"))
    assert " ".join(row.split()) == "slow-speech C Moderate 5.0% none, a sign of your own"
    sheets = json.loads(run("signs", "list", "--signs-dir", folder, "--json").stdout)
    assert [sheet["name"] for sheet in sheets[len(SignName) :]] == ["slow-speech"]
    assert "slow-speech" not in run("signs", "list").stdout


def test_its_sheet_says_what_its_file_says(folder):
    text = " ".join(run("signs", "show", "slow-speech", "--signs-dir", folder).stdout.split())
    for words in (
        "Slow Speech (slow-speech), version 3.0, a sign of your own",
        "A biomarker signal, not a diagnosis.",
        "Evidence grade C, as its file says.",
        "Highest level Moderate",
        "Changes within days",
        "Model linear",
        "slow-speech.toml",
        "-0.6000 Speech rate (speech_rate)",
        "Consider 1.500 0.5000 5.00%",
        "Elevated 2.500 0.7159 0.50% (reported as “Moderate”)",
        "reading aloud",
    ):
        assert words in text
    sheet = json.loads(run("signs", "show", "slow-speech", "--signs-dir", folder, "--json").stdout)
    assert (sheet["version"], sheet["evidence_grade"], sheet["max_level"]) == ("3.0", "C", "moderate")
    assert Path(sheet["found_in"]) == folder / "slow-speech.toml"
    assert sheet["cuts"][2] == {
        "level": "moderate",
        "index": 2.0,
        "score": 0.6135,
        "expected_share": 0.015,
        "reported": True,
    }


def test_the_sheet_of_a_network_names_its_file_and_digest(folder, recording):
    network = recording.with_name("logistic_three_features.onnx")
    digest = hashlib.sha256(network.read_bytes()).hexdigest()
    shutil.copy(network, folder)
    model = (
        f'model = {{ kind = "onnx", file = "{network.name}", sha256 = "{digest}", gives = "probability", '
        'features = ["pitch_variability", "speech_rate", "pause_ratio"] }'
    )
    text = SIGN.replace("slow-speech", "network-voice")
    lines = [model if line.startswith("model") else line for line in text.splitlines()]
    (folder / "network-voice.toml").write_text("\n".join(lines))
    shown = json.loads(run("signs", "show", "network-voice", "--signs-dir", folder, "--json").stdout)
    assert (shown["model"]["kind"], shown["model"]["file"], shown["model"]["sha256"]) == ("onnx", network.name, digest)
    assert [row["weight"] for row in shown["features"]] == [None, None, None]
    people = run("signs", "show", "network-voice", "--signs-dir", folder).stdout
    assert digest in people
    assert "– Speech rate (speech_rate)" in " ".join(people.split())


def test_a_broken_sign_is_named_and_the_others_are_listed(folder):
    (folder / "broken.toml").write_text("name = ")
    listed = run("signs", "list", "--signs-dir", folder)
    assert listed.exit_code == 0
    assert "slow-speech" in listed.stdout
    assert "broken cannot be used" in listed.stderr
    shown = run("signs", "show", "broken", "--signs-dir", folder)
    assert (shown.exit_code, shown.stderr.count("\n")) == (1, 1)
    assert "broken.toml is not valid TOML" in shown.stderr
    unknown = run("signs", "show", "nonsense", "--signs-dir", folder)
    assert unknown.exit_code == 2
    assert "slow-speech" in unknown.stderr


def test_a_recording_is_compared_with_norms_of_ones_own(folder, recording):
    shipped = resource("norms", "norms.toml").read_text(encoding="utf-8")
    own = folder / "site.toml.norms"
    own.write_text(shipped.replace('version = "2.0.0"', 'version = "2.0+site"', 1), encoding="utf-8")
    outcome = run("analyze", recording, "--sign", "slow-speech", "--signs-dir", folder, "--norms", own, "--json")
    assert json.loads(outcome.stdout)["signal"]["sign_version"] == "3.0+norms.2.0.site"
    people = run("analyze", recording, "--model", "haven", "--norms", own)
    assert people.stdout.splitlines()[-1] == "Norms 2.0+site, of site.toml.norms"
    gone = run("analyze", recording, "--model", "haven", "--norms", folder / "gone.toml")
    assert (gone.exit_code, gone.stderr.count("\n")) == (1, 1)
    assert "gone.toml cannot be read" in gone.stderr

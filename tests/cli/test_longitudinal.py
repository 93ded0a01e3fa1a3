"""`vbdesk longitudinal` on files and on standard input."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app
from vbdesk.resource_files import resource

GOLDEN = json.loads((Path(__file__).parents[1] / "longitudinal" / "golden.json").read_text())
JOB = {"job_id": "a", "recorded_at": "2026-01-01T09:00:00Z", "scores": {"stress": {"score": 0.3}}}
CASE = {"as_of": "2026-03-01T00:00:00Z", "jobs": [JOB, {**JOB, "job_id": "b", "recorded_at": "2026-01-09T09:00:00Z"}]}


@pytest.fixture
def run(tmp_path):
    def invoke(text):
        path = tmp_path / "history.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return CliRunner().invoke(app, ["longitudinal", str(path)])

    return invoke


def flat(value, place=""):
    """Every leaf of nested JSON by its path."""
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {name: leaf for key, item in items for name, leaf in flat(item, f"{place}/{key}").items()}
    return {place: value}


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=[case["name"][:2] for case in GOLDEN["cases"]])
def test_a_case_gives_what_is_expected_of_it(run, case):
    result = run(json.dumps(case))
    assert result.exit_code == 0, result.stderr
    printed, expected = flat(json.loads(result.stdout)), flat(case["expected"])
    assert printed.keys() == expected.keys()
    for place, value in expected.items():
        numbers = isinstance(value, float) and isinstance(printed[place], float)
        assert (
            math.isclose(printed[place], value, rel_tol=1e-9, abs_tol=1e-9) if numbers else printed[place] == value
        ), place


def test_a_case_may_come_from_standard_input(run):
    text = json.dumps(CASE)
    piped = CliRunner().invoke(app, ["longitudinal", "-"], input=text)
    assert piped.exit_code == 0, piped.stderr
    assert json.loads(piped.stdout) == json.loads(run(text).stdout)
    empty = CliRunner().invoke(app, ["longitudinal", "-"], input="")
    assert (empty.exit_code, empty.stdout) == (2, "")
    assert empty.stderr.startswith("stdin: This is not JSON")


def test_a_byte_order_mark_and_times_in_seconds_are_read(run):
    seconds = {**CASE, "as_of": 1772323200, "options": {"job": "a"}}
    report = json.loads(run(b"\xef\xbb\xbf" + json.dumps(seconds).encode()).stdout)
    assert report["job_fields"]["job_id"] == "a"
    assert report["job_fields"]["signs"]["stress"] == {
        "latest_score": None,
        "baseline_score": None,
        "deviation_from_baseline": None,
        "anomaly": None,
        "z_score": None,
        "population_z": None,
        "n_recordings": 1,
        "n_timepoints": 1,
    }


def test_the_fields_of_every_job_can_be_asked_for(tmp_path):
    case = GOLDEN["cases"][18]
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case | {"options": case["options"] | {"signs": ["stress"]}}))
    every = json.loads(CliRunner().invoke(app, ["longitudinal", str(path), "--each-job"]).stdout)["job_fields"]
    assert [job["job_id"] for job in every] == [job["job_id"] for job in case["jobs"]]
    assert set(every[0]["signs"]["stress"].values()) == {None}
    expected = case["expected"]["job_fields"]["signs"]["stress"]
    assert every[-1]["signs"]["stress"] == pytest.approx(
        {name: expected[name] for name in every[-1]["signs"]["stress"]}
    )


def test_an_empty_history_is_a_history(run):
    assert json.loads(run('{"as_of": 0, "jobs": []}').stdout) == {"trajectory": {}}


def test_the_last_moment_there_is_can_be_read_at(run):
    report = json.loads(run(json.dumps({**CASE, "as_of": "9999-12-31T23:59:59Z"})).stdout)
    assert report["job_fields"]["job_id"] == "b"


def test_a_wide_interval_of_a_score_lowers_its_weight(run):
    def latest(**more):
        last = {**JOB, "job_id": "c", "recorded_at": "2026-01-16T09:00:00Z"}
        last["scores"] = {"stress": {"score": 0.8, **more}}
        report = json.loads(run(json.dumps({**CASE, "jobs": [*CASE["jobs"], last]})).stdout)
        return report["trajectory"]["stress"]["latest_score"]

    assert latest(score_interval=[0.75, 0.85]) == latest()
    assert 0.3 < latest(score_interval=[0.2, 1.0]) < latest() - 0.05


def changed(**changes):
    return json.dumps(CASE | changes)


def with_job(**changes):
    return changed(jobs=[JOB | changes])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[{", "This is not JSON (line 1, column 3)"),
        ("[]", "The file must hold one JSON object with as_of and jobs."),
        ('{"jobs": []}', "as_of is missing."),
        ('{"as_of": 0}', "jobs is missing."),
        (changed(as_of="yesterday"), "as_of: Give the time as ISO 8601"),
        (changed(as_of=1e30), "as_of: Give the time as ISO 8601"),
        (changed(as_of=True), "as_of: Give the time as ISO 8601"),
        (changed(as_of="2026-02-30T00:00:00Z"), "as_of: There is no such time"),
        (changed(colour="red"), "colour is not a field of a history"),
        (changed(options={"sign": "stress"}), "options.sign is not a field of a history"),
        (changed(options={"refs": {"stress": {"location": -1, "scale": 0}}}), "options.refs.stress.scale: "),
        (changed(options={"job": "z"}), "options.job names z, which is not among the jobs."),
        (changed(jobs=[JOB, JOB]), "Two jobs have the id a; give each its own."),
        (with_job(recorded_at="2026-01-01"), "jobs.0.recorded_at: Give the time as ISO 8601"),
        (with_job(status="lost"), "jobs.0.status: "),
        (with_job(duration_s=-1), "jobs.0.duration_s: "),
        (with_job(voice_percentage=101), "jobs.0.voice_percentage: "),
        (with_job(audio_clarity="loud"), "jobs.0.audio_clarity: "),
        (with_job(scores={"stress": {"score": "much"}}), "jobs.0.scores.stress.score: "),
        (with_job(scores={"stress": {"score": 0.3, "level": "grave"}}), "jobs.0.scores.stress.level: "),
        (with_job(scores={"stress": 0.3}), "jobs.0.scores.stress: "),
        (with_job(scores={"stress": {"score": True}}), "jobs.0.scores.stress.score: "),
        (with_job(scores={"stress": {"score": 0.3, "score_interval": [0.5, 0.2]}}), "Give the lower end first."),
        (f'{{"as_of": {"9" * 5000}, "jobs": []}}', "a number with too many digits"),
        (b"\xff\xfe\x00", "history.json is not text in UTF-8."),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_history_is_refused_with_one_sentence(run, text, sentence):
    result = run(text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_refused(tmp_path):
    result = CliRunner().invoke(app, ["longitudinal", str(tmp_path / "none.json")])
    assert result.exit_code == 2
    assert result.stderr == "none.json cannot be read: No such file or directory.\n"


def test_a_folder_is_named_as_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["longitudinal", "."])
    assert (result.exit_code, result.stderr) == (2, f"{tmp_path.name} cannot be read: Is a directory.\n")


def test_the_method_may_be_named_in_the_file_or_on_the_line(tmp_path):
    case = GOLDEN["cases"][5]  # twenty weekly recordings
    plain, named = tmp_path / "plain.json", tmp_path / "named.json"
    plain.write_text(json.dumps(case))
    named.write_text(json.dumps(case | {"options": case["options"] | {"method": "tss-2"}}))

    def report(*arguments):
        result = CliRunner().invoke(app, ["longitudinal", *map(str, arguments)])
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    unnamed, second = report(plain), report(named)
    assert "method" not in unnamed
    assert (second["method"], second["parameters_version"]) == ("tss-2", "tss-2.0")
    assert report(plain, "--method", "tss-2") == second
    assert report(named, "--method", "tss-1") == {"method": "tss-1", "parameters_version": "tss-1", **unnamed}
    assert second["trajectory"] != unnamed["trajectory"]
    shipped = resource("longitudinal", "tss-2.toml")
    assert report(plain, "--parameters", shipped) == second
    assert report(plain, "--each-job", "--method", "tss-2")["method"] == "tss-2"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--method", "tss-9"], "There is no method tss-9. Choose one of: tss-1, tss-2."),
        (["--parameters", "gone.toml"], "gone.toml cannot be read"),
        (
            ["--method", "tss-1", "--parameters", str(resource("longitudinal", "tss-2.toml"))],
            "tss-2.toml holds parameters of tss-2, not of tss-1.",
        ),
    ],
)
def test_a_wrong_choice_of_parameters_is_explained(arguments, complaint):
    result = CliRunner().invoke(app, ["longitudinal", "-", *arguments], input=json.dumps(CASE))
    assert result.exit_code == 2
    assert complaint in result.stderr

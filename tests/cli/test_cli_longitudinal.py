"""`vbdesk longitudinal` on files."""

import json

import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app

JOBS = [
    {
        "job_id": f"j{k}",
        "recorded_at": f"2026-01-{1 + 7 * k:02d}T09:00:00Z",
        "duration_s": 60.0,
        "voice_percentage": 65.0,
        "audio_clarity": 80.0,
        "signs": {"stress": {"score": score, "level": "low"}, "fatigue": {"score": 0.3}},
    }
    for k, score in enumerate([0.3, 0.35, 0.3, 0.6])
]
CSV = "job_id,recorded_at,duration_s,voice_percentage,audio_clarity,sign,score,level\n" + "".join(
    f"{job['job_id']},{job['recorded_at']},60,65,80,{name},{sign['score']},{sign.get('level', '')}\n"
    for job in JOBS
    for name, sign in job["signs"].items()
)


@pytest.fixture
def run(tmp_path):
    def invoke(name, text, *options):
        path = tmp_path / name
        path.write_text(text)
        return CliRunner().invoke(app, ["longitudinal", str(path), *options])

    return invoke


def test_json_and_csv_give_the_same_unrounded_numbers(run):
    from_json = run("history.json", json.dumps(JOBS))
    from_csv = run("history.csv", CSV)
    assert from_json.exit_code == 0, from_json.output
    assert from_json.stdout == from_csv.stdout
    stress = json.loads(from_json.stdout)["signs"]["stress"]
    assert stress["n_timepoints"] == 4
    assert stress["latest_score"] != round(stress["latest_score"], 4)


def test_one_job_and_one_sign_can_be_asked_for(run):
    report = json.loads(run("history.json", json.dumps(JOBS), "--job", "j0", "--sign", "stress").stdout)
    assert report["signs"] == {"stress": None}
    report = json.loads(run("history.json", json.dumps(JOBS), "--job", "j3").stdout)
    assert report["signs"]["stress"]["latest_score"] > report["signs"]["stress"]["baseline_score"]


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("h.json", "[{", "is not JSON"),
        ("h.json", "[]", "holds no recordings"),
        ("h.json", '[{"recorded_at": "yesterday", "signs": {"stress": {"score": 0.3}}}]', "correct 0.recorded_at"),
        ("h.csv", "recorded_at,score\n", "lacks the column sign"),
        ("h.csv", "recorded_at,sign,score\n2026-01-01T00:00:00,stress,much\n", "correct 0.signs.stress.score"),
    ],
)
def test_a_file_that_is_no_history_is_refused_with_a_sentence(run, name, text, sentence):
    result = run(name, text)
    assert result.exit_code == 2
    assert sentence in result.stderr

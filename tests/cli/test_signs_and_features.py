"""`vbdesk signs` and `vbdesk features`: evidence and definitions; `vbdesk analyze` in other languages."""

import json

import pandas
import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app
from vbdesk.contract.catalog import SignName
from vbdesk.signs.reference_data import load_reference_data


@pytest.fixture
def run():
    def invoke(*arguments):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        return done.exit_code, done.stdout, done.stderr

    return invoke


@pytest.fixture(scope="module")
def recording(request):
    return request.path.parents[1] / "data" / "speech_male_20s.flac"


@pytest.mark.parametrize("name", list(SignName))
def test_the_sheet_of_a_sign_says_everything_that_stands_behind_it(run, name):
    reference = load_reference_data()
    sign = reference.calibration.signs[name]
    code, stdout, _ = run("signs", "show", name)
    assert code == 0
    flat = " ".join(stdout.split())
    assert f"calibration {reference.calibration.meta.version}" in flat
    assert f"Evidence grade {sign.evidence_grade}" in flat
    assert f"Highest level {sign.max_level.value.capitalize()}" in flat
    assert sign.known in flat
    for row in sign.evidence:
        assert f"{row.weight:+.4f} {row.direction}" in flat
    for cut in sign.cuts.values():
        assert f"{cut:.3f}" in flat
    assert all(confounder in flat for confounder in sign.confounders)
    assert max(len(line) for line in stdout.splitlines()) <= 120


def test_the_sheet_as_json_carries_the_numbers(run):
    sheet = json.loads(run("signs", "show", "stress", "--json")[1])
    sign = load_reference_data().calibration.signs[SignName.STRESS]
    assert sum(abs(row["weight"]) for row in sheet["features"]) == pytest.approx(1, abs=1e-3)
    assert [cut["index"] for cut in sheet["cuts"]] == list(sign.cuts.values())
    assert sheet["cuts"][1]["score"] == 0.5
    assert 0 < sheet["cuts"][1]["expected_share"] < 0.05
    cited = {key for row in sheet["features"] for key in row["cites"]}
    assert cited == {source["key"] for source in sheet["sources"]}


def test_levels_above_the_highest_allowed_are_marked(run):
    sheet = json.loads(run("signs", "show", "hypervigilance", "--json")[1])
    assert [cut["reported"] for cut in sheet["cuts"]] == [True, True, False, False]
    assert run("signs", "show", "hypervigilance")[1].count("(reported as “Consider”)") == 2


def test_twins_are_named_on_both_sheets(run):
    for one, other in (("dehydration", "dry-mouth"), ("dry-mouth", "dehydration")):
        assert json.loads(run("signs", "show", one, "--json")[1])["twins"] == [other]
        shown = run("signs", "show", one)[1]
        assert next(line for line in shown.splitlines() if line.startswith(f"  {other} +0.9")).endswith("stays low")
    assert json.loads(run("signs", "show", "fatigue", "--json")[1])["twins"] == []


def test_repeatability_is_told_as_the_share_of_repeats_that_it_is(run):
    change = load_reference_data().calibration.signs[SignName.STRESS].mdc95_free_speech
    assert f"95 of 100 repeats lie within {change:g} SD of the index" in " ".join(
        run("signs", "show", "stress")[1].split()
    )


def test_all_signs_are_listed(run):
    code, stdout, _ = run("signs", "list")
    assert code == 0
    assert all(f"\n{name} " in stdout for name in SignName)
    assert [sheet["name"] for sheet in json.loads(run("signs", "list", "--json")[1])] == list(SignName)


def test_every_feature_has_a_definition_a_unit_and_a_source(run):
    sheets = json.loads(run("features", "list", "--json")[1])
    assert len(sheets) == 36
    for sheet in sheets:
        assert sheet["unit"]
        assert len(sheet["definition"]) > 20
        assert sheet["norm_sources"]
        assert sheet["high_means"] != sheet["low_means"] or "as voice_shimmer" in sheet["high_means"]
    listed = run("features", "list")[1]
    assert [sheet["feature"] for sheet in sheets if f"{sheet['feature']} (" not in listed] == []


def test_the_source_of_a_definition_is_told_apart_from_that_of_the_norms(run):
    jitter = " ".join(run("features", "show", "voice_jitter")[1].split())
    assert "Definition after: Boersma, P.; Weenink, D. (2021). Praat: doing phonetics by computer." in jitter
    assert "Reference values from: Weinberger, S. H. (2015)." in jitter
    assert "Definition after: vbdesk's own" in " ".join(run("features", "show", "pause_ratio")[1].split())


def test_a_feature_names_the_signs_that_use_it(run):
    code, stdout, _ = run("features", "show", "pause_duration")
    assert code == 0
    assert "mood-disruption" in stdout
    assert "Mean length of the silences" in stdout


def test_an_unknown_feature_is_refused_with_those_there_are(run):
    code, _, stderr = run("features", "show", "charm")
    assert code == 2
    assert "There is no feature 'charm'. Choose one of: pitch_mean," in stderr


def test_every_feature_of_a_recording_has_a_value_or_a_reason_in_words(run, recording):
    rows = json.loads(run("features", "measure", recording, "--json")[1])
    assert len(rows) == 36
    for row in rows:
        assert (row["value"] is None) == (row["reason"] is not None)
    assert run("features", "measure", recording)[1].count("\n") == 36


@pytest.fixture(scope="module")
def study(tmp_path_factory, recording):
    """A recording twice, one with odd names, and one that is none."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "visit 2").mkdir()
    for name in ("=first.flac", "visit 2/second.FLAC"):
        (folder / name).write_bytes(recording.read_bytes())
    (folder / "broken.wav").write_bytes(b"no sound")
    (folder / ".hidden.wav").write_bytes(b"no sound")
    (folder / "notes.txt").write_text("tired")
    return folder


def test_a_folder_becomes_one_table_and_is_measured_once(run, study, recording, tmp_path, monkeypatch):
    monkeypatch.chdir(study)
    out = tmp_path / "features.csv"
    code, stdout, stderr = run("features", "measure", ".", "--out", out, "--jobs", 1)
    assert (code, stdout) == (1, f"{out}\n")
    assert "Not measured: 1 of 3 recordings." in stderr
    frame = pandas.read_csv(out)
    assert dict(zip(frame["path"], frame["status"], strict=True)) == {
        "'=first.flac": "measured",
        "broken.wav": "failed",
        "visit 2/second.FLAC": "measured",
    }
    broken, first = frame[frame["path"] == "broken.wav"].iloc[0], frame[frame["path"] == "'=first.flac"].iloc[0]
    assert "sound file" in broken["reason"]
    assert pandas.isna(broken["pitch_mean"])
    single = {row["feature"]: row["value"] for row in json.loads(run("features", "measure", recording, "--json")[1])}
    assert len(single) == 36
    for name, value in single.items():
        assert pandas.isna(first[name]) if value is None else first[name] == pytest.approx(value), name
    words = pandas.read_csv(tmp_path / "features_dictionary.csv", keep_default_na=False)
    assert words["column"].tolist() == frame.columns.tolist()
    assert words.set_index("column").loc["pitch_mean", "unit"] == "Hz"
    again = run("features", "measure", ".", "--out", out, "--jobs", 1)
    assert again[0] == 1
    assert "--force" in again[2]
    before = out.read_bytes()
    forced = run("features", "measure", ".", "--out", out, "--jobs", 1, "--force")
    assert "Measured now: 0" in forced[2] or "Measured now: 1" in forced[2]
    assert out.read_bytes() == before


def test_a_folder_without_recordings_is_not_measured(run, tmp_path):
    assert run("features", "measure", tmp_path) == (2, "", "There is no WAV, FLAC, MP3 or M4A file in it.\n")


def test_a_file_that_is_not_there_is_not_measured(run, tmp_path):
    code, _, stderr = run("features", "measure", tmp_path / "none.wav")
    assert (code, stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("tag", "beginning"), [("de-CH", ("Keines", "Es gibt", "Die Aufnahme")), ("es", ("Ninguna", "Hay", "La grab"))]
)
def test_the_summary_comes_in_the_language_asked_for(run, recording, tag, beginning):
    code, stdout, _ = run("analyze", recording, "--model", "clarity", "--language", tag, "--json")
    assert code == 0
    assert json.loads(stdout)["summary"]["description"]["summary"].startswith(beginning)


def test_a_language_without_words_is_refused_before_anything_is_analysed(run, recording):
    code, _, stderr = run("analyze", recording, "--model", "clarity", "--language", "pt")
    assert code == 2
    assert "Choose one of: en, ar, de, es, fr, pt-BR." in stderr

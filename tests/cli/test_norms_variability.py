"""`vbdesk norms variability`: what it says when it cannot fit, and how it scores a recording."""

import pytest
from typer.testing import CliRunner

from vbdesk.cli.main import app
from vbdesk.lab.variability.person_recordings import find_persons, score_person_recording
from vbdesk.resource_files import resource


@pytest.fixture
def run(tmp_path):
    def invoke(folder):
        out = tmp_path / "own.toml"
        result = CliRunner().invoke(app, ["norms", "variability", str(folder), "--out", str(out), "--jobs", "1"])
        assert not out.exists()
        return result

    return invoke


def test_a_missing_folder_is_told(run, tmp_path):
    result = run(tmp_path / "gone")
    assert result.exit_code == 2
    assert "There is no folder" in result.stderr


def test_a_folder_without_recordings_is_told(run, tmp_path):
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "notes.txt").write_text("no recording")
    result = run(tmp_path)
    assert result.exit_code == 1
    assert "add recordings of other sessions" in result.stderr


def test_each_folder_is_a_person(tmp_path):
    for name in ("anna/1.wav", "anna/later/2.FLAC", "ben/1.mp3", "ben/1.csv", "loose.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    names = {person: [path.name for path in paths] for person, paths in find_persons(tmp_path).items()}
    assert names == {"anna": ["1.wav", "2.FLAC"], "ben": ["1.mp3"]}


def test_a_recording_is_scored_whole_and_in_halves(tmp_path):
    scored = score_person_recording(min(resource("samples").glob("*.flac"), key=lambda path: path.stat().st_size))
    assert not isinstance(scored, str)
    first, second = scored.halves
    assert first.duration_s + second.duration_s == pytest.approx(scored.whole.duration_s, abs=0.001)
    for entry in (scored.whole, first, second):
        assert {"stress", "mood-disruption", "dry-mouth"} <= entry.signs.keys()
        assert 50 < entry.voice_percentage <= 100
    assert first.signs != second.signs
    pitch = scored.features["pitch_mean"]
    assert 60 < pitch.value < 350
    assert (pitch.unit, pitch.duration_s) == ("Hz", scored.whole.duration_s)
    broken = tmp_path / "broken.wav"
    broken.write_bytes(b"RIFF")
    assert isinstance(score_person_recording(broken), str)
    assert score_person_recording(tmp_path / "gone.wav").startswith("It cannot be read")

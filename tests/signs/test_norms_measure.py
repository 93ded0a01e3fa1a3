"""Norms measured from a simulated group with known truth."""

import os
import re
import signal
import subprocess
import sys
import tomllib

import numpy as np
import pytest
import soundfile as sf
from typer.testing import CliRunner

from patience import until
from vbdesk.cli.main import app
from vbdesk.data_files import read_data
from vbdesk.lab.corpus.measurement import MeasuredFile
from vbdesk.lab.corpus.recording_table import TableError
from vbdesk.lab.norms.norms_writer import fit_logistic, measure_norms, write_norms
from vbdesk.lab.norms.reference_group import ReferenceSpeaker, group_by_speaker, read_recording_speakers
from vbdesk.lab.norms.spread import line_through, spread_of
from vbdesk.resource_files import resource
from vbdesk.signs.norms import Norms

MALE, FEMALE = 0, 1


def drawn_group(norms, n=300, *, without=()):
    """Speakers whose features are drawn from the shipped norms, with pitch growing by age in men."""
    random = np.random.default_rng(5)
    group = []
    for index in range(n):
        sex = ("male", "female")[index % 2]
        age = float(random.uniform(20, 70))
        features = {}
        for name, norm in norms.features.items():
            spread = norm.male if sex == "male" else norm.female
            z = random.standard_normal()
            if name == "pitch_mean" and sex == "male":
                z = 0.6 * (age - 45) / 14.4 + 0.8 * z
            transformed = spread.t_mean + spread.t_sd * z
            features[name] = float(np.exp(transformed)) if norm.scale == "log" else float(transformed)
        group.append(
            ReferenceSpeaker(f"s{index:03}", sex, age, {k: v for k, v in features.items() if k not in without})
        )
    return group


@pytest.fixture
def written(tmp_path):
    """Write measured norms; read them as norms and as TOML."""

    def write(group, fewest=20, language="en"):
        result = measure_norms(group, fewest, language)
        write_norms(result, tmp_path / "norms.toml")
        text = (tmp_path / "norms.toml").read_text(encoding="utf-8")
        return result, read_data(tmp_path / "norms.toml", Norms), tomllib.loads(text)

    return write


def test_the_norms_of_a_simulated_group_are_those_of_the_simulation(reference, written):
    result, norms, _ = written(drawn_group(reference.norms))
    assert (result.measured, result.kept) == (36, {})
    errors = []
    for name, norm in norms.features.items():
        shipped = reference.norms.features[name]
        if shipped.floor or shipped.ceiling:
            continue  # what was drawn beyond them is held to them
        for sex in ("male", "female"):
            errors.append((getattr(norm, sex).t_mean - getattr(shipped, sex).t_mean) / getattr(shipped, sex).t_sd)
            assert getattr(norm, sex).t_sd / getattr(shipped, sex).t_sd == pytest.approx(1, abs=0.22)
    assert np.max(np.abs(errors)) < 0.3  # 150 of each: standard error 0.08
    assert np.std(errors) < 0.12


def test_a_file_has_the_form_of_the_shipped_one(reference, written):
    _, norms, content = written(drawn_group(reference.norms), language="de-AT")
    assert norms.meta.language == "de-AT"
    shipped = tomllib.loads(resource("norms", "norms.toml").read_text(encoding="utf-8"))
    assert list(content["feature"]) == list(shipped["feature"])
    for name, entry in content["feature"].items():
        for part in ("male", "female", "mixed"):
            assert list(entry[part]) == list(shipped["feature"][name][part])
        assert entry["method"] == shipped["feature"][name]["method"]
        assert entry["norm_source"] == "measured"
    assert content["meta"]["n_male"] == content["meta"]["n_female"] == 150
    mixed, male, female = (content["feature"]["pitch_mean"][part] for part in ("mixed", "male", "female"))
    assert mixed["t_mean"] == pytest.approx((male["t_mean"] + female["t_mean"]) / 2, abs=1e-4)
    assert mixed["t_sd"] > 1.5 * male["t_sd"]
    assert male["low_at_or_below"] < male["p05"] < male["p50"] < male["p95"] < male["high_from"]


def test_age_slopes_are_found_where_there_are_any(reference, written):
    _, _, content = written(drawn_group(reference.norms))
    slopes = content["feature"]["pitch_mean"]["age_slope"]
    assert slopes["male"]["significant"]
    assert slopes["male"]["sd_per_decade"] == pytest.approx(0.6 / 1.44, abs=0.12)
    flat = [
        slope["significant"]
        for name, entry in content["feature"].items()
        for sex, slope in entry["age_slope"].items()
        if (name, sex) != ("pitch_mean", "male")
    ]
    assert np.mean(flat) < 0.05


def test_a_feature_with_too_few_speakers_keeps_its_shipped_numbers(reference, written):
    result, norms, content = written(drawn_group(reference.norms, 60, without=["pause_duration"]), fewest=30)
    assert list(result.kept) == ["pause_duration"]
    assert norms.features["pause_duration"] == reference.norms.features["pause_duration"]
    assert content["feature"]["pause_duration"]["norm_source"] == (
        "kept from the shipped norms: measured in 0 male and 0 female speakers, 30 of each are needed"
    )


def test_one_wild_value_counts_as_the_limit(reference):
    norm = reference.norms.features["pitch_mean"]
    values = list(np.random.default_rng(1).normal(120, 15, 200))
    calm, wild = spread_of(norm, values), spread_of(norm, [*values, 900.0])
    assert wild.values[-1] == 900.0  # nobody is left out
    assert wild.mean == pytest.approx(calm.mean, abs=0.02 * calm.sd)
    assert wild.sd == pytest.approx(calm.sd, rel=0.03)


@pytest.mark.parametrize("share_on_floor", [0.05, 0.2, 0.4])
def test_fluent_readers_on_the_floor_do_not_narrow_the_spread(reference, share_on_floor):
    """Values on the floor are only known to be there; the spread of all is that of the whole distribution."""
    norm = reference.norms.features["pause_rate"]
    drawn = np.random.default_rng(3).normal(0, 0.5, 4000)
    drawn += np.log(norm.floor) - np.quantile(drawn, share_on_floor)
    spread = spread_of(norm, np.exp(drawn).tolist())
    assert spread.at_limit == pytest.approx(4000 * share_on_floor, abs=2)
    assert spread.mean == pytest.approx(drawn.mean(), abs=0.03)
    assert spread.sd == pytest.approx(0.5, rel=0.05)


def test_a_line_over_pitch_is_found_and_a_wild_value_hardly_moves_it():
    random = np.random.default_rng(4)
    pitch = random.uniform(-6, 8, 300)
    values = 2.0 + 0.1 * pitch + 0.3 * random.standard_normal(300)
    values[7] = 100.0
    line = line_through(pitch, values, np.ones(300))
    assert (line.mean, line.slope) == (pytest.approx(2.0, abs=0.06), pytest.approx(0.1, abs=0.015))
    assert line.sd == pytest.approx(0.3, rel=0.15)


def test_the_sex_of_a_group_is_recovered_from_pitch_and_tract():
    """Two normal groups of one SD: the log odds are linear, with slope d / SD."""
    random = np.random.default_rng(6)
    female = np.arange(4000) % 4 == 0  # unequal groups weigh the same
    tract = np.where(female, 1.0, -1.0) + random.standard_normal(4000)
    intercept, slope = fit_logistic(tract[:, None], female)
    assert slope == pytest.approx(2.0, rel=0.1)
    assert intercept == pytest.approx(0.0, abs=0.15)


def test_the_order_of_speakers_does_not_matter(reference):
    group = drawn_group(reference.norms, 50)
    assert measure_norms(group, 20).text == measure_norms(list(group), 20).text


def test_a_speaker_counts_once(tmp_path):
    (tmp_path / "t.csv").write_text("path,speaker,sex,age\nb,x,F,30\na,x,female,32\nc,y,Male,\n")
    readers = read_recording_speakers(tmp_path / "t.csv", tmp_path)

    def measured(pitch):
        return MeasuredFile({"pitch_mean": pitch}, 20, 15, 16_000, 80, 90, ())

    group = group_by_speaker(readers, {tmp_path / "a": measured(100.0), tmp_path / "b": measured(200.0)})
    assert group == [ReferenceSpeaker("x", "female", 31.0, {"pitch_mean": 150.0})]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("a,x,other,30", "line 3: sex is 'other'. Write female or male."),
        ("a,x,F,young", "line 3: age is 'young'. Write years."),
        ("a,x,F,12", "line 3: age is 12. The norms are of adults"),
        ("a,z,F,", "speaker z is "),
    ],
)
def test_an_error_in_the_speaker_table_names_its_line(tmp_path, line, sentence):
    (tmp_path / "t.csv").write_text(f"path,speaker,sex,age\nb,z,male,40\n{line}\n")
    with pytest.raises(TableError) as refusal:
        read_recording_speakers(tmp_path / "t.csv", tmp_path)
    assert sentence in str(refusal.value)


@pytest.fixture
def recordings(request, tmp_path):
    """Six short recordings of "three women" and "three men", an invalid file, and their table."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    lines = ["path,speaker,sex"]
    for name, sex in (("kathleen", "F"), ("male", "M")):
        samples, rate = sf.read(request.config.rootpath / "tests" / "data" / f"speech_{name}_20s.flac")
        for part in range(3):
            start = part * 2 * rate
            sf.write(folder / f"{name}_{part}.wav", samples[start : start + 15 * rate], rate)
            lines.append(f"{name}_{part}.wav,{name}_{part},{sex}")
    (folder / "notes.wav").write_text("not a recording")
    lines.append("notes.wav,nobody,F")
    (tmp_path / "speakers.csv").write_text("\n".join(lines))
    return folder


def command(recordings, out, *more):
    speakers = recordings.parent / "speakers.csv"
    return ["norms", "measure", str(recordings), "--speakers", str(speakers), "--out", str(out), "--fewest", "3", *more]


def test_a_killed_run_resumes_and_gives_the_same_file(recordings, tmp_path):
    killed_out, journal = tmp_path / "killed.toml", tmp_path / "killed.toml.measured.jsonl"
    killed = subprocess.Popen(
        [sys.executable, "-m", "vbdesk", *command(recordings, killed_out, "--jobs", "1")],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until(lambda: killed.poll() is not None or (journal.exists() and journal.read_text().count("\n") >= 2))
    assert killed.poll() is None, "it ended before it could be killed"
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not killed_out.exists()
    resumed = CliRunner().invoke(app, command(recordings, killed_out, "--jobs", "2"))
    assert resumed.exit_code == 0, resumed.output
    told = re.search(r"Measured now: (\d+), in \d+ s; known before: (\d+)", resumed.stderr)
    assert told is not None
    now, before = map(int, told.groups())
    assert before >= 1
    assert now + before == 7
    assert "notes.wav: " in resumed.stderr
    table = tmp_path / "speakers.csv"
    head, *lines = table.read_text().splitlines()
    table.write_text("\n".join([head, *reversed(lines)]))
    whole = CliRunner().invoke(app, command(recordings, tmp_path / "whole.toml", "--jobs", "1"))  # in another order
    assert whole.exit_code == 0, whole.output
    assert "features 36" not in whole.stdout or "speakers 6, recordings 6" in whole.stdout
    assert killed_out.read_bytes() == (tmp_path / "whole.toml").read_bytes()
    until(lambda: not _processes_of(killed.pid), "the processes of the killed command to end")


def _processes_of(session):
    """Processes still alive in the session of a killed command."""
    listed = subprocess.run(["ps", "-o", "pid=", "-s", str(session)], capture_output=True, text=True).stdout
    return [int(pid) for pid in listed.split() if int(pid) != os.getpid()]


def test_a_group_that_is_too_small_writes_nothing_and_says_why(tmp_path):
    (tmp_path / "recordings").mkdir()
    (tmp_path / "speakers.csv").write_text("path,speaker,sex\nabsent.wav,x,F\n")
    outcome = CliRunner().invoke(app, command(tmp_path / "recordings", tmp_path / "norms.toml"))
    assert outcome.exit_code == 1
    assert "absent.wav: It cannot be read: No such file or directory." in outcome.stderr
    assert "0 male and 0 female speakers could be measured, and 3 of each are needed." in outcome.stderr
    assert not (tmp_path / "norms.toml").exists()


def test_a_missing_folder_is_a_usage_error(tmp_path):
    outcome = CliRunner().invoke(app, command(tmp_path / "absent", tmp_path / "norms.toml"))
    assert (outcome.exit_code, outcome.stderr) == (2, f"There is no folder {tmp_path / 'absent'}.\n")


def test_the_reference_of_signs_is_measured_with_the_norms(reference, written):
    """Features drawn apart from each other: the SD of a weighted sum is then that of its weights."""
    result, norms, _ = written(drawn_group(reference.norms, 400))
    signs = reference.calibration.signs
    assert result.signs == len(norms.sign_reference) == len(signs)
    for name in ("mood-disruption", "fatigue", "dehydration", "cognitive-impairment"):
        found, weights = norms.sign_reference[name], list(signs[name].weights.values())
        assert found.mean == pytest.approx(0, abs=0.1)
        assert found.sd == pytest.approx(np.linalg.norm(weights), rel=0.2)


def test_a_sign_with_too_few_speakers_keeps_its_own_reference(reference, written):
    gone = ("pause_ratio", "speech_rate", "articulation_rate", "pause_duration", "pause_rate")
    group = drawn_group(reference.norms, 60, without=gone)
    result, norms, _ = written(group)
    assert 0 < result.signs < len(reference.calibration.signs)
    assert "fatigue" not in norms.sign_reference

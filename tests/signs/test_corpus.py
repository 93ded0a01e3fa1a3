"""Parallel measurement of many recordings, with crashes and interruptions."""

import json
import sys
from pathlib import Path

import pytest

from vbdesk.lab.corpus.journal import MeasurementJournal
from vbdesk.lab.corpus.measurement import (
    MeasuredFile,
    Unmeasurable,
    extractor_fingerprint,
    measure_file,
    too_little_speech,
)
from vbdesk.lab.corpus.parallel_measurement import measure_corpus
from vbdesk.lab.corpus.recording_table import TableError, read_table

sys.path.append(str(Path(__file__).parent))  # processes import their tasks by name

from corpus_tasks import read_number


@pytest.fixture
def journal_path(tmp_path):
    return tmp_path / "out" / "journal.jsonl"


@pytest.fixture
def files(tmp_path):
    """Write files with the given texts to a folder."""

    def make(**texts):
        folder = tmp_path / "recordings"
        folder.mkdir(exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text)
        return [folder / name for name in texts]

    return make


def test_a_crash_or_an_exception_affects_only_its_recording(files, journal_path):
    paths = files(a="1.5", b="crash", c="2.5", d="bad", e="fault", f="1.5")
    done = []
    journal = MeasurementJournal(journal_path, "x")
    outcomes = measure_corpus(
        [*paths, Path("/absent")], journal, jobs=1, on_done=lambda path: done.append(path.name), measure=read_number
    )
    assert {path.name: getattr(outcome, "reason", None) for path, outcome in outcomes.items()} == {
        "a": None,
        "b": "It made the measuring process crash.",
        "c": None,
        "d": "It is no recording.",
        "e": "Measuring it failed: ZeroDivisionError: what a fault of ours looks like",
        "f": None,
        "absent": "It cannot be read: No such file or directory.",
    }
    assert sorted(done) == ["a", "absent", "b", "c", "d", "e", "f"]
    lasting = [path for path in paths if path.name not in "be"]
    assert len(MeasurementJournal(journal_path, "x")) == 3  # a and f hold the same bytes
    again = measure_corpus(
        lasting, MeasurementJournal(journal_path, "x"), jobs=1, measure=len
    )  # would fail if it were called
    assert again == {path: outcomes[path] for path in lasting}


def test_an_incomplete_line_or_one_of_another_extractor_is_ignored(journal_path):
    measured = MeasuredFile({"pitch_mean": 0.1 + 0.2}, 20.0, 15.0, 44_100, 75.0, 88.0, ())
    with MeasurementJournal(journal_path, "x") as journal:
        journal.record("d1", measured)
        journal.record("d2", Unmeasurable("no"))
    with journal_path.open("a") as file:
        file.write('{"sha256": "d3", "extractor": "x", "feat')
    with MeasurementJournal(journal_path, "x") as journal:
        assert len(journal) == 2
        assert journal.find("d1") == measured  # to the last bit
        journal.record("d4", measured)
    assert MeasurementJournal(journal_path, "x").find("d4") == measured
    assert len(MeasurementJournal(journal_path, "y")) == 0


def test_a_real_recording_is_measured_as_an_analysis_measures_it(request):
    measured = measure_file(request.config.rootpath / "tests" / "data" / "speech_male_20s.flac")
    assert 80 < measured.features["pitch_mean"] < 160
    assert too_little_speech(measured) is None
    assert json.loads(json.dumps(measured.features)) == measured.features
    assert len(extractor_fingerprint()) == 16


def test_a_file_that_is_not_a_recording_has_a_reason(tmp_path):
    (tmp_path / "x.wav").write_bytes(b"RIFFnothing")
    assert measure_file(tmp_path / "x.wav").reason.endswith(".")
    assert measure_file(tmp_path / "absent.wav").reason == "It cannot be read: No such file or directory."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no column 'path'. Its first line must name: path, speaker, age (optional)."),
        ("path,who\na.wav,x\n", "has no column 'speaker'"),
        ("path,speaker\n", "names no recording"),
        ("path,speaker\na.wav,\n", "line 2: speaker is empty"),
        ("path,speaker\na.wav,x\n,y\n", "line 3: path is empty"),
        ("path,speaker\na.wav,x,y\n", "line 2: there are more fields than columns"),
        ("path,speaker\na.wav,x\nb.wav,x\na.wav,y\n", "line 4: "),
        ('path,speaker\n"a.wav,x\n', "is not CSV"),
    ],
)
def test_an_invalid_table_is_reported_with_its_line(tmp_path, text, sentence):
    table = tmp_path / "t.csv"
    table.write_text(text)
    with pytest.raises(TableError) as refusal:
        read_table(table, tmp_path, ["speaker"], ["age"])
    assert sentence in str(refusal.value)


def test_the_order_of_table_lines_has_no_influence(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("﻿path, speaker ,age\nb.wav, x ,\na.wav,y,30\n", encoding="utf-8")
    rows = read_table(table, tmp_path, ["speaker"], ["age"])
    assert [(row.line, row.path.name, dict(row.fields)) for row in rows] == [
        (3, "a.wav", {"speaker": "y", "age": "30"}),
        (2, "b.wav", {"speaker": "x"}),
    ]

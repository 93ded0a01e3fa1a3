"""Vocal features against the subject's own range, from results."""

import io
from dataclasses import replace

import pandas
import pytest
from report_cases import SOURCE, pulse_scores, subject

from vbdesk.report.own_ranges import CountedResult, own_ranges_by_job
from vbdesk.report.subject_record import subject_record
from vbdesk.report.tidy_csv import csv_files

RATES = [3.1, 3.3, 3.0, 3.2, 3.4, 3.1, 3.2, 2.0]


@pytest.fixture(scope="module")
def course():
    """Weekly results of one person whose last speech rate is far lower."""
    record = subject(pulse_scores(len(RATES)), days_ago=[7.0 * k for k in range(len(RATES), 0, -1)])
    return [
        CountedResult(each.job.job_id, each.recorded_at, with_rate(each.job.result, rate), 41.5)
        for each, rate in zip(record.finished, RATES, strict=True)
    ]


def with_rate(result, rate, version="1.0.0"):
    description = result.summary.description
    features = [
        feature.model_copy(update={"value": rate}) if feature.feature == "speech_rate" else feature
        for feature in description.vocal_features
    ]
    signals = [signal.model_copy(update={"sign_version": version}) for signal in result.signals]
    summary = result.summary.model_copy(
        update={"description": description.model_copy(update={"vocal_features": features})}
    )
    return result.model_copy(update={"summary": summary, "signals": signals})


def versioned(course, *versions):
    return [
        one._replace(result=with_rate(one.result, rate, version))
        for one, rate, version in zip(course, RATES, versions, strict=True)
    ]


def test_a_slow_recording_lies_below_the_own_range(course):
    own = own_ranges_by_job(course)
    assert list(own) == [one.job_id for one in course[5:]]
    last = own[course[-1].job_id]
    assert last["speech_rate"].position == "below"
    assert 2.0 < last["speech_rate"].low < 3.2 < last["speech_rate"].high
    assert last["pause_duration"].position == "within"


def test_a_more_cautious_comparison_is_the_same_analysis_and_another_version_is_not(course):
    plain = own_ranges_by_job(course)
    assert own_ranges_by_job(versioned(course, *["1.0.0", "1.0.0+widened"] * 4)) == plain
    assert own_ranges_by_job(versioned(course, *["1.0.0"] * 3, *["2.0.0"] * 5)) == {}
    assert own_ranges_by_job(versioned(course, *[None] * 8)) == {}


def test_the_table_of_measures_has_the_own_range(course):
    record = subject(pulse_scores(len(RATES)))
    jobs = [
        (one.recorded_at, replace_result(each.job, one.result))
        for one, each in zip(course, record.finished, strict=True)
    ]
    frame = pandas.read_csv(io.BytesIO(csv_files([subject_record("g", SOURCE, jobs)])["measures.csv"]))
    rates = frame[frame["measure"] == "speech_rate"].reset_index(drop=True)
    assert rates["own_low"].isna().tolist() == [True] * 5 + [False] * 3
    last = rates.iloc[-1]
    assert (last["own_position"], last["own_days"]) == ("below", 7)
    assert last["own_z"] < -1.645
    assert last["value"] < last["own_low"] < last["own_high"]
    assert frame[frame["kind"] != "vocal_feature"]["own_low"].isna().all()


def replace_result(job, result):
    return job.model_copy(update={"result": result})


def test_one_recording_alone_has_no_own_range(course):
    record = subject(pulse_scores(len(RATES)))
    alone = replace(record, recordings=record.recordings[-1:])
    frame = pandas.read_csv(io.BytesIO(csv_files([alone])["measures.csv"]))
    assert frame["own_low"].isna().all()

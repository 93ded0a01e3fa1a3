"""`vbdesk groups`, on a real service."""

import json
from datetime import timedelta

import pytest

from vbdesk.client import AudioSource, Target
from vbdesk.clock import utc_now

DAYS = [utc_now().replace(microsecond=0) - timedelta(days=ago) for ago in (14, 7)]


@pytest.fixture
def subject(near_service, speech_file):
    """A subject with two recordings; gives the ids of their jobs."""
    audio, stress = AudioSource.from_path(speech_file), Target("sign", "stress")
    with near_service.client() as client:
        return [
            client.analyze(stress, audio, group_id="subj-7", recorded_at=day, longitudinal=True).job_id for day in DAYS
        ]


def test_groups_are_listed_and_shown(vbdesk, subject):
    [group] = [item for item in json.loads(vbdesk("groups", "list", "--json").stdout) if item["group_id"] == "subj-7"]
    assert group["done_job_count"] == 2
    assert json.loads(vbdesk("groups", "show", "subj-7", "--json").stdout) == group
    assert f"{DAYS[0].astimezone():%Y-%m-%d %H:%M}" in vbdesk("groups", "show", "subj-7").stdout
    missing = vbdesk("groups", "show", "nobody")
    assert (missing.exit_code, missing.stderr) == (1, "There is no group nobody in this account.\n")


def test_the_jobs_of_a_group_are_listed_within_bounds(vbdesk, subject):
    assert [job["job_id"] for job in json.loads(vbdesk("groups", "jobs", "subj-7", "--json").stdout)] == subject
    later = vbdesk("groups", "jobs", "subj-7", "--from", (DAYS[0] + timedelta(days=1)).isoformat())
    assert subject[1] in later.stdout
    assert subject[0] not in later.stdout
    wrong = vbdesk("groups", "jobs", "subj-7", "--from", "last week")
    assert wrong.exit_code == 2
    assert "ISO 8601" in wrong.stderr
    assert vbdesk("groups", "jobs", "subj-7", "--status", "failed").stdout == "There are none.\n"


def test_a_subject_and_a_cohort_are_read(vbdesk, subject):
    trajectory = vbdesk("groups", "longitudinal", "subj-7")
    assert "subj-7: 2 of 2 recordings" in trajectory.stdout
    assert "not diagnoses" in trajectory.stdout
    read = json.loads(vbdesk("groups", "longitudinal", "subj-7", "--sign", "stress", "--json").stdout)
    assert [sign["name"] for sign in read["signs"]] == ["stress"]
    assert {"from", "to"} <= set(read["window"])
    assert "subj-7: 2 recordings" in vbdesk("groups", "aggregate", "subj-7").stdout
    assert json.loads(vbdesk("groups", "aggregate", "subj-7", "--json").stdout)["job_counts"]["done"] == 2


def test_membership_is_edited_and_a_deletion_is_asked_for(vbdesk, subject):
    assert vbdesk("groups", "create", "cohort").stdout == "The group cohort is there, empty.\n"
    assert vbdesk("groups", "create", "cohort").exit_code == 1
    added = vbdesk("groups", "add", "cohort", subject[0], "0198c0de-0000-7000-8000-00000000dead")
    assert added.stdout.startswith("1 job was added. Not found: ")
    assert added.exit_code == 1
    assert json.loads(vbdesk("groups", "add", "cohort", *subject, "--json").stdout)["added"] == [subject[1]]
    assert vbdesk("groups", "remove", "cohort", subject[0]).exit_code == 0
    assert vbdesk("groups", "delete", "cohort").exit_code == 1, "without an answer nothing is deleted"
    assert vbdesk("groups", "delete", "cohort", "--yes").stdout == "cohort is deleted; its jobs are kept.\n"
    assert vbdesk("groups", "jobs", "cohort").exit_code == 1

"""Groups: containers of jobs named by the caller; one subject per group if the history is used."""

import re
from typing import Annotated, Literal

from pydantic import Field

from vbdesk.contract.base import WireModel
from vbdesk.contract.jobs import JobStatus
from vbdesk.contract.limits import MAX_GROUP_ID_LENGTH, MAX_JOBS_PER_ADD
from vbdesk.contract.timestamps import Timestamp
from vbdesk.language import message

_GROUP_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~:-]*")


def group_id_fault(text: str) -> str | None:
    """Explain in one sentence why `text` is not a valid group id; None if it is."""
    if not text:
        return message("Give a group id.")
    if len(text) > MAX_GROUP_ID_LENGTH:
        return message(
            "A group id has at most {most} characters; this one has {length}.",
            most=MAX_GROUP_ID_LENGTH,
            length=len(text),
        )
    if not _GROUP_ID.fullmatch(text):
        return message(
            "A group id starts with a letter or digit, then letters, digits or . _ ~ : - (A to Z without accents)."
        )
    return None


def subject_fault(text: str) -> str | None:
    """As `group_id_fault`, in the words of people: the group id is what they call the subject."""
    if not text:
        return message("Enter a subject.")
    if len(text) > MAX_GROUP_ID_LENGTH:
        return message(
            "A subject has at most {most} characters; this one has {length}.",
            most=MAX_GROUP_ID_LENGTH,
            length=len(text),
        )
    if group_id_fault(text) is not None:
        return message(
            "A subject starts with a letter or digit, then letters, digits or . _ ~ : - (A to Z without accents)."
        )
    return None


class GroupCreate(WireModel):
    """Request to create a group. The service checks the id and answers 400, not 422."""

    group_id: str


class GroupCreated(WireModel):
    """Answer to a group creation."""

    group_id: str
    job_count: int
    created_at: Timestamp


class Group(WireModel):
    """A group in a list."""

    group_id: str
    job_count: int
    done_job_count: int
    earliest_recorded_at: Timestamp | None
    latest_recorded_at: Timestamp | None
    created_at: Timestamp
    updated_at: Timestamp


class GroupList(WireModel):
    """One page of groups."""

    groups: list[Group]
    page: int
    total_pages: int


class GroupDeleted(WireModel):
    """Answer to a deletion."""

    group_id: str
    deleted: Literal[True] = True


class GroupJobItem(WireModel):
    """A job in a group, ordered by recording time."""

    job_id: str
    status: JobStatus
    recorded_at: Timestamp | None
    created_at: Timestamp
    use_case: str | None
    condition: str | None
    audio_duration_seconds: float
    model_name: str | None = None
    sign_name: str | None = None


class GroupJobList(WireModel):
    """One page of a group's jobs; `total_jobs` counts those that match the filters."""

    group_id: str
    total_jobs: int
    jobs: list[GroupJobItem]
    page: int
    total_pages: int


class AddJobs(WireModel):
    """Request to add existing jobs to a group."""

    job_ids: Annotated[list[str], Field(min_length=1, max_length=MAX_JOBS_PER_ADD)]


class JobsAdded(WireModel):
    """The outcome of each id: exactly one of added, skipped, not_found."""

    status: Literal["accepted"] = "accepted"
    added: list[str]
    skipped: dict[str, Literal["already_in_group"]]
    not_found: list[str]
    not_yet_done: list[str]


class JobRemoved(WireModel):
    """Answer to the removal of a job from a group; the job itself is kept."""

    status: Literal["accepted"] = "accepted"
    removed: str

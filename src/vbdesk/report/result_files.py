"""Subjects from files: what `vbdesk export --format json` wrote, jobs as a service gave them, one or one per line."""

import codecs
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vbdesk.contract.jobs import Job
from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.contract.timestamps import parse_timestamp
from vbdesk.json_lines import parse_json_lines
from vbdesk.language import message
from vbdesk.report.subject_record import RecordSource, SubjectRecord, subject_record

NOWHERE = RecordSource("", "")
"""Source of jobs that came without one."""
MAX_BYTES = 256 << 20


class NotResults(ValueError):
    """A file holds no results; `str(error)` is one sentence for a person."""


def subjects_of_files(files: Sequence[Path], name: str | None = None) -> list[SubjectRecord]:
    """Read subjects.

    Args:
        files: exported subjects, and files of jobs. Jobs of all files together are one subject.
        name: of the subject of the jobs; by default the name of their first file, without its ending.

    Raises:
        NotResults: a file is something else, too large, or no job has a result.
        OSError: a file cannot be read.
    """
    subjects: list[SubjectRecord] = []
    jobs: list[tuple[datetime | None, Job]] = []
    first_with_jobs = ""
    for file in files:
        for document in _documents(file):
            try:
                if "recordings" in document:
                    subjects.append(_subject(document))
                else:
                    jobs.append((None, Job.model_validate(document)))
                    first_with_jobs = first_with_jobs or file.stem
            except (ValidationError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise NotResults(message("{file} holds something else than results of vbdesk.", file=file)) from error
    if jobs:
        subjects.append(subject_record(name or first_with_jobs, NOWHERE, _newest_of_each(jobs)))
    if not any(subject.finished for subject in subjects):
        raise NotResults(message("No recording in these files has a result, so there is nothing to print."))
    return subjects


def _documents(file: Path) -> Iterator[dict[str, Any]]:
    if file.stat().st_size > MAX_BYTES:
        raise NotResults(
            message("{file} is larger than {size} MB, which is no file of results.", file=file, size=MAX_BYTES >> 20)
        )
    try:
        content = file.read_bytes().removeprefix(codecs.BOM_UTF8)
        if file.suffix == ".jsonl":
            documents = list(parse_json_lines(line for line in content.splitlines() if line.strip()))
        else:
            documents = [json.loads(content)]
    except (ValueError, RecursionError) as error:
        raise NotResults(message("{file} is not JSON, so it holds no results of vbdesk.", file=file)) from error
    for document in documents:
        if not isinstance(document, dict):
            raise NotResults(message("{file} holds something else than results of vbdesk.", file=file))
        yield document


def _subject(document: dict[str, Any]) -> SubjectRecord:
    read = document["trajectory"]
    return subject_record(
        str(document["group_id"]),
        RecordSource(str(document.get("service", "")), str(document.get("account_id", ""))),
        [
            (parse_timestamp(recording["recorded_at"]), Job.model_validate(recording["job"]))
            for recording in document["recordings"]
        ],
        None if read is None else TrajectoryRead.model_validate(read),
        str(document.get("language", "en")),
    )


def _newest_of_each(jobs: Iterable[tuple[datetime | None, Job]]) -> list[tuple[datetime | None, Job]]:
    """Each job once, as the last line of a file has it."""
    return list({job.job_id: (recorded_at, job) for recorded_at, job in jobs}.values())

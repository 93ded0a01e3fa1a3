"""A folder of results as plain files that other programs read.

    jobs.jsonl    every ended job as the service gave it, one per line; append-only
    signals.csv   one row for each sign of each job and for each group of the job; rewritten when it changes
    state.json    jobs of each group, and the progress of the last synchronisation; internal

With pandas: `read_csv("signals.csv", parse_dates=["recorded_at"])`, `read_json("jobs.jsonl", lines=True)`.
"""

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from vbdesk.client.folder_lock import exclusive_lock
from vbdesk.contract.jobs import Job
from vbdesk.contract.results import LongitudinalSignal, Signal, signals_of
from vbdesk.contract.timestamps import format_timestamp, parse_timestamp
from vbdesk.json_lines import JsonLinesFile
from vbdesk.language import message
from vbdesk.privacy import make_export_folder, owner_only_opener, set_export_mode

JOBS, TABLE, STATE = "jobs.jsonl", "signals.csv", "state.json"

_LONGITUDINAL = (
    "latest_score", "baseline_score", "deviation_from_baseline", "anomaly", "z_score", "population_z",
)  # fmt: skip
COLUMNS = (
    "group_id", "recorded_at", "job_id", "status", "created_at", "completed_at", "job_type", "target",
    "audio_duration_seconds", "voice_percentage", "audio_clarity", "issues",
    "sign", "score", "score_low", "score_high", "level", "flagged", *_LONGITUDINAL,
)  # fmt: skip


class WrongFolder(Exception):
    """The folder holds the results of another account; `str(error)` is one sentence for a person."""


class ResultFolder:
    """The folder, locked by one program at a time; a context manager."""

    def __init__(self, folder: Path, account_id: str) -> None:
        """Name the folder and its account; `with` opens it.

        Raises, on opening:
            WrongFolder: it belongs to another account.
            InUse: another program synchronises it.
            JsonLinesDamaged, OSError: it cannot be read.
        """
        self._folder = folder
        self._account_id = account_id
        self._lines = JsonLinesFile(folder / JOBS)
        self._job_ids: set[str] = set()
        self._state: dict[str, Any] = {}
        self._stale = False
        self._held = ExitStack()

    def __enter__(self) -> Self:
        make_export_folder(self._folder)
        self._held.enter_context(exclusive_lock(self._folder / ".lock"))
        try:
            self._state = self._read_state()
            self._write_state()  # record the account before the first job
            self._job_ids = {line["job_id"] for line in self._lines.read()}
            self._stale = not (self._folder / TABLE).exists()
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    @property
    def count(self) -> int:
        """Number of stored jobs."""
        return len(self._job_ids)

    def has(self, job_id: str) -> bool:
        """Whether a job is stored."""
        return job_id in self._job_ids

    def add(self, job: Job) -> None:
        """Store an ended job; it is on the disk when this returns."""
        self._lines.append(job.model_dump(mode="json"))
        self._job_ids.add(job.job_id)
        self._stale = True

    def mark_of(self, group_id: str) -> str | None:
        """The mark that `set_group` stored for a group."""
        mark: str | None = self._state["groups"].get(group_id, {}).get("mark")
        return mark

    def set_group(self, group_id: str, members: Mapping[str, datetime | None], mark: str | None) -> None:
        """Store the jobs of a group with their recording times, and a mark of its present state."""
        jobs = {job_id: None if moment is None else format_timestamp(moment) for job_id, moment in members.items()}
        self._stale |= jobs != self._state["groups"].get(group_id, {}).get("jobs")
        self._state["groups"][group_id] = {"mark": mark, "jobs": jobs}
        self._write_state()

    def remove_other_groups(self, group_ids: Iterable[str]) -> None:
        """Forget all groups but these; their jobs stay."""
        gone = set(self._state["groups"]) - set(group_ids)
        for group_id in gone:
            del self._state["groups"][group_id]
        if gone:
            self._stale = True
            self._write_state()

    @property
    def complete_until(self) -> datetime | None:
        """All jobs created before this moment are stored; None before the first complete pass."""
        text = self._state["complete_until"]
        return None if text is None else parse_timestamp(text)

    @complete_until.setter
    def complete_until(self, moment: datetime) -> None:
        self._state["complete_until"] = format_timestamp(moment)
        self._write_state()

    def write_table(self) -> None:
        """Rewrite the table if anything has changed; readers see the old file or the new one."""
        if not self._stale:
            return
        unfinished = self._folder / f"{TABLE}.new"
        with open(unfinished, "w", encoding="utf-8", newline="", opener=owner_only_opener) as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
            writer.writeheader()
            memberships = self._memberships()
            for line in self._lines.read():
                job = Job.model_validate(line)
                for group_id, recorded_at in memberships.get(job.job_id, [("", None)]):
                    writer.writerows(_rows(job, group_id, recorded_at))
        set_export_mode(unfinished)
        unfinished.replace(self._folder / TABLE)
        set_export_mode(self._folder / JOBS)
        self._stale = False

    def _memberships(self) -> dict[str, list[tuple[str, str | None]]]:
        found: dict[str, list[tuple[str, str | None]]] = {}
        for group_id, group in self._state["groups"].items():
            for job_id, recorded_at in group["jobs"].items():
                found.setdefault(job_id, []).append((group_id, recorded_at))
        return found

    def _read_state(self) -> dict[str, Any]:
        path = self._folder / STATE
        fresh: dict[str, Any] = {"account_id": self._account_id, "groups": {}, "complete_until": None}
        if not path.exists():
            return fresh
        try:
            state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            account_id = state["account_id"]
        except (ValueError, KeyError, TypeError):
            return fresh  # the state only saves requests
        if account_id != self._account_id:
            raise WrongFolder(
                message("The results in {folder} are another account's. Name a folder of its own.", folder=self._folder)
            )
        return fresh | state

    def _write_state(self) -> None:
        unfinished = self._folder / f"{STATE}.new"
        with open(unfinished, "w", encoding="utf-8", opener=owner_only_opener) as file:
            json.dump(self._state, file)
            file.flush()
            os.fsync(file.fileno())
        set_export_mode(unfinished)
        unfinished.replace(self._folder / STATE)


def _rows(job: Job, group_id: str, recorded_at: str | None) -> Iterator[dict[str, object]]:
    """A job's rows of the table: one per sign, or one if it has none."""
    common: dict[str, object] = {
        "group_id": group_id,
        "recorded_at": recorded_at or "",
        "job_id": job.job_id,
        "status": job.status.value,
        "created_at": format_timestamp(job.created_at),
        "completed_at": "" if job.completed_at is None else format_timestamp(job.completed_at),
        "job_type": job.job_type.value,
        "target": job.model_name or job.sign_name or job.use_case or job.condition or "",
        "audio_duration_seconds": job.audio_duration_seconds,
    }
    if job.result is None:
        yield common
        return
    quality = job.result.audio_quality
    common |= {
        "voice_percentage": _cell(quality.voice_percentage),
        "audio_clarity": _cell(quality.audio_clarity),
        "issues": ";".join(quality.issues),
    }
    for signal in signals_of(job.result):
        yield common | _cells(signal)


def _cells(signal: Signal) -> dict[str, object]:
    low, high = signal.score_interval or ("", "")
    cells: dict[str, object] = {
        "sign": signal.name,
        "score": signal.score,
        "score_low": low,
        "score_high": high,
        "level": signal.level.value,
        "flagged": _cell(signal.flagged),
    }
    if isinstance(signal, LongitudinalSignal):
        cells |= {name: _cell(getattr(signal, name)) for name in _LONGITUDINAL}
    return cells


def _cell(value: float | bool | None) -> object:
    """A value in the form that spreadsheet programs read."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else value

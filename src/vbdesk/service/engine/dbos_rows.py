"""Protection from malicious DBOS rows: they are data, never code.

DBOS labels stored values with their serializer and follows the label in the row. Its default serializer is pickle, so
write access to a row would allow running code in the process that reads it. This module disables pickle in the process.
A claimed row that differs from what this service wrote is rewritten from the job table before DBOS reads it.
"""

import logging
from collections.abc import Callable, Sequence
from typing import NoReturn

import dbos._dbos
import sqlalchemy as sa
from dbos import DBOSPortableJSONSerializer
from dbos._serialization import DefaultSerializer, serialize_args
from dbos._sys_db import SystemDatabase, WorkflowStatusInternal
from sqlalchemy import Connection

from vbdesk.service.jobs import repository

JSON = DBOSPortableJSONSerializer()

Enqueue = Callable[[Connection, str, int], None]

log = logging.getLogger(__name__)


class PickleRefused(Exception):
    """DBOS was asked to read or write a pickle."""


def _refuse_pickle(*_: object) -> NoReturn:
    raise PickleRefused("This service neither reads nor writes pickles in its database.")


def treat_rows_as_data() -> None:
    """Disable DBOS's pickle serializer and database schedules in this process.

    WORKAROUND: DBOS 3.4 has no settings for these. A custom serializer is not enough: DBOS follows the row's label.
    """
    for method in ("deserialize", "serialize"):
        setattr(DefaultSerializer, method, _refuse_pickle)
    setattr(dbos._dbos, "dynamic_scheduler_loop", _run_no_schedules)  # noqa: B010 - mypy knows no such name there


def _run_no_schedules(*_: object) -> None:
    """Replace the thread that starts scheduled workflows; this service has none."""


class RowGuard:
    """Checks claimed rows and replaces those that this service did not write."""

    def __init__(self, rows: SystemDatabase, workflow: str, enqueue: Enqueue) -> None:
        """Create the guard.

        Args:
            rows: DBOS's access to its tables.
            workflow: the only workflow that a row may name.
            enqueue: writes a new row for a job in the given transaction.
        """
        self._rows = rows
        self._workflow = workflow
        self._enqueue = enqueue

    def sound_only(self, claimed: Sequence[str]) -> list[str]:
        """Return the claimed rows that may run, in order. Replace the others by new rows from the job table."""
        statuses = self._rows.get_workflow_statuses(list(claimed))
        sound = {status["workflow_uuid"] for status in statuses if self._is_sound(status)}
        unsound = [job_id for job_id in claimed if job_id not in sound]
        if unsound:
            self._replace(unsound)
        return [job_id for job_id in claimed if job_id in sound]

    def _is_sound(self, status: WorkflowStatusInternal) -> bool:
        """Return whether the row is exactly what this service writes for its job, without deserializing it."""
        inputs, label = serialize_args((status["workflow_uuid"],), {}, None, JSON)
        found = (status["serialization"], status["inputs"], status["name"], status["class_name"], status["config_name"])
        return found == (label, inputs, self._workflow, None, None) and status["authenticated_roles"] is None

    def _replace(self, job_ids: Sequence[str]) -> None:
        """Delete all DBOS rows of these jobs, and enqueue the unfinished ones at their old positions."""
        rows = self._rows
        with rows.engine.begin() as connection:
            rows._apply_caller_schema(connection)
            tables = rows.tables
            # Write first, so that SQLite never has to upgrade a read transaction.
            for column in (
                tables.workflow_input.c.workflow_uuid,
                tables.workflow_output.c.workflow_uuid,
                tables.operation_outputs.c.workflow_uuid,
                tables.notifications.c.destination_uuid,
                tables.workflow_events.c.workflow_uuid,
                tables.workflow_events_history.c.workflow_uuid,
                tables.streams.c.workflow_uuid,
                tables.workflow_status.c.workflow_uuid,
            ):
                connection.execute(sa.delete(column.table).where(column.in_(job_ids)))
            waiting = repository.list_queue_tags(connection, job_ids)
            for job_id, queue_tag in waiting.items():
                self._enqueue(connection, job_id, queue_tag)
        log.warning(
            "%d rows of the queue are not as this service writes them, as after an upgrade. They were deleted unread, "
            "and %d jobs were queued again from the job table.",
            len(job_ids),
            len(waiting),
        )

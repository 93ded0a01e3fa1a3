"""The rows of DBOS in the database: data, never code.

DBOS stores values with a label that names their serializer, and obeys the label of the row. Its default serializer is
pickle, so whoever can write a row could run code in the process that reads it. Here pickle is disabled in the process,
and a claimed row that this service did not write as it is gets written again from the job table, before DBOS reads it.
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
    """Somebody asked DBOS to read or write a pickle."""


def _refuse_pickle(*_: object) -> NoReturn:
    raise PickleRefused("This service neither reads nor writes pickles in its database.")


def treat_rows_as_data() -> None:
    """Disable the pickle serializer of DBOS in this process, and the schedules that DBOS reads from the database.

    WORKAROUND: DBOS 3.4 has no settings for these. A serializer of one's own is not enough: DBOS obeys a row's label.
    """
    for method in ("deserialize", "serialize"):
        setattr(DefaultSerializer, method, _refuse_pickle)
    setattr(dbos._dbos, "dynamic_scheduler_loop", _run_no_schedules)  # noqa: B010 - mypy knows no such name there


def _run_no_schedules(*_: object) -> None:
    """Take the place of the thread that starts workflows by schedules; this service has none."""


class RowGuard:
    """Checks claimed rows, and replaces those that differ from what this service writes."""

    def __init__(self, rows: SystemDatabase, workflow: str, enqueue: Enqueue) -> None:
        """Prepare.

        Args:
            rows: DBOS's access to its tables.
            workflow: the only workflow that a row may name.
            enqueue: writes the row of a job anew, in the transaction that it is given.
        """
        self._rows = rows
        self._workflow = workflow
        self._enqueue = enqueue

    def keep_sound(self, claimed: Sequence[str]) -> list[str]:
        """The claimed rows that may run, in order. The others are replaced by new rows from the job table."""
        statuses = self._rows.get_workflow_statuses(list(claimed))
        sound = {status["workflow_uuid"] for status in statuses if self._is_sound(status)}
        unsound = [job_id for job_id in claimed if job_id not in sound]
        if unsound:
            self._replace(unsound)
        return [job_id for job_id in claimed if job_id in sound]

    def _is_sound(self, status: WorkflowStatusInternal) -> bool:
        """Whether the row is exactly what this service writes for its job; nothing of it is deserialized here."""
        inputs, label = serialize_args((status["workflow_uuid"],), {}, None, JSON)
        found = (status["serialization"], status["inputs"], status["name"], status["class_name"], status["config_name"])
        return found == (label, inputs, self._workflow, None, None) and status["authenticated_roles"] is None

    def _replace(self, job_ids: Sequence[str]) -> None:
        """Delete all that DBOS has about these jobs, and enqueue those that are unfinished at their old places."""
        rows = self._rows
        with rows.engine.begin() as connection:
            rows._apply_caller_schema(connection)
            tables = rows.tables
            # The first statement writes, so that SQLite never has to turn a reader into a writer.
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

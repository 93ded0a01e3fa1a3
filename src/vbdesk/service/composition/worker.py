"""`vbdesk worker`: runs jobs and delivers webhooks on PostgreSQL, on any number of machines; no API."""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path

from vbdesk.language import N_
from vbdesk.service.composition.process import (
    OperationsPort,
    StartRefused,
    announced,
    bound_for_operations,
    live,
    opened,
    signals_raise,
    start_work,
)
from vbdesk.service.encryption.keys import EncryptionKeys
from vbdesk.service.encryption.recording_files import StoredRecording
from vbdesk.service.engine.supervisor import RuntimeSupervisor, supervise_runtime
from vbdesk.service.health.operations_app import create_ops_app
from vbdesk.service.health.readiness import worker_readiness
from vbdesk.service.kernel.errors import ProcessingFailed
from vbdesk.service.kernel.parent_process import Ending
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.ports.audio_inspector import AudioFacts

log = logging.getLogger(__name__)


class _NoInspector:
    """Refuses: the API process inspects recordings at submission."""

    async def inspect(self, recording: StoredRecording, sender: str) -> AudioFacts:
        """Refuse."""
        raise ProcessingFailed


def work(
    settings: Settings,
    ready_file: Path | None = None,
    ends: Sequence[Ending] = (),
    keys: EncryptionKeys = (),
) -> None:
    """Run until SIGTERM, SIGINT or one of `ends`; then finish or hand back the running jobs.

    Several workers may share a folder: on a database server every process has its own name.

    Args:
        settings: settings to run with.
        ready_file: written atomically once jobs are taken, removed at the end.
        ends: also stop when one of these ends.
        keys: key-encryption keys given with the command.

    Raises:
        StartRefused: the database is SQLite, `workers` is 0, the folder of the recordings
            differs from the API's, or the stored data cannot be opened.
    """
    if not settings.database_url.startswith("postgresql"):
        raise StartRefused(N_("Workers need PostgreSQL: set database_url, or let vbdesk serve alone do the work."))
    if not settings.workers:
        raise StartRefused(N_("A worker runs one analysis at least: give --workers 1 or more."))
    with ExitStack() as stack:
        stack.enter_context(signals_raise())
        ops_socket = stack.enter_context(bound_for_operations(settings))
        context, queue = stack.enter_context(opened(settings, _NoInspector(), "", keys, is_api=False))
        runtime = supervise_runtime(context, queue, workers=settings.workers)
        stack.callback(runtime.stop)
        start_work(runtime, settings)
        operations = None
        if ops_socket is not None:
            ops_app = create_ops_app(context, worker_readiness(context, runtime))
            operations = OperationsPort(ops_app, ops_socket)
        ready = {"pid": os.getpid(), "executor_id": runtime.executor_id, "ops_url": operations and operations.url}
        announce = partial(announced, ready_file, ready)
        drain_s = settings.drain_s or settings.job_timeout_s
        with suppress(KeyboardInterrupt):
            asyncio.run(live(context, runtime, drain_s, ends, partial(_attend, runtime, announce), operations))


async def _attend(
    runtime: RuntimeSupervisor, announce: Callable[[], AbstractContextManager[None]], leave: asyncio.Event
) -> None:
    with announce():
        log.info("The worker %s takes jobs.", runtime.executor_id)
        await leave.wait()

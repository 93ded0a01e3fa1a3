"""What every process of the service needs, whatever it does: lock, signals, an open context, a ready file."""

import asyncio
import json
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy.exc import SQLAlchemyError

from vbdesk.service.catalog.plugins import offered_signs
from vbdesk.service.clock import SystemClock
from vbdesk.service.composition import close_context, open_context, open_database
from vbdesk.service.context import Context
from vbdesk.service.db.migrate import MigrationFailed, upgrade
from vbdesk.service.db.session import Database
from vbdesk.service.jobs.audio import AudioInspector
from vbdesk.service.parent import parent_gone
from vbdesk.service.secret_box import SecretsDamaged
from vbdesk.service.settings import Settings
from vbdesk.service.storage.store import StoreUnusable
from vbdesk.service.work.dbos_engine import DbosQueue
from vbdesk.service.work.keeper import RuntimeKeeper

log = logging.getLogger(__name__)

_LOCK_FILE = "serve.lock"


class StartRefused(Exception):
    """The process cannot start here; one sentence for the operator."""


@contextmanager
def opened(settings: Settings, inspector: AudioInspector, storage_origin: str) -> Iterator[tuple[Context, DbosQueue]]:
    """What a process leans on, over a database brought up to date; closed after the block.

    Raises:
        StartRefused: the stored data cannot be opened.
    """
    with ExitStack() as stack:
        database = _migrated_database(settings)
        stack.callback(database.close)
        queue = DbosQueue(settings.resolved_database_url)
        stack.callback(queue.close)
        signs = offered_signs(settings)
        try:
            context = open_context(settings, database, queue, inspector, SystemClock(), storage_origin, signs)
            context.storage.clear_incoming()
        except (SecretsDamaged, StoreUnusable) as error:
            raise StartRefused(str(error)) from None
        stack.callback(close_context, context)
        yield context, queue


def _migrated_database(settings: Settings) -> Database:
    try:
        database = open_database(settings)
    except OSError as error:
        raise StartRefused(f"The folder {settings.data_dir} cannot be used: {error.strerror}.") from None
    try:
        upgrade(database, settings.data_dir)
    except MigrationFailed as error:
        database.close()
        raise StartRefused(str(error)) from None
    except SQLAlchemyError as error:
        database.close()
        kind = type(error).__name__  # the message itself may show the database's address and password
        raise StartRefused(
            f"The database cannot be opened or brought up to date ({kind}). Check the address or restore a backup."
        ) from None
    return database


@contextmanager
def locked(data_dir: Path) -> Iterator[None]:
    """The folder's lock: two engines with one identity would take each other's jobs.

    Raises:
        StartRefused: another process has it, or the folder cannot be used.
    """
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(data_dir / _LOCK_FILE, timeout=0)
        lock.acquire()
    except Timeout:
        raise StartRefused(f"Another vbdesk serve is using {data_dir}. Stop it or choose another --data-dir.") from None
    except OSError as error:
        raise StartRefused(f"The folder {data_dir} cannot be used: {error.strerror}.") from None
    with lock:
        yield


@contextmanager
def signals_raise() -> Iterator[None]:
    """While starting and stopping, SIGTERM unwinds the stack as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, _raise_exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise_exit(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


async def live(
    runtime: RuntimeKeeper,
    drain_s: float,
    parent_pid: int | None,
    attend: Callable[[asyncio.Event], Awaitable[None]],
) -> None:
    """Run `attend(stop)` until the order to stop, then let the jobs under way end while it does.

    The order is a signal or the end of the process `parent_pid`; a second signal makes haste.

    Args:
        runtime: Has been started.
        drain_s: How long jobs under way may go on after the order.
        parent_pid: Process whose end is ours.
        attend: What else the process does until its argument is set.
    """
    stop, haste = asyncio.Event(), threading.Event()
    _heed_signals(stop, haste)
    follower = asyncio.create_task(_follow(parent_pid, stop)) if parent_pid is not None else None
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_drain(runtime, stop, drain_s, haste))
            await attend(stop)
    finally:
        if follower is not None:
            follower.cancel()


async def _drain(runtime: RuntimeKeeper, stop: asyncio.Event, drain_s: float, haste: threading.Event) -> None:
    await stop.wait()
    await asyncio.to_thread(runtime.drain, drain_s, haste)


async def _follow(parent_pid: int, stop: asyncio.Event) -> None:
    await parent_gone(parent_pid)
    log.info("The process that started this one is gone; stopping.")
    stop.set()


def _heed_signals(stop: asyncio.Event, haste: threading.Event) -> None:
    def heed() -> None:
        (haste if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(name, heed)
        except NotImplementedError:  # Windows
            signal.signal(name, lambda *_: loop.call_soon_threadsafe(heed))


@contextmanager
def announced(ready_file: Path | None, facts: dict[str, Any]) -> Iterator[None]:
    """The ready file, written whole, there for the length of the block."""
    if ready_file is None:
        yield
        return
    _write_whole(ready_file, json.dumps(facts))
    try:
        yield
    finally:
        ready_file.unlink(missing_ok=True)


def _write_whole(path: Path, text: str) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).replace(path)

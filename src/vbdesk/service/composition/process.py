"""Parts that every service process needs: lock, signals, context, ready file."""

import asyncio
import json
import logging
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp

from vbdesk.clock import SystemClock
from vbdesk.language import message, message_of, system_reason
from vbdesk.privacy import FILE_MODE, make_private, restrict_to_owner
from vbdesk.service.composition.open_context import close_context, open_context
from vbdesk.service.composition.servers import bind, origin_of, run_servers
from vbdesk.service.encryption.keys import EncryptionKeys, KeyUnusable
from vbdesk.service.engine.dbos_engine import DbosQueue
from vbdesk.service.engine.plugin_signs import offered_signs
from vbdesk.service.engine.supervisor import RuntimeSupervisor
from vbdesk.service.kernel.db.migrate import MigrationFailed, upgrade
from vbdesk.service.kernel.db.session import Database, DatabaseMissing, database_fault, open_database
from vbdesk.service.kernel.disk_space import is_disk_full
from vbdesk.service.kernel.parent_process import Ending
from vbdesk.service.kernel.secret_box import SecretsDamaged
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.observability.tracing import TracingMissing
from vbdesk.service.ports.audio_inspector import AudioInspector
from vbdesk.service.ports.context import Context
from vbdesk.service.storage.incoming import ABANDONED_AFTER_S, ABANDONED_ALONE_AFTER_S
from vbdesk.service.storage.store import StoreUnusable

log = logging.getLogger(__name__)

NOTICE_S = 5.0
"""How long a stopping process still answers, so that load balancers can remove it first."""

_LOCK_FILE = "serve.lock"
OWN_FILES = (
    "vbdesk.db*",
    "secrets",
    "objects",
    "incoming",
    "*.lock",
    "service.log",
    "ready-*.json",
    "vbdesk.toml",
    "desk-*",
)
"""Files of the service in the data folder."""
_CHECK_INTERVAL_S = 0.1


class StartRefused(Exception):
    """The process cannot start; the message is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class OperationsPort:
    """Port for metrics and health."""

    app: ASGIApp
    socket: socket.socket

    @property
    def url(self) -> str:
        """URL on this machine."""
        return origin_of(self.socket)


@contextmanager
def bound(host: str, port: int) -> Iterator[socket.socket]:
    """Bind a socket to listen on; it is closed after the block.

    Raises:
        StartRefused: the port is not available.
    """
    try:
        listening = bind(host, port)
    except OSError as error:
        raise StartRefused(
            message(
                "Cannot listen on {host} port {port}: {reason}. Choose another port or address.",
                host=host,
                port=str(port),
                reason=system_reason(error),
            )
        ) from None
    with listening:
        yield listening


@contextmanager
def bound_for_operations(settings: Settings) -> Iterator[socket.socket | None]:
    """Bind the socket of the operations port; None without one. Raises StartRefused."""
    if settings.ops_port is None:
        yield None
        return
    with bound(settings.ops_host, settings.ops_port) as listening:
        yield listening


@contextmanager
def opened(
    settings: Settings,
    inspector: AudioInspector,
    storage_origin: str,
    keys: EncryptionKeys = (),
    *,
    is_api: bool = True,
) -> Iterator[tuple[Context, DbosQueue]]:
    """Migrate the database and open the process's context; it is closed after the block.

    Args:
        settings: settings of the process.
        inspector: inspects recordings.
        storage_origin: where callers upload recordings to the embedded store.
        keys: key-encryption keys given with the command.
        is_api: whether callers submit recordings to this process.

    Raises:
        StartRefused: the stored data cannot be opened.
    """
    with ExitStack() as stack:
        database = _migrated_database(settings)
        stack.callback(database.close)
        signs = offered_signs(settings)
        try:
            queue = DbosQueue(settings.resolved_database_url)
            stack.callback(queue.close)
            clock = SystemClock()
            context = open_context(
                settings, database, queue, inspector, clock, storage_origin, signs, keys, is_api=is_api
            )
            alone = settings.storage_location is None and not settings.database_url.startswith("postgresql")
            context.storage.clear_incoming(ABANDONED_ALONE_AFTER_S if alone else ABANDONED_AFTER_S)
        except (SecretsDamaged, KeyUnusable, StoreUnusable, TracingMissing) as error:
            raise StartRefused(message_of(error)) from None
        except (SQLAlchemyError, OSError) as error:
            if is_disk_full(error):
                raise _disk_full(settings) from None
            raise
        stack.callback(close_context, context)
        yield context, queue


def start_work(runtime: RuntimeSupervisor, settings: Settings) -> None:
    """Start the background work. Raises StartRefused when the disk is full."""
    try:
        runtime.start()
    except (SQLAlchemyError, OSError) as error:
        if is_disk_full(error):
            raise _disk_full(settings) from None
        raise


def _disk_full(settings: Settings) -> StartRefused:
    folder = settings.data_dir
    if settings.database_url:
        return StartRefused(
            message("The disk of {folder} or that of the database is full. Make room, then start again.", folder=folder)
        )
    return StartRefused(message("The disk of {folder} is full. Make room, then start again.", folder=folder))


def _folder_unusable(data_dir: Path, error: OSError) -> StartRefused:
    return StartRefused(
        message("The folder {data_dir} cannot be used: {reason}.", data_dir=data_dir, reason=system_reason(error))
    )


def _migrated_database(settings: Settings) -> Database:
    try:
        database = open_database(settings)
    except DatabaseMissing as missing:
        raise StartRefused(message_of(missing)) from None
    except OSError as error:
        raise _folder_unusable(settings.data_dir, error) from None
    restrict_to_owner(own_files(settings.data_dir))  # an earlier release left the permissions to the umask
    try:
        upgrade(database, settings.data_dir)
    except MigrationFailed as error:
        database.close()
        raise StartRefused(message_of(error)) from None
    except SQLAlchemyError as error:
        database.close()
        if is_disk_full(error):
            raise _disk_full(settings) from None
        raise StartRefused(database_fault(settings, error)) from None
    return database


def own_files(data_dir: Path) -> list[Path]:
    """List the service's files in its folder, and the folder itself unless it contains other files."""
    own = {path for pattern in OWN_FILES for path in data_dir.glob(pattern)}
    return [data_dir] if own == set(data_dir.iterdir()) else sorted(own)


@contextmanager
def locked(data_dir: Path) -> Iterator[None]:
    """Lock the folder: two engines with one identity would take each other's jobs.

    Raises:
        StartRefused: another process holds the lock, or the folder is unusable.
    """
    try:
        make_private(data_dir)
        lock = FileLock(data_dir / _LOCK_FILE, timeout=0, mode=FILE_MODE)
        lock.acquire()
    except Timeout:
        raise StartRefused(
            message(
                "Another vbdesk serve is using {data_dir}. Stop it or choose another --data-dir.", data_dir=data_dir
            )
        ) from None
    except OSError as error:
        raise _folder_unusable(data_dir, error) from None
    with lock:
        yield


@contextmanager
def signals_raise() -> Iterator[None]:
    """Make SIGTERM unwind the stack like Ctrl-C during start and stop."""
    before = signal.signal(signal.SIGTERM, _raise_exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise_exit(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


async def live(
    context: Context,
    runtime: RuntimeSupervisor,
    drain_s: float,
    ends: Sequence[Ending],
    attend: Callable[[asyncio.Event], Awaitable[None]],
    operations: OperationsPort | None = None,
) -> None:
    """Run `attend(leave)` until the process is asked to stop; then drain while it continues.

    A signal or one of `ends` starts the drain; a second signal ends it early. The operations
    port reports "not ready" immediately. `leave` is set a moment later, when load balancers have seen that. The
    operations port closes last.

    Args:
        context: marked as draining.
        runtime: already started.
        drain_s: how long running jobs may continue.
        ends: stop when one of these ends.
        attend: the process's main work; it returns when its argument is set.
        operations: port for operators.
    """
    stop, stop_now, leave, drained = asyncio.Event(), threading.Event(), asyncio.Event(), asyncio.Event()
    _heed_signals(stop, stop_now)
    followers = [asyncio.create_task(_follow(end, stop)) for end in ends]

    async def wind_down() -> None:
        await stop.wait()
        context.draining.set()
        drain = asyncio.create_task(asyncio.to_thread(runtime.drain, drain_s, stop_now))
        notice_ends = time.monotonic() + (min(NOTICE_S, drain_s) if operations else 0)
        while time.monotonic() < notice_ends and not stop_now.is_set():
            await asyncio.sleep(_CHECK_INTERVAL_S)
        leave.set()
        await drain
        drained.set()

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(wind_down())
            if operations is not None:
                answers = asyncio.Event()
                served = [(operations.app, operations.socket)]
                tasks.create_task(run_servers(served, drained, answers.set))
                await answers.wait()
            await attend(leave)
    finally:
        for follower in followers:
            follower.cancel()


async def _follow(end: Ending, stop: asyncio.Event) -> None:
    await end()
    log.info("The process that started this one is gone; stopping.")
    stop.set()


def _heed_signals(stop: asyncio.Event, stop_now: threading.Event) -> None:
    def heed() -> None:
        (stop_now if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(name, heed)
        except NotImplementedError:  # Windows
            signal.signal(name, lambda *_: loop.call_soon_threadsafe(heed))


@contextmanager
def announced(ready_file: Path | None, facts: dict[str, Any]) -> Iterator[None]:
    """Write the ready file atomically; it is removed after the block."""
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

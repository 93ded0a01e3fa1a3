"""`vbdesk serve`: API, object store and job engine in one process, from lock to clean end."""

import asyncio
import gc
import json
import logging
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType

from filelock import FileLock, Timeout
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from vbdesk.service.app import create_app
from vbdesk.service.catalog.plugins import offered_signs
from vbdesk.service.clock import SystemClock
from vbdesk.service.composition import close_context, open_context, open_database
from vbdesk.service.context import Context
from vbdesk.service.db.migrate import MigrationFailed, upgrade
from vbdesk.service.db.session import Database
from vbdesk.service.parent import parent_gone
from vbdesk.service.secret_box import SecretsDamaged
from vbdesk.service.servers import bind, origin_of, run_servers
from vbdesk.service.settings import Settings
from vbdesk.service.storage.local import LocalObjectStore
from vbdesk.service.storage.origin import create_storage_app
from vbdesk.service.uploads.service import UploadService
from vbdesk.service.work.dbos_engine import DbosQueue
from vbdesk.service.work.inspection import FencedInspector
from vbdesk.service.work.runtime import Runtime

log = logging.getLogger(__name__)

_LOCK_FILE = "serve.lock"
_STOP_GRACE_S = 5.0
_HOUSEKEEPING_S = 3600.0


class ServeRefused(Exception):
    """The service cannot start here; one sentence for the operator."""


def serve(settings: Settings, ready_file: Path | None = None, parent_pid: int | None = None) -> None:
    """Run until SIGTERM, SIGINT or the end of the process `parent_pid`.

    Args:
        settings: What to run.
        ready_file: Written whole once both ports answer, removed at the end.
        parent_pid: Process whose end is ours.

    Raises:
        ServeRefused: the folder is being served already, a port cannot be had, or the stored data cannot be opened.
    """
    with ExitStack() as stack:
        stack.enter_context(_signals_raise())
        stack.enter_context(_locked(settings.data_dir))
        api_socket = stack.enter_context(_bound(settings.host, settings.port))
        storage_socket = stack.enter_context(_bound(settings.host, settings.storage_port))
        database = _migrated_database(settings)
        queue = DbosQueue(settings.resolved_database_url)
        stack.callback(queue.close)
        inspector = FencedInspector()
        stack.callback(inspector.close)
        try:
            origin, own_signs = origin_of(storage_socket), offered_signs(settings)
            context = open_context(settings, database, queue, inspector, SystemClock(), origin, own_signs)
        except SecretsDamaged as error:
            raise ServeRefused(str(error)) from None
        stack.callback(close_context, context)
        if isinstance(context.storage, LocalObjectStore):
            context.storage.clear_incoming()
        runtime = Runtime(context, queue, workers=settings.workers)
        stack.callback(runtime.stop, grace_s=_STOP_GRACE_S)
        runtime.start()
        if ready_file is not None:
            stack.callback(ready_file.unlink, missing_ok=True)
        with suppress(KeyboardInterrupt):
            asyncio.run(_answer_requests(context, api_socket, storage_socket, ready_file, parent_pid))


async def _answer_requests(
    context: Context,
    api_socket: socket.socket,
    storage_socket: socket.socket,
    ready_file: Path | None,
    parent_pid: int | None,
) -> None:
    stop = asyncio.Event()
    _stop_on_signals(stop)
    ready = {"base_url": origin_of(api_socket), "storage_url": origin_of(storage_socket), "pid": os.getpid()}

    def announce() -> None:
        gc.collect()
        gc.freeze()  # what start-up made stays; looking through it again, and again, would hold up requests
        log.info("The service answers at %s, its object store at %s.", ready["base_url"], ready["storage_url"])
        if ready_file is not None:
            _write_whole(ready_file, json.dumps(ready))

    tasks = [asyncio.create_task(_keep_house(context))]
    if parent_pid is not None:
        tasks.append(asyncio.create_task(_stop_with(parent_pid, stop)))
    storage_app = create_storage_app(context.storage, context.signer, context.clock)
    try:
        await run_servers([(create_app(context), api_socket), (storage_app, storage_socket)], stop, announce)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _stop_with(parent_pid: int, stop: asyncio.Event) -> None:
    await parent_gone(parent_pid)
    log.info("The process that started the service is gone; stopping.")
    stop.set()


async def _keep_house(context: Context) -> None:
    """Remove what is past, now and every hour."""
    while True:
        try:
            await run_in_threadpool(_remove_past, context)
        except Exception as error:
            log.warning("Past uploads could not be removed (%s); trying again later.", type(error).__name__)
        await asyncio.sleep(_HOUSEKEEPING_S)


def _remove_past(context: Context) -> None:
    context.rates.remove_past(context.clock.now())
    uploads = UploadService(context.storage, context.signer, context.clock, context.settings.upload_valid_s)
    with context.database.writing() as connection:
        uploads.remove_past(connection)


def _migrated_database(settings: Settings) -> Database:
    database = open_database(settings)
    try:
        upgrade(database, settings.data_dir)
    except (SQLAlchemyError, MigrationFailed) as error:
        database.close()
        kind = type(error).__name__  # the message itself may show the database's address and password
        raise ServeRefused(
            f"The database cannot be opened or brought up to date ({kind}). Check the address or restore a backup."
        ) from None
    return database


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    """The folder's lock: two engines with one identity would take each other's jobs."""
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(data_dir / _LOCK_FILE, timeout=0)
        lock.acquire()
    except Timeout:
        raise ServeRefused(f"Another vbdesk serve is using {data_dir}. Stop it or choose another --data-dir.") from None
    except OSError as error:
        raise ServeRefused(f"The folder {data_dir} cannot be used: {error.strerror}.") from None
    with lock:
        yield


@contextmanager
def _bound(host: str, port: int) -> Iterator[socket.socket]:
    try:
        bound = bind(host, port)
    except OSError as error:
        raise ServeRefused(f"Cannot listen on {host} port {port}: {error.strerror}. Choose another port.") from None
    with bound:
        yield bound


@contextmanager
def _signals_raise() -> Iterator[None]:
    """While starting and stopping, SIGTERM unwinds the stack as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, _raise_exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _raise_exit(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def _stop_on_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(name, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(name, lambda *_: loop.call_soon_threadsafe(stop.set))


def _write_whole(path: Path, text: str) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    Path(temporary).replace(path)

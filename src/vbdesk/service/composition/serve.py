"""`vbdesk serve`: API, object store and job engine in one process."""

import asyncio
import gc
import logging
import os
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from itertools import combinations
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp

from vbdesk.language import message
from vbdesk.service.composition.app import create_app
from vbdesk.service.composition.process import (
    OperationsPort,
    StartRefused,
    announced,
    bound,
    bound_for_operations,
    live,
    locked,
    opened,
    signals_raise,
    start_work,
)
from vbdesk.service.composition.servers import origin_of, run_servers
from vbdesk.service.encryption.keys import EncryptionKeys
from vbdesk.service.engine.inspection import SandboxedInspector
from vbdesk.service.engine.supervisor import supervise_runtime
from vbdesk.service.health.operations_app import create_ops_app
from vbdesk.service.http.storage_origin import create_storage_app
from vbdesk.service.kernel.parent_process import Ending
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.maintenance.existing_data import Interrupted, encrypt_existing_data
from vbdesk.service.maintenance.orphans import EVERY_FOLDER
from vbdesk.service.maintenance.store_identity import may_remove
from vbdesk.service.ports.context import Context
from vbdesk.service.storage.addresses import EmbeddedAddresses
from vbdesk.service.uploads.service import StoredUploads, UploadService

log = logging.getLogger(__name__)

_DRAIN_S = 5.0
_HOUSEKEEPING_S = 3600.0
_ALL_ADDRESSES = frozenset({"0.0.0.0", "::"})  # noqa: S104  (compared, not bound)
_ENCRYPT_RETRY_S = 5.0


def serve(
    settings: Settings,
    ready_file: Path | None = None,
    ends: Sequence[Ending] = (),
    keys: EncryptionKeys = (),
) -> None:
    """Run until SIGTERM, SIGINT or one of `ends`.

    Args:
        settings: settings to run with.
        ready_file: written atomically once both ports answer, removed at the end.
        ends: also stop when one of these ends.
        keys: key-encryption keys given with the command.

    Raises:
        StartRefused: the folder is already served, a port is not available, two ports are equal, or the stored data
            cannot be opened.
    """
    _require_different_ports(settings)
    with ExitStack() as stack:
        stack.enter_context(signals_raise())
        stack.enter_context(locked(settings.data_dir))
        api_socket = stack.enter_context(bound(settings.host, settings.port))
        storage_socket = None
        if settings.storage_location is None:  # otherwise callers upload recordings to a cloud store
            storage_socket = stack.enter_context(bound(settings.host, settings.storage_port))
        ops_socket = stack.enter_context(bound_for_operations(settings))
        inspector = SandboxedInspector()
        stack.callback(inspector.close)
        origin = origin_of(storage_socket) if storage_socket else ""
        context, queue = stack.enter_context(opened(settings, inspector, origin, keys))
        runtime = supervise_runtime(context, queue, workers=settings.workers)
        stack.callback(runtime.stop)
        start_work(runtime, settings)
        context.encryption.is_checked.clear()
        app = create_app(context)
        operations = None
        if ops_socket is not None:
            operations = OperationsPort(create_ops_app(context, app.state.readiness), ops_socket)
        ready = {
            "base_url": origin_of(api_socket),
            "storage_url": origin_of(storage_socket) if storage_socket else settings.storage_url,
            "pid": os.getpid(),
            "ops_url": operations and operations.url,
            "encryption": "off" if context.encryption.keys is None else "on",
        }
        answer = partial(
            _answer_requests, context, app, api_socket, storage_socket, partial(announced, ready_file, ready)
        )
        with suppress(KeyboardInterrupt):
            asyncio.run(live(context, runtime, settings.drain_s or _DRAIN_S, ends, answer, operations))


def _require_different_ports(settings: Settings) -> None:
    """Refuse one port for two purposes: the system would only fail at listen."""
    ports = [("port", settings.host, settings.port)]
    if settings.storage_location is None:
        ports.append(("storage_port", settings.host, settings.storage_port))
    if settings.ops_port is not None:
        ports.append(("ops_port", settings.ops_host, settings.ops_port))
    for (one, host, port), (other, other_host, other_port) in combinations(ports, 2):
        meet = host == other_host or not _ALL_ADDRESSES.isdisjoint((host, other_host))
        if port == other_port != 0 and meet:
            raise StartRefused(
                message(
                    "{one} and {other} are both {port}. Give each a port of its own, or 0 for a free one.",
                    one=one,
                    other=other,
                    port=str(port),
                )
            )


async def _answer_requests(
    context: Context,
    app: ASGIApp,
    api_socket: socket.socket,
    storage_socket: socket.socket | None,
    announce: Callable[[], AbstractContextManager[None]],
    leave: asyncio.Event,
) -> None:
    apps = [(app, api_socket)]
    storage_app = embedded_origin(context)
    if storage_app is not None and storage_socket is not None:
        apps.append((storage_app, storage_socket))
    house = asyncio.create_task(_housekeeping(context))
    encrypting = asyncio.create_task(_encrypt_existing(context, leave))
    with ExitStack() as stack:

        def begin() -> None:
            gc.collect()
            gc.freeze()  # keep start-up objects out of garbage collection, which would delay requests
            log.info("The service answers, at %s.", " and ".join(origin_of(listening) for _, listening in apps))
            stack.enter_context(announce())

        try:
            await run_servers(apps, leave, begin, trusted_proxies=context.settings.trusted_proxies)
        finally:
            house.cancel()
            await asyncio.gather(house, encrypting, return_exceptions=True)


async def _housekeeping(context: Context) -> None:
    """Remove expired data now and every hour."""
    while True:
        try:
            await run_in_threadpool(_remove_past, context)
        except Exception as error:
            log.warning("Past uploads could not be removed (%s); trying again later.", type(error).__name__)
        await asyncio.sleep(_HOUSEKEEPING_S)


async def _encrypt_existing(context: Context, leave: asyncio.Event) -> None:
    """Encrypt data stored before there was a key, until none is left or the process ends."""
    if context.encryption.keys is None:
        return
    ending = threading.Event()
    work = asyncio.create_task(asyncio.to_thread(_encrypt_until_complete, context, ending))
    left = asyncio.create_task(leave.wait())
    await asyncio.wait([work, left], return_when=asyncio.FIRST_COMPLETED)
    ending.set()
    left.cancel()
    await work


def _encrypt_until_complete(context: Context, ending: threading.Event) -> None:
    now = context.clock.now
    while not ending.is_set():
        try:
            if encrypt_existing_data(context.database, context.storage, EVERY_FOLDER, now(), ending):
                context.encryption.is_checked.set()
                return
        except Interrupted:
            return
        except Exception as error:
            log.warning("Existing data cannot be encrypted now (%s); trying again.", type(error).__name__)
        ending.wait(_ENCRYPT_RETRY_S)


def _remove_past(context: Context) -> None:
    context.rates.remove_past(context.clock.now())
    if may_remove(context):
        UploadService.of(context).remove_past()


def embedded_origin(context: Context) -> Starlette | None:
    """Create the application that receives uploads; None where callers upload to a cloud store."""
    if not isinstance(context.addresses, EmbeddedAddresses):
        return None
    uploads, origins = StoredUploads(context.database), context.settings.cors_origins
    signer = context.addresses.signer
    return create_storage_app(context.storage, signer, context.clock, uploads, context.disk.require, origins)

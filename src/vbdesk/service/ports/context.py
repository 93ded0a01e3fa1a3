"""Everything the running service leans on, gathered once and handed to the app."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection

from vbdesk.contract.longitudinal import TimeScale
from vbdesk.service.encryption.state import Encryption
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.clock import Clock
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.disk_space import DiskReserve
from vbdesk.service.kernel.secret_box import SecretBox
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.limits.bytes_in_flight import BytesInFlight
from vbdesk.service.limits.windows import RateWindows
from vbdesk.service.observability.metrics import Metrics
from vbdesk.service.observability.tracing import Tracing
from vbdesk.service.ports.audio_inspector import AudioInspector
from vbdesk.service.ports.identity import Authenticator, KeyUseRecorder, SessionFinder
from vbdesk.service.ports.job_events import JobEvents
from vbdesk.service.storage.addresses import UploadAddresses
from vbdesk.service.storage.store import ObjectStore

if TYPE_CHECKING:
    from vbdesk.longitudinal.parameters import Parameters


class JobQueue(Protocol):
    """Where an accepted job goes to be run."""

    def enqueue(self, connection: Connection, job_id: str, queue_tag: int) -> None:
        """Enqueue the job in the caller's transaction: it is queued exactly when the caller commits.

        Of waiting jobs the one with the lowest `queue_tag` is run next.
        """
        ...


class Admission(Protocol):
    """Keeps the queue of jobs within its limit."""

    def check(self, connection: Connection, account_id: str) -> None:
        """Let a submit of this account pass. Raises ServiceBusy."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """The outside world of the service, each part behind its own type.

    Attributes:
        addresses: where callers put recordings, without passing through the API.
        accounts: checks credentials.
        job_events: what follows from the changes of jobs.
        plugin_signs: time scale of each sign of the lab's own that is offered, by name.
        parameters: of the longitudinal method, these signs included.
        admission: turns submits away while too much waits.
        guard: decides on addresses that callers name, and bounds the lookups of their names.
        disk: how much disk space is left, and how much is held back.
        key_uses: notes in the background when keys are used.
        session_uses: finds sessions of the console, and notes in the background when they are used.
        in_flight: bytes that accounts are sending to this process.
        metrics: what this process counts.
        tracing: where its spans go; nowhere by default.
        draining: set as soon as this process was told to stop.
    """

    settings: Settings
    database: Database
    rates: RateWindows
    storage: ObjectStore
    encryption: Encryption
    addresses: UploadAddresses
    clock: Clock
    secrets: SecretBox
    queue: JobQueue
    inspector: AudioInspector
    accounts: Authenticator
    job_events: JobEvents
    plugin_signs: Mapping[str, TimeScale]
    parameters: "Parameters"
    admission: Admission
    guard: AddressGuard
    key_uses: KeyUseRecorder
    session_uses: SessionFinder
    disk: DiskReserve
    in_flight: BytesInFlight = field(default_factory=BytesInFlight)
    metrics: Metrics = field(default_factory=Metrics)
    tracing: Tracing = field(default_factory=Tracing)
    draining: threading.Event = field(default_factory=threading.Event)

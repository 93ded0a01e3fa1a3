"""All dependencies of the running service, created once and passed to the app."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Connection

from vbdesk.clock import Clock
from vbdesk.contract.longitudinal import TimeScale
from vbdesk.service.encryption.state import Encryption
from vbdesk.service.kernel.address_guard import AddressGuard
from vbdesk.service.kernel.db.session import Database
from vbdesk.service.kernel.disk_space import DiskReserve
from vbdesk.service.kernel.secret_box import SecretBox
from vbdesk.service.kernel.settings import Settings
from vbdesk.service.limits.bytes_in_flight import BytesInFlight
from vbdesk.service.limits.rate_windows import RateWindows
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
    """Queue of accepted jobs."""

    def enqueue(self, connection: Connection, job_id: str, queue_tag: int) -> None:
        """Enqueue the job in the caller's transaction: it is queued if the caller commits.

        The waiting job with the lowest `queue_tag` runs next.
        """
        ...


class Admission(Protocol):
    """Keeps the queue of jobs within its limit."""

    def check(self, connection: Connection, account_id: str) -> None:
        """Check whether the account may submit a job now. Raises ServiceBusy."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """The dependencies of the service.

    Attributes:
        addresses: upload addresses, which bypass the API.
        accounts: checks credentials.
        job_events: subscribers of job changes.
        plugin_signs: time scale of each plugin sign, by name.
        parameters: of the longitudinal method, plugin signs included.
        admission: refuses submits while too many jobs wait.
        guard: checks addresses that callers name, and limits concurrent name lookups.
        disk: free disk space, and the reserve.
        key_uses: records the last use of keys in the background.
        session_uses: finds console sessions and records their last use in the background.
        in_flight: bytes that accounts are sending to this process.
        metrics: metrics of this process.
        tracing: where spans are sent; nowhere by default.
        draining: set as soon as this process gets the order to stop.
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

"""One open profile: its recordings, its way to the service, and what pages need of both."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.capture.recorder import Recorder, Take
from vbdesk.client import Client, Credentials, RequestBudget
from vbdesk.client.errors import ConnectionFailed
from vbdesk.client.local_service import LocalEncryption
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.flow import Flow, ProgramFlow
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.flow.tasks import LongLived, Stoppable, TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.locking.app_lock import AppLock
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.shell.arrived_results import ArrivedResults
from vbdesk.desk.shell.local_service import LocalServiceProcess
from vbdesk.desk.shell.reading_language import ReadingLanguage
from vbdesk.desk.shell.speaker_watch import SpeakerWatch
from vbdesk.desk.system_network import SystemNetwork
from vbdesk.language import joined, message
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.pending_erasures import ErasureScope, PendingErasure
from vbdesk.outbox.library.settings import LibrarySettings
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import VaultFailed
from vbdesk.outbox.results.repository import ResultRepository
from vbdesk.outbox.sync.connectivity import SyncStatus
from vbdesk.outbox.sync.forecast import Forecast
from vbdesk.outbox.sync.network import Network, UnknownNetwork
from vbdesk.outbox.sync.request_journal import StoredRequestJournal
from vbdesk.outbox.sync.sync_worker import SyncWorker

_GATHER_MS = 200


@dataclass(frozen=True, slots=True)
class _Counted:
    """The library as the frame of the window shows it."""

    counts: dict[OutboxState, int]
    held_back: int
    settings: LibrarySettings
    warnings: tuple[str, ...]
    erasure_due: bool


@dataclass(frozen=True)
class _CountsRead(Read[_Counted]):
    topics = frozenset({Changed.LIBRARY})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> _Counted:
        library = context.library
        erasure_due = library.erasures is not None and bool(library.erasures.due())
        held_back = library.consent_gate.held_back()
        return _Counted(library.counts(), held_back, library.settings(), library.warnings, erasure_due)

    def shows_same(self, value: _Counted, other: _Counted) -> bool:
        return value == other and not value.erasure_due  # another erasure may be owed


def open_library(profile: Profile, ports: DeskPorts) -> Library:
    """Open the recordings of a profile. Blocks on the keyring and the disk.

    Raises:
        LibraryInUse: another program has them open.
        VaultError, LibraryKeyMissing, OSError: as the vault and the library do.
    """
    folder = ports.library_dir(profile.profile_id)
    return LockedLibrary(profile, folder, ports.vault(profile.secrets), ports.clock, policy=ports.policy)


def open_budget(profile: Profile, library: Library) -> RequestBudget:
    """The request budget of a profile, which knows what was sent in the last minute. Blocks on the disk."""
    return RequestBudget.of_plan(profile.plan, StoredRequestJournal(library.store))


class Workspace(QObject):
    """An open profile.

    Attributes:
        profile: which service and account.
        library: its recordings; every method of it blocks, so call it in tasks.
        results: jobs, results and trajectories of the service.
        flow: what pages read and change.
        tasks: the owner of all tasks.
        navigator: to ask for another page.
        arrived: signals that results have come.
        sync: what is known of the library and the sync worker.
        ports: microphones, players and everything else beyond the process.
        app_lock: locks the window; None in a program without one.
        reading: the language that the window is read in; None in a program without one.
        encryption: whether the service on this computer keeps its data encrypted; None for a service elsewhere.

    Signals:
        profiles_renamed: (list[Profile]) a profile has another name.
        encryption_changed: `encryption` is another than before.
        warned: (Message) something about the recordings is not as vbdesk wrote it; empty once it is.
    """

    profiles_renamed = Signal(object)
    encryption_changed = Signal()
    warned = Signal(object)
    _poked = Signal()
    _status_changed = Signal(object)

    def __init__(
        self,
        profile: Profile,
        library: Library,
        budget: RequestBudget,
        program: ProgramFlow,
        parent: QObject | None = None,
        *,
        service_key: bytes | None = None,
        app_lock: AppLock | None = None,
        reading: ReadingLanguage | None = None,
    ) -> None:
        """Start nothing yet; `service_key` is what the service on this computer encrypts its data with."""
        super().__init__(parent)
        self.app_lock, self.reading = app_lock, reading
        self.profile, self.library, self.tasks = profile, library, program.tasks
        self._service_key = service_key
        self.encryption = LocalEncryption.UNKNOWN if profile.kind == "local" else None
        self.ports = ports = program.ports
        self._warnings: tuple[str, ...] = ()
        self._base_url = profile.base_url
        self._thread: LongLived | None = None
        self._local_service: LocalServiceProcess | None = None
        self._wake = threading.Event()
        network: Network = UnknownNetwork() if profile.kind == "local" else ports.network()
        self.sync = SyncState(network, self)
        self._budget = budget
        self.results = ResultRepository(library, self.client)
        context = DeskContext(ports, profile, library, self.results, self, self.sync, self._new_recorder)
        self.flow = Flow(context, self.tasks, self)
        self.navigator = self.flow.navigator
        self.arrived, self._speakers = ArrivedResults(self.flow), SpeakerWatch(self.flow)
        self._sync_worker = SyncWorker(
            library,
            self._sync_client,
            ports.clock,
            self._wake,
            budget=self._budget,
            network=network,
            results=self.results,
            on_status=self._status_changed.emit,
        )
        self._frame = self.flow.screen(self)
        self._frame.changed.connect(self._on_counts)
        self._gather = QTimer(self, singleShot=True)
        self._gather.setInterval(_GATHER_MS)
        self._gather.timeout.connect(self._pass_on_change)
        self._poked.connect(self._on_poked)
        self._status_changed.connect(self.sync.set_status)
        self._leave_library = library.subscribe(self._poked.emit)
        self._leave_results = self.results.subscribe(self.sync.results_changed.emit)
        if isinstance(network, SystemNetwork):
            network.changed.connect(self._on_network)

    def start(self) -> None:
        """Begin to bring recordings to the service; first start that service, where it is on this computer."""
        self._pass_on_change()
        if self.profile.kind == "service":
            self._start_sync_worker()
            return
        if self._service_key is None:
            raise ValueError("The service on this computer does not start without its key.")
        self.sync.set_status(SyncStatus(None, message("Starting the service on this computer"), None, None))
        service = self.ports.local_service(self.ports.service_dir, self._service_key)
        self._local_service = LocalServiceProcess(service, self.flow, self)
        self._local_service.encryption_changed.connect(self._on_encryption)
        self._local_service.ready.connect(self._on_service_ready)
        self._local_service.failed.connect(self._on_service_failed)
        self._local_service.start()

    def client(self) -> Client:
        """A client of the profile's account, within the one budget of it. Blocks on the keyring: call it in a task.

        Raises:
            ConnectionFailed: the service on this computer does not run yet.
            VaultError: the key cannot be read, or there is none.
        """
        return self._connected(self._budget)

    def _sync_client(self) -> Client:
        """The sync worker's own: it plans and counts its requests itself."""
        return self._connected(None)

    def _connected(self, budget: RequestBudget | None) -> Client:
        if self._base_url is None:
            raise ConnectionFailed(maybe_delivered=False)
        key = self.ports.vault(self.profile.secrets).get(self.profile.api_key_name)
        if key is None:
            raise VaultFailed(
                message("The API key of this profile is not in the keyring. Enter it again under Account.")
            )
        return self.ports.connect(self._base_url, Credentials(self.profile.account_id, key), budget)

    @property
    def budget(self) -> RequestBudget:
        """What may still be asked of the service, shared by all who ask."""
        return self._budget

    def forecast(self) -> Forecast | None:
        """How long the line should take; None where nothing can be said. From any thread."""
        return self._sync_worker.forecast()

    def try_again(self) -> None:
        """Resume a queue on hold, and ask the keyring again."""
        self.ports.vault(self.profile.secrets).allow_prompt()
        self._sync_worker.resume()

    def check_now(self) -> None:
        """Ask the service at once for everything that waits for it."""
        self._sync_worker.check_now()

    def open_login_page(self) -> None:
        """Open the service's address in the browser: the network's login page comes in its place."""
        if self._base_url is not None:
            self.ports.open_page(self._base_url)

    def running_parts(self) -> list[Stoppable]:
        """What has to stop before the library can be closed."""
        mark_thread = self.library.mark_thread if isinstance(self.library, LockedLibrary) else None
        return [part for part in (self._thread, self._local_service, mark_thread) if part is not None]

    def leave(self) -> Library:
        """Stop following the library, after everything has stopped; returns it, to be closed in a task."""
        self._gather.stop()
        self._speakers.stop()
        if self.flow.erasures is not None:
            self.flow.erasures.stop()
        self._leave_library()
        self._leave_results()
        return self.library

    def close(self) -> None:
        """Let go of the library, after everything has stopped. Blocks on the disk."""
        self.leave().close()

    def _new_recorder(self, on_finished: Callable[[Take], None]) -> Recorder:
        ports, library = self.ports, self.library
        key = lambda: library.store.key  # noqa: E731
        return Recorder(
            ports.microphone, library.recording_folder, key, ports.clock, ports.lister, on_finished=on_finished
        )

    def erase_at_service(self, erasure: PendingErasure) -> None:
        """Erase a recording at the service on this computer. Blocks; raises LocalServiceFailed."""
        if self._service_key is None:
            raise ValueError("The service on this computer erases nothing without its key.")
        self.ports.erase_recordings(
            self.ports.service_dir,
            self._service_key,
            self.profile.account_id,
            erasure.job_ids,
            erasure.upload_refs,
            sound_only=erasure.what is ErasureScope.SOUND,
        )

    def _start_sync_worker(self) -> None:
        self._thread = LongLived(self._sync_worker.run, self._wake.set, "sync-worker")
        self._thread.start()

    @Slot(str)
    def _on_service_ready(self, base_url: str) -> None:
        self._base_url = base_url
        self.sync.set_status(SyncStatus(None, message("Connecting"), None, self.sync.status.credits))
        if self._thread is None:
            self._start_sync_worker()
        else:
            self._sync_worker.resume()

    @Slot(object)
    def _on_service_failed(self, sentence: str) -> None:
        self.sync.set_status(SyncStatus(False, sentence, None, self.sync.status.credits))

    @Slot(object)
    def _on_encryption(self, found: LocalEncryption) -> None:
        self.encryption = found
        self.encryption_changed.emit()

    @Slot()
    def _on_network(self) -> None:
        self._wake.set()
        self.sync.network_changed.emit()

    @Slot()
    def _on_poked(self) -> None:
        if not self._gather.isActive():
            self._gather.start()

    @Slot()
    def _pass_on_change(self) -> None:
        self.sync.library_changed.emit()
        if self._frame.read(_CountsRead) is None:
            self._frame.add(_CountsRead())

    @Slot()
    def _on_counts(self) -> None:
        found = self._frame.of(_CountsRead).value
        if found is None:
            return
        self.sync.set_counts(found.counts, found.settings, found.held_back)
        if found.erasure_due and self.flow.erasures is not None and self._local_service is not None:
            self.flow.erasures.check()
        if found.warnings != self._warnings:
            self._warnings = found.warnings
            self.warned.emit(joined(*found.warnings))

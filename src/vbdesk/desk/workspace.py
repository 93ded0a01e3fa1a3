"""One open profile: its recordings, its way to the service, and what pages need of both."""

import threading

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from vbdesk.client import Client, Credentials
from vbdesk.client.errors import ConnectionFailed
from vbdesk.desk.local_service import LocalServiceKeeper
from vbdesk.desk.navigation import Navigator
from vbdesk.desk.outside import Outside
from vbdesk.desk.tasks import LongLived, Stoppable, TaskContext, TaskOwner
from vbdesk.outbox.courier import Courier, CourierStatus
from vbdesk.outbox.library import Library
from vbdesk.outbox.profiles import Profile, library_key
from vbdesk.outbox.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.vault import VaultFailed

_GATHER_MS = 200


def open_library(profile: Profile, outside: Outside) -> Library:
    """Open the recordings of a profile. Blocks on the keyring and the disk.

    Raises:
        VaultError, LibraryKeyMissing, OSError: as the vault and the library do.
    """
    folder = outside.library_dir(profile.profile_id)
    folder.mkdir(parents=True, exist_ok=True)
    key = library_key(outside.vault(profile.secrets), profile, folder)
    return Library(folder, key, outside.clock)


class Workspace(QObject):
    """An open profile.

    Attributes:
        profile: which service and account.
        library: its recordings; every method of it blocks, so call it in tasks.
        tasks: the owner of all tasks.
        navigator: to ask for another page.
        outside: microphones, players and the rest of the world.

    Signals:
        library_changed: a recording changed; at most five times a second.
        counts_changed: (dict[OutboxState, int]) how many recordings are in each state.
        status_changed: (CourierStatus) the way to the service is another than before.
    """

    library_changed = Signal()
    counts_changed = Signal(object)
    status_changed = Signal(object)
    _poked = Signal()
    _told = Signal(object)

    def __init__(
        self,
        profile: Profile,
        library: Library,
        tasks: TaskOwner,
        outside: Outside,
        navigator: Navigator,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.profile, self.library, self.tasks = profile, library, tasks
        self.outside, self.navigator = outside, navigator
        self.status = CourierStatus(None, "Connecting", None, None)
        self.counts: dict[OutboxState, int] = dict.fromkeys(OutboxState, 0)
        self._base_url = profile.base_url
        self._thread: LongLived | None = None
        self._keeper: LocalServiceKeeper | None = None
        self._wake = threading.Event()
        self._courier = Courier(
            library, self.client, outside.clock, self._wake, plan=profile.plan, on_status=self._told.emit
        )
        self._gather = QTimer(self)
        self._gather.setSingleShot(True)
        self._gather.setInterval(_GATHER_MS)
        self._gather.timeout.connect(self._pass_on_change)
        self._poked.connect(self._on_poked)
        self._told.connect(self._on_status)
        self._leave_library = library.subscribe(self._poked.emit)

    def start(self) -> None:
        """Begin to bring recordings to the service; first start that service, where it is on this computer."""
        self._pass_on_change()
        if self.profile.kind == "service":
            self._start_courier()
            return
        self._on_status(CourierStatus(None, "Starting the service on this computer", None, None))
        service = self.outside.local_service(self.outside.service_dir)
        self._keeper = LocalServiceKeeper(service, self.tasks, self)
        self._keeper.ready.connect(self._on_service_ready)
        self._keeper.failed.connect(self._on_service_failed)
        self._keeper.start()

    def client(self) -> Client:
        """A client of the profile's account. Blocks on the keyring: call it in a task.

        Raises:
            ConnectionFailed: the service on this computer does not run yet.
            VaultError: the key cannot be read, or there is none.
        """
        if self._base_url is None:
            raise ConnectionFailed(maybe_delivered=False)
        key = self.outside.vault(self.profile.secrets).get(self.profile.api_key_name)
        if key is None:
            raise VaultFailed("The API key of this profile is not in the keyring. Enter it again under Account.")
        return self.outside.connect(self._base_url, Credentials(self.profile.account_id, key))

    def try_again(self) -> None:
        """Let a line on hold go on: a person has mended what held it."""
        self._courier.resume()

    @property
    def on_their_way(self) -> int:
        """How many recordings are on their way to a result."""
        return sum(self.counts[state] for state in ON_THEIR_WAY)

    @property
    def need_attention(self) -> int:
        """How many recordings wait for a person."""
        return self.counts[OutboxState.NEEDS_ATTENTION]

    def running_parts(self) -> list[Stoppable]:
        """What has to stop before the library can be closed."""
        parts: list[Stoppable] = [part for part in (self._thread, self._keeper) if part is not None]
        return parts

    def close(self) -> None:
        """Let go of the library, after everything has stopped."""
        self._gather.stop()
        self._leave_library()
        self.library.close()

    def _start_courier(self) -> None:
        self._thread = LongLived(self._courier.run, self._wake.set, "courier")
        self._thread.start()

    @Slot(str)
    def _on_service_ready(self, base_url: str) -> None:
        self._base_url = base_url
        self._on_status(CourierStatus(None, "Connecting", None, self.status.credits))
        if self._thread is None:
            self._start_courier()
        else:
            self._courier.resume()

    @Slot(str)
    def _on_service_failed(self, sentence: str) -> None:
        self._on_status(CourierStatus(False, sentence, None, self.status.credits))

    @Slot()
    def _on_poked(self) -> None:
        if not self._gather.isActive():
            self._gather.start()

    @Slot()
    def _pass_on_change(self) -> None:
        self.library_changed.emit()
        self.tasks.start(self._count, self._on_counts, name="counts")

    def _count(self, context: TaskContext) -> dict[OutboxState, int]:
        return self.library.counts()

    @Slot(object)
    def _on_counts(self, counts: dict[OutboxState, int]) -> None:
        if counts != self.counts:
            self.counts = counts
        self.counts_changed.emit(counts)

    @Slot(object)
    def _on_status(self, status: CourierStatus) -> None:
        self.status = status
        self.status_changed.emit(status)

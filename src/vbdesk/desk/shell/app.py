"""The composition root: makes all objects, opens and closes profiles."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from PySide6.QtCore import QObject, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication

from vbdesk.client import Credentials, RequestBudget
from vbdesk.contract.limits import Plan
from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.profile_creation import Setup
from vbdesk.desk.first_start.view_model import FirstStartViewModel
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import Failure, SerialTasks, TaskContext, TaskOwner
from vbdesk.desk.help.window import HelpWindow
from vbdesk.desk.locking.app_lock import AppLock
from vbdesk.desk.locking.service_keys import ServiceKeys
from vbdesk.desk.locking.unlocking import RecoveryOfferViewModel, UnlockViewModel, WrongTries
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.preferences import Preferences, PreferenceStore
from vbdesk.desk.shell.all_pages import PAGES
from vbdesk.desk.shell.application import DeskApplication
from vbdesk.desk.shell.gc_on_main_thread import MainThreadCollector
from vbdesk.desk.shell.imports_ahead import import_ahead
from vbdesk.desk.shell.input_watch import InputWatch
from vbdesk.desk.shell.main_window import MainWindow
from vbdesk.desk.shell.one_desk import claimed
from vbdesk.desk.shell.reading_language import ReadingLanguage, begin_reading, show_in
from vbdesk.desk.shell.shipped_files import load_shipped_files
from vbdesk.desk.shell.window_keys import WindowKeys
from vbdesk.desk.shell.window_place import place_in_view
from vbdesk.desk.shell.workspace import Workspace, open_budget, open_library
from vbdesk.desk.ui.accessibility import install_scroll_area_workaround
from vbdesk.desk.ui.next_turn import in_next_turn
from vbdesk.desk.ui.notice import NoticeAction, Tone, close_action
from vbdesk.desk.ui.routes import page_of_file
from vbdesk.desk.ui.theme import Theme, app_theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.desk.unlock.pages import LockPage, RecoveryOfferPage, UnlockPage
from vbdesk.language import _, current, formats
from vbdesk.outbox.library.library import Library
from vbdesk.outbox.library.opening import LibraryInUse
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, new_profile_id
from vbdesk.outbox.profiles.service_key import AppLocked, PassphraseNeeded, ServiceKeyMissing
from vbdesk.outbox.profiles.vault import MemoryVault, VaultError

_SIZE = (1280, 800)
_SIGNAL_INTERVAL_MS = 300
_GIVE_WAY_S = 0.0005  # workers yield to the GUI thread after this long; Python's default of 5 ms adds up to stalls
_OPEN_RETRY_MS = 2000  # while the keyring or another program blocks a profile


class Desk(QObject):
    """The desktop application: one window, one open profile at a time.

    Signals:
        ended: everything has stopped; the program can exit.
    """

    ended = Signal()

    def __init__(
        self,
        ports: DeskPorts,
        profile_name: str | None = None,
        first_page: tuple[str, object] | None = None,
        chosen: Preferences | None = None,
    ) -> None:
        super().__init__()
        sys.setswitchinterval(_GIVE_WAY_S)
        load_shipped_files()
        self._ports = ports
        self._wanted_name, self._first_page = profile_name, first_page
        self._setup = Setup(ports)
        self._keys = ServiceKeys(ports)
        self._tasks = TaskOwner(self)
        self._program = ProgramFlow(ProgramContext(ports), self._tasks, self)
        self._switching = TaskOwner(self)
        self._libraries = SerialTasks(self._tasks, self)
        self._profiles: list[Profile] = []
        self._next: Profile | None = None
        self._retry_timer = QTimer(self)
        self._retry_timer.setSingleShot(True)
        self._retry_timer.setInterval(_OPEN_RETRY_MS)
        self._retry_timer.timeout.connect(self._open_next)
        self.workspace: Workspace | None = None
        self._tries = WrongTries(ports.clock)
        self.lock = AppLock(self._program, self)
        self.lock.locked.connect(self._show_lock)
        self.lock.released.connect(self._on_released)
        self.lock.recovery_due.connect(self._show_recovery_key)
        self.lock.changed.connect(self._show_missing_lock)
        self._lock_page: LockPage | None = None
        self._unseen_recovery_key: str | None = None
        self.reading = ReadingLanguage(self._program, "" if chosen is None else chosen.reading_language)
        self.reading.changed.connect(self._show_language)
        self.reading.failed.connect(self._on_language_failed)
        self._input = InputWatch(self)
        self._input.used.connect(self.lock.note_input)
        self.window = MainWindow(PAGES)
        self.reading.hindrance = self.window.language_hindrance
        self.window.lock_wanted.connect(self._lock_now)
        self.window.recording_changed.connect(self._show_recording)
        self.window.fit(*_SIZE)
        self._keys_of_window = WindowKeys(self.window)
        self.window.help_wanted.connect(self.open_help)
        self._help: HelpWindow | None = None
        if chosen is not None and chosen.window is not None:
            screens = [QApplication.primaryScreen(), *QApplication.screens()]
            self.window.setGeometry(
                place_in_view(QRect(*chosen.window), [screen.availableGeometry() for screen in screens])
            )
            if chosen.maximized:
                self.window.setWindowState(Qt.WindowState.WindowMaximized)
        self.window.profile_wanted.connect(self._use_profile)
        self.window.new_profile_wanted.connect(self._show_first_start)
        self.window.closing.connect(self._close)

    def start(self) -> None:
        """Show the window and open the current profile, or the first start if there is none."""
        self.window.show()
        self._input.follow(self.window.windowHandle())
        self._tasks.start(self._find_profile, self._on_profiles, self._on_failed, name="profiles")

    @Slot(str)
    def open_file(self, path: str) -> None:
        """Open a transfer bundle or a sound file, as soon as the pages of a profile are shown."""
        self._first_page = page_of_file(Path(path))
        self._open_first_page()

    @Slot(str)
    def come_forward(self, path: str) -> None:
        """Bring the window to the front, as far as the system allows it, and open a file if there is one."""
        self.window.setWindowState(self.window.windowState() & ~Qt.WindowState.WindowMinimized)
        self.window.show()
        self.window.raise_()
        self.window.activateWindow()
        QApplication.alert(self.window)  # where a window may not raise itself, such as under Wayland
        if path:
            self.open_file(path)

    @Slot()
    def open_help(self) -> None:
        """Show the guide, the shortcuts and what vbdesk is made of."""
        self._help_window().open()

    def _help_window(self) -> HelpWindow:
        if self._help is None:
            self._help = HelpWindow(self._program, self.window)
        return self._help

    @Slot()
    def _show_language(self) -> None:
        """Show the window in another language."""
        app_theme().follow_direction()
        if self._help is not None:
            before, self._help = self._help, None
            if before.isVisible():
                self._help_window().open_at(before.place())
            before.close()
            before.deleteLater()
        page = self.window.page()
        if isinstance(page, FirstStartPage):
            typed = page.typed()
            self._show_first_start().type_in(typed)
        self.window.show_language()

    @Slot(str)
    def _on_language_failed(self, sentence: str) -> None:
        self.window.notice.say(Tone.WARN, sentence, close_action())

    @Slot()
    def _show_first_start(self) -> FirstStartPage:
        model = FirstStartViewModel(self._program)
        model.opened.connect(self._on_profile_made)
        page = FirstStartPage(
            model,
            self._ports.data_dir,
            self.reading.choices(),
            current().tag,
            language_managed=self.reading.managed,
        )
        page.language_wanted.connect(self.reading.choose)
        self.window.show_alone(page)
        if self.workspace is None:
            self.window.show_no_profile(_("No profile yet"), "info")
        return page

    def _find_profile(self, context: TaskContext) -> tuple[Profile | None, list[Profile]]:
        formats.load()
        current, profiles = self._setup.current()
        for profile in profiles:
            if self._wanted_name in (profile.name, profile.profile_id):
                return self._setup.use(profile.profile_id)
        return current, profiles

    @Slot(object)
    def _on_profiles(self, found: tuple[Profile | None, list[Profile]]) -> None:
        current, self._profiles = found
        if current is None:
            self._show_first_start()
        elif current.secrets != "session" or self._known(current):
            self._open(current)
        elif self.workspace is None:
            self._show_first_start().banner.say(Tone.INFO, _lost(current))
        else:
            self.window.notice.say(Tone.WARN, _lost(current))
            self._tasks.start(self._stay, failed=self._on_failed, name="profiles")

    def _stay(self, context: TaskContext) -> None:
        if self.workspace is not None:
            self._setup.use(self.workspace.profile.profile_id)

    def _known(self, profile: Profile) -> bool:
        """Whether the session's vault has the profile's key: it keeps it until the program ends."""
        return self._ports.session_vault.get(profile.api_key_name) is not None

    @Slot(object)
    def _on_profile_made(self, profile: Profile) -> None:
        self._profiles = [*self._profiles, profile]
        self._open(profile)

    @Slot(str)
    def _use_profile(self, profile_id: str) -> None:
        self._tasks.start(lambda context: self._setup.use(profile_id), self._on_profiles, self._on_failed)

    def _open(self, profile: Profile) -> None:
        """Open a profile after the open one has closed its library."""
        self._next = profile
        if self.workspace is None:
            self._open_next()
            return
        self._switching = TaskOwner(self)
        self._switching.all_ended.connect(self._on_old_workspace_ended)
        self._switching.close(*self.window.running_parts(), *self.workspace.running_parts())

    @Slot()
    def _on_old_workspace_ended(self) -> None:
        if self.workspace is None:
            self._open_next()
            return
        library = self.workspace.leave()
        self.workspace.deleteLater()
        self.workspace = None
        self._libraries.run(lambda context: library.close(), failed=self._on_failed, name="close-library")
        self._open_next()

    @Slot()
    def _open_next(self) -> None:
        profile = self._next
        if profile is not None and self.workspace is None:
            self._libraries.run(
                lambda context: _opened(profile, self._ports, self._keys, context),
                self._on_library,
                self._on_not_opened,
                name="open-library",
            )

    @Slot(object)
    def _on_not_opened(self, failure: Failure) -> None:
        """Show why, and retry automatically until the keyring is open or the other program has ended."""
        if self.workspace is not None:
            return
        if isinstance(failure.error, PassphraseNeeded | ServiceKeyMissing):
            self._ask_for_key(failure)
            return
        self.window.notice.say(Tone.WARN, failure.sentence, NoticeAction(_("Try again"), self._open_now, stays=True))
        if isinstance(failure.error, VaultError | LibraryInUse):
            self._retry_timer.start()

    def _ask_for_key(self, failure: Failure) -> None:
        """Ask the user to unlock the key of this computer, then open the profile."""
        with_passphrase = isinstance(failure.error, PassphraseNeeded)
        model = UnlockViewModel(self._program, failure.sentence, self._tries, with_passphrase=with_passphrase)
        others = [profile for profile in self._profiles if self._next is not None and profile.kind != self._next.kind]
        if isinstance(failure.error, AppLocked):
            others = []
        page = UnlockPage(model, others)
        model.opened.connect(self._on_unlocked)
        page.try_again_wanted.connect(self._on_unlocked)
        page.profile_wanted.connect(self._use_profile)
        self.window.notice.clear()
        self.window.show_alone(page)
        self.window.show_no_profile(_("Locked"), "lock")

    @Slot()
    def _on_unlocked(self) -> None:
        """Read the profile again, since a recovery may have changed where its keys are."""
        if self._next is not None:
            self.window.show_no_profile(_("Opening the profile"), "clock")
            self._ports.keyring.allow_prompt()
            self._use_profile(self._next.profile_id)

    def _open_now(self) -> None:
        """Open the profile now; the keyring may ask for its password."""
        if self._next is not None and self.workspace is None:
            self._retry_timer.stop()
            self._ports.vault(self._next.secrets).allow_prompt()
            self._open_next()

    @Slot(object)
    def _on_library(self, opened: "_Opened") -> None:
        profile, library = opened.profile, opened.library
        if self._next is None:
            _close_at_the_end(library)
            return
        if profile is not self._next or self.workspace is not None:  # another profile was chosen in the meantime
            self._libraries.run(lambda context: library.close(), name="close-library")
            return
        self.window.notice.clear()
        self.workspace = Workspace(
            profile,
            library,
            opened.budget,
            self._tasks,
            self._ports,
            self,
            service_key=opened.service_key,
            app_lock=self.lock,
            reading=self.reading,
        )
        self.workspace.navigator.asked.connect(self._on_page_asked)
        if opened.recovery_key is None:
            self._show_workspace()
        else:
            self.lock.read()
            self._offer_recovery_key(opened.recovery_key)
        self.workspace.start()

    def _offer_recovery_key(self, recovery_key: str) -> None:
        """Offer the recovery key once, before the first page, while the service starts."""
        by_passphrase = self._next is not None and self._next.secrets == "passphrase"
        model = RecoveryOfferViewModel(self._program, recovery_key, by_passphrase=by_passphrase)
        model.finished.connect(self._show_workspace)
        self.window.show_alone(RecoveryOfferPage(model))

    @Slot()
    def _lock_now(self) -> None:
        """Lock the window; show where to choose a passphrase if there is none."""
        if self.workspace is not None and not self.lock.lock():
            self.workspace.navigator.open("account")
            hint = _("To lock vbdesk, first turn the app lock on: on this page.")
            self.window.notice.say(Tone.INFO, hint, close_action())

    @Slot()
    def _show_missing_lock(self) -> None:
        """Say that the organisation wants the lock, unless a profile is open whose keys end with the program."""
        can_lock = self.workspace is not None and self.workspace.profile.secrets != "session"
        self.window.lock_notice.set_missing(can_lock and self.lock.is_missing)

    @Slot()
    def _show_lock(self) -> None:
        sentence = _("Enter the passphrase to see the recordings and results again. Sending goes on.")
        model = UnlockViewModel(self._program, sentence, self._tries, with_passphrase=True)
        model.opened.connect(self.lock.release)
        self._lock_page = page = LockPage(model)
        page.show_recording(running=self.window.is_recording())
        self.window.cover(page)
        page.take_focus()

    @Slot(bool)
    def _show_recording(self, running: bool) -> None:
        if self._lock_page is not None:
            self._lock_page.show_recording(running=running)

    @Slot()
    def _on_released(self) -> None:
        self._lock_page = None
        if self._unseen_recovery_key is not None:
            self._show_recovery_key(self._unseen_recovery_key)
        else:
            self._uncover()

    def _uncover(self) -> None:
        self.window.uncover()
        self._open_first_page()

    @Slot(str)
    def _show_recovery_key(self, recovery_key: str) -> None:
        """Show the recovery key after the app lock was turned on."""
        self._unseen_recovery_key = recovery_key
        if self.lock.is_locked:
            return
        model = RecoveryOfferViewModel(self._program, recovery_key, by_passphrase=True)
        model.finished.connect(self._on_recovery_seen)
        self.window.cover(RecoveryOfferPage(model))

    @Slot()
    def _on_recovery_seen(self) -> None:
        self._unseen_recovery_key = None
        self._uncover()

    @Slot()
    def _show_workspace(self) -> None:
        if self.workspace is None:
            return
        self.window.show_workspace(self.workspace, self._profiles)
        self.lock.read()
        self._open_first_page()
        in_next_turn(self, self._import_ahead)  # the first page comes first

    @Slot()
    def _import_ahead(self) -> None:
        self._tasks.start(import_ahead, failed=self._on_failed, name="imports-ahead")

    def _open_first_page(self) -> None:
        """Open the page that was asked for from outside, once pages are shown."""
        if self._first_page is not None and self.workspace is not None and self.window.shows_pages():
            first_page, self._first_page = self._first_page, None
            self.workspace.navigator.open(*first_page)

    @Slot(str, object)
    def _on_page_asked(self, key: str, argument: object) -> None:
        """Open the profile that a page requested: its id, or None for a new one."""
        if key == "profile" and isinstance(argument, str):
            self._use_profile(argument)
        elif key == "profile":
            self._show_first_start()

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.window.notice.say(Tone.FAIL, failure.sentence)

    @Slot()
    def _close(self) -> None:
        self._retry_timer.stop()
        self.lock.stop()
        self._next = None
        self._store_geometry()
        if self._help is not None:
            self._help.close()
        parts = self.window.running_parts()
        if self.workspace is not None:
            parts += self.workspace.running_parts()
        self._tasks.all_ended.connect(self._on_all_ended)
        self._tasks.close(*parts)

    def _store_geometry(self) -> None:
        """Keep size and place of the window for the next session."""
        store, area = PreferenceStore(self._ports.config_dir), self.window.normalGeometry()
        geometry, maximized = (area.x(), area.y(), area.width(), area.height()), self.window.isMaximized()
        self._tasks.start(lambda context: store.change(window=geometry, maximized=maximized), name="window-place")

    @Slot()
    def _on_all_ended(self) -> None:
        self.window.finish_closing()
        if self.workspace is not None:
            _close_at_the_end(self.workspace)
        self.ended.emit()


def run(
    ports: DeskPorts,
    scheme: Scheme,
    profile_name: str | None = None,
    first_page: tuple[str, object] | None = None,
    begin: Callable[[Desk], None] | None = None,
    file: Path | None = None,
) -> int:
    """Run the desk until its window is closed; returns the exit status.

    Args:
        ports: what the desk reaches beyond its own process.
        scheme: which colours.
        profile_name: name or id of the profile to open; the last one used if None.
        first_page: key and argument of the page to open on.
        begin: called with the desk before its window shows.
        file: absolute path of a transfer bundle or sound file to open.

    Raises:
        AlreadyOpen: another desk has the data folder; it was asked to open the file and to come to the front.
    """
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        QApplication.setHighDpiScaleFactorRoundingPolicy(Qt.HighDpiScaleFactorRoundingPolicy.PassThrough)
        application = DeskApplication(sys.argv[:1])
    application.setApplicationName("vbdesk")
    application.setDesktopFileName("vbdesk")
    application.setStyle("Fusion")
    application.setQuitOnLastWindowClosed(False)
    install_scroll_area_workaround()
    chosen = PreferenceStore(ports.config_dir).load()  # one small file, read before the first paint
    begin_reading(ports.policy.language or chosen.reading_language)
    show_in(current())
    Theme(chosen.scheme if scheme is Scheme.SYSTEM else scheme, chosen.text_scale).install()
    with claimed(ports.data_dir, file) as later_starts:
        collector = MainThreadCollector()
        desk = Desk(ports, profile_name, first_page if file is None else page_of_file(file), chosen)
        desk.ended.connect(application.quit)
        later_starts.asked.connect(desk.come_forward)
        desk.window.closing.connect(later_starts.stop_listening)
        if isinstance(application, DeskApplication):
            application.file_opened.connect(desk.open_file)
        if begin is not None:
            begin(desk)
        desk.start()
        with collector, _closing_on_ctrl_c(desk):
            return application.exec()


def run_visit(*, name: str, base_url: str, credentials: Credentials, folder: Path, subject: str) -> int:
    """Run the desk on a service with one subject shown, until its window is closed; saves no settings.

    Args:
        name: of the profile.
        base_url: of the service.
        credentials: of its account; kept in memory only.
        folder: for new recordings.
        subject: whose page is shown.
    """
    ports = DeskPorts(data_dir=folder, config_dir=folder, keyring=MemoryVault())
    profile = Profile(new_profile_id(), name, "service", base_url, credentials.account_id, "session", Plan.ENTERPRISE)
    ports.session_vault.set(profile.api_key_name, credentials.api_key)
    ProfileStore(folder).save(profile)
    return run(ports, Scheme.SYSTEM, profile.profile_id, ("subject", subject))


@contextmanager
def _closing_on_ctrl_c(desk: Desk) -> Iterator[None]:
    """Close the window on Ctrl-C; a timer runs Python code, since Python handles signals only then."""
    before = signal.signal(signal.SIGINT, lambda number, frame: desk.window.close())
    timer = QTimer()
    timer.timeout.connect(_let_python_run)
    timer.start(_SIGNAL_INTERVAL_MS)
    try:
        yield
    finally:
        timer.stop()
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True, slots=True)
class _Opened:
    """An open profile.

    Attributes:
        service_key: encryption key of the local service; None for a remote service.
        recovery_key: to offer now; None if it was offered.
    """

    profile: Profile
    library: Library
    budget: RequestBudget
    service_key: bytes | None = field(repr=False)
    recovery_key: str | None = field(repr=False)


def _opened(profile: Profile, ports: DeskPorts, keys: ServiceKeys, context: TaskContext) -> _Opened:
    service_key = keys.open() if keys.opens(profile) else None
    library = open_library(profile, ports)
    try:
        context.check()  # the window was closed meanwhile
        if service_key is None:
            return _Opened(profile, library, open_budget(profile, library), None, None)
        if profile.kind == "service":
            return _Opened(profile, library, open_budget(profile, library), None, keys.due_recovery_key())
        keys.store_copies(profile, service_key)
        return _Opened(profile, library, open_budget(profile, library), service_key, keys.due_recovery_key())
    except BaseException:
        library.close()
        raise


def _close_at_the_end(opened: Workspace | Library) -> None:
    """Close on the GUI thread; it may block, since the desk is ending."""
    opened.close()


def _lost(profile: Profile) -> str:
    return _(
        "{profile} kept its keys for one session only, so its recordings cannot be opened any more. "
        "Set it up again to go on with new ones.",
        profile=profile.name,
    )


def _let_python_run() -> None:
    """Do nothing: the call lets Python handle signals."""

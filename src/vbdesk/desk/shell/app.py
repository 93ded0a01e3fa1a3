"""The composition root: makes all objects, opens and closes profiles."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication

from vbdesk.client import Credentials
from vbdesk.contract.limits import Plan
from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.view_model import FirstStartViewModel
from vbdesk.desk.flow.commands import CommandOutcome, Done
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import Failure, delete_after
from vbdesk.desk.help.window import HelpWindow
from vbdesk.desk.locking.app_lock import AppLock
from vbdesk.desk.locking.unlocking import RecoveryOfferViewModel, UnlockViewModel, WrongTries
from vbdesk.desk.ports import DeskPorts
from vbdesk.desk.preferences import Preferences, PreferenceStore, StoreWindowPlace
from vbdesk.desk.shell.all_pages import PAGES
from vbdesk.desk.shell.application import DeskApplication
from vbdesk.desk.shell.gc_on_main_thread import MainThreadCollector
from vbdesk.desk.shell.imports_ahead import ImportAhead
from vbdesk.desk.shell.input_watch import InputWatch
from vbdesk.desk.shell.main_window import MainWindow
from vbdesk.desk.shell.one_desk import claimed
from vbdesk.desk.shell.profile_opening import ChooseProfile, LibrarySlot, OpenedProfile, OpenProfile, ProfileChoice
from vbdesk.desk.shell.reading_language import ReadingLanguage, begin_reading, show_in
from vbdesk.desk.shell.shipped_files import load_shipped_files
from vbdesk.desk.shell.window_keys import WindowKeys
from vbdesk.desk.shell.window_place import place_in_view
from vbdesk.desk.shell.workspace import Workspace
from vbdesk.desk.ui.accessibility import install_scroll_area_workaround
from vbdesk.desk.ui.next_turn import in_next_turn
from vbdesk.desk.ui.notice import NoticeAction, Tone, close_action
from vbdesk.desk.ui.routes import page_of_file
from vbdesk.desk.ui.theme import Theme, app_theme
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.desk.unlock.pages import LockPage, RecoveryOfferPage, UnlockPage
from vbdesk.language import _, current
from vbdesk.outbox.library.opening import LibraryInUse
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore, new_profile_id
from vbdesk.outbox.profiles.service_key import AppLocked, PassphraseNeeded, ServiceKeyMissing
from vbdesk.outbox.profiles.vault import MemoryVault, VaultError

_SIZE = (1280, 800)
_SIGNAL_INTERVAL_MS = 300
_GIVE_WAY_S = 0.0005  # workers yield to the GUI thread after this long; Python's default of 5 ms adds up to stalls
_OPEN_RETRY_S = 2.0  # while the keyring or another program blocks a profile


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
        self.program = ProgramFlow(ProgramContext(ports), parent=self)
        self._screen, self._opening = self.program.screen(self), self.program.screen(self)
        self._screen.ended.connect(self._on_ended)
        self._opening.ended.connect(self._on_ended)
        self._slot = LibrarySlot()
        self._profiles: list[Profile] = []
        self.workspace: Workspace | None = None
        self._tries = WrongTries(ports.clock)
        self.lock = AppLock(self.program, self)
        self.lock.locked.connect(self._show_lock)
        self.lock.released.connect(self._on_released)
        self.lock.recovery_due.connect(self._show_recovery_key)
        self.lock.changed.connect(self._show_missing_lock)
        self._lock_page: LockPage | None = None
        self._unseen_recovery_key: str | None = None
        self.reading = ReadingLanguage(self.program, "" if chosen is None else chosen.reading_language)
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
        self._screen.do(ChooseProfile(self._wanted_name))

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
            self._help = HelpWindow(self.program, self.window)
        return self._help

    @Slot()
    def _show_language(self) -> None:
        """Show the window in another language."""
        app_theme().follow_direction()
        if self._help is not None:
            before, self._help = self._help, None
            if before.isVisible():
                self._help_window().open_at(before.position())
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
        model = FirstStartViewModel(self.program)
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

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        match outcome:
            case CommandOutcome(OpenProfile(profile), Done(found=OpenedProfile() as opened)):
                self._on_opened(profile, opened)
            case CommandOutcome(OpenProfile(profile), _, Failure() as failure):
                self._on_not_opened(profile, failure)
            case CommandOutcome(failure=Failure()):
                self.window.notice.say(Tone.FAIL, outcome.sentence)
            case CommandOutcome(done=Done(found=ProfileChoice() as choice)):
                self._on_choice(choice)

    def _on_choice(self, choice: ProfileChoice) -> None:
        self._profiles = choice.profiles
        if choice.chosen is None:
            self._show_first_start()
        elif not choice.lost:
            self._open(choice.chosen)
        elif self.workspace is None:
            self._show_first_start().banner.say(Tone.INFO, _lost(choice.chosen))
        else:
            self.window.notice.say(Tone.WARN, _lost(choice.chosen))

    @Slot(object)
    def _on_profile_made(self, profile: Profile) -> None:
        self._profiles = [*self._profiles, profile]
        self._open(profile)

    @Slot(str)
    def _use_profile(self, profile_id: str) -> None:
        self._screen.do(ChooseProfile(profile_id))

    def _open(self, profile: Profile) -> None:
        """Open a profile as soon as the open one has stopped; what was being opened is not shown any more."""
        self._opening.stop()
        if self.workspace is not None:
            parts = [*self.window.running_parts(), *self.workspace.running_parts()]
            self.workspace.leave()
            delete_after(self.workspace, parts)
            self._slot.retired = parts
            self.workspace = None
        self._opening.do(OpenProfile(profile, self._slot))

    def _on_not_opened(self, profile: Profile, failure: Failure) -> None:
        """Show why, and retry automatically until the keyring is open or the other program has ended."""
        if isinstance(failure.error, PassphraseNeeded | ServiceKeyMissing):
            self._ask_for_key(profile, failure)
            return
        again = partial(self._open_now, profile)
        self.window.notice.say(Tone.WARN, failure.sentence, NoticeAction(_("Try again"), again, stays=True))
        if isinstance(failure.error, VaultError | LibraryInUse):
            self._opening.do(OpenProfile(profile, self._slot, _OPEN_RETRY_S))

    def _ask_for_key(self, profile: Profile, failure: Failure) -> None:
        """Ask the user to unlock the key of this computer, then open the profile."""
        with_passphrase = isinstance(failure.error, PassphraseNeeded)
        model = UnlockViewModel(self.program, failure.sentence, self._tries, with_passphrase=with_passphrase)
        others = [other for other in self._profiles if other.kind != profile.kind]
        if isinstance(failure.error, AppLocked):
            others = []
        page = UnlockPage(model, others)
        unlocked = partial(self._on_unlocked, profile.profile_id)
        model.opened.connect(unlocked)
        page.try_again_wanted.connect(unlocked)
        page.profile_wanted.connect(self._use_profile)
        self.window.notice.clear()
        self.window.show_alone(page)
        self.window.show_no_profile(_("Locked"), "lock")

    def _on_unlocked(self, profile_id: str) -> None:
        """Read the profile again, since a recovery may have changed where its keys are."""
        self.window.show_no_profile(_("Opening the profile"), "clock")
        self._ports.keyring.allow_prompt()
        self._use_profile(profile_id)

    def _open_now(self, profile: Profile) -> None:
        """Open the profile now; the keyring may ask for its password."""
        self._ports.vault(profile.secrets).allow_prompt()
        self._open(profile)

    def _on_opened(self, profile: Profile, opened: OpenedProfile) -> None:
        self.window.notice.clear()
        self.workspace = Workspace(
            profile,
            opened.library,
            opened.budget,
            self.program,
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
            self._offer_recovery_key(profile, opened.recovery_key)
        self.workspace.start()

    def _offer_recovery_key(self, profile: Profile, recovery_key: str) -> None:
        """Offer the recovery key once, before the first page, while the service starts."""
        by_passphrase = profile.secrets == "passphrase"
        model = RecoveryOfferViewModel(self.program, recovery_key, by_passphrase=by_passphrase)
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
        model = UnlockViewModel(self.program, sentence, self._tries, with_passphrase=True)
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
        model = RecoveryOfferViewModel(self.program, recovery_key, by_passphrase=True)
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
        in_next_turn(self, partial(self._screen.do, ImportAhead()))  # the first page comes first

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

    @Slot()
    def _close(self) -> None:
        self._screen.clear()
        self._opening.stop()
        self.lock.stop()
        geometry = self.window.normalGeometry().getRect()
        self.program.commands.do(StoreWindowPlace({"window": geometry, "maximized": self.window.isMaximized()}))
        if self._help is not None:
            self._help.close()
        parts = [*self.window.running_parts(), *self._slot.retired]
        if self.workspace is not None:
            parts += self.workspace.running_parts()
        self.program.tasks.all_ended.connect(self._on_all_ended)
        self.program.tasks.close(*parts)

    @Slot()
    def _on_all_ended(self) -> None:
        self.window.finish_closing()
        if self.workspace is not None:
            self.workspace.leave()
        self._slot.close()  # it may block, since the desk is ending
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
    timer.timeout.connect(lambda: None)
    timer.start(_SIGNAL_INTERVAL_MS)
    try:
        yield
    finally:
        timer.stop()
        signal.signal(signal.SIGINT, before)


def _lost(profile: Profile) -> str:
    return _(
        "{profile} kept its keys for one session only, so its recordings cannot be opened any more. "
        "Set it up again to go on with new ones.",
        profile=profile.name,
    )

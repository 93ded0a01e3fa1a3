"""The main window: sidebar, page, status bar."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QEvent, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QCloseEvent, QResizeEvent, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QMenu, QStackedWidget, QVBoxLayout, QWidget

from vbdesk import __version__
from vbdesk.desk.flow.tasks import Stoppable, delete_after
from vbdesk.desk.playback import Playback
from vbdesk.desk.record.recording_facts import phase_style
from vbdesk.desk.record.view_model import RunningRecording
from vbdesk.desk.shell import window_status
from vbdesk.desk.shell.lock_notice import LockNotice
from vbdesk.desk.shell.opened_results import OpenedResults
from vbdesk.desk.shell.page_registry import PageSpec
from vbdesk.desk.shell.recording_bar import RecordingBar
from vbdesk.desk.shell.result_notice import ResultNotice
from vbdesk.desk.shell.sidebar import Sidebar
from vbdesk.desk.shell.status_bar import StatusBar
from vbdesk.desk.shell.typed_entries import has_unsaved_entry, search_field
from vbdesk.desk.shell.window_cover import WindowCover
from vbdesk.desk.shell.workspace import Workspace
from vbdesk.desk.ui.banner import KEEPS_FOOT, Banner
from vbdesk.desk.ui.file_drops import FileDrops
from vbdesk.desk.ui.focus_ring import FocusRing
from vbdesk.desk.ui.icons import application_icon
from vbdesk.desk.ui.notice import NoticeAction, Tone, close_action
from vbdesk.desk.ui.page import Page
from vbdesk.desk.ui.routes import FilesRoute
from vbdesk.desk.ui.shortcuts import sequence
from vbdesk.desk.ui.theme import app_theme
from vbdesk.language import _, translated
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.sync.connectivity import SyncStatus

_NARROW_BELOW, _LOW = 1120, 500
_SMALLEST = (860, 560)
_FRAME = (4, 40)  # maximum frame of window managers, before it is known
_ADD, _HELP = "add", "help"
_RECORD = "record"


@runtime_checkable
class _Recording(Protocol):
    """A page with work that closing has to wait for."""

    recording_changed: SignalInstance
    running_changed: SignalInstance

    def running(self) -> RunningRecording | None:
        """The recording that runs; None if none does."""

    def end_recording(self) -> None:
        """End the recording that runs."""

    def is_recording(self) -> bool:
        """Whether a recording is under way."""

    def closing(self) -> list[Stoppable]:
        """End the work; returns what still runs."""


@runtime_checkable
class _Unfinished(Protocol):
    """A page with work that would be lost with the page."""

    def unfinished(self) -> bool:
        """Whether there is such work."""


@runtime_checkable
class _HasPosition(Protocol):
    """A page that can be built again and then show the same place."""

    def position(self) -> object:
        """The argument with which a new page shows it."""


class MainWindow(QMainWindow):
    """The main window.

    Signals:
        profile_wanted: (str) id of the profile that the user chose.
        new_profile_wanted: the user wants to add a profile.
        help_wanted: the user wants the help.
        closing: the user closed the window; it closes when `finish_closing` is called.
        lock_wanted: the user pressed Ctrl+L.
        recording_changed: (bool) a recording began or ended.
    """

    profile_wanted = Signal(str)
    new_profile_wanted = Signal()
    closing = Signal()
    lock_wanted = Signal()
    help_wanted = Signal()
    recording_changed = Signal(bool)

    def __init__(self, pages: tuple[PageSpec, ...]) -> None:
        self._theme = app_theme()
        super().__init__()
        self.setWindowIcon(application_icon(self._theme))
        self.setMinimumSize(*_SMALLEST)
        self._specs = {spec.key: spec for spec in pages}
        self._built: dict[str, QWidget] = {}
        self._workspace: Workspace | None = None
        self._profiles: list[Profile] = []
        self._shown: str | None = None
        self._argument: object = None
        self._retired: list[Stoppable] = []  # what may run in pages that are built again
        self._searches: dict[str, str] = {}
        self._warning = ""
        self._may_close = False
        self._sidebar = Sidebar([(spec.key, spec.title(), spec.icon) for spec in pages if spec.in_sidebar])
        self._sidebar.chosen.connect(self.open_page)
        self._menu = QMenu(self)
        self._sidebar.profile.clicked.connect(self._open_menu)
        self._status, self.recording_bar = StatusBar(), RecordingBar()
        self.recording_bar.stop.clicked.connect(self._stop_recording)
        self.recording_bar.show_page.clicked.connect(self._show_record_page)
        self._notice = Banner()
        self._stack = QStackedWidget()
        self._notice.float_over(self._stack)
        self._question = Banner()
        self._question.float_over(self._stack)
        self.recording_changed.connect(self._on_recording)
        self.results = ResultNotice(self._stack)
        self.lock_notice = LockNotice(self._stack)
        self.lock_notice.page_wanted.connect(self.open_page)
        self._lay_out()
        self._ring = FocusRing(self)
        self._cover = WindowCover(self)
        self._drops = FileDrops(self, self.shows_pages)
        self._drops.dropped.connect(self._on_dropped)
        self._lock_key = QShortcut(sequence("lock"), self)
        self._lock_key.setContext(Qt.ShortcutContext.ApplicationShortcut)
        self._lock_key.activated.connect(self.lock_wanted)
        self._show_running()
        self._theme.resized.connect(self._forget_unseen_pages)
        self._theme.changed.connect(self._fit_sidebar)
        self.show_no_profile(_("Opening the profile"), "clock")

    @property
    def sidebar(self) -> Sidebar:
        """The sidebar."""
        return self._sidebar

    @property
    def status(self) -> StatusBar:
        """The status bar."""
        return self._status

    @property
    def notice(self) -> Banner:
        """The banner above every page."""
        return self._notice

    @property
    def sidebar_pages(self) -> tuple[str, ...]:
        """Keys of the pages in the sidebar, in order."""
        return tuple(key for key, spec in self._specs.items() if spec.in_sidebar)

    @property
    def question(self) -> Banner:
        """Asks whether to quit while a recording runs."""
        return self._question

    @Slot()
    def quit(self) -> None:
        """Close the window; ask first while a recording runs."""
        if not self.is_recording():
            self.close()
            return
        self._question.say(
            Tone.WARN,
            _("A recording is running. Quitting stops it and keeps what was recorded."),
            NoticeAction(_("Stop and quit"), self.close),
            NoticeAction(_("Go on recording"), self._question.clear),
        )

    @Slot(bool)
    def _on_recording(self, running: bool) -> None:
        if not running:
            self._question.clear()
        self.results.show_waiting()

    @Slot()
    def _show_running(self) -> None:
        """Show a recording that runs: in the title, and at the foot of each page but Record, which is about it."""
        found = (page.running() for page in self._built.values() if isinstance(page, _Recording))
        running = next(filter(None, found), None)
        self.setProperty(KEEPS_FOOT, running is not None and self._shown != _RECORD)
        self.recording_bar.show_running(running if self.property(KEEPS_FOOT) else None)
        low = self.height() < self._theme.px(_LOW)
        self._status.setVisible(not (low and self.property(KEEPS_FOOT)))  # so that the page keeps its place
        name = "vbdesk"  # and nothing of a person: a title is shown outside the window, and while it is locked
        self.setWindowTitle(name if running is None else f"{phase_style(running.phase).text} · {name}")

    @Slot()
    def _stop_recording(self) -> None:
        """End the recording and show its check."""
        for page in self._built.values():
            if isinstance(page, _Recording):
                page.end_recording()
        self.open_page(_RECORD)

    @Slot()
    def _show_record_page(self) -> None:
        self.open_page(_RECORD)

    def page(self) -> QWidget | None:
        """The page that is shown."""
        return self._stack.currentWidget()

    def fit(self, width: int, height: int) -> None:
        """Set the size, limited to the screen less the window's frame."""
        room = self.screen().availableGeometry()
        self.resize(min(width, room.width() - _FRAME[0]), min(height, room.height() - _FRAME[1]))

    def show_alone(self, page: QWidget) -> None:
        """Show a page without the sidebar: the first start."""
        self.lock_notice.end()
        self._forget_pages()
        self._sidebar.hide()
        self._stack.addWidget(page)
        self._stack.setCurrentWidget(page)

    def cover(self, page: QWidget) -> None:
        """Show only `page` and hide everything else; recording and sending go on."""
        for built in self._built.values():
            for playback in built.findChildren(Playback):
                if playback.playing:
                    playback.toggle()
        self._cover.put_on(page)

    def uncover(self) -> None:
        """Show again what `cover` hid."""
        self._cover.take_off()

    def is_recording(self) -> bool:
        """Whether a recording is under way."""
        return any(isinstance(page, _Recording) and page.is_recording() for page in self._built.values())

    def show_no_profile(self, why: str, icon: str) -> None:
        """Say why no profile is open, with an icon."""
        self._sidebar.hide()
        self._status.show_profile(why, icon)
        self._status.show_connection("", "clock", "text2")
        self._status.show_moving("")
        self._status.show_right("", _("Biomarker signals, not diagnoses · vbdesk {version}", version=__version__))

    def show_workspace(self, workspace: Workspace, profiles: list[Profile]) -> None:
        """Show the pages of an open profile, the first one first."""
        self._forget_pages()
        self._workspace = workspace
        self._searches.clear()
        self._show_profiles(profiles)
        self._sidebar.show()
        OpenedResults(workspace.flow)
        workspace.navigator.asked.connect(self.open_page)
        workspace.sync.status_changed.connect(self._show_status)
        workspace.sync.counts_changed.connect(self._show_counts)
        workspace.encryption_changed.connect(self._show_right)
        workspace.profiles_renamed.connect(self._show_profiles)
        workspace.warned.connect(self._show_warning)
        notes = workspace.library.subject_notes
        self.results.follow(workspace.navigator, workspace.ports.notify, lambda group_id: notes.shown(group_id).text)
        workspace.arrived.arrived.connect(self.results.show_arrived)
        self._show_status(workspace.sync.status)
        self._show_counts(None)
        self.lock_notice.begin()
        self.open_page(next(iter(self._specs)))

    @Slot(str)
    @Slot(str, object)
    def open_page(self, key: str, argument: object = None) -> None:
        """Show a page, built on first use."""
        if self._workspace is None or key not in self._specs:
            return
        self._leave_page()
        if key not in self._built:
            self._built[key] = self._specs[key].build(self._workspace, self._stack)
            self._stack.addWidget(self._built[key])
            if isinstance(built := self._built[key], _Recording):
                built.recording_changed.connect(self.recording_changed)
                built.running_changed.connect(self._show_running)
        page = self._built[key]
        self._shown, self._argument = key, argument
        self._sidebar.light(self._specs[key].sidebar or key)
        self._stack.setCurrentWidget(page)
        _life_cycle(page).opened(argument)
        self._show_running()
        search = search_field(page)
        if search is not None and (searched := self._searches.pop(key, "")):
            search.setText(searched)

    def shows_pages(self) -> bool:
        """Whether the pages of a profile are shown, and nothing covers them."""
        return self._shown is not None and not self._cover.is_on

    def language_hindrance(self) -> str:
        """Why the pages cannot be built again in another language now; empty if they can."""
        if self.is_recording():
            return _("A recording is running. Change the language when it has ended.")
        for key, page in self._built.items():
            if (isinstance(page, _Unfinished) and page.unfinished()) or has_unsaved_entry(page):
                title = self._specs[key].title()
                return _("Save or clear what you typed on the page “{page}”, then change the language.", page=title)
        return ""

    def show_language(self) -> None:
        """Build the shown page and all texts again in the reader's language, at the same place."""
        self.setUpdatesEnabled(False)
        try:
            self._sidebar.show_titles({spec.key: spec.title() for spec in self._specs.values() if spec.in_sidebar})
            self._question.clear()
            self.results.show_waiting()
            self.lock_notice.show_again()
            if self._workspace is None or self._shown is None:
                return
            self._show_profiles(self._profiles)
            self._show_status(self._workspace.sync.status)
            self._show_warning(self._warning)
            self._rebuild_pages(self._shown)
        finally:
            self.setUpdatesEnabled(True)

    def _rebuild_pages(self, shown: str) -> None:
        page, argument = self._built[shown], None if shown == _RECORD else self._argument
        if isinstance(page, _HasPosition):
            argument = page.position()
        for key, built in self._built.items():
            if (search := search_field(built)) is not None and search.text():
                self._searches[key] = search.text()
        self._leave_page()
        self._shown = None
        before, self._built = list(self._built.values()), {}
        retired = [(built, built.closing()) for built in before if isinstance(built, _Recording)]
        self.open_page(shown, argument)
        for built in before:  # now, since a stack shows the next page in place of one that is removed
            self._stack.removeWidget(built)
            if not isinstance(built, _Recording):
                built.deleteLater()
        for built, parts in retired:
            self._retired = [part for part in (*self._retired, *parts) if part.alive()]
            delete_after(built, parts)

    @Slot(object)
    def _on_dropped(self, paths: list[Path]) -> None:
        self.open_page(_RECORD, FilesRoute(tuple(paths)))

    def running_parts(self) -> list[Stoppable]:
        """Ask the running parts of all pages to stop, and return them; a recording is stopped and kept."""
        parts: list[Stoppable] = []
        for page in self._built.values():
            if isinstance(page, _Recording):
                parts.extend(page.closing())
        return parts + [part for part in self._retired if part.alive()]

    def finish_closing(self) -> None:
        """Close for good."""
        self._may_close = True
        self.close()
        self._cover.take_off()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._fit_sidebar()

    def event(self, event: QEvent) -> bool:
        """Handle a changed system font."""
        if event.type() == QEvent.Type.ThemeChange:
            self._theme.follow_system()
        return super().event(event)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: D102
        if self._may_close:
            event.accept()
            return
        event.ignore()
        self._notice.say(Tone.INFO, _("Closing. Recordings that are on their way go on the next time vbdesk opens."))
        self._stack.setEnabled(False)
        self.recording_bar.setEnabled(False)
        self._sidebar.setEnabled(False)
        self.closing.emit()

    def _lay_out(self) -> None:
        right = QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        right.addWidget(self._stack, 1)
        right.addWidget(self.recording_bar)
        upper = QHBoxLayout()
        upper.setSpacing(0)
        upper.addWidget(self._sidebar)
        upper.addLayout(right, 1)
        whole = QWidget()
        whole.setObjectName("page")
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(upper, 1)
        column.addWidget(self._status)
        self.setCentralWidget(whole)

    def _leave_page(self) -> None:
        if self._shown is not None:
            _life_cycle(self._built[self._shown]).closed()

    def _forget_pages(self) -> None:
        self._leave_page()
        self._shown = None
        self._built.clear()
        self._show_running()
        while (page := self._stack.currentWidget()) is not None:
            self._stack.removeWidget(page)
            page.deleteLater()

    @Slot()
    def _fit_sidebar(self) -> None:
        self._sidebar.set_narrow(self.width() < self._theme.px(_NARROW_BELOW))

    @Slot()
    def _forget_unseen_pages(self) -> None:
        """Build pages again in the new text size when next opened, except one that records."""
        for key in [
            key for key, page in self._built.items() if key != self._shown and not isinstance(page, _Recording)
        ]:
            page = self._built.pop(key)
            self._stack.removeWidget(page)
            page.deleteLater()

    @Slot(object)
    def _show_profiles(self, profiles: list[Profile]) -> None:
        """Show the name of the open profile, and all of them in the menu."""
        if self._workspace is None:
            return
        self._profiles = profiles
        opened = self._workspace.profile
        profile = next((each for each in profiles if each.profile_id == opened.profile_id), opened)
        icon = window_status.profile_icon(profile)
        self._sidebar.profile.show_profile(profile.shown_name, window_status.profile_below(profile), icon)
        self._status.show_profile(profile.shown_name, icon)
        self._fill_menu(profiles, profile)

    def _fill_menu(self, profiles: list[Profile], current: Profile) -> None:
        self._menu.clear()
        for profile in profiles:
            action = self._menu.addAction(profile.shown_name)
            action.setCheckable(True)
            action.setChecked(profile is current)
            action.setData(None if profile is current else profile.profile_id)
        self._menu.addSeparator()
        self._menu.addAction(_("Add a profile")).setData(_ADD)
        self._menu.addAction(_("Help")).setData(_HELP)

    @Slot()
    def _open_menu(self) -> None:
        button = self._sidebar.profile
        corner = button.mapToGlobal(button.rect().topLeft())
        corner.setY(corner.y() - self._menu.sizeHint().height() - 6)
        action = self._menu.exec(corner)
        if action is None:
            return
        action.setChecked(not action.data())  # the check mark says which one is open, not which one was chosen
        if action.data() == _ADD:
            self.new_profile_wanted.emit()
        elif action.data() == _HELP:
            self.help_wanted.emit()
        elif action.data():
            self.profile_wanted.emit(action.data())

    @Slot(object)
    def _show_status(self, status: SyncStatus) -> None:
        shown = window_status.connection(status)
        self._status.show_connection(shown.text, shown.icon, shown.ink)
        self._show_counts(None)
        self._show_right()

    @Slot()
    def _show_right(self) -> None:
        if self._workspace is not None:
            profile, status = self._workspace.profile, self._workspace.sync.status
            text, icon = window_status.encrypted_text(profile, self._workspace.encryption)
            self._status.show_right(text, window_status.credits_text(status, profile), icon)

    @Slot(object)
    def _show_warning(self, sentence: str) -> None:
        self._warning = sentence
        if sentence:
            self._notice.say(Tone.WARN, translated(sentence), close_action())
        else:
            self._notice.clear()

    @Slot(object)
    def _show_counts(self, counts: object) -> None:
        if self._workspace is not None:
            sync = self._workspace.sync
            moving = sync.on_their_way
            self._status.show_moving(window_status.moving_text(moving, stopped=sync.stopped))
            self._sidebar.show_count("outbox", moving + sync.need_attention)


def _life_cycle(page: QWidget) -> Page:
    if not isinstance(page, Page):
        raise TypeError(f"{type(page).__name__} is not a page: it lacks `opened` or `closed`.")
    return page

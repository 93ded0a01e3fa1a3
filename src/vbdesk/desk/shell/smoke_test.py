"""A walk through the desk without a person, for `vbdesk desk --smoke`: it shows whether an installation works.

Its output is for logs and workflows: the names of its steps.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QWidget

from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.screen import Screen
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.desk.shell.all_pages import PAGES
from vbdesk.desk.shell.app import Desk
from vbdesk.desk.ui.routes import ComparisonRoute, RecordingRoute
from vbdesk.desk.unlock.pages import RecoveryOfferPage
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.states import OutboxState

SUBJECT = "smoke-1"
_CHECK_INTERVAL_MS = 100
_SPEAK_S = 25.0


_Page = TypeVar("_Page", bound=QWidget)


class SmokeFailed(Exception):
    """The window does not show what a working installation shows."""


@dataclass(frozen=True, slots=True)
class _Step:
    """One thing to wait for."""

    name: str
    reached: Callable[[], bool]


def _shown(page: QWidget | None, kind: type[_Page]) -> _Page:
    """The page that is shown; raises SmokeFailed if it is of another kind."""
    if not isinstance(page, kind):
        raise SmokeFailed(type(page).__name__)
    return page


@dataclass(frozen=True)
class _ItemsRead(Read[list[RecordingItem]]):
    topics = frozenset({Changed.LIBRARY})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> list[RecordingItem]:
        return context.library.list()


class SmokeTest(QObject):
    """Goes through the window step by step, then closes it.

    Attributes:
        passed: every step was reached.
    """

    def __init__(self, desk: Desk, timeout_s: float, say: Callable[[str], None]) -> None:
        super().__init__(desk)
        self.passed = False
        self._desk, self._say = desk, say
        self._screen: Screen | None = None
        self._checks_left = self._checks = max(1, round(1000 * timeout_s / _CHECK_INTERVAL_MS))
        self._steps = self._walk()
        self._step = _Step("window", desk.window.isVisible)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._check)
        self._timer.start(_CHECK_INTERVAL_MS)
        desk.window.closing.connect(self._stop)

    @Slot()
    def _check(self) -> None:
        """Go on if the step is reached; end if it is not in time, or fails."""
        try:
            if not self._step.reached():
                self._checks_left -= 1
                if not self._checks_left:
                    self._end(f"failed: {self._step.name}: {self._notice()}")
                return
            self._say(f"smoke: {self._step.name}")
            self._step, self._checks_left = next(self._steps), self._checks
        except StopIteration:
            self.passed = True
            self._end("passed")
        except Exception as error:  # any error means that the installation does not work
            self._end(f"failed: {self._step.name}: {type(error).__name__}: {error}")

    def _end(self, text: str) -> None:
        self._say(f"smoke: {text}")
        self._desk.window.close()

    @Slot()
    def _stop(self) -> None:
        self._timer.stop()

    def _notice(self) -> str:
        page = self._desk.window.page()
        banner = getattr(page, "banner", None)
        return " ".join(part for part in (self._desk.window.notice.text(), banner.text() if banner else "") if part)

    def _walk(self) -> Iterator[_Step]:
        window = self._desk.window
        yield _Step("first-start", lambda: isinstance(window.page(), FirstStartPage))
        _shown(window.page(), FirstStartPage).this_computer.click()
        yield _Step("recovery-key", lambda: isinstance(window.page(), RecoveryOfferPage))
        _shown(window.page(), RecoveryOfferPage).done.click()
        yield _Step("record-page", lambda: isinstance(window.page(), RecordPage))
        yield from self._recorded(_shown(window.page(), RecordPage))
        yield _Step("analysis", self._is_analysed)
        yield from self._opened_pages()

    def _recorded(self, page: RecordPage) -> Iterator[_Step]:
        setup = page.model.setup
        page.ready.setup.subject.setText(SUBJECT)
        yield _Step("microphone", lambda: setup.device is not None)
        yield _Step("consent", lambda: setup.consent.group_id != "" and setup.consent.status is not None)
        if setup.consent.missing:
            setup.consent.tick(True)
        yield _Step("ready", lambda: setup.ready)
        seconds: list[float] = [0.0]
        page.model.moved.connect(lambda moment: seconds.append(moment.seconds))
        page.model.press()
        yield _Step("recording", lambda: page.model.phase is RecordPhase.RECORDING)
        yield _Step("enough-speech", lambda: seconds[-1] >= _SPEAK_S)
        page.model.press()
        yield _Step("check", lambda: page.review.review is not None)
        page.review.send()
        yield _Step("library", lambda: bool(self._read_items()))

    def _opened_pages(self) -> Iterator[_Step]:
        window = self._desk.window
        route = RecordingRoute(take_id=self._read_items()[0].take_id, group_id=SUBJECT)
        arguments = {"subject": SUBJECT, "result": route, "compare": ComparisonRoute(route, route)}
        for spec in PAGES:
            window.open_page(spec.key, arguments.get(spec.key))
            yield _Step(f"page-{spec.key}", self._paints)

    def _paints(self) -> bool:
        """Whether the window shows more than one colour."""
        page = self._desk.window.page()
        if page is None or not page.isVisible():
            return False
        picture = page.grab().toImage().scaled(32, 32)
        return len({picture.pixel(x, y) for x in range(32) for y in range(32)}) > 1

    def _is_analysed(self) -> bool:
        items = self._read_items()
        if items and items[0].state in (OutboxState.FAILED, OutboxState.TIMED_OUT, OutboxState.NEEDS_ATTENTION):
            raise SmokeFailed(items[0].state)
        return bool(items) and items[0].state is OutboxState.DONE

    def _read_items(self) -> list[RecordingItem]:
        """What was last read from the library of the open profile."""
        if self._screen is None and self._desk.workspace is not None:
            self._screen = self._desk.workspace.flow.screen(self)
            self._screen.show(_ItemsRead())
        return [] if self._screen is None else self._screen.of(_ItemsRead).value or []

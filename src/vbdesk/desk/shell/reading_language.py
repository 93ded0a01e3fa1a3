"""The language of the window: of its texts, of Qt's own dialogs, and the direction of lines."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QLibraryInfo, QLocale, QObject, Qt, QTranslator, Signal, Slot
from PySide6.QtWidgets import QApplication

from vbdesk.desk.flow.commands import Command, CommandOutcome, Done
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.language_choice import own_language_name
from vbdesk.desk.preferences import PreferenceStore
from vbdesk.language import (
    Language,
    available_languages,
    formats,
    is_named,
    language_of,
    reading_in,
    system_language,
    use,
)
from vbdesk.language.catalogs import SOURCE, catalog
from vbdesk.outbox.library.managed_policy import managed_text

_QT_TEXTS = "qtTexts"


@dataclass(frozen=True)
class ChooseLanguage(Command):
    """Keep the choice of a language, and load its texts. Finds the language."""

    tag: str

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        language = wanted_language(self.tag)
        catalog(language.name)
        with reading_in(language):
            formats.load()
        PreferenceStore(context.ports.config_dir).change(reading_language=self.tag)
        return Done(touched=frozenset({Changed.SETTINGS}), found=language)


class ReadingLanguage(QObject):
    """Changes the language while the window is open, and keeps the choice.

    Attributes:
        tag: what was chosen; empty for the system's.
        hindrance: says why the window cannot change now; empty if it can.
        managed: whether the organisation has set the language.

    Signals:
        changed: texts are in another language now; everything on the screen has to be built again.
        failed: (str) why the language stays as it is.
    """

    changed = Signal()
    failed = Signal(str)

    def __init__(self, flow: ProgramFlow, tag: str = "") -> None:
        super().__init__(flow)
        managed = flow.ports.policy.language
        self.tag, self.managed = managed or tag, managed is not None
        self.hindrance: Callable[[], str] = str
        self._screen = flow.screen(self)
        self._screen.ended.connect(self._on_ended)

    def choices(self) -> list[tuple[str, str]]:
        """Tags and names of the languages; each name is in its own language."""
        return [(name.replace("_", "-"), own_name(name)) for name in available_languages()]

    def choose(self, tag: str) -> str:
        """Show everything in a language as soon as its texts are loaded; returns why not, or nothing."""
        why = managed_text() if self.managed else self.hindrance()
        if not why and tag != self.tag:
            self._screen.do(ChooseLanguage(tag))
        return why

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        language = outcome.done.found
        if not isinstance(outcome.command, ChooseLanguage) or not isinstance(language, Language):
            self.failed.emit(outcome.sentence)
            return
        self.tag = outcome.command.tag
        why = self.hindrance()  # something may have begun in the meantime; the next start shows the choice
        if why:
            self.failed.emit(why)
            return
        show_in(language)
        self.changed.emit()


def wanted_language(tag: str) -> Language:
    """The language of a preference; the system's if it is empty or has no catalog any more."""
    return (language_of(tag) if tag else None) or system_language()


def begin_reading(tag: str) -> None:
    """Show texts in the preferred language, unless one was named for this process."""
    if not is_named():
        use(wanted_language(tag))


def show_in(language: Language) -> None:
    """Show texts, Qt's own dialogs and the direction of lines in a language."""
    use(language)
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        return
    QLocale.setDefault(QLocale(language.region))
    for earlier in application.findChildren(QTranslator, _QT_TEXTS):
        application.removeTranslator(earlier)
        earlier.setParent(None)
    texts = QTranslator(application)
    texts.setObjectName(_QT_TEXTS)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if language.name != SOURCE and texts.load(f"qtbase_{language.name}", folder):
        application.installTranslator(texts)
    right = language.right_to_left
    application.setLayoutDirection(Qt.LayoutDirection.RightToLeft if right else Qt.LayoutDirection.LeftToRight)


def own_name(name: str) -> str:
    """The name of a language in itself: `Deutsch`, `Português (Brasil)`."""
    own = own_language_name(name)
    return f"{own} ({QLocale(name).nativeTerritoryName()})" if "_" in name else own

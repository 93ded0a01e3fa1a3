"""The help window: guide, shortcuts, about. A window of its own, so that the page with the work stays in view."""

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QImage, QKeyEvent, QTextCursor
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QListWidget,
    QPlainTextEdit,
    QStackedWidget,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from vbdesk.desk.help.view_model import About, Guide, HelpViewModel
from vbdesk.desk.ui.buttons import KeyCap
from vbdesk.desk.ui.card import Card, scroll_area
from vbdesk.desk.ui.margins import margins
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.shortcuts import shortcut_groups
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _

GUIDE, SHORTCUTS, ABOUT = "guide", "shortcuts", "about"
_SIZE = (980, 720)
_CHAPTERS, _PICTURE, _AFTER = 240, 640, 8


class GuideText(QTextBrowser):
    """A chapter with its pictures, from memory."""

    def __init__(self) -> None:
        self._theme = app_theme()
        super().__init__()
        self.pictures: dict[str, bytes] = {}
        self.setOpenLinks(False)
        self.setAccessibleName(_("Guide"))

    def loadResource(self, kind: int, name: QUrl | str) -> object:  # noqa: D102
        content = self.pictures.get(name.toString() if isinstance(name, QUrl) else name)
        if content is None:
            return None
        picture = QImage.fromData(content)
        widest = self._theme.px(_PICTURE)
        if picture.width() <= widest:
            return picture
        return picture.scaledToWidth(widest, Qt.TransformationMode.SmoothTransformation)


class HelpWindow(QWidget):
    """Three parts: guide, shortcuts, about; Escape closes it."""

    def __init__(self, model: HelpViewModel, parent: QWidget) -> None:
        self._theme = app_theme()
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setWindowTitle(_("vbdesk help"))
        self.setAccessibleName(_("Help"))
        self._model = model
        model.setParent(self)
        self._guide = Guide((), {})
        self._read = False
        parts = [
            (GUIDE, _("Guide"), "book"),
            (SHORTCUTS, _("Shortcuts"), ""),
            (ABOUT, _("About vbdesk"), "info"),
        ]
        self.parts = SegmentedChoice(_("Part of the help"), parts)
        self.parts.chosen.connect(self.show_part)
        self.chapters, self.text = QListWidget(), GuideText()
        self.chapters.setAccessibleName(_("Chapters"))
        self.chapters.setSpacing(4)
        self.chapters.setWordWrap(True)
        self.chapters.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.chapters.currentRowChanged.connect(self._on_chapter)
        self.text.anchorClicked.connect(self._on_link)
        self._about = QVBoxLayout()
        self.licences = QPlainTextEdit()
        self.licences.setReadOnly(True)
        self.licences.setTabChangesFocus(True)
        self.licences.setAccessibleName(_("Notice and licences"))
        self._stack = QStackedWidget()
        for part in (self._guide_part(), self._shortcut_part(), self._about_part()):
            self._stack.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 20, 24, 20)
        column.setSpacing(16)
        column.addWidget(self.parts, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._stack, 1)
        model.guide_read.connect(self._show_guide)
        model.about_read.connect(self._show_about)
        model.failed.connect(self._show_failure)
        self.resize(*_SIZE)

    @Slot(str)
    def show_part(self, part: str) -> None:
        """Show guide, shortcuts or about."""
        self.parts.choose(part)
        self._stack.setCurrentIndex((GUIDE, SHORTCUTS, ABOUT).index(part))

    def open(self, part: str = GUIDE) -> None:
        """Show the window in front."""
        if not self._read:
            self._read = True
            self._model.read()
        self.show_part(part)
        self.show()
        self.activateWindow()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def _guide_part(self) -> QWidget:
        card = Card(padding=1)
        row = QHBoxLayout()
        row.setSpacing(0)
        self.chapters.setFixedWidth(self._theme.px(_CHAPTERS))
        row.addWidget(self.chapters)
        row.addWidget(self.text, 1)
        card.body.addLayout(row)
        self.text.setStyleSheet(f"QTextBrowser {{ border: none; padding: {self._theme.px(16)}px; }}")
        return card

    def _shortcut_part(self) -> QWidget:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(margins(0, 0, 16, 0))
        column.setSpacing(16)
        for group in shortcut_groups():
            card = Card(group.title)
            grid = QGridLayout()
            grid.setHorizontalSpacing(20)
            grid.setVerticalSpacing(8)
            grid.setColumnStretch(1, 1)
            grid.setColumnMinimumWidth(0, self._theme.px(110))
            for place, shortcut in enumerate(group.shortcuts):
                cap = KeyCap(shortcut.keys)
                cap.setAccessibleName(shortcut.keys)
                grid.addWidget(cap, place, 0, Qt.AlignmentFlag.AlignLeft)
                grid.addWidget(Text(shortcut.words, Role.BODY, wrap=True), place, 1)
            card.body.addLayout(grid)
            column.addWidget(card)
        column.addStretch(1)
        return scroll_area(content)

    def _about_part(self) -> QWidget:
        card = Card(padding=24)
        self._about.setSpacing(6)
        card.body.addLayout(self._about)
        card.body.addWidget(self.licences, 1)
        return card

    @Slot(object)
    def _show_guide(self, guide: Guide) -> None:
        self._guide, self.text.pictures = guide, guide.pictures
        self.chapters.addItems([chapter.title for chapter in guide.chapters])
        self.chapters.setCurrentRow(0)

    @Slot(int)
    def _on_chapter(self, row: int) -> None:
        if 0 <= row < len(self._guide.chapters):
            self.text.document().setDefaultFont(self._theme.font(Role.BODY))
            self.text.setMarkdown(self._guide.chapters[row].text)
            self._space_paragraphs()

    def _space_paragraphs(self) -> None:
        """Put room after every paragraph: Qt's Markdown has none."""
        cursor, block = QTextCursor(self.text.document()), self.text.document().begin()
        while block.isValid():
            look = block.blockFormat()
            if not block.textList() and not QTextCursor(block).currentTable():
                look.setBottomMargin(self._theme.px(_AFTER))
                cursor.setPosition(block.position())
                cursor.setBlockFormat(look)
            block = block.next()

    @Slot(QUrl)
    def _on_link(self, link: QUrl) -> None:
        """Go to another chapter; what is outside the guide is not here."""
        names = [chapter.name for chapter in self._guide.chapters]
        if link.fileName() in names:
            self.chapters.setCurrentRow(names.index(link.fileName()))

    @Slot(object)
    def _show_about(self, about: About) -> None:
        self._about.addWidget(Text(f"vbdesk {about.version}", Role.PAGE_TITLE))
        self._about.addWidget(Text(_("Biomarker signals, not diagnoses"), Role.BODY, "text2"))
        data = ", ".join(f"{part.name} {part.version}".strip() for part in about.data)
        self._about.addWidget(Text(_("Data: {data}", data=data), Role.LABEL, "text2", wrap=True))
        libraries = _("Libraries: {count}. Their licences:", count=len(about.libraries))
        self._about.addWidget(Text(libraries, Role.LABEL, "text2"))
        lines = [f"{part.name} {part.version}: {part.licence}" for part in about.libraries]
        self.licences.setPlainText("\n".join((about.notice, "", *lines)))

    @Slot(str)
    def _show_failure(self, sentence: str) -> None:
        self.text.setPlainText(sentence)

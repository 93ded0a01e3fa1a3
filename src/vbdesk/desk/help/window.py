"""The help window: guide, shortcuts, about. A window of its own, so that the page with the work stays in view."""

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QRect, Qt, QUrl, Slot
from PySide6.QtGui import QImage, QKeyEvent, QResizeEvent, QTextBlock, QTextCursor, QTextLength
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

from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.desk.help.guide import Chapter, Guide, anchor_of, right_to_left
from vbdesk.desk.help.reads import About, AboutRead, GuideRead, translation_notes
from vbdesk.desk.ui.buttons import KeyCap
from vbdesk.desk.ui.card import Card, scroll_area
from vbdesk.desk.ui.margins import margins
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.shortcuts import shortcut_groups
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import Language, _, current

GUIDE, SHORTCUTS, ABOUT = "guide", "shortcuts", "about"
_SIZE = (980, 720)
_CHAPTERS, _PICTURE, _AFTER, _LICENCES = 240, 640, 8, 160
_PICTURE_SIGN = "\ufffc"  # what a document has in the place of a picture


@dataclass(frozen=True, slots=True)
class HelpPosition:
    """What the help shows, and where: to show it again in another language."""

    part: str
    chapter: str
    geometry: QRect


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

    def show_chapter(self, chapter: Chapter) -> None:
        """Show a chapter from its beginning, in the direction of its language."""
        from_right = Language(chapter.language, chapter.language).right_to_left
        self.document().setDefaultFont(self._theme.font(Role.BODY))
        self.setMarkdown(right_to_left(chapter.text) if from_right else chapter.text)
        self._lay_out(Qt.LayoutDirection.RightToLeft if from_right else Qt.LayoutDirection.LeftToRight)
        self._fit_pictures()

    def show_heading(self, anchor: str) -> None:
        """Scroll to the heading that a link names; a page of another language may not have it."""
        for block in self._blocks():
            if block.blockFormat().headingLevel() and anchor_of(block.text()) == anchor:
                self.setTextCursor(QTextCursor(block))
                top = self.document().documentLayout().blockBoundingRect(block).top()
                self.verticalScrollBar().setValue(round(top))
                return

    def _blocks(self) -> Iterator[QTextBlock]:
        block = self.document().begin()
        while block.isValid():
            yield block
            block = block.next()

    def _lay_out(self, direction: Qt.LayoutDirection) -> None:
        """Set the direction of every block, and the room around them: Qt's Markdown has none."""
        after, from_right = self._theme.px(_AFTER), direction is Qt.LayoutDirection.RightToLeft
        for frame in self.document().rootFrame().childFrames():
            table = frame.frameFormat().toTableFormat()
            table.setAlignment(Qt.AlignmentFlag.AlignRight if from_right else Qt.AlignmentFlag.AlignLeft)
            table.setTopMargin(after)
            table.setBottomMargin(after)
            frame.setFrameFormat(table)
        for block in self._blocks():
            cursor, block_format = QTextCursor(block), block.blockFormat()
            block_format.setLayoutDirection(direction)
            if not cursor.currentTable():
                block_format.setBottomMargin(after / 2 if block.textList() else after)
            cursor.setBlockFormat(block_format)
            if from_right and block.textList():
                numbers = block.textList().format()
                numbers.setNumberPrefix(".")  # Qt exchanges prefix and suffix here, and would show 1. for .1
                numbers.setNumberSuffix("")
                block.textList().setFormat(numbers)

    def _fit_pictures(self) -> None:
        """Make no picture wider than the page."""
        cursor = self.document().find(_PICTURE_SIGN)
        while not cursor.isNull():
            picture = cursor.charFormat().toImageFormat()
            picture.setMaximumWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
            cursor.setCharFormat(picture)
            cursor = self.document().find(_PICTURE_SIGN, cursor)


class HelpWindow(QWidget):
    """Three parts: guide, shortcuts, about; Escape closes it."""

    def __init__(self, flow: ProgramFlow, parent: QWidget) -> None:
        self._theme = app_theme()
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setWindowTitle(_("vbdesk help"))
        self.setAccessibleName(_("Help"))
        self._screen = flow.screen(self)
        self._guide, self._first = Guide((), {}), ""
        parts = [
            (GUIDE, _("Guide"), "book"),
            (SHORTCUTS, _("Shortcuts"), ""),
            (ABOUT, _("About vbdesk"), "info"),
        ]
        self.parts = SegmentedChoice(_("Part of the help"), parts)
        self.parts.chosen.connect(self.show_part)
        self.chapters, self.text = QListWidget(), GuideText()
        self.chapters.setAccessibleName(_("Chapters"))
        self.chapters.setSpacing(self._theme.px(5))
        self.chapters.setResizeMode(QListWidget.ResizeMode.Adjust)
        self.chapters.setWordWrap(True)
        self.chapters.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.chapters.currentRowChanged.connect(self._on_chapter)
        self.text.anchorClicked.connect(self._on_link)
        self.note = Text(
            _("This page of the guide is in English, because there is no translation of it yet."),
            Role.BODY,
            "text2",
            wrap=True,
        )
        self.note.hide()
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
        self._screen.changed.connect(self._show)
        self._theme.changed.connect(self._show_again)
        self.resize(*_SIZE)

    @Slot(str)
    def show_part(self, part: str) -> None:
        """Show guide, shortcuts or about."""
        self.parts.choose(part)
        self._stack.setCurrentIndex((GUIDE, SHORTCUTS, ABOUT).index(part))

    def open(self, part: str = GUIDE) -> None:
        """Show the window in front."""
        self._begin(part)
        self.activateWindow()

    def position(self) -> HelpPosition:
        """What the window shows now."""
        row = self.chapters.currentRow()
        chapter = self._guide.chapters[row].name if row >= 0 else self._first
        return HelpPosition(self.parts.choice(), chapter, self.geometry())

    def open_at(self, position: HelpPosition) -> None:
        """Show the window where another one was, and leave the keyboard where it is."""
        self._first = position.chapter
        self.setGeometry(position.geometry)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self._begin(position.part)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating, on=False)

    def _begin(self, part: str) -> None:
        if self._screen.read(GuideRead) is None:
            self._screen.show(GuideRead(current().name), AboutRead())
        self.show_part(part)
        self.show()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._fit_chapters()

    def _fit_chapters(self) -> None:
        self.chapters.setFixedWidth(min(self._theme.px(_CHAPTERS), self.width() // 3))

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def _guide_part(self) -> QWidget:
        card = Card(padding=1)
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.chapters)
        page = QVBoxLayout()
        margin = self._theme.px(16)
        self.note.setContentsMargins(margin, margin, margin, 0)
        page.addWidget(self.note)
        page.addWidget(self.text, 1)
        row.addLayout(page, 1)
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
            for index, shortcut in enumerate(group.shortcuts):
                cap = KeyCap(shortcut.keys)
                cap.setAccessibleName(shortcut.keys)
                grid.addWidget(cap, index, 0, Qt.AlignmentFlag.AlignLeft)
                grid.addWidget(Text(shortcut.text, Role.BODY, wrap=True), index, 1)
            card.body.addLayout(grid)
            column.addWidget(card)
        column.addStretch(1)
        return scroll_area(content)

    def _about_part(self) -> QWidget:
        card = Card(padding=24)
        self._about.setSpacing(6)
        card.body.addLayout(self._about)
        self.licences.setMinimumHeight(self._theme.px(_LICENCES))
        card.body.addWidget(self.licences, 1)
        return scroll_area(card)

    @Slot()
    def _show(self) -> None:
        guide, about = self._screen.of(GuideRead), self._screen.of(AboutRead)
        if guide.value is not None and guide.value is not self._guide:
            self._show_guide(guide.value)
        if about.value is not None and not self._about.count():
            self._show_about(about.value)
        for unreadable in filter(None, (guide.unreadable, about.unreadable)):
            self.text.setPlainText(unreadable.sentence)

    def _show_guide(self, guide: Guide) -> None:
        self._guide, self.text.pictures = guide, guide.pictures
        self.chapters.addItems([chapter.title for chapter in guide.chapters])
        for row, chapter in enumerate(guide.chapters):  # Qt shortens a title that has two lines
            self.chapters.item(row).setToolTip(chapter.title)
        names = [chapter.name for chapter in guide.chapters]
        self.chapters.setCurrentRow(names.index(self._first) if self._first in names else 0)

    @Slot(int)
    def _on_chapter(self, row: int) -> None:
        if 0 <= row < len(self._guide.chapters):
            chapter = self._guide.chapters[row]
            self.text.show_chapter(chapter)
            self.note.setVisible(chapter.language != current().name)

    @Slot()
    def _show_again(self) -> None:
        """Show the chapter in other colours or another size of text, at the same line."""
        bar = self.text.verticalScrollBar()
        share = bar.value() / max(1, bar.maximum())
        self._fit_chapters()
        self._on_chapter(self.chapters.currentRow())
        bar.setValue(round(share * bar.maximum()))

    @Slot(QUrl)
    def _on_link(self, link: QUrl) -> None:
        """Go to another chapter, to the heading that the link names."""
        names = [chapter.name for chapter in self._guide.chapters]
        if link.fileName() in names:
            self.chapters.setCurrentRow(names.index(link.fileName()))
        if link.hasFragment():
            self.text.show_heading(link.fragment(QUrl.ComponentFormattingOption.FullyDecoded))

    def _show_about(self, about: About) -> None:
        self._about.addWidget(Text(f"vbdesk {about.version}", Role.PAGE_TITLE))
        self._about.addWidget(Text(_("Biomarker signals, not diagnoses"), Role.BODY, "text2"))
        for sentence in translation_notes():
            self._about.addWidget(Text(sentence, Role.BODY, "text2", wrap=True))
        data = ", ".join(f"{part.name} {part.version}".strip() for part in about.data)
        self._about.addWidget(Text(_("Data: {data}", data=data), Role.LABEL, "text2", wrap=True))
        libraries = _("Libraries: {count}. Their licences:", count=len(about.libraries))
        self._about.addWidget(Text(libraries, Role.LABEL, "text2"))
        lines = [f"{part.name} {part.version}: {part.licence}" for part in about.libraries]
        self.licences.setPlainText("\n".join((about.notice, "", *lines)))

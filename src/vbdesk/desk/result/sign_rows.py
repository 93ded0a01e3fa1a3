"""The signals of a result as rows: level, change against the own baseline, details on a click."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk.results.result_rows import SignRow
from vbdesk.desk.results.result_text import VoiceReading
from vbdesk.desk.ui.badges import LevelBadge, level_badge_size
from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize
from vbdesk.desk.ui.card import Card, horizontal_line
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.margins import margins
from vbdesk.desk.ui.range_marks import OwnRangeStrip
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, Theme, app_theme
from vbdesk.language import _
from vbdesk.report.reader_words import level_word

_SIDE = 20
_SPACING = 8
_LEVEL_WIDTH, _CHANGE_WIDTH, _STRIP_WIDTH, _MORE_WIDTH = 116, 122, 116, 28  # levels and changes: at least
_STRIPS_FROM = 600  # narrower cards hide the strips: the text next to them says the same


def level_width(theme: Theme) -> int:
    """Width of a column that holds the badge of every level in the reader's language."""
    return max(theme.px(_LEVEL_WIDTH), *(level_badge_size(theme, level_word(level)).width() for level in Level))


def _change_width(theme: Theme) -> int:
    """Width of the column of changes in the reader's language."""
    metrics, head = QFontMetrics(theme.font(Role.LABEL_MEDIUM)), QFontMetrics(theme.font(Role.CAPTION))
    shown = (_("In own range"), _("Above baseline"), _("Below baseline"))
    widest = theme.px(24) + max(map(metrics.horizontalAdvance, shown))
    return max(theme.px(_CHANGE_WIDTH), widest, head.horizontalAdvance(_("Against own baseline")))


def _width_beside_strips(theme: Theme, names: list[str]) -> int:
    """What a row needs besides its strip, with the longest word of all names."""
    metrics = QFontMetrics(theme.font(Role.BODY_STRONG))
    word = max((metrics.horizontalAdvance(word) for name in names for word in name.split()), default=0)
    columns = word + level_width(theme) + _change_width(theme) + theme.px(_MORE_WIDTH)
    return columns + 2 * _SIDE + 4 * _SPACING + 2  # and the card's edges


class SignRows(Card):
    """All signals of one result."""

    def __init__(self, voice: VoiceReading, flagged_share: str, compared: str, *, researcher: bool) -> None:
        self._theme = app_theme()
        super().__init__(padding=0)
        self.body.setSpacing(0)
        self._head = _Head(longitudinal=voice.longitudinal)
        self._beside_strips = _width_beside_strips(self._theme, [sign.label for sign in voice.signs])
        self.body.addWidget(self._head)
        self.rows: list[SignRowView] = []
        for sign in voice.signs:
            row = SignRowView(sign, longitudinal=voice.longitudinal, researcher=researcher)
            self.rows.append(row)
            self.body.addWidget(horizontal_line())
            self.body.addWidget(row)
        self.body.addWidget(horizontal_line())
        if flagged_share:
            self.share = _Share(flagged_share)
            self.body.addWidget(self.share)
        self.compared = Text(compared, Role.CAPTION, "text2", wrap=True)
        self.compared.setContentsMargins(_SIDE, 0 if flagged_share else 10, _SIDE, 12)
        self.body.addWidget(self.compared)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        head = self._head.strip
        if head is None:
            return
        width = min(self.width() - self._beside_strips, self._theme.px(_STRIP_WIDTH))
        roomy = self.width() >= self._theme.px(_STRIPS_FROM) and width >= head.sizeHint().width()
        for part in (head, *(row.strip for row in self.rows if row.strip is not None)):
            part.setVisible(roomy)
            if roomy:
                part.setFixedWidth(width)


class _Head(QWidget):
    """Title and column headers."""

    def __init__(self, *, longitudinal: bool) -> None:
        self._theme = app_theme()
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(_SIDE, 12, _SIDE, 12)
        row.setSpacing(_SPACING)
        row.addWidget(Text(_("Signals"), Role.CARD_TITLE), 1)
        columns = [(_("Level"), level_width(self._theme))]
        if longitudinal:
            columns.append((_("Against own baseline"), _change_width(self._theme)))
        for text, width in columns:
            head = Text(text, Role.CAPTION, "text2")
            head.setFixedWidth(width)
            row.addWidget(head)
        self.strip: QWidget | None = None
        if longitudinal:
            self.strip = QWidget()
            self.strip.setFixedWidth(self._theme.px(_STRIP_WIDTH))
            ends = QHBoxLayout(self.strip)
            ends.setContentsMargins(0, 0, 0, 0)
            ends.addWidget(Text(_("lower"), Role.CAPTION, "text2"))
            ends.addStretch(1)
            ends.addWidget(Text(_("higher"), Role.CAPTION, "text2"))
            row.addWidget(self.strip)
        row.addSpacing(self._theme.px(_MORE_WIDTH) + row.spacing())


class SignRowView(QWidget):
    """One signal."""

    def __init__(self, sign: SignRow, *, longitudinal: bool, researcher: bool) -> None:
        self._theme = app_theme()
        super().__init__()
        self.sign = sign
        self.more = Button("", ButtonKind.QUIET, icon="chevron-down", size=ButtonSize.ROW)
        self.more.setAccessibleName(_("About {sign}", sign=sign.label))
        self.more.setToolTip(_("What is known, and what can sound the same"))
        self.more.setFixedWidth(self._theme.px(_MORE_WIDTH))
        self.more.clicked.connect(self._toggle)
        self._about: QWidget | None = None
        grid = QGridLayout()
        grid.setHorizontalSpacing(_SPACING)
        grid.setVerticalSpacing(0)
        grid.setColumnStretch(0, 1)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addStretch(1)
        texts.addWidget(Text(sign.label, Role.BODY_STRONG if sign.level.flagged else Role.BODY_MEDIUM, wrap=True))
        if sign.evidence:
            texts.addWidget(Text(sign.evidence, Role.CAPTION, "text3", wrap=True))
        texts.addStretch(1)
        grid.addLayout(texts, 0, 0)
        badge = QWidget()
        badge.setFixedWidth(level_width(self._theme))
        inner = QHBoxLayout(badge)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addWidget(LevelBadge(sign.level), 0, Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(badge, 0, 1, Qt.AlignmentFlag.AlignVCenter)
        self.strip = _strip(self._theme, sign) if longitudinal else None
        if self.strip is not None:
            grid.addWidget(_change(self._theme, sign), 0, 2, Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(self.strip, 0, 3, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self.more, 0, 4, Qt.AlignmentFlag.AlignVCenter)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(_SIDE, 8, _SIDE, 8)
        self._column.setSpacing(6)
        self._column.addLayout(grid)
        if researcher:
            figures = " · ".join(_("{name}: {figure}", name=name, figure=figure) for name, figure in sign.figures)
            self._column.addWidget(Text(figures, Role.LABEL, "text2", wrap=True))

    @Slot()
    def _toggle(self) -> None:
        if self._about is None:  # made on demand: most are never opened
            self._about = _about(self.sign)
            self._about.hide()
            self._column.addWidget(self._about)
        opened = self._about.isHidden()
        self._about.setVisible(opened)
        self.more.set_icon("chevron-up" if opened else "chevron-down")


def _change(theme: Theme, sign: SignRow) -> QWidget:
    box = QWidget()
    box.setFixedWidth(_change_width(theme))
    row = QHBoxLayout(box)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(8)
    if sign.change is None:
        row.addWidget(Text(sign.no_change, Role.LABEL, "text3", wrap=True), 1)
    else:
        ink = "text" if sign.change.stands_out else "text2"
        row.addWidget(IconView(sign.change.arrow, ink, 14))
        row.addWidget(Text(sign.change.text, Role.LABEL_MEDIUM if sign.change.stands_out else Role.LABEL, ink))
    row.addStretch(1)
    return box


def _strip(theme: Theme, sign: SignRow) -> QWidget:
    if sign.change is not None:
        return OwnRangeStrip(sign.change.z, sign.change.sentence)
    empty = QWidget()
    empty.setFixedWidth(theme.px(_STRIP_WIDTH))
    return empty


def _about(sign: SignRow) -> QWidget:
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(0, 4, 0, 4)
    column.setSpacing(8)
    for sentence in sign.about:
        column.addWidget(Text(sentence, Role.LABEL, "text2", wrap=True))
    if sign.confounders:
        column.addWidget(Text(_("Can sound the same"), Role.LABEL_STRONG))
        column.addWidget(Text(" · ".join(sign.confounders), Role.LABEL, "text2", wrap=True))
    if not sign.evidence:
        column.addWidget(Text(_("This sign is not in this version's reference."), Role.LABEL, "text2", wrap=True))
    return box


class _Share(QWidget):
    """How often healthy speakers are flagged; the sentence opens with a click."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.button = Button(_("How often in healthy speakers?"), ButtonKind.LINK, size=ButtonSize.ROW)
        self.sentence = Text(sentence, Role.LABEL, "text2", wrap=True)
        self.sentence.hide()
        self.button.clicked.connect(self._toggle)
        column = QVBoxLayout(self)
        column.setContentsMargins(margins(_SIDE - 11, 6, _SIDE, 8))
        column.setSpacing(4)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        inset = QHBoxLayout()
        inset.setContentsMargins(margins(11, 0, 0, 4))
        inset.addWidget(self.sentence)
        column.addLayout(inset)

    @Slot()
    def _toggle(self) -> None:
        self.sentence.setVisible(self.sentence.isHidden())

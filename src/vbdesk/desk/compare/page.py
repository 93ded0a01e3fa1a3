"""The Compare page: two recordings of one subject, and whether they can fairly be compared."""

from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtGui import QResizeEvent, QShortcut
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from vbdesk.desk.compare.cards import MARKS, PairsCard, SideCard, feature_row, sign_row
from vbdesk.desk.compare.comparison import ComparisonReading
from vbdesk.desk.compare.view_model import CompareViewModel, SameSubjects, SoundPicture
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.results.result_rows import own_ranges_note
from vbdesk.desk.ui.advice_card import AdviceCard
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.breadcrumb import Breadcrumb
from vbdesk.desk.ui.buttons import secondary_button
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.notice import NoticeAction, Tone
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.routes import ComparisonRoute
from vbdesk.desk.ui.scroll_body import ScrollBody, page_layout
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.shortcuts import sequence
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _

_ONE_COLUMN_BELOW = 900
_FAIR = N_("Same signals, calibration and task, and nothing to note on either sound: the two can be compared.")


class ComparePage(QWidget):
    """Two recordings; the right one is compared with the left one."""

    def __init__(self, flow: Flow, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self.setObjectName("page")
        self.view_model = view_model = CompareViewModel(flow, self)
        self._reading: ComparisonReading | None = None
        self.banner = Banner()
        left, right = view_model.playback.sides
        self.left_card, self.right_card = SideCard(0, left), SideCard(1, right)
        for index, card in enumerate((self.left_card, self.right_card)):
            card.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)  # both have the same width
            card.setMinimumWidth(1)
            card.chosen.connect(partial(view_model.choose, index))
            card.toggled.connect(partial(view_model.playback.toggle, index))
            card.sought.connect(partial(view_model.playback.seek, index))
            card.result_wanted.connect(partial(view_model.open_result, index))
        self._sides = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._sides.setSpacing(20)
        self._sides.addWidget(self.left_card, 1)
        self._sides.addWidget(self.right_card, 1)
        self._below = QVBoxLayout()
        self._below.setSpacing(16)
        body = ScrollBody()
        body.body.addWidget(self.banner)
        self.banner.reserve(3)
        body.body.addLayout(self._sides)
        body.body.addLayout(self._below)
        page_layout(self, self._header(), body)
        view_model.shown.connect(self._show)
        view_model.pictured.connect(self._on_pictured)
        view_model.same_subject_changed.connect(self._on_same_subject)
        view_model.failed.connect(self._on_failed)
        self._theme.changed.connect(self._rebuild)
        QShortcut(sequence("result-play"), self).activated.connect(view_model.playback.toggle_current)
        QShortcut(sequence("compare-swap-sound"), self).activated.connect(view_model.playback.change_over)

    def opened(self, argument: object) -> None:
        """Show the requested pair."""
        if isinstance(argument, ComparisonRoute):
            self._reading = None
            self._rebuild()
            self.change_over_button.setFocus()
            self.view_model.open(argument)

    def closed(self) -> None:
        """Another page is shown."""
        self.view_model.leave()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()

    def _header(self) -> QWidget:
        subjects = Breadcrumb(_("Subjects"))
        subjects.clicked.connect(self.view_model.open_subjects)
        self.subject_button = Breadcrumb()
        self.subject_button.clicked.connect(self.view_model.open_subject)
        crumbs = QHBoxLayout()
        crumbs.setContentsMargins(0, 0, 0, 0)
        crumbs.setSpacing(8)
        for part in (subjects, IconView("chevron-right", "text3", 14), self.subject_button):
            crumbs.addWidget(part)
        crumbs.addStretch(1)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addLayout(crumbs)
        texts.addWidget(Text(_("Two recordings compared"), Role.PAGE_TITLE))
        self.segment = SegmentedChoice(
            _("How much to show"),
            [("clinical", _("Clinical"), ""), ("researcher", _("Researcher"), "")],
        )
        self.segment.chosen.connect(self._rebuild)
        self.change_over_button = secondary_button(_("Same moment in the other"), key="X")
        self.change_over_button.clicked.connect(self.view_model.playback.change_over)
        self.swap_button = secondary_button(_("Swap"), icon="swap")
        self.swap_button.setToolTip(_("Exchange left and right"))
        self.swap_button.clicked.connect(self.view_model.swap)
        return PageHeader(texts, self.segment, self.change_over_button, self.swap_button, texts_width=300)

    def _arrange(self) -> None:
        """Use one column in narrow windows."""
        narrow = self.width() < self._theme.px(_ONE_COLUMN_BELOW)
        directions = (QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom)
        self._sides.setDirection(directions[narrow])

    # Signals of the view model

    @Slot(object)
    def _show(self, reading: ComparisonReading) -> None:
        self._reading = reading
        self.subject_button.show_text(self.view_model.subject(reading.right.view.group_id).text)
        self._rebuild()

    @Slot(int, object)
    def _on_pictured(self, index: int, picture: SoundPicture) -> None:
        self._card(index).show_sound(picture)

    @Slot(object)
    def _on_same_subject(self, same_subject: SameSubjects) -> None:
        comparison = self.view_model.comparison
        if comparison is None:
            return
        sides = zip((self.left_card, self.right_card), (comparison.left, comparison.right), same_subject, strict=True)
        for card, recording, known in sides:
            card.show_same_subject(known, next((one for one in known if one.is_of(recording)), None))

    @Slot(str)
    def _on_failed(self, sentence: str) -> None:
        self.banner.say(Tone.WARN, sentence, NoticeAction(_("Try again"), self.view_model.reload, stays=True))

    # Cards

    @Slot()
    def _rebuild(self) -> None:
        """Build everything again: for another pair or theme."""
        self._arrange()
        while self._below.count():
            item = self._below.takeAt(0)
            widget = None if item is None else item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.banner.clear()
        reading = self._reading
        if reading is None:
            self.left_card.begin()
            self.right_card.begin()
            return
        self.left_card.show_side(reading.left)
        self.right_card.show_side(reading.right)
        if reading.left.reading is None or reading.right.reading is None:
            return
        self._say_fairness(reading)
        heads = (f"{MARKS[0]} {reading.left.name}", f"{MARKS[1]} {reading.right.name}")
        self.signs = PairsCard(_("Signals"), heads, [sign_row(pair) for pair in reading.signs])
        cards: list[QWidget] = [self.signs]
        if reading.features:
            researcher = self.segment.choice() == "researcher"
            rows = [feature_row(pair, researcher=researcher) for pair in reading.features]
            note = own_ranges_note(row for pair in reading.features for row in (pair.left, pair.right))
            self.features = PairsCard(_("Vocal features"), heads, rows, note if researcher else "")
            cards.append(self.features)
        cards.append(_Qualities(reading))
        for card in cards:
            self._below.addWidget(card)
            card.show()

    def _say_fairness(self, reading: ComparisonReading) -> None:
        if reading.cautions:
            title = _("Compare with care")
            self.banner.say(Tone.WARN, " ".join(reading.cautions), title=title)
        else:
            self.banner.say(Tone.OK, _(_FAIR))

    def _card(self, index: int) -> SideCard:
        return self.right_card if index else self.left_card


class _Qualities(QWidget):
    """The quality of both, side by side."""

    def __init__(self, reading: ComparisonReading) -> None:
        self._theme = app_theme()
        super().__init__()
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(20)
        for side, mark in zip((reading.left, reading.right), MARKS, strict=True):
            if side.reading is not None:
                quality = side.reading.quality
                self._row.addWidget(AdviceCard(_("{mark} Quality", mark=mark), quality.figures, quality.issues), 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < self._theme.px(_ONE_COLUMN_BELOW - 72)
        directions = (QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom)
        self._row.setDirection(directions[narrow])

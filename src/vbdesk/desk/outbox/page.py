"""Outbox: every recording made here, from the first check to the result."""

import math
from functools import cached_property, partial

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.outbox.actions import ABOUT_SELECTION, Selection, TimeQuestion
from vbdesk.desk.outbox.banner import OutboxBanner
from vbdesk.desk.outbox.bundle_cards import BundleCard, HandOverCard, TakeInCard
from vbdesk.desk.outbox.commands import ChangeEach, Step, TakeBack
from vbdesk.desk.outbox.recording_time_card import TimeCard
from vbdesk.desk.outbox.rows import ACTION_TEXTS, Show
from vbdesk.desk.outbox.sorting import Figures
from vbdesk.desk.outbox.view_model import OutboxViewModel
from vbdesk.desk.results.correction_actions import CorrectionDone
from vbdesk.desk.results.recording_correction_card import RecordingCorrectionCard
from vbdesk.desk.subject_data.consent_text import no_consent_text
from vbdesk.desk.ui.accessibility import announce
from vbdesk.desk.ui.action_bar import ActionBar
from vbdesk.desk.ui.badges import chip_size
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.card import Card, horizontal_line, scroll_area, vertical_line
from vbdesk.desk.ui.cell_view import CellView
from vbdesk.desk.ui.empty_state import EmptyState
from vbdesk.desk.ui.flow_layout import FillingStack
from vbdesk.desk.ui.notice import Notice, NoticeAction, Tone, close_action
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.routes import BundleRoute
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.state_chip import STATE_CHIP_STYLES
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _, ngettext, pgettext
from vbdesk.language.formats import number

_WIDTHS = (176, 162, 300, 172, 140)
_STATE, _STRETCH, _ESTIMATE, _BUTTON = 1, 2, 3, 4
_CELL_PADS, _BUTTON_PADS, _WORD_PADS = 16, 50, 22  # next to a chip, a button and words in their columns
_EMPTY = {
    Show.ALL: (N_("Nothing here yet"), N_("Recordings appear here as soon as they are checked.")),
    Show.ON_THEIR_WAY: (N_("Nothing on its way"), N_("Recordings you send appear here.")),
    Show.ATTENTION: (N_("Nothing waits for you"), N_("Recordings that need a decision appear here.")),
    Show.DONE: (N_("No results yet"), N_("Recordings with a result appear here.")),
}
_RESTORE, _DESTROY, _CORRECT = "restore", "destroy", "correct"
_SEND, _SEARCH, _CANCEL, _DELETE, _NONE = "send", "look", "cancel", "delete", "none"
_READING = N_("The recordings are being read.")
_HAND_OVER, _TAKE_BACK, _TAKE_IN = "hand-over", "take-back", "take-in"
_DEEDS = (
    (_SEND, N_("Send"), "arrow-up"),
    (_SEARCH, N_("Look again"), "refresh"),
    (_CANCEL, N_("Keep, do not send"), ""),
    (_HAND_OVER, N_("Hand over"), "outbox"),
    (_TAKE_BACK, N_("Take back"), ""),
    (_CORRECT, N_("Correct"), "person"),
    (_DELETE, N_("Delete"), "trash"),
    (_RESTORE, N_("Restore"), ""),
    (_DESTROY, N_("Destroy"), "trash"),
    (_NONE, N_("Choose none"), ""),
    (_TAKE_IN, N_("Take in"), "import"),
)
_NOT_READ = "\N{EN DASH}"
_WIDE_WIDTHS = (300, 162, 300, 270, 140)
_WIDE_FROM = 1300
_NARROW_WIDTHS = (164, 154, 150, 172, 118)  # with large text: actions stay, and usual ids are whole
_LEAST_ROWS = 36 + 2 * 55  # with less space the page scrolls, so that the list keeps some rows
_FIGURES_FROM = 480  # with less height, at 100 % text, the list takes the room of the figures


class OutboxPage(QWidget):
    """The list of recordings and their way to a result."""

    def __init__(self, flow: Flow, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self.setObjectName("page")
        self.view_model = view_model = OutboxViewModel(flow, self)
        self._wide = False
        self.figures = FiguresCard()
        self.banner = Banner()
        self.notice = Banner()
        self.correction_notice = Banner()
        self.undo = Banner()  # of its own, so that no other message takes it away
        self.segment = SegmentedChoice(
            _("Which recordings"),
            [
                (Show.ALL, _("All"), ""),
                (Show.ON_THEIR_WAY, _("On their way"), ""),
                (Show.ATTENTION, _("Needs attention"), ""),
                (Show.DONE, pgettext("recordings", "Done"), ""),
                (Show.TRASH, _("Trash"), ""),
            ],
        )
        self.list = CellView(
            _("Recordings"),
            view_model.table,
            self._widths(_WIDTHS),
            stretch=_STRETCH,
            droppable=_ESTIMATE,
            narrow=self._widths(_NARROW_WIDTHS),
            choosable=True,
        )
        self.bar = ActionBar([(key, _(text), icon) for key, text, icon in _DEEDS], self._perform)
        self._choice = Selection()
        self.empty = EmptyState("outbox", "", "")
        self.empty.say_loading(_(_READING))
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.list)
        self._stack.setMinimumHeight(self._theme.px(_LEAST_ROWS))
        card = Card(padding=1)
        card.body.setSpacing(0)
        card.body.addWidget(self._stack, 1)
        card.body.addWidget(horizontal_line())
        card.body.addWidget(self.bar)
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(36, 28, 36, 24)
        layout.setSpacing(16)
        layout.addWidget(self._header())
        for part in (self.figures, self.banner):
            layout.addWidget(part)
        self.banner.reserve(2)
        self.notice.float_over(self)
        self.undo.float_over(self)
        self.correction_notice.float_over(self)
        self._views = FillingStack()
        self._views.addWidget(card)
        layout.addWidget(self._views, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(scroll_area(content))
        self.segment.chosen.connect(self._choose)
        self.list.opened.connect(self._open)
        self.list.acted.connect(view_model.perform)
        self.list.chosen_changed.connect(self._on_chosen)
        self.list.chosen_changed.connect(self._withdraw_question)
        self.list.delete_wanted.connect(self._delete)
        view_model.corrections.changed.connect(self._on_correction_done)
        view_model.corrections.refused.connect(self._on_correction_refused)
        view_model.actions.noticed.connect(self.notice.show_notice)
        view_model.actions.undo_changed.connect(self._show_undo)
        view_model.actions.time_asked.connect(self._ask_for_time)
        self.empty.button.clicked.connect(view_model.record)
        view_model.figures_changed.connect(self.figures.show_figures)
        view_model.banner_changed.connect(self._show_banner)
        view_model.listed.connect(self._on_listed)
        view_model.refused.connect(self._on_refused)
        self._on_chosen()

    def opened(self, argument: object) -> None:
        """Show the list; an argument chooses which recordings, or a file to take in."""
        if isinstance(argument, Show):
            self.segment.choose(argument)
            self.view_model.choose(argument)
        elif isinstance(argument, BundleRoute):
            self._show_view(self.take_in)
            self.take_in.begin(argument.path)
        self.view_model.set_shown(True)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self.figures.setVisible(self.height() >= self._theme.px(_FIGURES_FROM))
        wide = self.width() >= self._theme.px(_WIDE_FROM)
        if wide is not self._wide:
            self._wide = wide
            self.list.set_widths(self._widths(_WIDE_WIDTHS if wide else _WIDTHS), _STRETCH)

    def closed(self) -> None:
        """Another page is shown."""
        self.notice.clear()
        self.correction_notice.clear()
        self.view_model.corrections.forget()
        self.view_model.set_shown(False)

    def _header(self) -> QWidget:
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(Text(_("Outbox"), Role.PAGE_TITLE))
        about = _("Every recording made here, from the first check to the result.")
        texts.addWidget(Text(about, Role.BODY, "text2", wrap=True))
        header = PageHeader(texts, self.segment, texts_width=420)
        header.setMinimumWidth(1)  # it adapts to the available width, so it must not request one
        return header

    def _widths(self, widths: tuple[int, ...]) -> tuple[int, ...]:
        """These widths, with room for every state, consent and button in the reader's language."""
        scale = self._theme.px(100) / 100
        states = max(chip_size(self._theme, style).width() for style in STATE_CHIP_STYLES.values())
        letters = QFontMetricsF(self._theme.font(Role.LABEL_MEDIUM))
        buttons = max(letters.horizontalAdvance(_(text)) for text in ACTION_TEXTS.values())
        consent = letters.horizontalAdvance(no_consent_text())
        least = {
            _STATE: states / scale + _CELL_PADS,
            _ESTIMATE: consent / scale + _WORD_PADS,
            _BUTTON: buttons / scale + _BUTTON_PADS,
        }
        return tuple(max(width, math.ceil(least.get(column, 0))) for column, width in enumerate(widths))

    @Slot(str)
    def _choose(self, key: str) -> None:
        self.list.clearSelection()
        self.view_model.choose(Show(key))
        self._on_chosen()

    @Slot(object)
    def _show_banner(self, banner: OutboxBanner | None) -> None:
        if banner is None:
            self.banner.clear()
        else:
            actions = []
            if banner.action_text:
                actions.append(
                    NoticeAction(
                        banner.action_text, partial(self.view_model.perform_banner_action, banner.action), stays=True
                    )
                )
            if banner.asks:
                actions.append(NoticeAction(_("Check now"), self._check_now, stays=True))
            self.banner.say(Tone.WARN if banner.warning else Tone.INFO, banner.sentence, *actions)

    @Slot()
    def _check_now(self) -> None:
        self.view_model.check_now()
        announce(self, _("The service is asked for results now."))

    @Slot()
    def _on_listed(self) -> None:
        some = self.view_model.table.rowCount() > 0
        if self.view_model.loading:
            self.empty.say_loading(_(_READING))
        elif not some and self.view_model.show is Show.TRASH:
            sentence = _("Deleted recordings can be restored from here for some days.")
            self.empty.say(_("The trash is empty"), sentence)
        elif not some:
            title, sentence = _EMPTY[self.view_model.show]
            self.empty.say(_(title), _(sentence), action=pgettext("verb", "Record"))
        self._stack.setCurrentIndex(1 if some else 0)

        if self._choice.chosen or self.view_model.show is Show.TRASH:
            self._on_chosen()  # what can be done with them may differ now

    @Slot(str)
    def _on_refused(self, sentence: str) -> None:
        self.notice.say(Tone.WARN, sentence, close_action())
        if self.view_model.loading:
            self.empty.say_unreadable(sentence)

    @Slot(object)
    def _show_undo(self, notice: Notice | None) -> None:
        if notice is None:
            self.undo.clear()
        else:
            self.undo.show_notice(notice)

    @Slot(str)
    def _open(self, key: str) -> None:
        """Open a row; one with nothing to open is ticked instead."""
        if not self.view_model.open(key):
            self.list.choose_keys({*self.list.chosen_keys(), key})

    @Slot()
    def _withdraw_question(self) -> None:
        """The selection that was asked about has changed."""
        self.notice.withdraw(ABOUT_SELECTION)

    @Slot()
    def _on_chosen(self) -> None:
        """Offer the actions that apply to the selected rows."""
        choice = self._choice = self.view_model.choice(self.list.chosen_keys())
        count = len(choice.chosen)
        if self.view_model.show is Show.TRASH:
            self._offer_trash(choice)
            return
        if not count:
            waiting = self.view_model.ready_to_hand_over()
            shown = {_TAKE_IN: _("Take in recordings of another computer")}
            if waiting:
                shown[_HAND_OVER] = ngettext(
                    "Hand over {count:,} waiting recording", "Hand over {count:,} waiting recordings", waiting
                )
            self.bar.show_actions(_("Tick recordings to send, hand over or delete several at once."), shown)
            return
        names = {_NONE: _("Choose none")}
        for key, keys in (
            (_SEND, choice.send),
            (_SEARCH, choice.search),
            (_CANCEL, choice.cancel),
            (_HAND_OVER, choice.hand_over),
            (_TAKE_BACK, choice.take_back),
            (_DELETE, choice.delete),
        ):
            if keys:
                names[key] = _what_is_done(key, len(keys))
        if count == 1 and choice.correct:
            names[_CORRECT] = _("Correct the subject or the course of this recording")
        self.bar.show_actions(ngettext("{count:,} recording chosen", "{count:,} recordings chosen", count), names)

    def _offer_trash(self, choice: Selection) -> None:
        """Offer what can be done with the selected rows of the trash."""
        count, days = len(choice.chosen), self.view_model.trash_days
        if not count:
            sentence = ngettext(
                "Deleted recordings stay here for {count} day, then their keys are destroyed.",
                "Deleted recordings stay here for {count} days, then their keys are destroyed.",
                days,
            )
            self.bar.show_actions(sentence, {})
            return
        names = {
            _NONE: _("Choose none"),
            _DESTROY: ngettext("Destroy {count:,} recording now", "Destroy {count:,} recordings now", count),
        }
        if choice.restore:
            names[_RESTORE] = ngettext(
                "Restore {count:,} recording", "Restore {count:,} recordings", len(choice.restore)
            )
        self.bar.show_actions(ngettext("{count:,} recording chosen", "{count:,} recordings chosen", count), names)

    @Slot(str)
    def _perform(self, action: str) -> None:
        match action:
            case "send":
                self.view_model.actions.do(ChangeEach(self._choice.send))
            case "look":
                self.view_model.actions.do(ChangeEach.alike(Step.RETRY, self._choice.search))
            case "cancel":
                self.view_model.actions.do(ChangeEach.alike(Step.CANCEL, self._choice.cancel))
            case "take-back":
                self.view_model.actions.do(TakeBack(self._choice.take_back))
            case "delete":
                self._delete()
            case "correct":
                self.correction_card.opened.connect(self._on_correction_asked, Qt.ConnectionType.UniqueConnection)
                self.view_model.correct(self._choice.correct[0])
            case "restore":
                self.view_model.actions.do(ChangeEach.alike(Step.RESTORE, self._choice.restore))
            case "destroy":
                self.view_model.actions.ask_to_destroy(self._choice.destroy)
            case "hand-over":
                self._show_view(self.hand_over)
                self.hand_over.begin(self._choice.hand_over)
            case "take-in":
                self._show_view(self.take_in)
                self.take_in.begin()
            case "none":
                self.list.clearSelection()

    @cached_property
    def hand_over(self) -> HandOverCard:
        """The export card, made on first use."""
        return HandOverCard(self.view_model.flow, self.view_model.bundles)

    @cached_property
    def take_in(self) -> TakeInCard:
        """The import card, made on first use."""
        return TakeInCard(self.view_model.flow, self.view_model.bundles)

    @cached_property
    def time_card(self) -> TimeCard:
        """The card for the time of a recording, made on first use."""
        return TimeCard(self.view_model.actions)

    @cached_property
    def correction_card(self) -> RecordingCorrectionCard:
        """The card for the course of a recording, made on first use."""
        return RecordingCorrectionCard(self.view_model.corrections)

    @Slot()
    def _on_correction_asked(self) -> None:
        self._show_view(self.correction_card)

    @Slot(object)
    def _on_correction_done(self, changed: CorrectionDone) -> None:
        self.correction_notice.say(
            Tone.OK, changed.sentence, changed.undo_action() or close_action(), title=changed.title
        )

    @Slot(str)
    def _on_correction_refused(self, sentence: str) -> None:
        if self._views.currentIndex() == 0:
            self.correction_notice.say(Tone.WARN, sentence, close_action())

    @Slot(object)
    def _ask_for_time(self, question: TimeQuestion) -> None:
        self._show_view(self.time_card)
        self.time_card.begin(question)

    def _show_view(self, view: BundleCard | TimeCard | RecordingCorrectionCard) -> None:
        if self._views.indexOf(view) < 0:
            self._views.addWidget(view)
            view.left.connect(self._show_list)
        self._views.setCurrentWidget(view)

    @Slot()
    def _show_list(self) -> None:
        self._views.setCurrentIndex(0)
        self.list.setFocus()

    @Slot()
    def _delete(self) -> None:
        if self._choice.destroy:
            self.view_model.actions.ask_to_destroy(self._choice.destroy)
        elif self._choice.chosen:
            self.view_model.actions.delete(self._choice)


def _what_is_done(key: str, count: int) -> str:
    """The accessible name of a button of the bar."""
    match key:
        case "send":
            return ngettext("Send {count:,} recording", "Send {count:,} recordings", count)
        case "look":
            return ngettext("Look again for {count:,} recording", "Look again for {count:,} recordings", count)
        case "cancel":
            return ngettext(
                "Keep and do not send {count:,} recording", "Keep and do not send {count:,} recordings", count
            )
        case "hand-over":
            return ngettext("Hand over {count:,} recording", "Hand over {count:,} recordings", count)
        case "take-back":
            return ngettext("Take back {count:,} recording", "Take back {count:,} recordings", count)
    return ngettext("Delete {count:,} recording", "Delete {count:,} recordings", count)


class FiguresCard(Card):
    """Five numbers side by side."""

    _INKS = ("text", "accent", "accent", "warn", "text")
    _LABELS = (N_("Waiting"), N_("Uploading"), N_("Running"), N_("Need attention"), N_("Done today"))

    def __init__(self) -> None:
        super().__init__(padding=1)
        row = QHBoxLayout()
        row.setSpacing(0)
        self._figures: list[Text] = []
        self._names: list[Text] = []
        for index, texts in enumerate(self._LABELS):
            if index:
                row.addWidget(vertical_line())
            figure, name = Text(_NOT_READ, Role.FIGURE, "text"), Text(_(texts), Role.LABEL, "text2")
            column = QVBoxLayout()
            column.setContentsMargins(20, 12, 20, 12)
            column.setSpacing(2)
            column.addWidget(figure)
            column.addWidget(name)
            row.addLayout(column, 1)
            self._figures.append(figure)
            self._names.append(name)
        self.body.addLayout(row)

    @Slot(object)
    def show_figures(self, figures: Figures) -> None:
        """Show other numbers; zero has no colour."""
        values = (figures.waiting, figures.uploading, figures.running, figures.attention, figures.done_today)
        for text, value, ink in zip(self._figures, values, self._INKS, strict=True):
            text.setText(number(value, ",d"))
            text.set_ink(ink if value else "text")
        self._names[3].setText(_("Needs attention") if figures.attention == 1 else _("Need attention"))

    def texts(self) -> list[str]:
        """All text, for tests and screen readers."""
        return [f"{figure.text()} {name.text()}" for figure, name in zip(self._figures, self._names, strict=True)]

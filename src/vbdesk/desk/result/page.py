"""The Result page: levels and texts first, everything else one click away."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QAction, QResizeEvent, QShortcut
from PySide6.QtWidgets import QBoxLayout, QFileDialog, QHBoxLayout, QMenu, QVBoxLayout, QWidget

from vbdesk.contract.levels import Level
from vbdesk.desk.flow.commands import CommandOutcome
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.reports.report_menus import LookMenu, PrintBanner
from vbdesk.desk.reports.reports import Report, export_fault
from vbdesk.desk.result.cards import (
    FeaturesCard,
    JsonPanel,
    MetricsCard,
    NarrativeCard,
    NotesCard,
    OverallCard,
    PlayerCard,
    SpeakerCard,
)
from vbdesk.desk.result.export import WriteResult, file_name
from vbdesk.desk.result.reads import SameSubject
from vbdesk.desk.result.sign_rows import SignRows
from vbdesk.desk.result.state import ResultState
from vbdesk.desk.result.view_model import ResultViewModel
from vbdesk.desk.results.correction_actions import CorrectionDone
from vbdesk.desk.results.recording_correction_card import RecordingCorrectionCard
from vbdesk.desk.results.result_state import ResultView
from vbdesk.desk.results.result_text import ResultReading, VoiceReading
from vbdesk.desk.ui.accessibility import announce
from vbdesk.desk.ui.advice_card import AdviceCard
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.breadcrumb import Breadcrumb
from vbdesk.desk.ui.buttons import secondary_button
from vbdesk.desk.ui.card import Card
from vbdesk.desk.ui.empty_state import EmptyState
from vbdesk.desk.ui.flow_layout import FlowLayout
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.notice import NoticeAction, Tone
from vbdesk.desk.ui.page_header import PageHeader
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.desk.ui.scroll_body import ScrollBody, page_layout
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.shortcuts import sequence
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import N_, _, pgettext
from vbdesk.report.exports import ExportFormat

_ONE_COLUMN_BELOW = 900
_READ, _UNDO = "read", "undo"  # topics of messages
_LEFT, _RIGHT = 628, 360
_MENU_ENTRIES = 8
_CARD_HEIGHT = 300
_FILES = {
    ExportFormat.JSON: N_("JSON (*.json)"),
    ExportFormat.PDF: N_("PDF report (*.pdf)"),
    ExportFormat.FHIR: N_("FHIR bundle (*.fhir.json)"),
}
_FIRST = N_(
    "This is the first recording of this subject for these signals, so there is no baseline yet. From the next one on, "
    "each signal is compared with this person's own range."
)


class ResultPage(QWidget):
    """The result of one recording."""

    def __init__(self, flow: Flow, parent: QWidget | None = None) -> None:
        self._theme = app_theme()
        super().__init__(parent)
        self.setObjectName("page")
        self.view_model = view_model = ResultViewModel(flow, self)
        self._reading: ResultReading | None = None
        self._speaker = -1
        self._cards: list[Card] = []
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(0)
        self._rest.timeout.connect(self._build_rest)
        self.banner = Banner()
        self.question = Banner()
        self.player = PlayerCard(view_model.playback)
        self.json_panel = JsonPanel()
        self.json_panel.closed.connect(self._hide_json)
        self.json_panel.save_wanted.connect(self._save_json)
        self.json_panel.hide()
        self.empty = EmptyState("chart", _("Reading the result"), "")
        self.empty.button.clicked.connect(view_model.remedy)
        self._columns = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._columns.setSpacing(20)
        self._columns.setContentsMargins(0, 0, 0, 0)
        self._left, self._right = QWidget(), QWidget()
        for column, stretch in ((self._left, _LEFT), (self._right, _RIGHT)):
            box = QVBoxLayout(column)
            box.setContentsMargins(0, 0, 0, 0)
            box.setSpacing(16)
            self._columns.addWidget(column, stretch)
        self._left_box().addWidget(self.empty)
        self._right_box().addWidget(self.player)
        self._right_box().addWidget(self.json_panel, 1)
        body = ScrollBody()
        body.body.addWidget(self.question)
        self.correction_card = RecordingCorrectionCard(view_model.corrections)
        self.correction_card.setMinimumHeight(self._theme.px(_CARD_HEIGHT))
        self.correction_card.hide()
        body.body.addWidget(self.correction_card)
        body.body.addLayout(self._columns)
        page_layout(self, self._header(), body)
        self.banner.float_over(self)
        view_model.changed.connect(self._show)
        view_model.ended.connect(self._on_ended)
        view_model.export.ended.connect(self._on_exported)
        self.printing = PrintBanner(view_model.flow, self.print_action, self)
        self.printing.wanted.connect(self.print_report)
        self.correction_card.opened.connect(self._on_correction_asked)
        self.correction_card.left.connect(self._on_correction_left)
        view_model.corrections.changed.connect(self._on_correction_done)
        view_model.corrections.refused.connect(self._on_correction_refused)
        self._theme.changed.connect(self._rebuild)
        QShortcut(sequence("result-compare"), self).activated.connect(self._compare)
        QShortcut(sequence("result-play"), self).activated.connect(view_model.playback.toggle)

    def opened(self, argument: object) -> None:
        """Show the requested recording."""
        if isinstance(argument, RecordingRoute):
            self._reading, self._speaker = None, -1
            self.banner.clear()
            self.correction_card.hide()
            self._hide_json()
            self.player.show_segments(())
            self._offer_comparisons(((), ()))
            self.view_model.open(argument)

    def closed(self) -> None:
        """Another page is shown."""
        self._rest.stop()
        self.view_model.leave()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: D102
        super().resizeEvent(event)
        self._arrange()

    def _header(self) -> QWidget:
        self.subjects_button = Breadcrumb(_("Subjects"))
        self.subjects_button.clicked.connect(self.view_model.open_subjects)
        self.subject_button = Breadcrumb()
        self.subject_button.clicked.connect(self.view_model.open_subject)
        self._chevron = IconView("chevron-right", "text3", 14)
        self._title = Text("", Role.PAGE_TITLE, wrap=True)
        self._caption = Text("", Role.CAPTION, "text3")
        self.consent = Text("", Role.CAPTION, "text3")
        self.segment = SegmentedChoice(
            _("How much to show"), [("clinical", _("Clinical"), ""), ("researcher", _("Researcher"), "")]
        )
        self.segment.chosen.connect(self._rebuild_for)
        self.json_button = secondary_button(_("Raw JSON"), icon="code")
        self.json_button.clicked.connect(self._toggle_json)
        self.json_button.hide()
        self.compare_button = secondary_button(_("Compare with"), icon="compare")
        self.compare_button.setToolTip(_("Beside another recording of this subject. C compares with the one before."))
        self.compare_button.clicked.connect(self._open_compare_menu)
        self.compare_menu = QMenu(self)
        self.compare_menu.triggered.connect(self._compare_with)
        self.export_button = secondary_button(_("Export"), icon="export")
        self.export_button.clicked.connect(self._open_export_menu)
        self.export_menu = QMenu(self)
        for entry, kind in (
            (_("Report of this recording (PDF)"), ExportFormat.PDF),
            (_("FHIR bundle"), ExportFormat.FHIR),
        ):
            self.export_menu.addAction(entry).setData(kind)
        self.export_menu.addSeparator()
        self.print_action = self.export_menu.addAction(_("Print the report"))
        self.export_menu.addMenu(LookMenu(self.view_model.look, self))
        self.export_menu.triggered.connect(self._on_export)
        self.correct_button = secondary_button(pgettext("verb", "Correct"), icon="person")
        self.correct_button.setToolTip(
            _("Exclude this recording from the person's course, move it to another subject, or erase it.")
        )
        self.correct_button.clicked.connect(self.view_model.correct)
        crumbs = QHBoxLayout()
        crumbs.setContentsMargins(0, 0, 0, 0)
        crumbs.setSpacing(8)
        for part in (self.subjects_button, self._chevron, self.subject_button):
            crumbs.addWidget(part)
        crumbs.addStretch(1)
        details = FlowLayout()
        details.addWidget(self._caption)
        details.addWidget(self.consent)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addLayout(crumbs)
        texts.addWidget(self._title)
        texts.addLayout(details)
        controls = (self.segment, self.json_button, self.correct_button, self.compare_button, self.export_button)
        return PageHeader(texts, *controls, texts_width=380)

    def _left_box(self) -> QVBoxLayout:
        return _box(self._left)

    def _right_box(self) -> QVBoxLayout:
        return _box(self._right)

    def _arrange(self) -> None:
        """Use one column in narrow windows."""
        narrow = self.width() < self._theme.px(_ONE_COLUMN_BELOW)
        direction = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        self._columns.setDirection(direction)

    # Signals of the view model

    @Slot(object, object)
    def _show(self, before: ResultState, state: ResultState) -> None:
        if state.view is not None and state.view != before.view:
            self._show_view(state.view)
        if state.same_subject != before.same_subject:
            self._offer_comparisons(state.same_subject)
        if not state.failure and (before.failure or state.view != before.view):
            self.banner.withdraw(_READ)
        elif state.failure != before.failure and self.banner.topic != _UNDO:
            retry = NoticeAction(_("Try again"), self.view_model.reload)
            self.banner.say(Tone.WARN, state.failure, retry, topic=_READ)

    def _show_view(self, view: ResultView) -> None:
        self._title.setText(view.title)
        self._caption.setText(view.caption)
        self.consent.setText(view.consent)
        self.consent.set_ink("warn" if view.lacks_consent else "text3")
        self.subject_button.show_text(self.view_model.subject(view.group_id).text)
        self.subject_button.setVisible(bool(view.group_id))
        self._chevron.setVisible(bool(view.group_id))
        if self.player.shown_for != (view.take_id, view.silence):
            self.player.begin(view.take_id, view.silence)
        self.player.setVisible(view.take_id is not None or bool(view.silence))
        if view.question:
            yes = NoticeAction(_("Yes, it is this person"), partial(self.view_model.confirm_voice, view), stays=True)
            correct = partial(self.view_model.corrections.ask, view.recording)
            no = NoticeAction(pgettext("verb", "Correct"), correct, stays=True)
            self.question.say(Tone.INFO, view.question, no, yes)
        else:
            self.question.clear()
        self._reading = view.reading
        self.empty.say(view.heading, view.sentence, view.remedy.label if view.remedy else "")
        self._rebuild()

    @Slot(object)
    def _on_exported(self, outcome: CommandOutcome) -> None:
        if outcome.failure is not None:
            self.banner.say(Tone.WARN, export_fault(outcome.failure), topic=_READ)
        elif isinstance(outcome.command, WriteResult):
            found = outcome.done.found
            prints = self.printing.offer(found if isinstance(found, Report) else None)
            self.banner.say_saved(outcome.sentence, outcome.command.path, prints=prints)

    def _offer_comparisons(self, same_subject: SameSubject) -> None:
        self.compare_menu.clear()
        before, after = same_subject
        self.compare_button.setEnabled(bool(before or after))
        for text, entries in ((_("Earlier"), before[:_MENU_ENTRIES]), (_("Later"), after[:_MENU_ENTRIES])):
            if entries:
                self.compare_menu.addAction(text).setEnabled(False)
            for sibling in entries:
                entry = self.compare_menu.addAction(sibling.text)
                entry.setData(sibling)

    # Corrections of the course

    @Slot()
    def _on_correction_asked(self) -> None:
        self.banner.clear()
        self.correction_card.show()

    @Slot()
    def _on_correction_left(self) -> None:
        self.correction_card.hide()
        self.correct_button.setFocus()

    @Slot(object)
    def _on_correction_done(self, changed: CorrectionDone) -> None:
        undo = changed.undo_action()
        if undo is None:
            self.banner.say(Tone.OK, changed.sentence, title=changed.title)
        else:
            self.banner.say(Tone.OK, changed.sentence, undo, title=changed.title, topic=_UNDO)
        announce(self, changed.sentence)

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        if outcome.sentence:
            tone = Tone.OK if outcome.failure is None else Tone.WARN
            self.banner.say(tone, outcome.sentence, title=outcome.command.title)
            announce(self, outcome.sentence)

    @Slot(str)
    def _on_correction_refused(self, sentence: str) -> None:
        if self.correction_card.isHidden():
            self.banner.say(Tone.WARN, sentence, topic=_READ)

    # User actions

    @Slot()
    def _compare(self) -> None:
        if self._reading is not None:
            self.view_model.compare_with()

    @Slot()
    def _open_compare_menu(self) -> None:
        _drop(self.compare_menu, self.compare_button)

    @Slot(QAction)
    def _compare_with(self, action: QAction) -> None:
        self.view_model.compare_with(action.data())

    @Slot(int)
    def _on_speaker(self, index: int) -> None:
        self._speaker = index
        reading = self._reading
        if reading is not None:
            self.player.show_segments(reading.speakers[index].segments if index >= 0 else ())
            self._rebuild()
            self.speaker_card.choice.setFocus()

    @Slot(str)
    def _rebuild_for(self, choice: str) -> None:
        self.json_button.setVisible(choice == "researcher")
        if choice != "researcher":
            self._hide_json()
        self._rebuild()

    @Slot()
    def _toggle_json(self) -> None:
        self._set_json(shown=self.json_panel.isHidden())

    @Slot()
    def _hide_json(self) -> None:
        self._set_json(shown=False)

    @Slot()
    def _save_json(self) -> None:
        self._ask_for_file(ExportFormat.JSON)

    @Slot()
    def _open_export_menu(self) -> None:
        _drop(self.export_menu, self.export_button)

    @Slot(QAction)
    def _on_export(self, action: QAction) -> None:
        if action.data() is not None:
            self._ask_for_file(ExportFormat(action.data()))

    @Slot()
    def print_report(self) -> None:
        """Print the report of the recording that is shown."""
        view = self.view_model.view
        if view is not None and view.reading is not None:
            self.printing.start(self.view_model.report(view, scores=self.segment.choice() == "researcher"))

    def _ask_for_file(self, kind: ExportFormat) -> None:
        view = self.view_model.view
        if view is None or view.reading is None:
            return
        name = file_name(view, kind)
        dialog = QFileDialog(self, _("Save the result"), name, _(_FILES[kind]))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(partial(self.export_to, kind, view))
        dialog.open()

    def export_to(self, kind: ExportFormat, view: ResultView, name: str) -> None:
        """Export a result to a file."""
        report = self.view_model.report(view, scores=self.segment.choice() == "researcher")
        self.view_model.export.start(WriteResult(report, kind, Path(name)))

    # Cards

    @Slot()
    def _rebuild(self) -> None:
        """Build the cards again: for another result, speaker, view or theme."""
        self._arrange()
        self._rest.stop()
        _empty(self._left_box(), 1)
        _empty(self._right_box(), 2)
        self._cards = []
        reading = self._reading
        self.segment.setEnabled(reading is not None)
        for control in (self.json_button, self.export_button, self.print_action):
            control.setEnabled(reading is not None)
        self.empty.setVisible(reading is None)
        self.empty.setMinimumHeight(self._theme.px(320))
        if reading is None:
            self._right_box().addStretch(1)
            return
        voice, researcher = self._voice(reading), self.segment.choice() == "researcher"
        self.sign_rows = SignRows(voice, reading.flagged_share, reading.compared, researcher=researcher)
        why = reading.inconclusive if voice.level is Level.INCONCLUSIVE else None
        self._add_left(OverallCard(voice, why), self.sign_rows)
        if len(reading.speakers) > 1:
            self.speaker_card = SpeakerCard(reading.speakers, self._speaker)
            self.speaker_card.chosen.connect(self._on_speaker, Qt.ConnectionType.QueuedConnection)
            self._left_box().insertWidget(1, self.speaker_card)
        self._rest.start()

    @Slot()
    def _build_rest(self) -> None:
        """Build the lower cards after the window has painted the first ones."""
        reading = self._reading
        if reading is None:
            return
        voice, researcher = self._voice(reading), self.segment.choice() == "researcher"
        notes = [*([_(_FIRST)] if voice.first else []), *reading.notes]
        if notes:
            self._add_left(NotesCard(notes))
        if voice.narrative.text:
            self._add_left(NarrativeCard(voice.narrative))
        if reading.metrics and researcher:
            self._add_left(MetricsCard(reading.metrics))
        self._left_box().addStretch(1)
        if reading.voice.features:
            self._cards.append(FeaturesCard(voice.features or reading.voice.features, researcher=researcher))
        self._cards.append(AdviceCard(_("Recording quality"), reading.quality.figures, reading.quality.issues))
        for card in self._cards:
            self._right_box().addWidget(card)
            card.setVisible(self.json_panel.isHidden())
        self._right_box().addStretch(1)
        if self.json_panel.isVisible():
            self.json_panel.show_text(reading.raw)

    def _add_left(self, *cards: QWidget) -> None:
        for card in cards:
            self._left_box().addWidget(card)
            card.show()

    def _voice(self, reading: ResultReading) -> VoiceReading:
        if 0 <= self._speaker < len(reading.speakers):
            return reading.speakers[self._speaker].voice
        return reading.voice

    def _set_json(self, *, shown: bool) -> None:
        if not shown and self.json_panel.isAncestorOf(self.focusWidget()):
            self.segment.option(self.segment.choice()).setFocus()
        self.json_panel.setVisible(shown)
        self.json_panel.setMinimumHeight(self._theme.px(480) if shown else 0)
        for card in self._cards:
            card.setVisible(not shown)
        if shown and self._reading is not None:
            self.json_panel.show_text(self._reading.raw)
            self.json_panel.text.setFocus()


def _drop(menu: QMenu, button: QWidget) -> None:
    """Open `menu` below `button`, right-aligned, with keyboard focus."""
    corner = button.mapToGlobal(button.rect().bottomRight())
    corner.setX(max(0, corner.x() - menu.sizeHint().width()))
    menu.popup(corner)
    choices = [action for action in menu.actions() if action.isEnabled()]
    if choices:
        menu.setActiveAction(choices[0])


def _box(column: QWidget) -> QVBoxLayout:
    box = column.layout()
    if not isinstance(box, QVBoxLayout):
        raise TypeError("A column of the page has a vertical layout.")
    return box


def _empty(box: QVBoxLayout, remaining: int) -> None:
    """Remove all but the first `remaining` widgets from a column."""
    while box.count() > remaining:
        item = box.takeAt(remaining)
        widget = None if item is None else item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()

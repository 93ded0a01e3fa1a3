"""The card of the Subject page for an export: reader, look, and folder or printer."""

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QStandardPaths, Signal, Slot
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.contract.longitudinal import TrajectoryRead
from vbdesk.desk.flow.commands import CommandOutcome
from vbdesk.desk.flow.tasks import Progress
from vbdesk.desk.reports.report_look import look_names
from vbdesk.desk.reports.reports import PRINTED, export_fault
from vbdesk.desk.subject.export import DRAWN, SIGNED, SubjectReport, WriteSubject
from vbdesk.desk.subject.export_kinds import ExportKind
from vbdesk.desk.subject.view_model import SubjectViewModel
from vbdesk.desk.ui.banner import Banner
from vbdesk.desk.ui.buttons import primary_button, quiet_button, secondary_button
from vbdesk.desk.ui.card import scroll_area
from vbdesk.desk.ui.fields import Field, LineField, TickBox
from vbdesk.desk.ui.notice import NoticeAction, Tone
from vbdesk.desk.ui.segmented_choice import SegmentedChoice
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _, pgettext
from vbdesk.report.drawing.style import Look

_RECORDING, _OVER_TIME = "recording", "over-time"
_WIDEST_NAME = 200  # maximum length of a reader's name


class ExportCard(QWidget):
    """Title, description, fields and two buttons.

    Signals:
        left: the card was closed.
        print_wanted: (Report) print instead of writing.
    """

    left = Signal()
    print_wanted = Signal(object)

    def __init__(self, model: SubjectViewModel) -> None:
        super().__init__()
        self._model, self._work = model, model.export
        self._read: TrajectoryRead | None = None
        self._kind: ExportKind | None = None
        self.title = Text("", Role.CARD_TITLE)
        self.sentence = Text("", Role.BODY, "text2", wrap=True)
        self.banner = Banner()
        self.banner.float_over(self)
        self.reader = LineField(icon="person")
        self.reader.setMaxLength(_WIDEST_NAME)
        self.reader_field = Field(
            _("Read by"),
            self.reader,
            optional=True,
            help_text=_("The name and the time of the export stand on it, as the reader's sign-off."),
        )
        self.scope = SegmentedChoice(
            _("What the report shows"),
            [(_RECORDING, pgettext("one recording", "Recording"), ""), (_OVER_TIME, _("Over time"), "")],
        )
        self.look = SegmentedChoice(
            _("Look of reports"), [(look.value, text, "") for look, text in look_names().items()]
        )
        self.scores = TickBox(_("With raw scores"), _("For research; clinicians read levels."))
        self.name = TickBox(_("With the name and the second line"), _("They stay on this computer otherwise."))
        self.folder = LineField(icon="folder")
        self.folder_field = Field(_("Folder"), self.folder)
        self.choose = secondary_button(_("Choose folder"))
        self.close_button, self.go = quiet_button(_("Cancel")), primary_button(_("Export"), icon="export")
        self.how_far = Text("", Role.LABEL, "text2")
        self._lay_out()
        self.choose.clicked.connect(self._choose_folder)
        self.look.chosen.connect(self._on_look)
        model.look.changed.connect(self._show_look)
        self._show_look(model.look.current)
        self.close_button.clicked.connect(self._on_close)
        self.go.clicked.connect(self._go)
        self.reader.returnPressed.connect(self._go)
        self._work.busy_changed.connect(self._show_busy)
        self._work.progressed.connect(self._show_progress)
        self._work.ended.connect(self._on_ended)

    def begin(self, kind: ExportKind, read: TrajectoryRead) -> None:
        """Show the fields of a format."""
        self._kind, self._read = kind, read
        self.banner.clear()
        subject = self._model.subject(read.group_id).text
        self.title.setText(_("{subject}: {document}", subject=subject, document=_(kind.title)))
        self.sentence.setText(_(kind.sentence))
        self.reader_field.setVisible(kind.key in SIGNED)
        self.scope.setVisible(kind.key == PRINTED)
        self.scope.choose(_RECORDING)
        self.look.setVisible(kind.key in DRAWN)
        for part in (self.folder_field, self.choose):
            part.setVisible(not kind.to_printer)
        self.go.setText(_("Print") if kind.to_printer else _("Export"))
        self.name.setVisible(kind.key == PRINTED and bool(self._model.name_of(read.group_id)))
        self.name.setChecked(False)
        self.scores.setVisible(kind.scores is not None)
        self.scores.setChecked(bool(kind.scores))
        if not self.folder.text():
            self.folder.setText(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation))
        (self.reader if kind.key in SIGNED else self.folder).setFocus()

    @Slot(str)
    def _on_look(self, key: str) -> None:
        self._model.look.choose(Look(key))

    @Slot(object)
    def _show_look(self, look: Look) -> None:
        self.look.choose(look.value)

    def _lay_out(self) -> None:
        where = QHBoxLayout()
        where.setSpacing(12)
        where.addWidget(self.folder_field, 1)
        beside = QVBoxLayout()
        beside.setSpacing(6)
        beside.addSpacing(Text("", Role.LABEL_MEDIUM).minimumHeight() + 6)
        beside.addWidget(self.choose)
        beside.addStretch(1)
        where.addLayout(beside)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(28, 24, 28, 24)
        column.setSpacing(16)
        for part in (self.title, self.sentence, self.scope, self.look, self.reader_field, self.name, self.scores):
            column.addWidget(part)
        column.addLayout(where)
        foot = QHBoxLayout()
        foot.setSpacing(12)
        foot.addWidget(self.how_far, 1)
        foot.addWidget(self.close_button)
        foot.addWidget(self.go)
        column.addLayout(foot)
        column.addStretch(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(scroll_area(content))

    @Slot()
    def _go(self) -> None:
        if self._kind is None or self._read is None:
            return
        folder = "" if self._kind.to_printer else self.folder.text().strip()
        missing = not folder and not self._kind.to_printer
        self.folder_field.set_fault(_("Choose a folder.") if missing else None)
        if missing:
            return
        reader = self.reader.text().strip() if self._kind.key in SIGNED else ""
        scores = self._kind.scores is not None and self.scores.isChecked()
        self.banner.clear()
        name = self._kind.key == PRINTED and self.name.isChecked()
        over_time = self._kind.key == PRINTED and self.scope.choice() == _OVER_TIME
        title = _("Print the report of {subject}", subject=self._model.subject(self._read.group_id).text)
        report = SubjectReport(title, self._read, self._model.look.current, reader, scores, name, over_time)
        if self._kind.to_printer:
            self.print_wanted.emit(report)
            self.left.emit()
        else:
            self._work.start(WriteSubject(report, self._kind.key, folder))

    @Slot()
    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, _("Folder for the export"), self.folder.text())
        if folder:
            self.folder.setText(folder)

    @Slot()
    def _on_close(self) -> None:
        if self._work.busy:
            self._work.cancel()
            self.how_far.setText(_("Stopping"))
        else:
            self.left.emit()

    @Slot(object)
    def _show_progress(self, progress: Progress) -> None:
        self.how_far.setText(progress.text)

    @Slot(object)
    def _on_ended(self, outcome: CommandOutcome) -> None:
        from vbdesk.report.exports import WouldOverwrite  # already imported by the task

        failure, command = outcome.failure, outcome.command
        if failure is None:
            self.left.emit()
        elif isinstance(failure.error, WouldOverwrite) and isinstance(command, WriteSubject):
            replace_all = partial(self._work.start, replace(command, replace=True))
            self.banner.say(Tone.WARN, failure.sentence, NoticeAction(_("Replace"), replace_all))
        else:
            self.banner.say(Tone.FAIL, export_fault(failure))

    @Slot(bool)
    def _show_busy(self, busy: bool) -> None:
        for control in (self.scope, self.look, self.reader_field, self.scores, self.folder_field, self.choose, self.go):
            control.setEnabled(not busy)
        self.how_far.setText(_("Writing") if busy else "")

"""Consent on the Record page: what is in force, or a tick with its kind and wording."""

from PySide6.QtCore import QLocale, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from vbdesk.desk.language_choice import own_language_name
from vbdesk.desk.record.consent_model import ConsentViewModel
from vbdesk.desk.subject_data.consent_text import kind_text, other_language_text
from vbdesk.desk.ui.buttons import Button, ButtonKind, ButtonSize, secondary_button
from vbdesk.desk.ui.card import scroll_area
from vbdesk.desk.ui.fields import ChoiceField, TickBox
from vbdesk.desk.ui.flow_layout import StackingRow
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role, app_theme
from vbdesk.language import _
from vbdesk.outbox.library.consent import GIVEN_KINDS, ConsentKind
from vbdesk.outbox.library.consent_wordings import ConsentWording

_WORDING_WIDTH, _WORDING_HEIGHT = 520, 380


class ConsentTick(TickBox):
    """The tick; Space sets it and never clears it. Delete, a click or a screen reader clears it."""

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: D102
        if event.key() == Qt.Key.Key_Space and self.isChecked():
            event.accept()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace) and self.isChecked():
            self.setChecked(False)
        else:
            super().keyPressEvent(event)


class ConsentBox(QWidget):
    """Binds `ConsentViewModel`."""

    def __init__(self, model: ConsentViewModel) -> None:
        super().__init__()
        self._model = model
        self.tick = ConsentTick(model.text(), model.caption())
        self.kind = ChoiceField("file")
        self.kind.setAccessibleName(_("What the consent covers"))
        for kind in GIVEN_KINDS:
            self.kind.addItem(kind_text(kind), kind.value)
        self.read_button = Button(_("Wording"), ButtonKind.LINK, size=ButtonSize.ROW)
        self.read_button.setAccessibleName(_("Show the wording of the consent"))
        self.kind.setSizeAdjustPolicy(ChoiceField.SizeAdjustPolicy.AdjustToContents)
        self.kind.setMinimumWidth(1)  # below the other it may be as narrow as the card
        self._more = StackingRow((self.kind, self.read_button), least=0, spacing=8, shares=(1, 0), whole=True)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.tick)
        column.addWidget(self._more)
        self.tick.toggled.connect(model.tick)
        self.kind.activated.connect(self._on_kind)
        self.read_button.clicked.connect(self._show_wording)
        model.changed.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        model = self._model
        blocked = self.tick.blockSignals(True)
        self.tick.setChecked(model.ticked_at is not None or model.in_force)
        self.tick.blockSignals(blocked)
        self.tick.setText(model.text())
        self.tick.set_caption(model.caption())
        self.tick.setEnabled(bool(model.group_id) and not model.in_force)
        self.kind.setCurrentIndex(self.kind.findData(model.kind.value))
        self._more.setVisible(bool(model.group_id) and model.asks)
        self.setVisible(model.asks or model.in_force)

    @Slot(int)
    def _on_kind(self, index: int) -> None:
        self._model.choose_kind(ConsentKind(self.kind.itemData(index)))

    @Slot()
    def _show_wording(self) -> None:
        show_wording(self, self._model.wording, self._model.kind, self._model.language)


def show_wording(parent: QWidget, wording: ConsentWording, kind: ConsentKind, wanted: str) -> None:
    """Open the wording of a consent of this kind; `wanted` is the tag of the language that it should be in."""
    version = _(
        "Version {version}, language {language}", version=wording.version, language=own_language_name(wording.language)
    )
    dialog = WordingDialog(parent, wording.title, wording.text(kind), version, other_language_text(wording, wanted))
    dialog.setLayoutDirection(QLocale(wording.language).textDirection())
    dialog.open()


class WordingDialog(QDialog):
    """The wording, to read aloud or to show; above it a notice to the reader, if there is one."""

    def __init__(self, parent: QWidget, title: str, text: str, version: str, notice: str) -> None:
        super().__init__(parent)
        theme = app_theme()
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setObjectName("page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.sentence = Text(text, Role.BODY, wrap=True)
        self.notice = Text(notice, Role.BODY, "warn", wrap=True)
        self.notice.setVisible(bool(notice))
        content = QWidget()
        inner = QVBoxLayout(content)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addWidget(self.sentence)
        inner.addStretch(1)
        close = secondary_button(_("Close"))
        close.clicked.connect(self.accept)
        foot = QHBoxLayout()
        foot.addWidget(Text(version, Role.CAPTION, "text2"), 1)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 20, 24, 20)
        column.setSpacing(12)
        column.addWidget(Text(title, Role.CARD_TITLE, wrap=True))
        column.addWidget(self.notice)
        column.addWidget(scroll_area(content), 1)
        column.addLayout(foot)
        self.resize(theme.px(_WORDING_WIDTH), theme.px(_WORDING_HEIGHT))

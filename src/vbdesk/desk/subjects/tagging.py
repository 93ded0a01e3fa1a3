"""The bar below the list of subjects: tags for all that are ticked."""

from collections.abc import Iterable

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QWidget

from vbdesk.desk.ui.action_bar import ActionBar
from vbdesk.desk.ui.buttons import ButtonSize, quiet_button, secondary_button
from vbdesk.desk.ui.fields import TagsField
from vbdesk.desk.ui.flow_layout import FlowLayout, StackingRow
from vbdesk.desk.ui.margins import margins
from vbdesk.language import _, ngettext

_TAG, _NONE = "tag", "none"
_LEAST_TAGS = 160


class TagMany(QStackedWidget):
    """How many subjects are ticked, and a field for the tags that all of them get or lose.

    Signals:
        tagged: (tuple[str], tuple[str], bool) subjects, tags, and whether the tags are added; else they are removed.
        none_wanted: all ticks are taken away.
    """

    tagged = Signal(object, object, bool)
    none_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._keys: tuple[str, ...] = ()
        self.bar = ActionBar(((_TAG, _("Tags"), "tag"), (_NONE, _("Choose none"), "")), self._perform)
        self.tags = TagsField(_("Enter makes a tag"))
        self.tags.setAccessibleName(_("Tags for all chosen subjects"))
        self.add_button = secondary_button(_("Add to all"), size=ButtonSize.ROW)
        self.remove_button = secondary_button(_("Remove from all"), size=ButtonSize.ROW)
        self.cancel_button = quiet_button(_("Cancel"), size=ButtonSize.ROW)
        self.add_button.clicked.connect(self._add)
        self.remove_button.clicked.connect(self._remove)
        self.cancel_button.clicked.connect(self._show_bar)
        buttons, form = QWidget(), QWidget()
        line = FlowLayout(buttons, spacing=8)
        for button in (self.cancel_button, self.remove_button, self.add_button):
            line.addWidget(button)
        row = QHBoxLayout(form)
        row.setContentsMargins(margins(20, 4, 12, 4))
        row.addWidget(StackingRow((self.tags, buttons), least=_LEAST_TAGS, spacing=8, shares=(1, 0)))
        self.addWidget(self.bar)
        self.addWidget(form)
        self.show_chosen(())

    def show_chosen(self, keys: Iterable[str]) -> None:
        """Show how many subjects are ticked."""
        self._keys = tuple(keys)
        count = len(self._keys)
        if not count:
            self._show_bar()
            self.bar.show_actions(_("Tick subjects to give several of them tags at once."), {})
            return
        text = ngettext("{count:,} subject chosen", "{count:,} subjects chosen", count)
        self.bar.show_actions(text, {_TAG: _("Tags of the chosen subjects"), _NONE: _("Choose no subject")})

    @Slot(str)
    def _perform(self, action: str) -> None:
        if action == _TAG:
            self.tags.set_tags(())
            self.setCurrentIndex(1)
            self.tags.edit.setFocus()
        else:
            self.none_wanted.emit()

    @Slot()
    def _add(self) -> None:
        self._apply(added=True)

    @Slot()
    def _remove(self) -> None:
        self._apply(added=False)

    def _apply(self, *, added: bool) -> None:
        typed = self.tags.edit.text().strip(" ,")
        tags = tuple(dict.fromkeys((*self.tags.tags(), typed) if typed else self.tags.tags()))
        if tags and self._keys:
            self.tagged.emit(self._keys, tags, added)
        self._show_bar()

    @Slot()
    def _show_bar(self) -> None:
        self.setCurrentIndex(0)

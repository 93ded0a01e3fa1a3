"""A card of findings with advice, and the chip that counts them."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from vbdesk.desk.ui.badges import WATCH, Chip, ChipStyle
from vbdesk.desk.ui.card import Card
from vbdesk.desk.ui.icons import IconView
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import N_, _, plural_message


class AdviceCard(Card):
    """Findings, each with what to do next time."""

    def __init__(self, title: str, summary: str, findings: Sequence[tuple[str, str]]) -> None:
        super().__init__(title, padding=18, right=Chip(findings_chip(len(findings))))
        self.body.setSpacing(10)
        if summary:
            self.body.addWidget(Text(summary, Role.LABEL, "text2", wrap=True))
        for what, advice in findings:
            self.body.addLayout(_finding(what, advice))
        if not findings:
            self.body.addWidget(Text(_("Nothing to improve."), Role.LABEL, "text2", wrap=True))
        self.body.addStretch(1)


def findings_chip(count: int) -> ChipStyle:
    """Good without findings, else how many there are."""
    if not count:
        return ChipStyle(N_("Good"), "check", "ok", "oktint")
    text = plural_message("{count} note", "{count} notes", count)
    return ChipStyle(text, WATCH.icon, WATCH.ink, WATCH.fill)


def _finding(what: str, advice: str) -> QHBoxLayout:
    texts = QVBoxLayout()
    texts.setSpacing(1)
    texts.addWidget(Text(what, Role.LABEL_MEDIUM, wrap=True))
    texts.addWidget(Text(_("Next time: {advice}", advice=advice), Role.LABEL, "text2", wrap=True))
    row = QHBoxLayout()
    row.setSpacing(10)
    row.addWidget(IconView("warning", "warn", 16), 0, Qt.AlignmentFlag.AlignTop)
    row.addLayout(texts, 1)
    return row

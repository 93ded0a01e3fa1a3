"""The application's style sheet, made from the theme."""

from collections.abc import Callable
from dataclasses import asdict
from string import Template

from vbdesk.desk.ui.tokens import RADIUS, TYPE_SCALE, Palette, Role

_DIRECTIONS = {"ltr": '[layoutDirection="LeftToRight"]', "rtl": '[layoutDirection="RightToLeft"]'}

_SHEET = Template("""
QWidget { color: $text; }
QMainWindow, QDialog, QWidget#page, QWidget#firstStart { background: $bg; }
QWidget#sidebar, QWidget#statusBar, QWidget#recordingBar { background: $sidebar; }
QWidget#sidebar$ltr { border-right: 1px solid $border; }
QWidget#sidebar$rtl { border-left: 1px solid $border; }
QWidget#statusBar, QWidget#recordingBar { border-top: 1px solid $border; }

QLabel[ink="text"] { color: $text; }
QLabel[ink="text2"] { color: $text2; }
QLabel[ink="text3"] { color: $text3; }
QLabel[ink="accent"] { color: $accent; }
QLabel[ink="ok"] { color: $ok; }
QLabel[ink="warn"] { color: $warn; }
QLabel[ink="fail"] { color: $fail; }

QFrame#card { background: $surface; border: 1px solid $border; border-radius: ${radius_card}px; }
QFrame#card[quiet="true"] { background: $surface2; }
QFrame#line { background: $border; border: none; }

QLineEdit, QPlainTextEdit, QComboBox {
    background: $surface; color: $text; border: 1px solid $control; border-radius: ${radius_control}px;
    padding: ${field_pad}px 12px; selection-background-color: $accentfill; selection-color: $on_accent;
    placeholder-text-color: $text3;
}
QLineEdit:disabled, QPlainTextEdit:disabled, QComboBox:disabled {
    background: $sunken; color: $text3; border-color: $sunken;
}
QLineEdit, QComboBox { padding-top: ${line_pad}px; padding-bottom: ${line_pad}px; min-height: ${line_height}px; }
QLineEdit[fault="true"] { border-color: $fail; }
QLineEdit[bare="true"] { border: none; padding: 0; min-height: ${bare_height}px; background: transparent; }
QComboBox { combobox-popup: 0; }
QComboBox$ltr { padding-right: ${trail_pad}px; }
QComboBox$rtl { padding-left: ${trail_pad}px; }
QComboBox[leading="true"]$ltr { padding-left: ${lead_pad}px; }
QComboBox[leading="true"]$rtl { padding-right: ${lead_pad}px; }
QLineEdit[leading="true"] { padding-left: ${lead_pad}px; }
QLineEdit[trailing="true"] { padding-right: ${lead_pad}px; }
QComboBox::drop-down { border: none; width: 0; }
QComboBox QAbstractItemView, QListView#completions {
    background: $surface; color: $text; border: 1px solid $control; border-radius: ${radius_control}px;
    padding: 4px; outline: 0;
    selection-background-color: $accenttint; selection-color: $text;
}
QComboBox QAbstractItemView::item, QListView#completions::item {
    min-height: ${row}px; padding: 2px 8px; border-radius: ${radius_row}px;
}
QComboBox QAbstractItemView::item:selected, QListView#completions::item:selected {
    background: $accenttint; color: $text;
}

QMenu { background: $surface; border: 1px solid $control; border-radius: ${radius_large}px; padding: 6px; }
QMenu::item { border-radius: ${radius_row}px; color: $text; }
QMenu$ltr::item { padding: 8px 20px 8px 12px; }
QMenu$rtl::item { padding: 8px 12px 8px 20px; }
QMenu::item:selected { background: $accenttint; }
QMenu::item:disabled { color: $text3; }
QMenu::separator { height: 1px; background: $border; margin: 6px 4px; }
QToolTip { background: $surface; color: $text; border: 1px solid $control; padding: 6px 8px; }

QScrollArea { background: transparent; border: none; }
QScrollArea > QWidget > QWidget#scrolled { background: transparent; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 2px; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 2px; }
QScrollBar::handle { background: $control; border-radius: 3px; min-height: 32px; min-width: 32px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QAbstractScrollArea::corner { background: transparent; border: none; }

QTableView, QTreeView, QListView {
    background: $surface; color: $text; border: none; outline: 0; gridline-color: $border;
    selection-background-color: $accenttint; selection-color: $text;
}
QTableView::item:hover, QListView::item:hover { background: $surface2; }
QTableView::item:selected, QListView::item:selected { background: $accenttint; color: $text; }
QHeaderView { background: transparent; border: none; }
QHeaderView::section {
    background: $surface; color: $text3; border: none; border-bottom: 1px solid $border;
    padding: 8px 8px; font-size: ${caption}px;
}
QTableCornerButton::section { background: $surface; border: none; }
""")


def style_sheet(colours: Palette, px: Callable[[float], int]) -> str:
    """The style sheet for these colours; `px` scales a measure of the design to the text size.

    Qt mirrors layouts but not style sheets, except for the padding of line edits. So the rules with sides are there for
    both directions: another sheet would style every widget again.
    """
    values: dict[str, str] = asdict(colours)
    caption = px(TYPE_SCALE[Role.CAPTION].size)
    measures = {
        "field_pad": px(8),
        "line_pad": px(4),  # letters of some scripts go far above and below the line
        "line_height": px(25) + 2,
        "bare_height": px(24),
        "lead_pad": px(40),
        "trail_pad": px(32),
        "row": px(28),
        "caption": caption,
    }
    measures |= {f"radius_{name}": radius for name, radius in RADIUS.items()}
    return _SHEET.substitute(values | _DIRECTIONS, **{name: str(value) for name, value in measures.items()})

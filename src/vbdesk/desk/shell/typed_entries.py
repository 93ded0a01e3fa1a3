"""Entries that a person typed into a page and the page has not saved yet."""

from PySide6.QtWidgets import QAbstractSpinBox, QComboBox, QKeySequenceEdit, QLineEdit, QPlainTextEdit, QWidget


def search_field(page: QWidget) -> QLineEdit | None:
    """The search field of a page."""
    search = getattr(page, "search", None)
    return search if isinstance(search, QLineEdit) else None


def has_unsaved_entry(page: QWidget) -> bool:
    """Whether a field that the page shows has typed text or a secret.

    After a page has saved an entry, it sets the text of the field again, so that Qt no longer calls it modified.
    """
    search = search_field(page)
    lines = (line for line in page.findChildren(QLineEdit) if line is not search and not _is_part(line))
    texts = (text for text in page.findChildren(QPlainTextEdit) if not text.isReadOnly() and text.isVisibleTo(page))
    return any(map(_is_unsaved, (line for line in lines if line.isVisibleTo(page)))) or any(
        text.document().isModified() and text.toPlainText() for text in texts
    )


def _is_part(line: QLineEdit) -> bool:
    return isinstance(line.parentWidget(), QComboBox | QAbstractSpinBox | QKeySequenceEdit)


def _is_unsaved(line: QLineEdit) -> bool:
    secret = line.echoMode() is not QLineEdit.EchoMode.Normal
    return bool(line.text()) and not line.isReadOnly() and (secret or line.isModified())

"""Words and limits of the second line of a subject."""

import re

from vbdesk.language import _, ngettext
from vbdesk.outbox.library.settings import SubjectDetail

_LONGEST_INITIALS, _LONGEST_NUMBER = 8, 40
_YEAR = re.compile(r"(18|19|20)[0-9]{2}")


def detail_label(kind: SubjectDetail) -> str:
    """The name of what the second line holds."""
    return {
        SubjectDetail.NONE: _("Second line"),
        SubjectDetail.BIRTH_YEAR: _("Birth year"),
        SubjectDetail.INITIALS: _("Initials"),
        SubjectDetail.RECORD_NUMBER: _("Record number"),
    }[kind]


def detail_fault(kind: SubjectDetail, text: str) -> str | None:
    """Why the text is no second line of this kind, as a sentence; None if it is one or empty."""
    if kind is SubjectDetail.BIRTH_YEAR and text and not _YEAR.fullmatch(text):
        return _("A birth year has four digits, as in 1956.")
    longest = _LONGEST_INITIALS if kind is SubjectDetail.INITIALS else _LONGEST_NUMBER
    if len(text) > longest:
        return ngettext("Use at most {count} character.", "Use at most {count} characters.", longest)
    return None

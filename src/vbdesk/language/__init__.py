"""The reader's language: texts, plurals, numbers and dates. No Qt.

A text that is shown at once is `_("...")`. A text that is made in one place and shown in another, such as an error or
the reason of a recording, is a `Message`: it reads as English in logs and in data, and `translated` shows it in the
reader's language. `N_` marks a constant. Every text is one whole sentence with named fields.
"""

from vbdesk.language.catalogs import LanguageMissing, available_languages
from vbdesk.language.messages import (
    Message,
    joined,
    message,
    message_of,
    plural_message,
    read_message,
    translated,
    written_message,
)
from vbdesk.language.reader import (
    ENGLISH,
    Language,
    current,
    is_named,
    language_of,
    load_language,
    reading_in,
    system_language,
    use,
    use_system_language,
)
from vbdesk.language.system_reasons import system_reason
from vbdesk.language.text import N_, _, isolated, ngettext, npgettext, pgettext

__all__ = [
    "ENGLISH",
    "N_",
    "Language",
    "LanguageMissing",
    "Message",
    "_",
    "available_languages",
    "current",
    "is_named",
    "isolated",
    "joined",
    "language_of",
    "load_language",
    "message",
    "message_of",
    "ngettext",
    "npgettext",
    "pgettext",
    "plural_message",
    "read_message",
    "reading_in",
    "system_language",
    "system_reason",
    "translated",
    "use",
    "use_system_language",
    "written_message",
]

"""How the reason of a recording is stored: as the message that it is, so that every reader has it in their language.

Versions of the library up to 6 stored the English sentence; it stays as it is and is read as it is.
"""

import json

from vbdesk.language import N_, Message, joined, read_message, written_message

UNREADABLE = N_("The reason that was stored with this recording cannot be read.")
_MOST_BYTES = 50_000
_LONGEST = 4000  # characters; what `read_message` accepts


def written_reason(reason: object) -> str | None:
    """A sentence as the column `reason` stores it; None for none."""
    if reason is None or reason == "":
        return None
    text = reason if isinstance(reason, str) else str(reason)
    return json.dumps(written_message(text[:_LONGEST] if len(text) > _LONGEST else text), ensure_ascii=False)


def read_reason(stored: object) -> Message | None:
    """The sentence of a stored reason. Never raises."""
    if not isinstance(stored, str) or not stored:
        return None
    if not stored.startswith("{"):  # the sentence of an earlier version
        return joined(stored)
    try:
        if len(stored) > _MOST_BYTES:
            return joined(UNREADABLE)
        return read_message(json.loads(stored))
    except (ValueError, RecursionError):
        return joined(UNREADABLE)

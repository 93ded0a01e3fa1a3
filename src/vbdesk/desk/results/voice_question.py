"""The question about a recording whose voice differs from its subject's earlier ones: never an accusation."""

from vbdesk.language import _
from vbdesk.outbox.imports.speaker_comparison import raises_question
from vbdesk.outbox.library.items import RecordingItem


def voice_question(item: RecordingItem | None) -> str:
    """What to ask about a recording; empty if its voice raises no question."""
    if item is None or not raises_question(item):
        return ""
    return _("This voice differs from this person's earlier recordings. Is it the right person?")

"""Data files that the GUI thread needs, read before the window shows.

Each reader caches its file, so the GUI thread reads no file later.
"""

from vbdesk.capture.protocols import protocol_languages, protocols
from vbdesk.capture.room_check import room_rules
from vbdesk.desk.record.protocol_picture import drawing
from vbdesk.desk.ui.icons import load_icons
from vbdesk.language import available_languages
from vbdesk.outbox.imports.take_check import check_texts
from vbdesk.outbox.library.consent_wordings import consent_wordings
from vbdesk.report.result_texts import result_texts
from vbdesk.voice.quality_rules import quality_rules


def load_shipped_files() -> None:
    """Read icons, protocols with drawings, words of checks and results; about 60 small files."""
    load_icons()
    available_languages()
    protocol_languages()
    for protocol in protocols():
        for task in protocol.tasks:
            if task.picture is not None:
                drawing(task.picture)
    room_rules()
    check_texts()
    quality_rules()
    consent_wordings()
    result_texts()

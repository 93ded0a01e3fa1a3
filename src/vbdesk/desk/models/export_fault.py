"""Why an export failed, as a sentence."""

from vbdesk.desk.tasks import Failure
from vbdesk.language import _
from vbdesk.outbox.library.disk_faults import file_sentence


def export_fault(failure: Failure) -> str:
    """Why nothing was written, printed or sent, and what to do."""
    if isinstance(failure.error, ValueError):
        return str(failure.error)
    if isinstance(failure.error, OSError):
        return _("The export could not be written. {why}", why=file_sentence(failure.error))
    return failure.sentence

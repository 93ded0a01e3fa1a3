"""Why an export failed, as a sentence."""

from vbdesk.desk.flow.tasks import Failure
from vbdesk.language import _, joined, translated
from vbdesk.outbox.library.disk_faults import file_sentence


def export_fault(failure: Failure) -> str:
    """Why nothing was written, printed or sent, and what to do."""
    if isinstance(failure.error, ValueError):
        return translated(failure.error)
    if isinstance(failure.error, OSError):
        return joined(_("The export could not be written."), translated(file_sentence(failure.error)))
    return failure.sentence

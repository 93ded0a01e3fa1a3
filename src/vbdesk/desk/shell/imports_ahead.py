"""Libraries that take long to import and that no page needs to be shown, imported once the first page is there.

Otherwise the window would be painted 0.3 s later, or the first check of a recording would take longer.
"""

from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.voice.libraries import load_libraries


def import_ahead(context: TaskContext) -> None:
    """Import the libraries of the analysis, in a worker; none that uses Qt, whose types must not be made there."""
    load_libraries()

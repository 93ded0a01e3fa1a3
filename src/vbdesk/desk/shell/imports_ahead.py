"""Modules that take long to import and that the first page does not need, imported once it is shown.

Otherwise the window would be painted 0.4 s later, or stall when a subject is first opened.
"""

from vbdesk.desk.tasks import TaskContext
from vbdesk.voice.libraries import load_libraries


def import_ahead(context: TaskContext) -> None:
    """Import the libraries of the analysis, and the page with pyqtgraph's charts, in a worker."""
    load_libraries()
    context.check()
    import vbdesk.desk.subject.page  # noqa: F401

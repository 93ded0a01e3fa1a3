"""Libraries that take long to import and that no page needs to be shown, imported once the first page is there.

Otherwise the window would be painted 0.3 s later, or the first check of a recording would take longer.
"""

from dataclasses import dataclass

from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.voice.libraries import load_libraries


@dataclass(frozen=True)
class ImportAhead(Command):
    """Import the libraries of the analysis; none that uses Qt, whose types must not be made on a worker."""

    beside = True

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        load_libraries()
        return Done()

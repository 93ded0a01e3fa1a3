"""What the Result page shows, as a function of what is known. No Qt."""

from dataclasses import dataclass, replace

from vbdesk.desk.flow.reads import Snapshot
from vbdesk.desk.result.reads import SameSubject
from vbdesk.desk.results.result_state import ResultView, first_view
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.language import _


@dataclass(frozen=True, slots=True)
class ResultState:
    """State of the page.

    Attributes:
        view: None while no recording is shown.
        same_subject: what the recording can be compared with.
        failure: why no newer content can be shown; empty if it can.
    """

    view: ResultView | None = None
    same_subject: SameSubject = ((), ())
    failure: str = ""


def result_state(
    recording: RecordingRoute, result: Snapshot[ResultView], same_subject: Snapshot[SameSubject]
) -> ResultState:
    """What the page shows of a recording: at first what its caller knows of it."""
    failure = result.unreadable or result.failure
    why = "" if failure is None else failure.sentence
    if result.value is None and not result.loading and failure is None:
        why = _("This recording is no longer on this computer, and the service was not asked.")
    view = result.value or first_view(recording)
    if view.reading is not None:
        return ResultState(view, same_subject.value or ((), ()), why)
    if why:
        view = replace(view, heading=_("No result to show"), sentence=why, remedy=None)
    return ResultState(view, failure=why)

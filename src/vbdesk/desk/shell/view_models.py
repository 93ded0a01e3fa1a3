"""The view models of an open profile, each with the ports that it uses."""

from collections.abc import Callable

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.recorder import Recorder, Take
from vbdesk.desk.cohort.group_view_model import CohortGroupViewModel
from vbdesk.desk.cohort.view_model import CohortViewModel
from vbdesk.desk.compare.view_model import CompareViewModel, PairPlayback
from vbdesk.desk.models.course_actions import CourseActions
from vbdesk.desk.models.playback import Playback
from vbdesk.desk.outbox.actions import OutboxActions
from vbdesk.desk.outbox.view_model import OutboxViewModel
from vbdesk.desk.record.check_model import TakeReviewViewModel
from vbdesk.desk.record.import_model import IntakeViewModel
from vbdesk.desk.record.view_model import COUNT_IN_S, RecordViewModel
from vbdesk.desk.result.view_model import ResultViewModel
from vbdesk.desk.shell.workspace import Workspace
from vbdesk.desk.subject.view_model import SubjectViewModel
from vbdesk.desk.subjects.view_model import SubjectsViewModel
from vbdesk.outbox.imports.take_check import TakeCheck


def record_view_model(workspace: Workspace, count_in_s: int = COUNT_IN_S) -> RecordViewModel:
    """Record, with its set-up card."""
    ports, library = workspace.ports, workspace.library

    def new_recorder(on_finished: Callable[[Take], None]) -> Recorder:
        return Recorder(
            ports.microphone,
            library.recording_folder,
            lambda: library.store.key,
            ports.clock,
            ports.lister,
            on_finished=on_finished,
        )

    return RecordViewModel(workspace.flow, new_recorder, workspace.tasks, count_in_s)


def take_review_view_model(
    workspace: Workspace, check: Callable[[TakeAudio], TakeCheck] | None = None
) -> TakeReviewViewModel:
    """The check of a take; `check` is the whole check if None."""
    return TakeReviewViewModel(workspace.flow, Playback(workspace.tasks, workspace.ports.player), check)


def intake_view_model(workspace: Workspace) -> IntakeViewModel:
    """An import of files."""
    return IntakeViewModel(workspace.flow)


def subjects_view_model(workspace: Workspace) -> SubjectsViewModel:
    """The list of subjects."""
    return SubjectsViewModel(workspace.flow, workspace.navigator, workspace.look)


def outbox_view_model(workspace: Workspace) -> OutboxViewModel:
    """The outbox."""
    flow = workspace.flow
    return OutboxViewModel(
        flow,
        workspace.navigator,
        OutboxActions(flow, workspace.erasures),
        CourseActions(flow),
    )


def cohort_view_model(workspace: Workspace) -> CohortViewModel:
    """All subjects at once."""
    return CohortViewModel(workspace.flow, workspace.navigator, workspace.look)


def cohort_group_view_model(workspace: Workspace) -> CohortGroupViewModel:
    """One group read as a cohort."""
    return CohortGroupViewModel(workspace.flow)


def subject_view_model(workspace: Workspace) -> SubjectViewModel:
    """One subject over time."""
    return SubjectViewModel(workspace.flow, workspace.navigator, workspace.look)


def result_view_model(workspace: Workspace) -> ResultViewModel:
    """One result."""
    playback = Playback(workspace.tasks, workspace.ports.player)
    return ResultViewModel(workspace.flow, workspace.navigator, playback, workspace.look)


def compare_view_model(workspace: Workspace) -> CompareViewModel:
    """Two results side by side."""
    left, right = (Playback(workspace.tasks, workspace.ports.player) for _side in range(2))
    return CompareViewModel(workspace.flow, workspace.navigator, PairPlayback(left, right))

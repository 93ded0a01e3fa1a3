"""The view models of an open profile, each with the ports that it uses."""

from collections.abc import Callable
from pathlib import Path

from vbdesk.capture.encrypted_take import TakeAudio
from vbdesk.capture.recorder import Recorder, Take
from vbdesk.desk.account.desk_settings import DeskChoices
from vbdesk.desk.account.profiles_model import ProfilesViewModel
from vbdesk.desk.account.recording_rules import RulesViewModel
from vbdesk.desk.account.update_notice_model import UpdateNoticeViewModel
from vbdesk.desk.account.view_model import AccountViewModel
from vbdesk.desk.account.webhook_model import WebhookViewModel
from vbdesk.desk.cohort.group_view_model import CohortGroupViewModel
from vbdesk.desk.cohort.view_model import CohortViewModel
from vbdesk.desk.compare.view_model import CompareViewModel, PairPlayback
from vbdesk.desk.models.course_actions import CourseActions
from vbdesk.desk.models.playback import Playback
from vbdesk.desk.models.preferences import PreferenceStore
from vbdesk.desk.models.service_keys import ServiceKeys
from vbdesk.desk.models.unlocking import PassphraseViewModel
from vbdesk.desk.outbox.actions import OutboxActions
from vbdesk.desk.outbox.view_model import OutboxViewModel
from vbdesk.desk.record.check_model import TakeReviewViewModel
from vbdesk.desk.record.import_model import IntakeViewModel
from vbdesk.desk.record.view_model import COUNT_IN_S, RecordViewModel
from vbdesk.desk.result.view_model import ResultViewModel
from vbdesk.desk.shell.workspace import Workspace
from vbdesk.desk.subject.view_model import SubjectViewModel
from vbdesk.desk.subjects.view_model import SubjectsViewModel
from vbdesk.desk.ui.theme import app_theme
from vbdesk.outbox.diagnostics.diagnostics import diagnose, write_bundle
from vbdesk.outbox.imports.take_check import TakeCheck
from vbdesk.outbox.profiles.profiles import ProfileStore


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


def account_view_model(workspace: Workspace) -> AccountViewModel:
    """Account, with its cards."""
    profile, ports, library = workspace.profile, workspace.ports, workspace.library
    sync, tasks = workspace.sync, workspace.tasks

    def write_diagnostics(file: Path) -> None:
        write_bundle(diagnose(ports), file)

    profiles = ProfilesViewModel(
        profile, ProfileStore(ports.config_dir), ports.vault, tasks, workspace.navigator, ports.policy
    )
    profiles.renamed.connect(workspace.profiles_renamed)
    return AccountViewModel(
        workspace.flow,
        profile,
        profiles,
        RulesViewModel(profile, library, sync, tasks, write_diagnostics),
        WebhookViewModel(library.responses, workspace, ports.send_trial, tasks),
        DeskChoices(
            PreferenceStore(ports.config_dir), app_theme(), ports.data_dir, ports.open_page, tasks, workspace.reading
        ),
        PassphraseViewModel(ServiceKeys(ports), tasks),
        workspace.app_lock,
        updates=UpdateNoticeViewModel(
            PreferenceStore(ports.config_dir), ports.policy, ports.ask_for_notice, ports.clock, tasks
        ),
    )


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

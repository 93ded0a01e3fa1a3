"""What the Result page reads and changes."""

from dataclasses import dataclass

from vbdesk.client.errors import ClientError
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Asked, AskedRead
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.results.result_source import ResultSource
from vbdesk.desk.results.result_state import NoSuchResult, ResultView, view_of
from vbdesk.desk.results.same_subject import SameSubjectRecording, neighbours, same_subject_recordings
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.language import _
from vbdesk.outbox.imports.speaker_checks import confirm_voice
from vbdesk.outbox.profiles.vault import VaultError

_ASK_AGAIN_S = 3.0

SameSubject = tuple[tuple[SameSubjectRecording, ...], tuple[SameSubjectRecording, ...]]
"""The subject's recordings before the one that is shown, and those after it; the nearest first in both."""


@dataclass(frozen=True)
class ResultRead(AskedRead[ResultView]):
    """The result of a recording: from the library, or a job of the service."""

    recording: RecordingRoute
    topics = frozenset({Changed.LIBRARY, Changed.TRAJECTORIES})

    def here(self, context: DeskContext, before: ResultView | None, task: TaskContext) -> ResultView | None:  # noqa: D102
        try:
            return view_of(ResultSource(context.library, context.results).here(self.recording))
        except NoSuchResult:
            return None

    def ask(self, context: DeskContext, task: TaskContext) -> Asked:  # noqa: D102
        found = ResultSource(context.library, context.results).here(self.recording)
        if not found.asked_of_service or found.job_id is None:
            return Asked(stored=False)
        job = context.results.fetch_job(found.job_id)
        return Asked() if job.status.terminal else Asked(ask_again_s=_ASK_AGAIN_S)


@dataclass(frozen=True)
class SameSubjectRead(AskedRead[SameSubject]):
    """What a recording can be compared with; the service is asked if no other recording is known here."""

    recording: RecordingRoute
    topics = frozenset({Changed.LIBRARY, Changed.TRAJECTORIES})

    def here(self, context: DeskContext, before: SameSubject | None, task: TaskContext) -> SameSubject:  # noqa: D102
        located = ResultSource(context.library, context.results).locate(self.recording)
        if not located.group_id:
            return (), ()
        others = same_subject_recordings(context.library, context.results, located.group_id)
        return neighbours(others, located, located.recorded_at)

    def ask(self, context: DeskContext, task: TaskContext) -> Asked:  # noqa: D102
        located = ResultSource(context.library, context.results).locate(self.recording)
        if not located.group_id or any(self.here(context, None, task)):
            return Asked(stored=False)
        try:
            context.results.fetch_trajectory(located.group_id)
        except (ClientError, VaultError):
            return Asked(stored=False)
        return Asked()


@dataclass(frozen=True)
class ConfirmVoice(Command):
    """Note that the voice of a recording is that of its subject, even if the comparison doubts it."""

    title: str
    take_id: str

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        confirm_voice(context.library, self.take_id)
        sentence = _("Noted: it is this person. If that was a mistake, press Correct.")
        return Done(sentence, frozenset({Changed.LIBRARY}))


@dataclass(frozen=True)
class SendAgain(Command):
    """Send a recording again whose analysis has failed."""

    title: str
    take_id: str

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.retry(self.take_id)
        return Done(touched=frozenset({Changed.LIBRARY}))

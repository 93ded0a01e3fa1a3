"""Removing a recording of the local service: questions, erasure and confirmation."""

import threading
from dataclasses import dataclass, field, replace

import pytest

from patience import HANGS_S
from vbdesk.client.local_service import LocalServiceFailed
from vbdesk.desk.shell.workspace import Workspace
from vbdesk.outbox.library.states import OutboxState as S
from vbdesk.outbox.library.store import UnknownTake
from vbdesk.outbox.profiles.profiles import Profile

SERVICE_KEY = bytes(range(32))
DESTROYED = "nobody can open the sound again"


@dataclass
class Eraser:
    """The service's side of an erasure; can be delayed, or fail."""

    asked: list = field(default_factory=list)
    fails: bool = False
    may_go_on: threading.Event = field(default_factory=threading.Event)

    def __call__(self, data_dir, key, account_id, job_ids, upload_refs=(), *, sound_only):
        assert key == SERVICE_KEY
        self.may_go_on.wait(HANGS_S)
        if self.fails:
            raise LocalServiceFailed("The service on this computer could not erase the recording. It is away.")
        self.asked.append((account_id, tuple(job_ids), sound_only))


@pytest.fixture
def eraser() -> Eraser:
    made = Eraser()
    made.may_go_on.set()
    return made


@pytest.fixture
def profile() -> Profile:
    return Profile("p1", "This computer", "local", None, "acc-local")


@pytest.fixture
def ports(ports, eraser):
    return replace(ports, erase_recordings=eraser)


@pytest.fixture
def workspace(workspace, ports, monkeypatch):
    """The workspace of the other tests, with the key of the service."""
    assert isinstance(workspace, Workspace)
    monkeypatch.setattr(workspace, "_service_key", SERVICE_KEY)
    return workspace


@pytest.fixture
def opened(shelf, open_outbox, workspace, pulse_job):
    """The Outbox with one recording, chosen, and Delete pressed."""

    def make(state=S.DONE, jobs=("job-1",), **columns):
        more = {"job": pulse_job} if state is S.DONE else {}
        take_id = shelf.put("ward4-0172", state, **more, **columns)
        with workspace.library.store.changing():
            for job_id in jobs:
                workspace.library.store.add("jobs", job_id, take_id)
        page = open_outbox(1)
        choose(page, take_id)
        page.bar.button("delete").click()
        return page, take_id

    return make


def choose(page, *take_ids):
    page.list.clearSelection()
    flag = page.list.selectionModel().SelectionFlag
    for take_id in take_ids:
        index = page.view_model.table.index(page.view_model.table.index_of(take_id), 0)
        page.list.selectionModel().select(index, flag.Select | flag.Rows)


def destroy_from_trash(page, take_id, qtbot):
    """Choose a deleted recording in the trash and destroy it."""
    qtbot.waitUntil(lambda: page.undo.isVisible())
    page.segment.option("trash").click()
    qtbot.waitUntil(lambda: page.view_model.table.index_of(take_id) is not None)
    choose(page, take_id)
    page.bar.button("destroy").click()
    assert "here and at the service on this computer" in page.notice.text()
    assert page.notice.button.text() == "Destroy now"
    page.notice.button.click()


def test_the_question_offers_the_sound_or_everything_and_changes_nothing(opened, workspace, eraser):
    page, take_id = opened()
    assert page.notice.text() == (
        "The sound only, or everything? The sound only: it is destroyed now, here and at the service on this computer, "
        "and the result stays. Everything: it goes to the trash first."
    )
    assert (page.notice.other_button.text(), page.notice.button.text()) == ("The sound only", "Everything")
    assert workspace.library.get(take_id).state is S.DONE
    assert eraser.asked == []


def test_the_sound_goes_here_and_there_and_the_result_stays(opened, workspace, eraser, pulse_job, qtbot):
    eraser.may_go_on.clear()
    page, take_id = opened()
    page.notice.other_button.click()
    qtbot.waitUntil(lambda: "The service on this computer erases it now." in page.notice.text())
    assert DESTROYED not in page.notice.text()
    assert workspace.library.get(take_id).audio_gone_at is not None
    eraser.may_go_on.set()
    qtbot.waitUntil(lambda: DESTROYED in page.notice.text())
    assert page.notice.text().startswith("Sound of 1 recording removed, here and at the service on this computer.")
    assert eraser.asked == [("acc-local", tuple(sorted({"job-1", pulse_job.job_id})), True)]
    assert workspace.library.get(take_id).result_json is not None
    assert workspace.library.erasures.due() == []


def test_everything_takes_job_and_result_there_too(opened, workspace, eraser, qtbot):
    page, take_id = opened()
    page.notice.button.click()
    qtbot.waitUntil(lambda: page.undo.isVisible())
    assert (eraser.asked, workspace.library.erasures.due()) == ([], [])
    destroy_from_trash(page, take_id, qtbot)
    qtbot.waitUntil(lambda: DESTROYED in page.notice.text())
    assert page.notice.text().startswith("1 recording deleted, here and at the service on this computer.")
    assert [asked[2] for asked in eraser.asked] == [False]
    with pytest.raises(UnknownTake):
        workspace.library.get(take_id)


def test_a_service_that_cannot_erase_now_is_said_and_asked_again(opened, workspace, eraser, qtbot, monkeypatch):
    eraser.fails = True
    page, take_id = opened()
    page.notice.button.click()
    destroy_from_trash(page, take_id, qtbot)
    qtbot.waitUntil(lambda: "could not erase the recording" in page.notice.text())
    assert DESTROYED not in page.notice.text()
    assert [owed.take_id for owed in workspace.library.erasures.due()] == [take_id]
    eraser.fails = False
    workspace.flow.erasures.run()
    qtbot.waitUntil(lambda: DESTROYED in page.notice.text())
    assert workspace.library.erasures.due() == []


def test_what_a_crash_left_is_erased_when_the_profile_opens_again(opened, workspace, eraser, qtbot):
    page, take_id = opened()
    workspace.library.discard(take_id, at_once=True)  # and the desk ends before it calls the service
    assert eraser.asked == []
    workspace.flow.erasures.run()
    qtbot.waitUntil(lambda: workspace.library.erasures.due() == [])
    assert [asked[2] for asked in eraser.asked] == [False]
    assert DESTROYED not in page.notice.text(), "nobody has asked for it in this page"


def test_one_without_a_result_goes_as_a_whole(opened, workspace, eraser, qtbot):
    page, take_id = opened(S.FAILED, reason="The analysis failed.")
    assert not page.notice.isVisible()
    destroy_from_trash(page, take_id, qtbot)
    qtbot.waitUntil(lambda: DESTROYED in page.notice.text())
    assert eraser.asked == [("acc-local", ("job-1",), False)]


def test_what_the_service_never_had_is_destroyed_at_once(opened, workspace, eraser, qtbot):
    page, take_id = opened(S.NEEDS_ATTENTION, jobs=())
    destroy_from_trash(page, take_id, qtbot)
    qtbot.waitUntil(lambda: "nobody can open the sound on this computer again" in page.notice.text())
    assert "at the service" not in page.notice.text()
    assert eraser.asked == []


def test_other_recordings_chosen_withdraw_both_buttons(opened, workspace, shelf, qtbot):
    page, take_id = opened()
    choose(page)
    assert not page.notice.isVisible()
    page.notice.other_button.click()
    page.notice.button.click()
    assert workspace.library.get(take_id).audio_gone_at is None
    assert workspace.library.erasures.due() == []


def test_several_are_said_to_be_destroyed_only_when_the_last_one_is(
    shelf, open_outbox, workspace, eraser, pulse_job, qtbot
):
    takes = [shelf.put(group, S.DONE, job=pulse_job) for group in ("a", "b")]
    eraser.may_go_on.clear()
    page = open_outbox(2)
    choose(page, *takes)
    page.bar.button("delete").click()
    page.notice.other_button.click()
    qtbot.waitUntil(lambda: len(workspace.library.erasures.due()) == 2)
    words = []
    page.view_model.actions.noticed.connect(lambda notice: notice and words.append(notice.sentence))
    eraser.may_go_on.set()
    qtbot.waitUntil(lambda: DESTROYED in page.notice.text())
    assert len(eraser.asked) == 2
    assert [sentence for sentence in words if DESTROYED in sentence] == [
        "Sound of 2 recordings removed, here and at the service on this computer. Their keys are destroyed: "
        "nobody can open the sound again."
    ]
    assert {workspace.library.get(take_id).encrypted_result is not None for take_id in takes} == {True}

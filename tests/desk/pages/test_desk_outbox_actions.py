"""Actions of the Outbox besides a row's button: several recordings, deleting, pausing, bundles."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QFileDialog

from vbdesk.desk.outbox.bundles import BundleCheckRead
from vbdesk.desk.ui.routes import BundleRoute
from vbdesk.outbox.bundles.bundle_export import export_bundle, owner_of
from vbdesk.outbox.bundles.bundle_keys import KeyLock, public_key
from vbdesk.outbox.library.integrity_check import HELD, OLDER_COPY, compare_with_keyring
from vbdesk.outbox.library.items import metadata_of
from vbdesk.outbox.library.recording_time import TimeDoubt
from vbdesk.outbox.library.rollback_detection import KeyringReading
from vbdesk.outbox.library.settings import SendRule
from vbdesk.outbox.library.states import Fix, OutboxState
from vbdesk.outbox.library.store import UnknownTake
from vbdesk.outbox.sync.connectivity import ConnectivityState, SyncStatus

S = OutboxState


def choose(page, *take_ids):
    page.list.clearSelection()
    for take_id in take_ids:
        index = page.view_model.table.index(page.view_model.table.index_of(take_id), 0)
        page.list.selectionModel().select(
            index, page.list.selectionModel().SelectionFlag.Select | page.list.selectionModel().SelectionFlag.Rows
        )


def shown(page):
    return {key for key in ("send", "cancel", "hand-over", "take-back", "delete") if page.bar.button(key).isVisible()}


def state_of(workspace, take_id):
    return workspace.library.get(take_id).state


def test_only_what_applies_to_the_chosen_ones_is_offered(shelf, open_outbox):
    checked, done, running = (shelf.put("a", state) for state in (S.CHECKED, S.DONE, S.RUNNING))
    waiting, handed, uploading = shelf.put("b", S.WAITING), shelf.put("c", S.HANDED_OVER), shelf.put("d", S.UPLOADING)
    page = open_outbox(6)
    assert shown(page) == {"hand-over"}
    choose(page, checked)
    assert shown(page) == {"send", "delete"}
    choose(page, waiting)
    assert shown(page) == {"cancel", "hand-over", "delete"}
    choose(page, uploading)
    assert shown(page) == {"cancel", "hand-over"}
    choose(page, handed)
    assert shown(page) == {"take-back"}
    choose(page, running)
    assert shown(page) == set()
    choose(page, done, checked, waiting)
    assert page.bar.text() == "3 recordings chosen"
    assert page.bar.button("delete").accessibleName() == "Delete 3 recordings"


def test_several_are_sent_and_kept_back_at_once(shelf, open_outbox, workspace, qtbot):
    takes = [shelf.put("a", S.CHECKED), shelf.put("b", S.TIMED_OUT)]
    page = open_outbox(2)
    choose(page, *takes)
    page.bar.button("send").click()
    qtbot.waitUntil(lambda: {state_of(workspace, take_id) for take_id in takes} == {S.WAITING})
    qtbot.waitUntil(lambda: page.bar.button("cancel").isVisible())
    page.bar.button("cancel").click()
    qtbot.waitUntil(lambda: {state_of(workspace, take_id) for take_id in takes} == {S.CHECKED})


def test_a_deletion_says_which_of_the_chosen_ones_stay(shelf, open_outbox, workspace, qtbot):
    waiting, running = shelf.put("a", S.WAITING), shelf.put("b", S.RUNNING)
    page = open_outbox(2)
    choose(page, waiting, running)
    page.bar.button("delete").click()
    qtbot.waitUntil(lambda: workspace.library.trash.holds(waiting))
    qtbot.waitUntil(page.notice.isVisible)
    assert page.notice.text() == (
        "1 of 2 could not be changed. What is being sent or analysed cannot be deleted now. Wait for its result."
    )
    assert state_of(workspace, running) is S.RUNNING


def test_a_deletion_can_be_undone_and_the_line_is_as_it_was(shelf, open_outbox, workspace, qtbot):
    waiting, checked = shelf.put("a", S.WAITING), shelf.put("b", S.CHECKED)
    page = open_outbox(2)
    choose(page, waiting, checked)
    page.list.setFocus()
    qtbot.keyClick(page.list, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: page.view_model.table.rowCount() == 0)
    qtbot.waitUntil(lambda: page.undo.isVisible())
    assert page.undo.text() == "2 recordings are in the trash. Days until their keys are destroyed: 7."
    page.view_model.refused.emit("Another message.")
    page.closed()
    page.opened(None)
    page.undo.button.click()
    qtbot.waitUntil(lambda: page.view_model.table.rowCount() == 2)
    assert [state_of(workspace, each) for each in (waiting, checked)] == [S.WAITING, S.CHECKED]
    assert workspace.library.whole_audio(waiting).duration_s == pytest.approx(16, abs=0.1)


@pytest.fixture
def ask(shelf, open_outbox, workspace, qtbot):
    """A recording with an open time question, the page, and the item before."""

    def make(state=S.NEEDS_ATTENTION, suggested=timedelta(hours=-3), before=lambda library, item: None, **columns):
        take_id = shelf.put("ward4-0172", state, fix=Fix.SET_CLOCK, reason="The clock was wrong. Decide.", **columns)
        library = workspace.library
        before(library, library.get(take_id))
        item = library.get(take_id)
        doubt = TimeDoubt(None if suggested is None else item.recorded_at + suggested)
        with library.store.changing():
            library.store.store_details(take_id, replace(metadata_of(item), time_doubt=doubt))
            library.store.update(take_id, {"fix": Fix.SET_CLOCK, "reason": "The clock was wrong. Decide."})
        page = open_outbox(1)
        assert page.view_model.table.cell(0, 4).text == "Choose time"
        page.view_model.perform(take_id)
        qtbot.waitUntil(lambda: page.time_card.isVisible())
        assert page.time_card.sentence.text() == "The clock was wrong. Decide."
        assert page.time_card.title.text() == "When was the recording of ward4-0172 made?"
        return page, library.get(take_id)

    return make


def pick(page, key):
    page.time_card.choice.choose(key)
    page.time_card.choice.chosen.emit(key)


def offered(page):
    return [button.text() for button in page.time_card.choice.findChildren(QAbstractButton) if button.isVisible()]


@pytest.mark.parametrize("state", [S.NEEDS_ATTENTION, S.CHECKED])
@pytest.mark.parametrize("choice", ["suggested", "kept", "entered"])
def test_a_person_decides_which_time_of_a_recording_is_right(ask, workspace, qtbot, state, choice):
    page, item = ask(state)
    entered = (item.recorded_at - timedelta(days=2)).astimezone().replace(second=0, microsecond=0)
    pick(page, choice)
    wanted = {"suggested": item.time_doubt.suggested, "kept": item.recorded_at, "entered": entered}[choice]
    if choice == "entered":
        page.time_card.time.setText(f"{entered:%Y-%m-%d %H:%M}")
    assert page.time_card.time.text() == f"{wanted.astimezone():%Y-%m-%d %H:%M}"
    assert page.time_card.time.isReadOnly() is (choice != "entered")
    page.time_card.go.click()
    qtbot.waitUntil(lambda: state_of(workspace, item.take_id) is S.WAITING)
    after = workspace.library.get(item.take_id)
    assert abs(after.recorded_at - wanted) < timedelta(seconds=1), "an entered time gets a fraction of its own"
    assert (after.fix, after.reason, after.time_decided) == (None, None, True)
    assert not page.time_card.isVisible()


def test_a_time_that_cannot_be_read_is_said_at_its_field(ask, workspace):
    page, item = ask()
    pick(page, "entered")
    page.time_card.time.setText("yesterday")
    page.time_card.go.click()
    assert page.time_card.time_field.below_text() == "Enter date and time, such as 2026-03-01 09:30."
    assert page.time_card.isVisible()
    assert workspace.library.get(item.take_id) == item


def test_without_a_suggestion_the_other_two_are_offered(ask):
    page, _ = ask(suggested=None)
    assert offered(page) == ["Clock's time", "Another time"]


@pytest.mark.parametrize("choice", ["suggested", "original", "kept"])
def test_the_time_before_a_correction_stays_a_choice(ask, workspace, qtbot, choice):
    first, take_id = None, None

    def correct(library, item):
        nonlocal first, take_id
        first, take_id = item.recorded_at, item.take_id
        library.set_recorded_at(item.take_id, first + timedelta(hours=-5))

    page, item = ask(before=correct)
    assert offered(page) == ["Service's time", "Clock's time", "Corrected time", "Another time"]
    pick(page, choice)
    wanted = {"suggested": item.time_doubt.suggested, "original": first, "kept": item.recorded_at}[choice]
    assert page.time_card.time.text() == f"{wanted.astimezone():%Y-%m-%d %H:%M}"
    assert page.time_card.time.isReadOnly()
    page.time_card.go.click()
    qtbot.waitUntil(lambda: state_of(workspace, take_id) is S.WAITING)
    assert workspace.library.get(take_id).recorded_at == wanted


def test_a_corrected_recording_that_rests_can_be_given_its_first_time_back(shelf, open_outbox, workspace, qtbot):
    take_id = shelf.put("ward4-0172", S.CHECKED)
    first = workspace.library.get(take_id).recorded_at
    workspace.library.set_recorded_at(take_id, first - timedelta(hours=5))
    page = open_outbox(1)
    assert page.view_model.table.cell(0, 4).text == "Choose time"
    page.view_model.perform(take_id)
    qtbot.waitUntil(lambda: page.time_card.isVisible())
    assert "was corrected from " in page.time_card.sentence.text()
    assert page.time_card.choice.choice() == "original"
    page.time_card.go.click()
    qtbot.waitUntil(lambda: state_of(workspace, take_id) is S.WAITING)
    assert workspace.library.get(take_id).recorded_at == first


def test_what_another_computer_may_have_sent_keeps_its_time(ask):
    page, _ = ask(bundle_id="b-1")
    assert offered(page) == ["Clock's time"]


def test_closing_the_question_changes_nothing(ask, workspace):
    page, item = ask()
    page.time_card.close_button.click()
    assert page.list.isVisible()
    assert workspace.library.get(item.take_id) == item


def trashed(page, workspace, qtbot, *take_ids):
    """Delete recordings and show the trash."""
    choose(page, *take_ids)
    page.bar.button("delete").click()
    qtbot.waitUntil(lambda: page.undo.isVisible())
    page.segment.option("trash").click()
    qtbot.waitUntil(lambda: page.view_model.table.rowCount() == len(take_ids))


def test_a_recording_with_a_result_goes_to_the_trash_and_comes_back_from_there(
    shelf, open_outbox, workspace, pulse_job, qtbot
):
    done, other = shelf.put("a", S.DONE, job=pulse_job), shelf.put("b", S.CHECKED)
    page = open_outbox(2)
    trashed(page, workspace, qtbot, done)
    row = [page.view_model.table.cell(0, column).text for column in range(5)]
    assert (row[0].partition(",")[0], row[1], row[3:]) == ("a", "Done", ["7 days left", "Restore"])
    assert shown(page) == set()
    page.view_model.perform(done)
    qtbot.waitUntil(lambda: page.view_model.table.rowCount() == 0)
    assert state_of(workspace, done) is S.DONE
    qtbot.waitUntil(lambda: not page.undo.isVisible())
    assert page.empty.text().startswith("The trash is empty")
    page.segment.option("all").click()
    qtbot.waitUntil(lambda: page.view_model.table.rowCount() == 2)
    assert state_of(workspace, other) is S.CHECKED


def test_what_is_destroyed_from_the_trash_is_asked_about_and_then_gone(shelf, open_outbox, workspace, pulse_job, qtbot):
    done = shelf.put("a", S.DONE, job=pulse_job)
    page = open_outbox(1)
    trashed(page, workspace, qtbot, done)
    choose(page, done)
    page.bar.button("destroy").click()
    assert page.notice.text().startswith("Delete this recording for good? The sound and its key are destroyed")
    assert workspace.library.trash.holds(done)
    page.notice.button.click()
    qtbot.waitUntil(lambda: page.view_model.table.rowCount() == 0)
    qtbot.waitUntil(lambda: "nobody can open the sound on this computer again" in page.notice.text())
    with pytest.raises(UnknownTake):
        workspace.library.trash.restore(done)


def test_the_question_goes_when_others_are_chosen(shelf, open_outbox, workspace, qtbot):
    done, other = shelf.put("a", S.DONE), shelf.put("b", S.CHECKED)
    page = open_outbox(2)
    trashed(page, workspace, qtbot, done, other)
    choose(page, done)
    page.bar.button("destroy").click()
    choose(page, other)
    assert not page.notice.isVisible()
    page.notice.button.click()
    assert workspace.library.trash.holds(done)


def test_a_refused_restore_says_why_and_keeps_the_undo(shelf, open_outbox, workspace, qtbot):
    first, _second = shelf.put("a", S.CHECKED), shelf.put("b", S.CHECKED)
    library = workspace.library
    page = open_outbox(2)
    trashed(page, workspace, qtbot, first)
    with library.store.changing() as database:  # by something else
        database.execute("UPDATE main.recordings SET state = 'failed' WHERE take_id = ?", (first,))
    library.store.reread(first)
    page.undo.button.click()
    qtbot.waitUntil(lambda: "This entry of the trash was changed" in page.notice.text())
    assert page.undo.isVisible()
    assert library.trash.holds(first)


def test_pausing_stops_the_line_and_says_so_until_going_on(shelf, open_outbox, workspace, qtbot):
    shelf.put("a", S.WAITING)
    page = open_outbox(1)
    qtbot.waitUntil(lambda: page.banner.button.text() == "Pause all")
    page.banner.button.click()
    qtbot.waitUntil(lambda: page.banner.text() == "Paused. 1 recording waits here until you go on.")
    assert workspace.library.settings().paused
    assert page.view_model.table.cell(0, 3).text.startswith("until you go on")
    page.banner.button.click()
    qtbot.waitUntil(lambda: page.banner.button.text() == "Pause all")


def test_a_restored_copy_holds_the_line_until_a_person_accepts_it(shelf, open_outbox, workspace, qtbot):
    shelf.put("a", S.WAITING)
    compare_with_keyring(workspace.library.store, KeyringReading(version=1_000_000))
    page = open_outbox(1)
    qtbot.waitUntil(lambda: page.banner.text() == f"{OLDER_COPY} {HELD}")
    assert page.view_model.table.cell(0, 3).text.startswith("until you accept the list")
    page.banner.button.click()
    assert page.notice.text().startswith("Go on with this list?")
    assert "Subjects that were erased since an older copy was made are in it again" in page.notice.text()
    assert workspace.library.findings
    page.notice.button.click()
    qtbot.waitUntil(lambda: workspace.library.findings == ())
    qtbot.waitUntil(lambda: page.banner.button.text() == "Pause all")
    assert workspace.library.store.version() > 1_000_000


def test_by_hand_everything_waits_for_its_button(shelf, open_outbox, workspace, qtbot):
    takes = [shelf.put("a", S.WAITING) for _ in range(3)]
    workspace.library.change_settings(send_rule=SendRule.BY_HAND)
    page = open_outbox(3)
    qtbot.waitUntil(lambda: page.banner.text() == "3 recordings wait until you send them.")
    page.view_model.perform(takes[0])
    qtbot.waitUntil(lambda: page.banner.text() == "2 recordings wait until you send them. 1 other is on the way.")
    assert workspace.library.get(takes[0]).released
    page.banner.button.click()
    qtbot.waitUntil(lambda: page.banner.button.text() == "Pause all")
    assert all(workspace.library.get(take_id).released for take_id in takes)


def test_the_login_page_of_a_network_opens_with_the_banners_button(shelf, open_outbox, workspace, network, qtbot):
    shelf.put("a", S.WAITING)
    page = open_outbox(1)
    workspace._status_changed.emit(
        SyncStatus(False, "The network asks you to log in first.", None, None, ConnectivityState.PORTAL)
    )
    qtbot.waitUntil(lambda: page.banner.button.text() == "Open login page")
    page.banner.button.click()
    assert network.asked == ["https://voice.example"]


def test_recordings_are_handed_over_and_taken_back(shelf, open_outbox, workspace, tmp_path, qtbot):
    takes = [shelf.put("a", S.WAITING), shelf.put("b", S.WAITING)]
    page = open_outbox(2)
    page.bar.button("hand-over").click()
    card = page.hand_over
    qtbot.waitUntil(lambda: card.title.text() == "Hand over 2 recordings")
    card.go.click()
    assert card.key_field.below_text() == "Enter the key of that computer."
    card.key.setText(public_key(workspace.ports.keyring, workspace.profile))
    card.folder.setText(str(tmp_path))
    with qtbot.waitSignal(card._work.ended) as told:
        card.go.click()
    file = re.search(r"handed over in (\S+\.vbundle)\.", told.args[0].sentence).group(1)
    assert {state_of(workspace, take_id) for take_id in takes} == {S.HANDED_OVER}
    card.close_button.click()
    qtbot.waitUntil(lambda: "Another computer sends it" in page.view_model.table.cell(0, 2).text)
    page.view_model.perform(takes[0])
    qtbot.waitUntil(lambda: state_of(workspace, takes[0]) is S.WAITING)

    page.bar.button("take-in").click()
    card = page.take_in
    qtbot.waitUntil(lambda: card.own_key.text().startswith("age1"))
    card.file.setText(file)
    with qtbot.waitSignal(card._work.ended):
        card.go.click()
    assert "2 recordings were here already" in card.banner.text()


def test_a_double_clicked_bundle_is_filled_in(open_outbox, tmp_path):
    page = open_outbox(0)
    page.opened(BundleRoute(tmp_path / "stick" / "monday.vbundle"))
    assert page.take_in.isVisible()
    assert page.take_in.file.text() == str(tmp_path / "stick" / "monday.vbundle")


@pytest.fixture
def bundle(shelf, workspace, tmp_path):
    """A whole bundle."""
    shelf.put("a", S.WAITING)
    key = KeyLock(public_key(workspace.ports.keyring, workspace.profile))
    return export_bundle(workspace.library, owner_of(workspace.profile), tmp_path, key).path


def test_a_bundle_that_lacks_its_end_or_was_changed_is_said_when_it_is_opened(bundle, open_outbox, tmp_path, qtbot):
    page = open_outbox(1)
    field, whole = page.take_in.file_field, bundle.read_bytes()
    short, changed, missing = (tmp_path / f"{name}.vbundle" for name in ("short", "changed", "missing"))
    short.write_bytes(whole[:-10])
    changed.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    for file, sentence in (
        (short, "The end of this bundle is missing"),
        (changed, "This bundle was changed on its way"),
        (missing, "A file or folder is missing."),
    ):
        page.opened(BundleRoute(file))
        qtbot.waitUntil(lambda sentence=sentence: sentence in field.below_text())
    page.opened(BundleRoute(bundle))
    qtbot.waitUntil(lambda: page.take_in._screen.of(BundleCheckRead).value == "")
    assert (page.take_in.file.text(), field.below_text()) == (str(bundle), "")


def test_only_the_file_that_is_filled_in_is_spoken_of(bundle, open_outbox, tmp_path, qtbot, monkeypatch):
    other = tmp_path / "other.vbundle"
    other.write_bytes(b"nonsense")
    page = open_outbox(1)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_args: (str(other), ""))
    page.bar.button("take-in").click()
    page.take_in._choose_file()
    page.take_in.file.setText(str(bundle))
    qtbot.waitUntil(lambda: not page.view_model.flow.commands.tasks.busy)
    qtbot.settle()
    assert page.take_in.file_field.below_text() == ""
    page.take_in._choose_file()
    qtbot.waitUntil(lambda: bool(page.take_in._screen.of(BundleCheckRead).value))
    assert page.take_in.file_field.below_text() == "This file is not a bundle of vbdesk."


def test_a_key_that_is_none_is_explained_and_nothing_is_handed_over(shelf, open_outbox, workspace, tmp_path, qtbot):
    take_id = shelf.put("a", S.WAITING)
    page = open_outbox(1)
    page.bar.button("hand-over").click()
    card = page.hand_over
    qtbot.waitUntil(card.go.isEnabled)
    card.key.setText("age1nonsense")
    card.folder.setText(str(tmp_path))
    with qtbot.waitSignal(card._work.ended):
        card.go.click()
    assert "not the public key of a computer" in card.banner.text()
    assert state_of(workspace, take_id) is S.WAITING
    assert list(tmp_path.glob("*.vbundle*")) == []


def put_unproven(shelf, workspace, group_id="ward4-0172"):
    """A recording that the service may have, without a proven job."""
    take_id = shelf.put(group_id, S.WAITING)
    store = workspace.library.store
    with store.changing():
        store.write_event_of(take_id, {"asked_at": store.now()})
        store.move(take_id, S.NEEDS_ATTENTION, "The service may have this recording.", Fix.SEND_AGAIN)
    return take_id


def test_what_the_service_may_have_is_sent_again_only_after_a_question_about_its_price(
    shelf, open_outbox, workspace, qtbot
):
    take_id = put_unproven(shelf, workspace)
    page = open_outbox(1)
    assert page.view_model.rows[take_id].cells[-1].text == "Decide"
    page.view_model.perform(take_id)
    qtbot.waitUntil(lambda: page.notice.isVisible())
    assert "charged a second time" in page.notice.text()
    assert state_of(workspace, take_id) is S.NEEDS_ATTENTION, "nothing is sent before the answer"
    page.notice.button.click()
    qtbot.waitUntil(lambda: state_of(workspace, take_id) is S.WAITING)
    assert not workspace.library.get(take_id).asked


def test_what_the_service_may_have_can_be_looked_for_again_and_is_not_deleted_meanwhile(
    shelf, open_outbox, workspace, qtbot
):
    take_id = put_unproven(shelf, workspace)
    page = open_outbox(1)
    choose(page, take_id)
    assert shown(page) == set()
    assert page.bar.button("look").accessibleName() == "Look again for 1 recording"
    page.bar.button("look").click()
    qtbot.waitUntil(lambda: state_of(workspace, take_id) is S.WAITING)
    assert workspace.library.get(take_id).asked, "the service is searched first"

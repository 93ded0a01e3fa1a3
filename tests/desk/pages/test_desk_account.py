"""The Account page."""

import threading
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QAbstractButton

from patience import HANGS_S
from vbdesk.desk.account.name_row import NameRow
from vbdesk.desk.flow.tasks import Task
from vbdesk.desk.shell.all_pages import build_account_page
from vbdesk.desk.ui.card import Card
from vbdesk.outbox.library.settings import Retention, RetentionRule, SendRule
from vbdesk.outbox.library.states import Fix
from vbdesk.outbox.profiles.profiles import ProfileStore
from vbdesk.outbox.sync.connectivity import ConnectivityState, SyncStatus
from vbdesk.outbox.sync.network import NetworkState


def test_the_page_comes_in_pieces_and_shows_its_cards_once_all_are_there(workspace, qtbot, qapp):
    page = build_account_page(workspace)
    qtbot.addWidget(page)
    page.show()
    page.opened(None)
    page.setFocus()  # as the window does if a page has no focusable widget yet
    at_once = []
    while not page.built:
        before = len(page.findChildren(Card))
        qapp.processEvents()
        at_once.append(len(page.findChildren(Card)) - before)
        assert page.built or not any(card.isVisible() for card in page.findChildren(Card))
    assert sum(at_once) > 2 * max(at_once)
    assert page.desk.isVisible()
    assert page.focusWidget() is page.test_button
    qtbot.waitUntil(lambda: not workspace.tasks.busy)


def test_a_working_connection_shows_the_credits(account, qtbot):
    account.test_button.click()
    qtbot.waitUntil(lambda: account.plan.credits.text() == "412")
    assert "address, account and key are right" in account.connection.text()


def test_a_wrong_key_is_said_and_mended_here(account, network, ports, profile, qtbot):
    network.api_key = "new-key"
    account.test_button.click()
    qtbot.waitUntil(lambda: "does not accept" in account.connection.text())
    account.key.setText("new-key")
    account.save_button.click()
    qtbot.waitUntil(lambda: "are right" in account.connection.text())
    assert ports.keyring.get(profile.api_key_name) == "new-key"
    assert account.key.text() == ""


def test_a_late_answer_about_a_former_key_is_not_told_of_the_new_one(account, network, workspace, qtbot, monkeypatch):
    network.api_key = "new-key"
    answer, asked, go_on = network.answer, threading.Event(), threading.Event()

    def slow_about_the_former(request):
        if request.headers["X-API-Key"] == "right-key":
            asked.set()
            go_on.wait(HANGS_S)
        return answer(request)

    monkeypatch.setattr(network, "answer", slow_about_the_former)
    account.test_button.click()
    try:
        qtbot.waitUntil(asked.is_set)
        account.key.setText("new-key")
        account.save_button.click()
        qtbot.waitUntil(lambda: "are right" in account.connection.text())
    finally:
        go_on.set()
    qtbot.waitUntil(lambda: not workspace.tasks.findChildren(Task))
    assert "are right" in account.connection.text()
    assert account.plan.credits.text() == "412"


def test_an_empty_key_is_not_saved(account, ports, profile):
    account.save_button.click()
    assert account.key_field.below_text() == "Enter the key first."
    assert ports.keyring.get(profile.api_key_name) == "right-key"


def test_switching_and_adding_are_asked_of_the_desk(account, asked):
    account.findChild(QAbstractButton, "switch-p2").click()
    account.add_button.click()
    assert asked == [("profile", "p2"), ("profile", None)]


def test_removing_a_profile_asks_once_and_deletes_its_key(account, ports, qtbot):
    account.findChild(QAbstractButton, "remove-p2").click()
    assert "its recordings stay" in account.banner.text()
    with qtbot.waitSignal(account.content.ended):
        account.banner.button.click()
    assert [entry.profile_id for entry in ProfileStore(ports.config_dir).all()] == ["p1"]
    assert ports.keyring.get("profile/p2/api-key") is None


def test_the_rules_are_kept_at_once(account, workspace, qtbot):
    account.rules.sending.option(SendRule.BY_HAND.value).click()
    qtbot.waitUntil(lambda: workspace.library.settings().send_rule is SendRule.BY_HAND)
    account.rules.keeping.option(RetentionRule.AFTER_RESULT.value).click()
    qtbot.waitUntil(account.rules.days.isVisible)
    account.rules.days.setText("7")
    account.rules.days.editingFinished.emit()
    wanted = Retention(RetentionRule.AFTER_RESULT, 7)
    qtbot.waitUntil(lambda: workspace.library.settings().retention == wanted)
    assert account.rules.trash.choice() == "7"
    account.rules.trash.option("30").click()
    qtbot.waitUntil(lambda: workspace.library.settings().trash_days == 30)
    workspace.library.change_settings(trash_days=5)  # by another program
    qtbot.waitUntil(lambda: not account.rules.trash.choice())


def test_the_page_says_what_the_system_knows_of_the_network(account, system_network, workspace):
    assert account.rules._network.text() == "The present network is not metered."
    system_network.now = NetworkState(reachable=True)
    workspace.sync.network_changed.emit()
    assert "does not tell whether a network is metered" in account.rules._network.text()


def test_the_audit_log_is_checked_and_a_change_in_it_is_said(account, workspace, qtbot):
    workspace.library.change_settings(paused=True)
    account.rules.check.click()
    qtbot.waitUntil(lambda: "The audit log is whole" in account.rules.answer.text())
    with workspace.library.store.changing() as database:
        for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {row['name']}")
        database.execute("UPDATE audit SET what = 'listened' WHERE seq = 1")
    account.rules.check.click()
    qtbot.waitUntil(lambda: "The audit log was changed" in account.rules.answer.text())


def test_diagnostics_are_written_where_they_are_wanted(account, tmp_path, qtbot):
    file = tmp_path / "diagnostics.zip"
    with qtbot.waitSignal(account.rules.content.ended):
        account.rules.write_diagnostics(file)
    assert str(file) in account.rules.answer.text()
    assert b"right-key" not in file.read_bytes()


@pytest.mark.parametrize(
    "sentence", ["The keyring is locked.", "This computer has no keyring.", "The keyring was not unlocked."]
)
def test_a_keyring_that_gives_no_key_is_said_with_the_button_that_asks_again(account, workspace, qtbot, sentence):
    workspace._status_changed.emit(SyncStatus(None, sentence, Fix.UNLOCK_KEYRING, None))
    qtbot.waitUntil(lambda: account.banner.text() == sentence)
    assert account.banner.button.text() == "Try again"
    account.banner.button.click()
    assert workspace._sync_worker._reconnect.is_set()
    workspace._status_changed.emit(SyncStatus(None, sentence, Fix.UNLOCK_KEYRING, None, ConnectivityState.OFFLINE))
    qtbot.waitUntil(account.banner.isVisible)
    workspace._status_changed.emit(SyncStatus(True, "Connected.", None, 3, ConnectivityState.CONNECTED))
    qtbot.waitUntil(lambda: not account.banner.isVisible())


def test_a_profile_named_by_its_address_is_offered_a_name(account, ports, profile, qtbot):
    store = ProfileStore(ports.config_dir)
    store.save(replace(profile, name="127.0.0.1:18180", base_url="http://127.0.0.1:18180"))
    account.opened(None)
    qtbot.waitUntil(lambda: account.findChild(QAbstractButton, f"better-name-{profile.profile_id}") is not None)
    account.findChild(QAbstractButton, f"better-name-{profile.profile_id}").click()
    qtbot.waitUntil(lambda: account.name.text() == "This computer 2")  # the other profile has the name
    renamed = store.get(profile.profile_id)
    assert renamed == replace(profile, name="This computer 2", base_url="http://127.0.0.1:18180")
    assert account.findChild(QAbstractButton, "better-name-p2") is None


def test_any_profile_can_be_renamed_and_the_window_shows_it(account, workspace, ports, profile, qtbot):
    named = []
    workspace.profiles_renamed.connect(named.append)
    account.findChild(QAbstractButton, f"rename-{profile.profile_id}").click()
    qtbot.waitUntil(account.findChild(NameRow).isVisible)
    row = account.findChild(NameRow)
    row.name.setText("  Ward   four ")
    row.save.click()
    qtbot.waitUntil(lambda: account.name.text() == "Ward four")
    assert [each.name for each in named[0] if each.profile_id == profile.profile_id] == ["Ward four"]
    account.findChild(QAbstractButton, "rename-p2").click()
    qtbot.waitUntil(lambda: any(row.isVisible() for row in account.findChildren(NameRow)))
    row = next(row for row in account.findChildren(NameRow) if row.isVisible())
    row.name.setText("Ward four")
    row.save.click()
    qtbot.waitUntil(lambda: "has this name already" in account.banner.text())
    assert ProfileStore(ports.config_dir).get("p2").name != "Ward four"

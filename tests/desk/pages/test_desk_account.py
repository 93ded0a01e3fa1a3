"""The Account page."""

import pytest
from PySide6.QtWidgets import QAbstractButton

from vbdesk.desk import theme
from vbdesk.desk.pages.account import AccountPage, build_account_page
from vbdesk.desk.preferences import Preferences, PreferenceStore
from vbdesk.desk.theme import Scheme
from vbdesk.outbox.network import NetworkState
from vbdesk.outbox.profiles import Profile, ProfileStore
from vbdesk.outbox.reach import CourierStatus, Reach
from vbdesk.outbox.settings import Retention, RetentionRule, SendRule
from vbdesk.outbox.states import Fix


@pytest.fixture
def opened(workspace, outside, profile, qtbot) -> AccountPage:
    store = ProfileStore(outside.config_dir)
    store.save(profile)
    store.save(Profile("p2", "This computer", "local", None, "acc-2"))
    outside.keyring.set("profile/p2/api-key", "other")
    page = build_account_page(workspace)
    qtbot.addWidget(page)
    page.show()
    with qtbot.waitSignal(page.view_model.profiles_changed):
        page.opened(None)
    return page


def button(page, name):
    found = [b for b in page.findChildren(QAbstractButton) if name in (b.text(), b.accessibleName()) and b.isVisible()]
    return found[0]


def test_a_working_connection_shows_the_credits(opened, qtbot):
    opened.test_button.click()
    qtbot.waitUntil(lambda: opened.credits.text() == "412")
    assert "address, account and key are right" in opened.connection.text()


def test_a_wrong_key_is_said_and_mended_here(opened, network, outside, profile, qtbot):
    network.api_key = "new-key"
    opened.test_button.click()
    qtbot.waitUntil(lambda: "does not accept" in opened.connection.text())
    opened.key.setText("new-key")
    opened.save_button.click()
    qtbot.waitUntil(lambda: "are right" in opened.connection.text())
    assert outside.keyring.get(profile.api_key_name) == "new-key"
    assert opened.key.text() == ""


def test_an_empty_key_is_not_saved(opened, outside, profile):
    opened.save_button.click()
    assert opened.key_field.below_text() == "Enter the key first."
    assert outside.keyring.get(profile.api_key_name) == "right-key"


def test_switching_and_adding_are_asked_of_the_desk(opened, asked):
    button(opened, "Switch to This computer").click()
    opened.add_button.click()
    assert asked == [("profile", "p2"), ("profile", None)]


def test_removing_a_profile_asks_once_and_deletes_its_key(opened, outside, qtbot):
    button(opened, "Remove This computer").click()
    assert "its recordings stay" in opened.banner.words()
    with qtbot.waitSignal(opened.view_model.profiles_changed):
        opened.banner.button.click()
    assert [entry.profile_id for entry in ProfileStore(outside.config_dir).all()] == ["p1"]
    assert outside.keyring.get("profile/p2/api-key") is None


def test_the_chosen_colours_last(opened, outside, workspace, qtbot):
    opened.segment.option("dark").click()
    assert theme.active().dark
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert PreferenceStore(outside.config_dir).load() == Preferences(scheme=Scheme.DARK)


def test_a_damaged_file_of_choices_gives_the_defaults(tmp_path):
    (tmp_path / "preferences.json").write_text("{")
    assert PreferenceStore(tmp_path).load() == Preferences()


def test_the_rules_are_kept_at_once(opened, workspace, qtbot):
    opened.rules.sending.option(SendRule.BY_HAND.value).click()
    qtbot.waitUntil(lambda: workspace.library.settings().send_rule is SendRule.BY_HAND)
    opened.rules.keeping.option(RetentionRule.AFTER_RESULT.value).click()
    qtbot.waitUntil(opened.rules.days.isVisible)
    opened.rules.days.setText("7")
    opened.rules.days.editingFinished.emit()
    wanted = Retention(RetentionRule.AFTER_RESULT, 7)
    qtbot.waitUntil(lambda: workspace.library.settings().retention == wanted)


def test_the_page_says_what_the_system_knows_of_the_network(opened, system_network, workspace):
    assert opened.rules._network.text() == "The present network is not metered."
    system_network.now = NetworkState(reachable=True)
    workspace.network_changed.emit()
    assert "does not tell whether a network is metered" in opened.rules._network.text()


def test_the_audit_log_is_checked_and_a_change_in_it_is_said(opened, workspace, qtbot):
    workspace.library.change_settings(paused=True)
    opened.rules.check.click()
    qtbot.waitUntil(lambda: "The audit log is whole" in opened.rules.answer.text())
    with workspace.library.store.changing() as database:
        for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {row['name']}")
        database.execute("UPDATE audit SET what = 'listened' WHERE seq = 1")
    opened.rules.check.click()
    qtbot.waitUntil(lambda: "The audit log was changed" in opened.rules.answer.text())


def test_diagnostics_are_written_where_they_are_wanted(opened, tmp_path, qtbot):
    file = tmp_path / "diagnostics.zip"
    with qtbot.waitSignal(opened.view_model.rules.written, timeout=10000):
        opened.view_model.rules.write_diagnostics(file)
    assert str(file) in opened.rules.answer.text()
    assert b"right-key" not in file.read_bytes()


@pytest.mark.parametrize(
    "sentence", ["The keyring is locked.", "This computer has no keyring.", "The keyring was not unlocked."]
)
def test_a_keyring_that_gives_no_key_is_said_with_the_button_that_asks_again(opened, workspace, qtbot, sentence):
    workspace._told.emit(CourierStatus(None, sentence, Fix.UNLOCK_KEYRING, None))
    qtbot.waitUntil(lambda: opened.banner.words() == sentence)
    assert opened.banner.button.text() == "Try again"
    opened.banner.button.click()
    assert workspace._courier._reconnect.is_set()
    workspace._told.emit(CourierStatus(None, sentence, Fix.UNLOCK_KEYRING, None, Reach.OFFLINE))
    qtbot.waitUntil(opened.banner.isVisible)
    workspace._told.emit(CourierStatus(True, "Connected.", None, 3, Reach.CONNECTED))
    qtbot.waitUntil(lambda: not opened.banner.isVisible())

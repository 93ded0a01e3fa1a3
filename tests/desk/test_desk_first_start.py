"""The first start: two choices, and no key in a file."""

from dataclasses import replace

import pytest

from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.view_model import FirstStartViewModel
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.flow import ProgramFlow
from vbdesk.outbox.profiles.profiles import ProfileStore
from vbdesk.outbox.profiles.vault import VaultLocked, VaultMissing


class NoKeyring:
    """A computer without a keyring."""

    error = VaultMissing("This computer has no keyring. Start one, or keep the keys for this session only.")

    def get(self, name):
        raise self.error

    def get_without_prompt(self, name):
        raise self.error

    def set(self, name, secret):
        raise self.error

    def delete(self, name):
        raise self.error


class LockedKeyring(NoKeyring):
    """A keyring that nobody unlocks."""

    error = VaultLocked("The keyring is locked. Nothing was changed; unlock it and try again.")


@pytest.fixture
def open_page(qtbot, tasks):
    def make(ports):
        page = FirstStartPage(FirstStartViewModel(ProgramFlow(ProgramContext(ports), tasks, tasks)), ports.data_dir)
        qtbot.addWidget(page)
        page.show()
        return page

    return make


def type_service(page, key="right-key", address="https://voice.example"):
    page.address.setText(address)
    page.account.setText("acc-1")
    page.key.setText(key)


def test_this_computer_needs_nothing_typed(qtbot, open_page, ports):
    page = open_page(ports)
    with qtbot.waitSignal(page._model.opened) as opened:
        page.this_computer.click()
    profile = opened.args[0]
    assert (profile.kind, profile.account_id) == ("local", "acc-local")
    assert ports.keyring.get(profile.api_key_name) == "right-key"
    assert ProfileStore(ports.config_dir).current() == profile


def test_no_secret_stands_in_a_file(qtbot, open_page, ports, network):
    network.api_key = "very-secret-key"
    page = open_page(ports)
    with qtbot.waitSignal(page._model.opened):
        page.this_computer.click()
    files = [path for path in ports.config_dir.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"very-secret-key" in path.read_bytes()]


def test_a_service_that_answers_is_said_so(qtbot, open_page, ports):
    page = open_page(ports)
    type_service(page)
    page.test.click()
    qtbot.waitUntil(lambda: page.answer.text().startswith("Connected. The service answered in"))


def test_a_wrong_key_is_said_so_and_nothing_is_saved(qtbot, open_page, ports):
    page = open_page(ports)
    type_service(page, key="wrong-key")
    page.test.click()
    qtbot.waitUntil(lambda: bool(page.answer.text()))
    assert not page.answer.text().startswith("Connected")
    assert ProfileStore(ports.config_dir).all() == []


def test_continue_finds_a_wrong_key(qtbot, open_page, ports):
    page = open_page(ports)
    type_service(page, key="wrong-key")
    page.go_on.click()
    qtbot.waitUntil(page.banner.isVisible)
    assert "API key" in page.banner.text()
    assert ProfileStore(ports.config_dir).all() == []
    page.key.setText("right-key")
    with qtbot.waitSignal(page._model.opened) as opened:
        page.go_on.click()
    assert ports.keyring.get(opened.args[0].api_key_name) == "right-key"


def test_continue_goes_on_without_a_network(qtbot, open_page, ports, network):
    network.up = False
    page = open_page(ports)
    type_service(page)
    with qtbot.waitSignal(page._model.opened) as opened:
        page.go_on.click()
    assert ports.keyring.get(opened.args[0].api_key_name) == "right-key"


def test_continue_waits_for_all_three_fields(open_page, ports):
    page = open_page(ports)
    assert not page.go_on.isEnabled()
    type_service(page)
    assert page.go_on.isEnabled()
    page.address.setText("voice.example")
    assert not page.go_on.isEnabled()
    assert page.address_field.below_text().startswith("Begin with https://")


def test_without_a_keyring_the_session_is_offered(qtbot, open_page, ports):
    page = open_page(replace(ports, keyring=NoKeyring()))
    type_service(page)
    page.go_on.click()
    qtbot.waitUntil(page.banner.isVisible)
    assert "no keyring" in page.banner.text()
    assert "could not be opened any more" in page.banner.text()
    with qtbot.waitSignal(page._model.opened) as opened:
        page.banner.button.click()
    assert opened.args[0].secrets == "session"
    assert ports.session_vault.get(opened.args[0].api_key_name) == "right-key"


def test_without_a_keyring_this_computer_wants_a_passphrase(qtbot, open_page, ports):
    ports = replace(ports, keyring=NoKeyring())
    page = open_page(ports)
    page.address.setFocus()
    qtbot.waitUntil(page.passphrase.isVisible)  # before anything was chosen
    assert not page._promises.isVisible()
    assert page.focusWidget() is page.address
    page.this_computer.click()
    assert page.passphrase_field.below_text() == "Use at least 12 characters."
    assert "Choose a passphrase" in page.why_passphrase.text()
    assert ProfileStore(ports.config_dir).all() == []
    for first, second, fault in (
        ("short", "short", "Use at least 12 characters."),
        ("four calm otters", "four calm others", "The two entries differ. Enter the same passphrase twice."),
    ):
        page.passphrase.setText(first)
        page.repeated.setText(second)
        page.this_computer.click()
        assert page.passphrase_field.below_text() == fault
    page.repeated.setText("four calm otters")
    with qtbot.waitSignal(page._model.opened) as opened:
        page.this_computer.click()
    assert opened.args[0].secrets == "passphrase"
    assert ports.vault("passphrase").get(opened.args[0].api_key_name) == "right-key"
    files = [path for folder in (ports.data_dir, ports.config_dir) for path in folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if b"right-key" in path.read_bytes() or b"otters" in path.read_bytes()]


def test_a_locked_keyring_is_not_walked_around(qtbot, open_page, ports):
    page = open_page(replace(ports, keyring=LockedKeyring()))
    qtbot.wait(20)
    assert page._promises.isVisible()
    page.this_computer.click()
    qtbot.waitUntil(page.banner.isVisible)
    assert "locked" in page.banner.text()
    assert not page.banner.button.isVisible()

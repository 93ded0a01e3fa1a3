"""The key of this computer in the window: recovery offer, unlocking, loss and recovery."""

import json
from dataclasses import replace

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from vbdesk.client.local_service import LocalEncryption
from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.locking.service_keys import ServiceKeys
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.shell import window_status
from vbdesk.desk.shell.local_service import LocalServiceProcess
from vbdesk.desk.unlock.pages import RecoveryOfferPage, UnlockPage
from vbdesk.outbox.profiles.encrypted_vault import UnlockableVault
from vbdesk.outbox.profiles.profiles import Profile, ProfileStore
from vbdesk.outbox.profiles.recovery_key import key_of_recovery, recovery_key_of
from vbdesk.outbox.profiles.service_key import KEY_FILE, ServiceKeyStore
from vbdesk.outbox.profiles.vault import MemoryVault, VaultMissing

PASSPHRASE = "four calm otters swim"


class NoKeyring(MemoryVault):
    """A computer without a keyring."""

    def get(self, name):
        raise VaultMissing("This computer has no keyring. Start one, or keep the keys for this session only.")

    def set(self, name, secret):
        self.get(name)

    def delete(self, name):
        self.get(name)


def shows(qtbot, desk, kind):
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), kind))
    return desk.window.page()


def closed(qtbot, desk):
    with qtbot.waitSignal(desk.ended):
        desk.window.close()


def started_again(ports, **changes):
    """The same computer after the desk was closed: what was unlocked is locked."""
    return replace(ports, passphrase_vault=UnlockableVault(), session_vault=MemoryVault(), **changes)


@pytest.fixture
def keys_given(ports, local_service):
    """The keys that the service on this computer was started with."""
    keys = []

    def make(folder, key):
        assert folder == ports.service_dir
        keys.append(key)
        return local_service

    return keys, replace(ports, local_service=make)


def test_the_recovery_key_is_offered_once_and_is_the_key_of_the_service(qtbot, open_desk, keys_given):
    keys, ports = keys_given
    desk = open_desk(ports)
    shows(qtbot, desk, FirstStartPage).this_computer.click()
    offer = shows(qtbot, desk, RecoveryOfferPage)
    assert not desk.window.sidebar.isVisible()
    assert len(offer._model.groups) == 8
    qtbot.waitUntil(lambda: keys == [key_of_recovery(offer._model.recovery_key)])
    offer.done.click()
    shows(qtbot, desk, RecordPage)
    closed(qtbot, desk)
    desk = open_desk(started_again(ports))
    shows(qtbot, desk, RecordPage)
    qtbot.waitUntil(lambda: len(keys) == 2)
    assert keys[0] == keys[1]


def test_the_offer_comes_again_until_a_person_has_answered_it(qtbot, open_desk, ports):
    desk = open_desk(ports)
    shows(qtbot, desk, FirstStartPage).this_computer.click()
    first = shows(qtbot, desk, RecoveryOfferPage)._model.recovery_key
    closed(qtbot, desk)
    desk = open_desk(started_again(ports))
    offer = shows(qtbot, desk, RecoveryOfferPage)
    assert offer._model.recovery_key == first
    offer.without.click()
    shows(qtbot, desk, RecordPage)
    closed(qtbot, desk)
    desk = open_desk(started_again(ports))
    shows(qtbot, desk, RecordPage)


def test_a_profile_of_an_earlier_release_gets_a_key_and_is_offered_the_recovery_key(qtbot, open_desk, keys_given):
    keys, ports = keys_given
    profile = Profile("p-0", "This computer", "local", None, "acc-local")
    ports.keyring.set(profile.api_key_name, "right-key")
    ProfileStore(ports.config_dir).save(profile)
    desk = open_desk(ports)
    shows(qtbot, desk, RecoveryOfferPage).done.click()
    shows(qtbot, desk, RecordPage)
    qtbot.waitUntil(lambda: len(keys) == 1)


def test_the_recovery_key_is_copied_and_the_clipboard_is_emptied(qtbot, open_desk, ports):
    desk = open_desk(ports)
    shows(qtbot, desk, FirstStartPage).this_computer.click()
    offer = shows(qtbot, desk, RecoveryOfferPage)
    offer.copy.click()
    assert QGuiApplication.clipboard().text() == offer._model.recovery_key
    offer.done.click()
    shows(qtbot, desk, RecordPage)
    assert QGuiApplication.clipboard().text() == ""


def test_the_recovery_key_is_saved_where_a_person_wants_it_but_not_beside_the_data(
    qtbot, open_desk, ports, tmp_path, monkeypatch
):
    desk = open_desk(ports)
    shows(qtbot, desk, FirstStartPage).this_computer.click()
    offer = shows(qtbot, desk, RecoveryOfferPage)
    for place, begins in (
        (ports.data_dir / "key.txt", "The recovery key was not saved"),
        (tmp_path / "k.txt", "Saved"),
    ):
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, place=place: (str(place), ""))
        offer.save.click()
        qtbot.waitUntil(lambda begins=begins: offer.banner.text().startswith(begins))
    assert not (ports.data_dir / "key.txt").exists()
    text = (tmp_path / "k.txt").read_text()
    assert all(group in text for group in offer._model.groups)
    assert (tmp_path / "k.txt").stat().st_mode & 0o077 == 0


def test_a_lost_keyring_entry_is_said_and_the_recovery_key_brings_everything_back(qtbot, open_desk, keys_given):
    keys, ports = keys_given
    desk = open_desk(ports)
    shows(qtbot, desk, FirstStartPage).this_computer.click()
    offer = shows(qtbot, desk, RecoveryOfferPage)
    recovery_key = offer._model.recovery_key
    offer.done.click()
    shows(qtbot, desk, RecordPage)
    closed(qtbot, desk)
    before = (ports.service_dir / KEY_FILE).read_bytes()
    ports = started_again(ports, keyring=MemoryVault())

    desk = open_desk(ports)
    page = shows(qtbot, desk, UnlockPage)
    assert "Nothing was deleted. Enter the recovery key, or restore the keyring." in page.sentence.text()
    assert not page.passphrase.isVisible()
    assert not page.new.isVisible()
    assert (ports.service_dir / KEY_FILE).read_bytes() == before
    page.recovery.setText(recovery_key[:-1] + ("2" if recovery_key[-1] != "2" else "3"))
    page.go.click()
    qtbot.waitUntil(lambda: "A character of the recovery key is wrong" in page.banner.text())
    page.recovery.setText(recovery_key_of(bytes(32)))
    page.go.click()
    qtbot.waitUntil(lambda: "another computer" in page.banner.text())
    assert desk.workspace is None
    page.recovery.setText(recovery_key.lower().replace("-", " "))
    page.go.click()
    shows(qtbot, desk, RecordPage)
    qtbot.waitUntil(lambda: len(keys) == 2)
    assert keys[0] == keys[1] == key_of_recovery(recovery_key)
    qtbot.waitUntil(lambda: "Connected" in desk.window.status.text())  # the API key is back, too


def test_without_a_keyring_the_passphrase_is_asked_for_at_every_start(qtbot, open_desk, keys_given):
    keys, ports = keys_given
    ports = replace(ports, keyring=NoKeyring())
    desk = open_desk(ports)
    page = shows(qtbot, desk, FirstStartPage)
    page.this_computer.click()
    qtbot.waitUntil(page.passphrase.isVisible)
    qtbot.waitUntil(page.this_computer.isEnabled)
    page.passphrase.setText(PASSPHRASE)
    page.repeated.setText(PASSPHRASE)
    page.this_computer.click()
    offer = shows(qtbot, desk, RecoveryOfferPage)
    assert "if you forget the passphrase" in offer.sentence.text()
    offer.done.click()
    shows(qtbot, desk, RecordPage)
    take_folder = desk.workspace.library.recording_folder
    closed(qtbot, desk)

    desk = open_desk(started_again(ports))
    page = shows(qtbot, desk, UnlockPage)
    page.passphrase.setText("not the passphrase")
    page.go.click()
    qtbot.waitUntil(lambda: page.banner.text().startswith("The passphrase is not right. Nothing is lost."))
    assert desk.workspace is None
    page.passphrase.setText(PASSPHRASE)
    page.go.click()
    shows(qtbot, desk, RecordPage)
    assert desk.workspace.library.recording_folder == take_folder
    qtbot.waitUntil(lambda: len(keys) == 2)
    assert keys[0] == keys[1]
    qtbot.waitUntil(lambda: "Connected" in desk.window.status.text())


def test_a_forgotten_passphrase_is_replaced_with_the_recovery_key(qtbot, open_desk, ports):
    ports = replace(ports, keyring=NoKeyring())
    Setup(ports).make_local(PASSPHRASE)
    keys = ServiceKeys(ports)
    recovery_key = keys.due_recovery_key()
    keys.recovery_was_offered()
    ports = started_again(ports)
    desk = open_desk(ports)
    page = shows(qtbot, desk, UnlockPage)
    page.use_recovery.click()
    page.recovery.setText(recovery_key)
    page.new.setText("another passphrase")
    page.repeated.setText("another passphrose")
    page.go.click()
    assert page.new_field.below_text().startswith("The two entries differ")
    page.repeated.setText("another passphrase")
    page.go.click()
    shows(qtbot, desk, RecordPage)
    assert ServiceKeyStore(ports.service_dir).unlock("another passphrase").recovery_key == recovery_key


def test_a_keyring_that_is_gone_gives_way_to_the_recovery_key_and_a_passphrase(qtbot, open_desk, ports):
    Setup(ports).make_local()
    keys = ServiceKeys(ports)
    recovery_key = keys.due_recovery_key()
    desk = open_desk(ports)
    shows(qtbot, desk, RecoveryOfferPage).done.click()
    shows(qtbot, desk, RecordPage)
    closed(qtbot, desk)
    ports = started_again(ports, keyring=NoKeyring())
    desk = open_desk(ports)
    page = shows(qtbot, desk, UnlockPage)
    assert "This computer has no keyring any more" in page.sentence.text()
    page.recovery.setText(recovery_key)
    page.go.click()
    qtbot.waitUntil(page.new.isVisible)
    page.new.setText(PASSPHRASE)
    page.repeated.setText(PASSPHRASE)
    page.go.click()
    shows(qtbot, desk, RecordPage)
    closed(qtbot, desk)
    desk = open_desk(started_again(ports))
    assert shows(qtbot, desk, UnlockPage).passphrase.isVisible()


def test_a_locked_computer_keeps_nobody_from_another_service(qtbot, open_desk, ports):
    ports = replace(ports, keyring=MemoryVault())
    setup = Setup(ports)
    setup.make_service(ServiceAddress("https://one.example", "acc-1", "right-key"), "keyring")
    setup.make_local(PASSPHRASE)
    desk = open_desk(started_again(ports))
    page = shows(qtbot, desk, UnlockPage)
    button = page.foot.itemAt(0).widget()
    assert button.text() == "Open one.example instead"
    button.click()
    shows(qtbot, desk, RecordPage)
    assert desk.workspace.profile.name == "one.example"


def test_no_page_and_no_sentence_shows_a_key_in_a_file_or_log(qtbot, open_desk, ports, caplog):
    desk = open_desk(ports)
    shows(qtbot, desk, FirstStartPage).this_computer.click()
    offer = shows(qtbot, desk, RecoveryOfferPage)
    recovery_key, key = offer._model.recovery_key, key_of_recovery(offer._model.recovery_key)
    offer.done.click()
    shows(qtbot, desk, RecordPage)
    closed(qtbot, desk)
    told = [text.encode() for text in (key.hex(), recovery_key, recovery_key.replace("-", ""), recovery_key[:15])]
    files = [path for folder in (ports.data_dir, ports.config_dir) for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if any(text in path.read_bytes() for text in [key, *told])]
    assert not [text for text in told if text.decode() in caplog.text]
    assert json.loads((ports.service_dir / KEY_FILE).read_text())["passphrase"] is None


def test_the_status_bar_says_encrypted_only_when_the_service_says_complete(
    qtbot, open_desk, ports, local_service, monkeypatch
):
    monkeypatch.setattr("vbdesk.desk.shell.local_service._EncryptionRead.refresh_every_s", 0.02)
    local_service.state = LocalEncryption.UNKNOWN
    Setup(ports).make_local()
    ServiceKeys(ports).recovery_was_offered()
    desk = open_desk(ports)
    shows(qtbot, desk, RecordPage)
    status = desk.window.status
    qtbot.waitUntil(lambda: "The service has not said yet how it keeps recordings." in status.text())
    assert "encrypted" not in status.text()
    local_service.state = LocalEncryption.UNDER_WAY
    qtbot.waitUntil(lambda: "Encryption of the existing recordings is under way." in status.text())
    assert "encrypted" not in status.text()
    local_service.state = LocalEncryption.COMPLETE
    qtbot.waitUntil(lambda: "Recordings encrypted on this computer" in status.text())
    local_service.state = LocalEncryption.UNKNOWN
    local_service.exit_status = 1
    qtbot.waitUntil(lambda: "encrypted" not in status.text())


def test_a_service_that_does_not_encrypt_is_plainly_said_so():
    local = Profile("p", "This computer", "local", None, "acc")
    elsewhere = replace(local, kind="service", base_url="https://voice.example")
    words = {state: window_status.encrypted_text(local, state)[0] for state in LocalEncryption}
    icons = {state: window_status.encrypted_text(local, state)[1] for state in LocalEncryption}
    assert words[LocalEncryption.OFF] == "The service on this computer keeps recordings without encryption."
    assert [state for state in LocalEncryption if "encrypted" in words[state].lower()] == [LocalEncryption.COMPLETE]
    assert [state for state in LocalEncryption if icons[state] == "lock"] == [LocalEncryption.COMPLETE]
    assert window_status.encrypted_text(elsewhere, None) == ("Recordings encrypted on this computer", "lock")


def test_a_service_whose_data_is_all_encrypted_is_asked_no_more(qtbot, program, local_service, monkeypatch):
    monkeypatch.setattr("vbdesk.desk.shell.local_service._EncryptionRead.refresh_every_s", 0.01)
    asked = []
    states = [LocalEncryption.UNDER_WAY, LocalEncryption.UNDER_WAY, LocalEncryption.COMPLETE]

    def encryption():
        asked.append(states[min(len(asked), 2)])
        return asked[-1]

    monkeypatch.setattr(local_service, "encryption", encryption)
    keeper = LocalServiceProcess(local_service, program)
    told = []
    keeper.encryption_changed.connect(told.append)
    keeper.start()
    qtbot.waitUntil(lambda: told == [LocalEncryption.UNDER_WAY, LocalEncryption.COMPLETE])
    assert not any(entry._refresh_timer.isActive() for entry in program.reads._entries.values())
    assert asked == states
    keeper.ask_to_stop()
    qtbot.waitUntil(lambda: not keeper.alive())

"""The app lock in the window: nothing about a person is left, work goes on, and only the passphrase opens it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QAccessible, QMouseEvent
from PySide6.QtWidgets import QApplication, QDialog, QMenu, QToolTip, QWidget

from vbdesk.boot_clock import BootTime
from vbdesk.clock import SystemClock
from vbdesk.desk.account.app_lock_card import AppLockCard
from vbdesk.desk.account.page import AccountPage
from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.locking.service_keys import ServiceKeys
from vbdesk.desk.locking.unlocking import WrongTries
from vbdesk.desk.preferences import PreferenceStore
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.record.view_model import RecordPhase
from vbdesk.desk.unlock.pages import LockPage, RecoveryOfferPage, UnlockPage
from vbdesk.outbox.profiles import passphrase_wrap
from vbdesk.outbox.profiles.encrypted_vault import UnlockableVault
from vbdesk.outbox.profiles.recovery_key import recovery_key_of
from vbdesk.outbox.profiles.vault import MemoryVault

PASSPHRASE = "four calm otters swim"
PERSON = "P-0042-Ada"


class ClockTwin(SystemClock):
    """A clock that can be moved on."""

    ahead = 0.0

    def boot(self):
        now = super().boot()
        return BootTime(now.boot_id, now.seconds + self.ahead)

    def monotonic(self):
        return super().monotonic() + self.ahead


@pytest.fixture(autouse=True)
def quick_argon2(monkeypatch):
    monkeypatch.setattr(passphrase_wrap, "PASSES", 1)
    monkeypatch.setattr(passphrase_wrap, "MEMORY_KIB", 64)


@pytest.fixture
def clock():
    return ClockTwin()


@pytest.fixture
def computer(ports, clock):
    """A computer with a keyring and a profile of a service elsewhere."""
    ports = replace(ports, keyring=MemoryVault(), clock=clock)
    Setup(ports).make_service(ServiceAddress("https://one.example", "acc-1", "right-key"), "keyring")
    return ports


@pytest.fixture
def locked_computer(computer):
    """The same with the app lock on, before a start of the desk."""
    ServiceKeys(computer).turn_lock_on(PASSPHRASE)
    ServiceKeys(computer).recovery_was_offered()
    PreferenceStore(computer.config_dir).change(lock_after=5)
    return replace(computer, passphrase_vault=UnlockableVault(), session_vault=MemoryVault())


def shows(qtbot, desk, kind):
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), kind))
    return desk.window.page()


def press_ctrl_l(qtbot, desk):
    desk.window.activateWindow()
    qtbot.waitUntil(desk.window.isActiveWindow)
    qtbot.keyClick(desk.window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)


def cover(desk):
    return desk.window.centralWidget()


@pytest.fixture
def unlocked_desk(qtbot, open_desk, locked_computer):
    """The desk, opened with the passphrase."""
    desk = open_desk(locked_computer)
    page = shows(qtbot, desk, UnlockPage)
    page.passphrase.setText(PASSPHRASE)
    page.go.click()
    shows(qtbot, desk, RecordPage)
    qtbot.waitUntil(lambda: desk.lock.choice.passphrase_opens)
    return desk


def release(qtbot, desk):
    page = cover(desk)
    page.passphrase.setText(PASSPHRASE)
    with qtbot.waitSignal(desk.lock.released):
        page.go.click()


def texts_of(interface):
    """Every name, value and description in an accessible tree of what is on the screen."""
    found = [interface.text(kind) for kind in (QAccessible.Text.Name, QAccessible.Text.Value)]
    found += [interface.text(kind) for kind in (QAccessible.Text.Description, QAccessible.Text.Help)]
    for place in range(interface.childCount()):
        child = interface.child(place)
        window_unseen = child is not None and child.window() is not None and not child.window().isVisible()
        if child is not None and not window_unseen:
            found += texts_of(child)
    return found


def told():
    """All that a screen reader can find in any window, and the titles of windows."""
    tree = texts_of(QAccessible.queryAccessibleInterface(QApplication.instance()))
    titles = [window.title() for window in QApplication.allWindows() if window.isVisible()]
    return "\n".join([*tree, *titles])


@pytest.mark.qt_log_ignore("does not support")
def test_a_locked_window_says_nothing_about_a_person_anywhere(qtbot, unlocked_desk):
    desk = unlocked_desk
    record = desk.window.page()
    record.ready.setup.subject.setText(PERSON)
    dialog, menu, other = QDialog(desk.window), QMenu(desk.window), QWidget()
    for part in (dialog, other):
        part.setWindowTitle(PERSON)
        part.show()
    menu.addAction(PERSON)
    menu.popup(desk.window.mapToGlobal(desk.window.rect().center()))
    QToolTip.showText(desk.window.mapToGlobal(desk.window.rect().center()), PERSON, desk.window)
    assert PERSON in told()
    assert desk.lock.lock()
    qtbot.waitUntil(lambda: not QToolTip.isVisible())
    assert PERSON not in told()
    assert not dialog.isVisible()
    assert not menu.isVisible()
    assert not other.isVisible()
    assert not record.isVisible()
    assert isinstance(cover(desk), LockPage)
    assert [widget for widget in desk.window.findChildren(QWidget) if widget is record] == []
    assert cover(desk).passphrase.hasFocus() or desk.window.focusWidget() is cover(desk).passphrase
    release(qtbot, desk)
    assert record.isVisible()
    assert record.ready.setup.subject.text() == PERSON
    assert other.isVisible()
    other.close()


def test_a_result_that_comes_while_the_window_is_locked_is_named_only_afterwards(qtbot, unlocked_desk):
    desk = unlocked_desk
    desk.lock.lock()
    desk.window.results.show_arrived((SimpleNamespace(group_id=PERSON, take_id="t-1", job_id=None, recorded_at=None),))
    QApplication.processEvents()
    assert PERSON not in told()
    release(qtbot, desk)
    assert PERSON in desk.window.results.banner.text()


def test_no_key_and_no_action_reaches_the_pages_behind_the_lock(qtbot, unlocked_desk):
    desk = unlocked_desk
    record = desk.window.page()
    record.ready.setup.subject.setText(PERSON)
    desk.lock.lock()
    for key in (Qt.Key.Key_Space, Qt.Key.Key_F9, Qt.Key.Key_Return, Qt.Key.Key_Escape, Qt.Key.Key_Tab):
        qtbot.keyClick(desk.window, key)
    qtbot.keyClick(desk.window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert record.model.phase is RecordPhase.READY
    assert isinstance(cover(desk), LockPage)
    focusable = [
        widget for widget in desk.window.findChildren(QWidget) if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    assert focusable
    assert all(cover(desk).isAncestorOf(widget) or widget is cover(desk) for widget in focusable)


def test_ctrl_l_locks_and_only_the_right_passphrase_opens(qtbot, unlocked_desk):
    desk = unlocked_desk
    press_ctrl_l(qtbot, desk)
    qtbot.waitUntil(lambda: desk.lock.is_locked)
    page = cover(desk)
    page.passphrase.setText("not the passphrase")
    page.go.click()
    qtbot.waitUntil(lambda: "not right" in page.banner.text())
    assert desk.lock.is_locked
    release(qtbot, desk)
    assert isinstance(desk.window.page(), RecordPage)
    assert desk.window.page().isVisible()


def test_without_a_passphrase_ctrl_l_leads_to_where_one_is_chosen(qtbot, open_desk, computer):
    desk = open_desk(computer)
    shows(qtbot, desk, RecordPage)
    press_ctrl_l(qtbot, desk)
    page = shows(qtbot, desk, AccountPage)
    assert "turn the app lock on" in desk.window.notice.text()
    assert not desk.lock.is_locked
    qtbot.waitUntil(lambda: page.built)


def test_a_recording_goes_on_behind_the_lock_and_is_stopped_after_it(qtbot, unlocked_desk, microphone):
    desk = unlocked_desk
    record = desk.window.page()
    record.model.setup.set_subject(PERSON)
    qtbot.waitUntil(lambda: record.model.setup.ready)
    record.model.press()

    def speaks_until_recording():
        microphone.play(0.2)
        return record.model.phase is RecordPhase.RECORDING

    qtbot.waitUntil(speaks_until_recording)
    desk.lock.lock()
    assert cover(desk).recording.isVisible()
    assert PERSON not in told()
    before = record.model._recorder.elapsed_s
    microphone.play(5)
    qtbot.waitUntil(lambda: record.model._recorder.elapsed_s >= before + 4)
    assert record.model.phase is RecordPhase.RECORDING
    release(qtbot, desk)
    record.model.stop()
    qtbot.waitUntil(lambda: record.review.review is not None)
    assert not any(isinstance(item, LockPage) for item in desk.window.findChildren(LockPage))


def test_idle_time_locks_and_input_puts_it_off(qtbot, unlocked_desk, clock):
    desk = unlocked_desk

    def move_pointer():
        event = QMouseEvent(
            QEvent.Type.MouseMove,
            QPointF(5, 5),
            QPointF(5, 5),
            Qt.MouseButton.NoButton,
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(desk.window.windowHandle(), event)

    clock.ahead += 299
    assert not desk.lock.lock_if_idle()
    move_pointer()
    clock.ahead += 299
    assert not desk.lock.lock_if_idle()
    clock.ahead += 3
    move_pointer()  # after a sleep of the computer the first input comes too late
    assert desk.lock.is_locked
    release(qtbot, desk)
    assert not desk.lock.lock_if_idle()


def test_the_lock_is_turned_on_and_off_on_the_account_page(qtbot, open_desk, computer):
    desk = open_desk(computer)
    shows(qtbot, desk, RecordPage)
    desk.window.open_page("account")
    page = shows(qtbot, desk, AccountPage)
    qtbot.waitUntil(lambda: page.built)
    card = page.findChild(AppLockCard)
    qtbot.waitUntil(lambda: card.turn_on.isVisible())
    card.turn_on.click()
    card.passphrase.setText(PASSPHRASE)
    card.repeated.setText("another")
    card.save.click()
    assert "differ" in card.passphrase_field.below_text()
    card.repeated.setText(PASSPHRASE)
    card.save.click()
    qtbot.waitUntil(lambda: isinstance(cover(desk), RecoveryOfferPage))
    offer = cover(desk)
    assert offer._model.recovery_key == recovery_key_of(computer.passphrase_vault.service_key)
    qtbot.waitUntil(lambda: desk.lock.choice.passphrase_opens)
    desk.lock.lock()  # the recovery key is shown again after it
    release(qtbot, desk)
    offer = cover(desk)
    assert isinstance(offer, RecoveryOfferPage)
    offer.done.click()
    qtbot.waitUntil(lambda: cover(desk).isAncestorOf(page))
    qtbot.waitUntil(lambda: card.turn_off.isVisible())
    assert desk.lock.choice.lock_after == 10
    assert not [name for name in computer.keyring._secrets if "library" in name or "api" in name]
    with ThreadPoolExecutor() as pool:  # the API key is found where it is now
        pool.submit(desk.workspace.client).result().close()
    card.turn_off.click()
    card.passphrase.setText("not the passphrase")
    card.save.click()
    qtbot.waitUntil(lambda: "not right" in card.banner.text())
    card.passphrase.setText(PASSPHRASE)
    card.save.click()
    qtbot.waitUntil(lambda: card.turn_on.isVisible())
    assert computer.keyring.get(desk.workspace.profile.library_key_name)


@pytest.fixture
def killed_computer(computer):
    """The app lock was turned on, and the program was killed while it showed a recovery key that was seen before."""
    keys = ServiceKeys(computer)
    keys.open()
    keys.recovery_was_offered()
    keys.turn_lock_on(PASSPHRASE)
    return replace(computer, passphrase_vault=UnlockableVault(), session_vault=MemoryVault())


def test_a_recovery_key_that_nobody_confirmed_is_shown_at_the_next_start(qtbot, open_desk, killed_computer):
    desk = open_desk(killed_computer)
    assert desk.window._status.text().startswith("Opening the profile")
    page = shows(qtbot, desk, UnlockPage)
    assert desk.window._status.text().startswith("Locked")
    page.passphrase.setText(PASSPHRASE)
    page.go.click()
    offer = shows(qtbot, desk, RecoveryOfferPage)
    assert offer._model.recovery_key == recovery_key_of(killed_computer.passphrase_vault.service_key)
    offer.done.click()
    shows(qtbot, desk, RecordPage)
    assert ServiceKeys(killed_computer).due_recovery_key() is None


def test_without_a_profile_the_window_says_so(qtbot, open_desk, ports):
    desk = open_desk(ports)
    shows(qtbot, desk, FirstStartPage)
    assert desk.window._status.text().startswith("No profile yet")


def test_wrong_passphrases_slow_down_and_never_lock_out(clock):
    tries = WrongTries(clock)
    pauses = []
    for _ in range(12):
        tries.add()
        pauses.append(round(tries.pause_s()))
        clock.ahead += 61
        assert tries.pause_s() == 0
    assert pauses == [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    tries.clear()
    tries.add()
    assert tries.pause_s() == 0


def test_the_page_waits_after_several_wrong_passphrases(qtbot, unlocked_desk, clock):
    desk = unlocked_desk
    desk.lock.lock()
    page = cover(desk)
    for _ in range(3):
        page.banner.clear()
        page.passphrase.setText("not the passphrase")
        page.go.click()
        qtbot.waitUntil(lambda: "not right" in page.banner.text())
    assert "The next try is possible in 1 s." in page.banner.text()
    assert not page.card.isEnabled()
    qtbot.waitUntil(page.card.isEnabled)
    clock.ahead += 1
    release(qtbot, desk)


def test_closing_while_locked_keeps_everything_and_asks_again(qtbot, unlocked_desk, open_desk, locked_computer):
    desk = unlocked_desk
    desk.lock.lock()
    with qtbot.waitSignal(desk.ended):
        desk.window.close()
    again = replace(locked_computer, passphrase_vault=UnlockableVault(), session_vault=MemoryVault())
    page = shows(qtbot, open_desk(again), UnlockPage)
    assert page.passphrase.isVisible()

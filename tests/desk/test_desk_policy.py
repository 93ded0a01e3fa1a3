"""What an organisation has set, and notices of new versions, in the desk."""

from dataclasses import replace
from datetime import date
from types import SimpleNamespace

import pytest
from PySide6.QtWidgets import QAbstractButton

from vbdesk import __version__
from vbdesk.client.update_notice import NoticeRefused, NoticeSource, VersionNotice
from vbdesk.clock import ManualClock
from vbdesk.desk.account.desk_card import DeskCard
from vbdesk.desk.account.page import AccountPage
from vbdesk.desk.account.profiles import RenameProfile
from vbdesk.desk.account.update_notice import ASK_EVERY_S, UpdateNoticeRead
from vbdesk.desk.first_start.page import FirstStartPage
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.first_start.view_model import FirstStartViewModel
from vbdesk.desk.flow.context import DeskContext, ProgramContext
from vbdesk.desk.flow.flow import Flow, ProgramFlow
from vbdesk.desk.flow.sync_state import SyncState
from vbdesk.desk.locking.app_lock import AppLock
from vbdesk.desk.preferences import PreferenceStore
from vbdesk.desk.ui.managed_note import ManagedNote
from vbdesk.desk.ui.text import Text
from vbdesk.outbox.library.consent import ConsentPolicy
from vbdesk.outbox.library.managed_policy import ManagedPolicy, managed_text
from vbdesk.outbox.library.settings import Retention, RetentionRule
from vbdesk.outbox.profiles import passphrase_wrap
from vbdesk.outbox.profiles.profiles import ProfileStore

SERVICE = "https://voice.example"
POLICY = ManagedPolicy(
    service_url=SERVICE,
    profile_name="Ward of the clinic",
    language="en",
    consent_policy=ConsentPolicy.REQUIRED,
    app_lock_minutes=7,
    retention=Retention(RetentionRule.AFTER_RESULT, 30),
    update_notice="off",
)
SOURCE = NoticeSource("https://voice.example/versions.json", bytes(32))


@pytest.fixture
def managed(ports):
    """A computer with a policy: for the window, and for every library that is opened."""
    return replace(ports, policy=POLICY)


def test_the_first_start_is_prefilled(managed, qtbot, tasks):
    page = FirstStartPage(FirstStartViewModel(ProgramFlow(ProgramContext(managed), tasks, tasks)), managed.data_dir)
    qtbot.addWidget(page)
    assert (page.address.text(), page.address.isEnabled()) == (SERVICE, False)
    assert page.address_field.below_text() == managed_text()
    page.account.setText("acc-1")
    page.key.setText("right-key")
    page._model.set_address("https://elsewhere.example", "acc-1", "right-key")  # whatever reaches the model
    with qtbot.waitSignal(page._model.opened) as opened:
        page.go_on.click()
    assert (opened.args[0].base_url, opened.args[0].name) == (SERVICE, "Ward of the clinic")


def shown_words(page):
    return [text.text() for text in page.findChildren(Text) if text.isVisible()]


def test_the_language_that_is_set_stays_so_at_the_first_start(ports, qtbot, open_desk):
    desk = open_desk(replace(ports, policy=ManagedPolicy(language="en")))
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), FirstStartPage))
    page = desk.window.page()
    assert shown_words(page).count(managed_text()) == 1
    assert page.language.accessibleDescription() == managed_text()
    assert not page.language.isEnabled()
    page._model.busy_changed.emit("Making the account …")
    page._model.busy_changed.emit("")  # as after a failure
    assert not page.language.isEnabled()
    assert page.this_computer.isEnabled()


def test_the_language_is_free_at_the_first_start_without_a_policy(ports, qtbot, open_desk):
    desk = open_desk(replace(ports, policy=ManagedPolicy()))
    qtbot.waitUntil(lambda: isinstance(desk.window.page(), FirstStartPage))
    page = desk.window.page()
    assert managed_text() not in shown_words(page)
    page._model.busy_changed.emit("Making the account …")
    assert not page.language.isEnabled()
    page._model.busy_changed.emit("")
    assert page.language.isEnabled()


def test_another_service_keeps_its_own_name(managed):
    profile = Setup(managed).make_service(ServiceAddress("https://lab.example", "a", "k"), "session")
    assert profile.name == "lab.example"


def test_a_profile_with_a_set_name_is_not_renamed(managed, profile, qtbot, tasks):
    store = ProfileStore(managed.config_dir)
    store.save(profile)
    library = SimpleNamespace(erased=0, erasures=None)
    flow = Flow(DeskContext(managed, profile, library, None, None, SyncState(None), None), tasks, tasks)
    run = flow.commands.do(RenameProfile(profile.profile_id, "Mine"))
    with qtbot.waitSignal(run.ended) as ended:
        pass
    assert ended.args[0].sentence == managed_text()
    assert store.all() == [profile]


def test_a_lock_that_is_wanted_is_not_turned_off_and_has_its_minutes(managed, qtbot, tasks):
    preferences = PreferenceStore(managed.config_dir)
    preferences.change(lock_after=60)
    lock = AppLock(ProgramFlow(ProgramContext(managed), tasks, tasks))
    with qtbot.waitSignal(lock.changed) as changed:
        lock.read()
    assert changed.args[0].lock_after == 7
    with qtbot.waitSignal(lock.failed) as failed:
        lock.turn_off("four calm otters swim")
    assert failed.args == [managed_text()]


@pytest.fixture
def quick_argon2(monkeypatch):
    monkeypatch.setattr(passphrase_wrap, "PASSES", 1)
    monkeypatch.setattr(passphrase_wrap, "MEMORY_KIB", 64)


@pytest.mark.usefixtures("quick_argon2")
def test_a_start_without_the_lock_that_is_wanted_says_so_until_it_is_set_up(managed, qtbot, open_desk):
    Setup(managed).make_service(ServiceAddress(SERVICE, "acc-1", "right-key"), "keyring")
    desk = open_desk(managed)
    notice = desk.window.lock_notice
    qtbot.waitUntil(lambda: "asks for the app lock" in notice.banner.text())
    assert notice.banner.isVisible()
    notice.banner.button.click()
    assert notice.banner.text() == ""
    page = desk.window.page()
    assert isinstance(page, AccountPage)
    qtbot.waitUntil(lambda: page.built)
    desk.window.lock_notice.begin()  # as after a change of the profile
    with qtbot.waitSignal(desk.lock.changed):
        desk.lock.read()
    assert notice.banner.isVisible()
    with qtbot.waitSignal(desk.lock.recovery_due):
        desk.lock.turn_on("four calm otters swim", 7)
    qtbot.waitUntil(lambda: desk.lock.choice.passphrase_opens)
    desk.window.centralWidget().done.click()
    qtbot.waitUntil(page.isVisible)
    assert (notice.banner.text(), notice.banner.isVisible()) == ("", False)


def test_a_profile_whose_keys_end_with_the_program_is_not_asked_for_a_lock(managed, qtbot, open_desk):
    Setup(managed).make_service(ServiceAddress(SERVICE, "acc-1", "right-key"), "session")
    desk = open_desk(managed)
    with qtbot.waitSignal(desk.lock.changed):
        pass
    assert desk.lock.is_missing
    assert desk.window.lock_notice.banner.text() == ""


def test_without_a_policy_nobody_is_asked_for_a_lock(ports, qtbot, open_desk):
    Setup(ports).make_service(ServiceAddress(SERVICE, "acc-1", "right-key"), "keyring")
    desk = open_desk(replace(ports, policy=ManagedPolicy()))
    with qtbot.waitSignal(desk.lock.changed):
        pass
    assert desk.window.lock_notice.banner.text() == ""


def test_account_shows_what_is_set_and_nobody_can_change_it(managed, qtbot, open_desk):
    Setup(managed).make_service(ServiceAddress(SERVICE, "acc-1", "right-key"), "keyring")
    desk = open_desk(managed)
    qtbot.waitUntil(lambda: desk.workspace is not None and desk.window.page() is not None)
    desk.workspace.navigator.open("account")
    qtbot.waitUntil(lambda: getattr(desk.window.page(), "built", False))
    page = desk.window.page()
    qtbot.waitUntil(lambda: page.consent.policy.choice() == "required")
    qtbot.waitUntil(lambda: page.rules.keeping.choice() == "after_result")
    rename = f"rename-{desk.workspace.profile.profile_id}"
    qtbot.waitUntil(lambda: page.findChild(QAbstractButton, rename) is not None)
    controls = (page.consent.policy, page.rules.keeping, page.rules.days, page.desk.reading, page.desk.notice)
    for control in (*controls, page.findChild(QAbstractButton, rename)):
        assert not control.isEnabled()
    assert page.rules.days.text() == "30"
    assert page.desk.reading_field.below_text() == page.desk.notice_field.below_text() == managed_text()
    assert len(page.findChildren(ManagedNote)) == 4  # service, consent, retention, name of the profile
    assert page.consent.kind.isEnabled()
    assert page.rules.trash.isEnabled()


class Publisher:
    """Gives notices, and counts how often it was asked."""

    def __init__(self, version="99.0"):
        self.version = version
        self.asked = []

    def ask(self, source, now, newest_seen):
        self.asked.append((source, newest_seen))
        if self.version is None:
            raise NoticeRefused("The address of new versions does not answer as expected.")
        return VersionNotice(self.version, date(2026, 11, 20), "https://voice.example/download")


@pytest.fixture
def publisher():
    return Publisher()


@pytest.fixture
def clock():
    return ManualClock()


class NoticeOfCard:
    """The notice of new versions on the card of Account."""

    def __init__(self, card, store, qtbot):
        self.card, self._store, self._qtbot = card, store, qtbot

    def told(self):
        """Open the card, and give the address and the line once they are known."""
        self.card.open()
        return self._known()

    def choose(self, text):
        """Enter an address; give the address and the line once they are known."""
        self.enter(text)
        self._qtbot.waitUntil(lambda: self._store.load().update_notice == text)
        return self._known()

    def enter(self, text):
        self.card.notice.setText(text)
        self.card.notice.setModified(True)
        self.card.notice.editingFinished.emit()

    def _known(self):
        def is_known():
            content, wanted = self.card.content, UpdateNoticeRead(self._store.load().update_notice)
            snapshot = content.of(UpdateNoticeRead)
            return content.read(UpdateNoticeRead) == wanted and not (snapshot.asking or snapshot.loading)

        self._qtbot.waitUntil(is_known)
        return self.card.notice.text(), self.card.update_text.text()


@pytest.fixture
def notices(ports, publisher, clock, qtbot, tasks):
    """Make a card for this computer."""

    def make(policy=None):
        given = replace(ports, policy=policy or ManagedPolicy(), ask_for_notice=publisher.ask, clock=clock)
        card = DeskCard(ProgramFlow(ProgramContext(given), tasks, tasks))
        qtbot.addWidget(card)
        return NoticeOfCard(card, PreferenceStore(given.config_dir), qtbot)

    return make


def test_nothing_is_asked_until_somebody_gives_an_address(notices, publisher):
    assert notices().told() == ("", "")
    assert publisher.asked == []


def test_a_new_version_is_told_once_it_is_there_and_asked_for_once_a_day(notices, publisher, clock):
    notice = notices()
    notice.told()
    line = "Version 99.0 is available: https://voice.example/download"
    assert notice.choose(str(SOURCE)) == (str(SOURCE), line)
    assert notices().told() == (str(SOURCE), line)
    assert publisher.asked == [(SOURCE, "")]
    clock.advance(ASK_EVERY_S)
    publisher.version = None
    assert notice.told() == (str(SOURCE), line)  # what is known stays
    assert publisher.asked == [(SOURCE, ""), (SOURCE, "99.0")]
    assert notice.choose("") == ("", "")
    clock.advance(ASK_EVERY_S)
    assert notice.told() == ("", "")
    assert len(publisher.asked) == 2


@pytest.mark.parametrize(("version", "line"), [(__version__, ""), (None, "does not answer as expected")])
def test_no_newer_version_says_nothing_and_a_failure_says_so(notices, publisher, version, line):
    publisher.version = version
    notice = notices()
    notice.told()
    told = notice.choose(str(SOURCE))[1]
    assert (line in told) if line else told == ""


def test_an_address_without_a_key_is_not_taken(notices, publisher):
    notice = notices()
    notice.told()
    notice.enter("https://voice.example/versions.json")
    assert notice.card.notice_field.below_text().startswith("Enter the whole address")
    assert notice.told() == ("", "")


def test_the_organisation_decides_on_notices(notices, publisher):
    assert notices(POLICY).told() == ("", "")
    notice = notices(ManagedPolicy(update_notice=SOURCE))
    assert notice.told()[0] == str(SOURCE)
    assert not notice.card.notice.isEnabled()
    assert notice.told()[0] == str(SOURCE)
    assert len(publisher.asked) == 1


def test_a_file_that_somebody_edited_asks_nobody(notices, publisher, ports):
    PreferenceStore(ports.config_dir).change(update_notice="http://voice.example/#x")
    assert notices().told() == ("", "")
    assert publisher.asked == []

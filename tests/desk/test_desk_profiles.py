"""Profiles in the window: switching during an upload, and slow keyrings."""

import threading
from dataclasses import replace
from datetime import timedelta

import httpx
import numpy as np

from patience import HANGS_S
from vbdesk.capture.encrypted_take import EncryptedTakeWriter
from vbdesk.capture.microphone import FileMicrophone
from vbdesk.client import Client, RetryRule
from vbdesk.clock import utc_now
from vbdesk.desk.first_start.profile_creation import ServiceAddress, Setup
from vbdesk.desk.shell.workspace import open_library
from vbdesk.outbox.library.items import RecordingTarget, TakeMetadata
from vbdesk.outbox.library.opening import LockedLibrary
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.profiles.profiles import ProfileStore
from vbdesk.outbox.profiles.vault import MemoryVault, VaultLocked


class HoldingStorage(httpx.BaseTransport):
    """A service that accepts the first part of an upload, and the rest when released."""

    def __init__(self):
        self.under_way, self.go_on = threading.Event(), threading.Event()
        self.puts, self.jobs = 0, 0

    def handle_request(self, request):
        if request.method == "PUT":
            self.puts += 1
            for _ in request.stream:
                self.under_way.set()
                self.go_on.wait(HANGS_S)
            return httpx.Response(200)
        if request.url.path.endswith("/uploads"):
            grant = {
                "upload_url": f"https://storage.example/{self.puts}",
                "upload_ref": f"ref-{self.puts}",
                "expires_at": (utc_now() + timedelta(minutes=15)).isoformat(),
                "required_headers": {},
            }
            return httpx.Response(201, json=grant)
        self.jobs += "/analyze" in request.url.path
        return httpx.Response(200, json={"credits": 412})


def noise_take(library):
    path = library.recording_folder / "one.take"
    writer = EncryptedTakeWriter(path, library.store.key, 48_000)
    writer.append(np.random.default_rng(3).integers(-9000, 9000, 16 * 48_000).astype(np.int16))
    writer.close()
    return library.add_take(path, TakeMetadata("ward4-0172", utc_now(), RecordingTarget("model", "pulse")))


def test_switching_in_the_middle_of_an_upload_keeps_it_and_sends_nothing_twice(qtbot, open_desk, ports):
    storage = HoldingStorage()

    def connect(base_url, credentials, budget=None):
        return Client(base_url, credentials, retries=RetryRule.NEVER, budget=budget, transport=storage)

    ports = replace(ports, connect=connect)
    setup = Setup(ports)
    other = setup.make_service(ServiceAddress("https://two.example", "acc-2", "key"), "keyring")
    first = setup.make_service(ServiceAddress("https://one.example", "acc-1", "key"), "keyring")
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: desk.workspace is not None)
    take_id = noise_take(desk.workspace.library)
    desk.workspace.library.queue(take_id)
    qtbot.waitUntil(storage.under_way.is_set)
    assert desk.workspace.library.get(take_id).state is OutboxState.UPLOADING
    courier = desk.workspace.running_parts()[0]
    desk.workspace.navigator.open("profile", other.profile_id)
    qtbot.waitUntil(courier._stop.is_set)
    storage.go_on.set()
    qtbot.waitUntil(lambda: desk.workspace is not None and desk.workspace.profile == other)
    assert desk.workspace.library.list() == []

    storage.under_way.clear()
    storage.go_on.clear()
    desk.workspace.navigator.open("profile", first.profile_id)
    qtbot.waitUntil(lambda: desk.workspace is not None and desk.workspace.profile == first)
    item = desk.workspace.library.get(take_id)
    assert item.state in (OutboxState.WAITING, OutboxState.UPLOADING)
    assert not item.asked
    qtbot.waitUntil(storage.under_way.is_set)  # it continues automatically
    assert storage.jobs == 0
    storage.go_on.set()


class LockableVault(MemoryVault):
    """A keyring whose password a person has not entered."""

    locked = True
    asked_again = 0

    def get(self, name):
        if self.locked:
            raise VaultLocked("The keyring is locked. Nothing was changed; unlock it and try again.")
        return super().get(name)

    def allow_prompt(self):
        self.asked_again += 1


def test_a_locked_keyring_is_said_waited_for_and_asked_again(qtbot, open_desk, ports):
    vault = LockableVault()
    ports = replace(ports, keyring=vault)
    vault.locked = False
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    vault.locked = True
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: "The keyring is locked" in desk.window.notice.text())
    assert desk.workspace is None
    desk.window.notice.button.click()
    assert vault.asked_again == 1
    vault.locked = False
    qtbot.waitUntil(lambda: desk.workspace is not None)
    assert not desk.window.notice.isVisible()


def test_a_library_that_another_program_has_open_is_opened_when_that_ends(qtbot, open_desk, ports):
    profile = Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    held = LockedLibrary(profile, ports.library_dir(profile.profile_id), ports.keyring)
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: "open in another window" in desk.window.notice.text())
    held.close()
    desk.window.notice.button.click()
    qtbot.waitUntil(lambda: desk.workspace is not None)


def test_a_profile_of_an_earlier_session_says_that_its_keys_are_gone(qtbot, open_desk, ports):
    setup = Setup(ports)
    kept = setup.make_service(ServiceAddress("https://one.example", "acc-1", "right-key"), "keyring")
    lost = setup.make_service(ServiceAddress("https://two.example", "acc-2", "right-key"), "session")
    ports.session_vault.delete(lost.api_key_name)
    store = ProfileStore(ports.config_dir)
    store.use(kept.profile_id)
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: desk.workspace is not None)
    desk.workspace.navigator.open("profile", lost.profile_id)
    qtbot.waitUntil(lambda: "for one session only" in desk.window.notice.text())
    assert desk.workspace.profile == kept
    qtbot.waitUntil(lambda: store.current() == kept)


def test_the_open_profile_stays_checked_in_the_menu_and_is_not_opened_again(qtbot, open_desk, ports, monkeypatch):
    setup = Setup(ports)
    setup.make_service(ServiceAddress("https://one.example", "acc-1", "right-key"), "keyring")
    setup.make_service(ServiceAddress("https://two.example", "acc-2", "right-key"), "keyring")
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: desk.window.shows_pages())
    menu, wanted = desk.window._menu, []
    desk.window.profile_wanted.disconnect()
    desk.window.profile_wanted.connect(wanted.append)

    def choose(action):
        monkeypatch.setattr(menu, "exec", lambda corner: action.trigger() or action)
        desk.window.sidebar.profile.click()

    first, second = menu.actions()[:2]
    assert [action.isChecked() for action in (first, second)] == [False, True]
    choose(second)
    assert (wanted, second.isChecked()) == ([], True)
    choose(first)
    assert wanted == [ProfileStore(ports.config_dir).all()[0].profile_id]
    assert [action.isChecked() for action in (first, second)] == [False, True]


class SlowMicrophone(FileMicrophone):
    """A microphone that takes its time to open."""

    def __init__(self, samples, rate):
        super().__init__(samples, rate)
        self.opening, self.go_on = threading.Event(), threading.Event()

    def open(self, device, sink, on_end):
        self.opening.set()
        self.go_on.wait(HANGS_S)
        return super().open(device, sink, on_end)


def test_closing_while_the_microphone_is_being_opened_leaves_nothing_running(qtbot, open_desk, ports, speech):
    microphone = SlowMicrophone(speech, 48_000)
    ports = replace(ports, microphone=microphone, lister=microphone)
    Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    desk = open_desk(ports)
    qtbot.waitUntil(microphone.opening.is_set)
    with qtbot.waitSignal(desk.ended):
        desk.window.close()
        qtbot.wait(50)  # until the end of everything was requested
        microphone.go_on.set()
    qtbot.waitUntil(lambda: "monitor" not in [thread.name for thread in threading.enumerate()])


def test_of_two_changes_of_profile_at_once_the_last_one_counts(qtbot, open_desk, ports):
    setup = Setup(ports)
    first = setup.make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    second = setup.make_service(ServiceAddress("https://voice.example", "acc-2", "right-key"), "keyring")
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: desk.workspace is not None)
    assert desk.workspace.profile == second
    desk._open(first)
    desk._open(second)
    desk._open(first)
    qtbot.waitUntil(lambda: desk.workspace is not None and desk.workspace.profile == first)
    qtbot.waitUntil(lambda: not desk.program.tasks.busy)
    assert desk.workspace.profile == first
    assert desk.window.notice.text() == ""
    open_library(second, ports).close()  # nobody holds it any more


class SlowVault(MemoryVault):
    """A keyring that takes its time to give one secret."""

    def __init__(self):
        super().__init__()
        self.slow_name, self.asked, self.go_on = "", threading.Event(), threading.Event()

    def get(self, name):
        if name == self.slow_name:
            self.asked.set()
            self.go_on.wait(HANGS_S)
        return super().get(name)


def test_a_profile_that_opens_late_is_not_shown_in_place_of_the_next_one_and_its_library_is_closed(
    qtbot, open_desk, ports
):
    vault = SlowVault()
    ports = replace(ports, keyring=vault)
    setup = Setup(ports)
    first = setup.make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    second = setup.make_service(ServiceAddress("https://voice.example", "acc-2", "right-key"), "keyring")
    vault.slow_name = second.library_key_name
    desk = open_desk(ports)
    qtbot.waitUntil(vault.asked.is_set)
    desk.window.profile_wanted.emit(first.profile_id)
    running = desk.program.tasks._tasks
    qtbot.waitUntil(lambda: [task._thread.name for task in running if task.alive()].count("OpenProfile") == 2)
    assert desk.workspace is None
    vault.go_on.set()
    qtbot.waitUntil(lambda: desk.workspace is not None)
    assert desk.workspace.profile == first
    qtbot.waitUntil(lambda: not desk.program.tasks.busy)
    assert desk.workspace.profile == first
    open_library(second, ports).close()  # nobody holds it any more


def test_closing_while_a_blocked_profile_is_retried_waits_for_nothing(qtbot, open_desk, ports):
    profile = Setup(ports).make_service(ServiceAddress("https://voice.example", "acc-1", "right-key"), "keyring")
    held = LockedLibrary(profile, ports.library_dir(profile.profile_id), ports.keyring)
    desk = open_desk(ports)
    qtbot.waitUntil(lambda: "open in another window" in desk.window.notice.text())
    qtbot.waitUntil(lambda: desk.program.tasks.busy)
    with qtbot.waitSignal(desk.ended):
        desk.window.close()
    assert not desk.program.tasks.busy, "the pause before the next try has ended"
    held.close()

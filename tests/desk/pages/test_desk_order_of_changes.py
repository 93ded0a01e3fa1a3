"""Changes made quickly one after the other are made in this order: the last one stays."""

import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

from vbdesk.capture.device_choice import RememberedMicrophone, WantedDevice
from vbdesk.capture.devices import Device
from vbdesk.desk.account.profiles import RenameProfile
from vbdesk.desk.outbox.commands import Pause
from vbdesk.desk.outbox.view_model import OutboxViewModel
from vbdesk.desk.preferences import Preferences, PreferenceStore
from vbdesk.desk.record.setup_model import RecordSetupViewModel
from vbdesk.desk.subject.view_model import SubjectViewModel
from vbdesk.desk.subjects.view_model import SubjectsViewModel
from vbdesk.desk.ui.tokens import Scheme
from vbdesk.outbox.library.consent import ConsentKind, ConsentState
from vbdesk.outbox.library.subject_notes import SubjectNote, SubjectNotes
from vbdesk.outbox.profiles.profiles import ProfileStore

HELD_UP_S = 0.3  # is over only if nothing overtakes


@pytest.fixture
def both_of(monkeypatch, qtbot):
    """Let a second call of a method overtake the first, if nothing keeps them in order; wait until both have ended."""

    @contextmanager
    def make(owner, name):
        method, begun, ended, overtaken = getattr(owner, name), [], [], threading.Event()

        def held_up(*arguments, **options):
            begun.append(name)
            if len(begun) == 1:
                overtaken.wait(HELD_UP_S)
            try:
                return method(*arguments, **options)
            finally:
                overtaken.set()
                ended.append(name)

        monkeypatch.setattr(owner, name, held_up)
        yield
        qtbot.waitUntil(lambda: len(ended) == 2)

    return make


def test_the_last_note_stays(shelf, workspace, both_of, qtbot):
    shelf.put("ward4-1")
    model = SubjectsViewModel(workspace.flow)
    model.show()
    qtbot.waitUntil(lambda: [row.key for row in model.data.rows] == ["ward4-1"])
    with both_of(workspace.library.subject_notes, "store"):
        model.store_note("ward4-1", SubjectNote("Hoarse since May."))
        model.store_note("ward4-1", SubjectNote("Hoarse since June."))
    assert workspace.library.subject_notes.note_of("ward4-1").text == "Hoarse since June."


def test_a_withdrawal_comes_after_the_consent_it_withdraws(workspace, both_of):
    subject = SubjectViewModel(workspace.flow)
    subject.consent.open("ward4-1")
    with both_of(workspace.library.consents, "_note"):
        subject.consent.give(ConsentKind.BOTH)
        subject.consent.withdraw(ConsentKind.BOTH, erase=False)
    assert workspace.library.consents.status("ward4-1").state is ConsentState.WITHDRAWN


def test_the_queue_stays_paused_if_that_was_last(workspace, both_of):
    outbox = OutboxViewModel(workspace.flow)
    with both_of(workspace.library, "change_settings"):
        outbox.actions.do(Pause(False))
        outbox.actions.do(Pause(True))
    assert workspace.library.settings().paused


def test_the_microphone_chosen_last_is_remembered(workspace, ports, both_of):
    setup = RecordSetupViewModel(workspace.flow)
    setup._choice = setup._choice.listed([Device("Room", "ALSA", False), Device("Headset", "ALSA", True)])
    with both_of(RememberedMicrophone, "save"):
        setup.choose_device(0)
        setup.choose_device(1)
    assert RememberedMicrophone(ports.config_dir / "microphone.json").load() == WantedDevice("Headset", "ALSA")


def test_the_service_knows_the_address_that_was_set_last(account, network, both_of, qtbot):
    card = account.webhook
    card.secret.setText("s" * 40)
    with both_of(network, "answer"):
        for number in (1, 2):
            card.url.setText(f"https://receiver.example/{number}")
            card.save.click()
            assert not card.save.isEnabled() and not card.try_out.isEnabled()
            qtbot.waitUntil(card.save.isEnabled)
    assert [sent["url"] for sent in network.webhooks] == ["https://receiver.example/1", "https://receiver.example/2"]


def test_the_key_that_was_entered_last_stays(account, ports, profile, both_of):
    with both_of(ports.keyring, "set"):
        for key in ("first-key", "last-key"):
            account.key.setText(key)
            account.save_button.click()
    assert ports.keyring.get(profile.api_key_name) == "last-key"


def test_a_profile_has_the_name_that_was_given_last(workspace, ports, profile, both_of):
    ProfileStore(ports.config_dir).save(profile)
    with both_of(ProfileStore, "rename"):
        workspace.flow.commands.do(RenameProfile(profile.profile_id, "Ward"))
        workspace.flow.commands.do(RenameProfile(profile.profile_id, "Ward 4"))
    assert ProfileStore(ports.config_dir).current() == replace(profile, name="Ward 4")


def at_once(*changes):
    """Make changes in threads of their own that begin together; return what they raised."""
    begin, raised = threading.Barrier(len(changes)), []

    def make(change):
        begin.wait()
        try:
            change()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=make, args=(change,)) for change in changes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def test_preferences_changed_at_one_time_keep_each_other(tmp_path):
    wanted = Preferences(Scheme.DARK, 125, "fr", "F7", lock_after=5, window=(1, 2, 800, 600), maximized=True)
    names = Preferences.__dataclass_fields__
    changes = [lambda name=name: PreferenceStore(tmp_path).change(**{name: getattr(wanted, name)}) for name in names]
    assert at_once(*changes) == []
    assert PreferenceStore(tmp_path).load() == wanted


def test_tags_and_names_stored_at_one_time_keep_each_other(workspace):
    notes = workspace.library.subject_notes
    tags = [f"tag {number}" for number in range(6)]
    changes = [lambda tag=tag: notes.tag_many(["ward4-1", tag.replace(" ", "-")], [tag], added=True) for tag in tags]
    assert at_once(*changes, lambda: notes.store_alias("ward4-1", "Müller"), notes.all) == []
    for known in (notes, SubjectNotes(workspace.library.store)):
        assert set(known.note_of("ward4-1").tags) == set(tags)
        assert known.note_of("ward4-1").alias == "Müller"
        assert set(known.names()) == {"ward4-1", *(tag.replace(" ", "-") for tag in tags)}

"""The real PortAudio and the real keyring, with a virtual microphone: what the twins claim, proved on the rig."""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SPEECH = HERE.parent / "data" / "speech_kathleen_20s.flac"

pytestmark = pytest.mark.e2e


@pytest.fixture
def on_rig(desk_session, tmp_path):
    """Run a scenario of microphone_on_rig.py; gives what it found."""

    def run(scenario, *options):
        done = desk_session(options, HERE / "microphone_on_rig.py", scenario, SPEECH, tmp_path / "takes")
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


def test_speech_reaches_the_disk_as_it_was_spoken(on_rig):
    found = on_rig("records", "--mic", "two")
    assert found["end"] == "stopped"
    assert found["complete"]
    assert found["correlation"] > 0.99
    assert 5.0 <= found["duration_s"] <= found["took_s"] + 0.5
    assert (found["overflows"], found["missing_s"]) == (0, 0)
    assert found["same_sound"]
    assert (found["about"]["device"], found["about"]["host_api"]) == ("Studio Mic", "ALSA")
    assert 2.0 < found["speech_s"] < found["duration_s"]


def test_pulling_the_last_microphone_keeps_the_take(on_rig):
    found = on_rig("unplug_last", "--mic", "one")
    assert found["end"] == "unplugged"
    assert found["sentence"].startswith("The microphone was unplugged.")
    assert found["before_s"] - 1.0 <= found["duration_s"]
    assert found["correlation"] > 0.99


def test_another_microphone_taking_over_silently_is_noticed(on_rig):
    found = on_rig("taken_over", "--mic", "two")
    assert found["end"] == "replaced"
    assert found["certain_s"] <= found["duration_s"] <= found["after_s"] + 0.2


def test_a_microphone_plugged_in_later_is_listed_and_heard(on_rig):
    found = on_rig("plugged_later", "--mic", "one")
    assert found["new"] == ["Laptop Mic"]


def test_a_sound_system_that_hangs_ends_the_take(on_rig):
    found = on_rig("hangs", "--mic", "one")
    assert found["end"] == "stalled"
    assert found["before_s"] - 1.0 <= found["duration_s"]


def test_a_microphone_that_is_gone_is_said_at_the_start(on_rig):
    assert "Nothing was recorded" in on_rig("gone", "--mic", "one")["sentence"]


def test_a_mute_switch_is_known_while_it_lasts(on_rig):
    found = on_rig("muted", "--mic", "one")
    assert not found["all_zero"]


def test_a_sound_system_that_dies_keeps_the_take(on_rig):
    found = on_rig("dies", "--mic", "one")
    assert found["end"] in ("unplugged", "stalled")
    assert found["before_s"] - 1.0 <= found["duration_s"]
    assert "kept" in found["sentence"]


def test_a_device_that_follows_the_system_does_not_change_microphone_unnoticed(on_rig):
    found = on_rig("follows_the_system", "--mic", "two")
    assert found["end"] == "replaced"
    assert found["certain_s"] <= found["duration_s"] <= found["after_s"] + 0.2


def test_record_while_the_sound_system_hangs_is_answered_and_works_afterwards(on_rig):
    found = on_rig("opens_while_it_hangs", "--mic", "one")
    assert "does not answer" in found["sentence"]
    assert (found["after"]["end"], found["after"]["missing_s"]) == ("stopped", 0)
    assert found["after"]["duration_s"] > 2.0


def test_stop_and_the_end_of_the_program_do_not_wait_for_a_sound_system_that_hangs(on_rig):
    found = on_rig("closes_while_it_hangs", "--mic", "one")
    assert found["duration_s"] > 1.5


def test_plugging_is_noticed_while_nobody_records(on_rig):
    found = on_rig("noticed", "--mic", "two")
    assert found["unplug_notice"] == "The microphone “Studio Mic” is gone. “default” is used instead."
    assert found["plug_notice"] == "The microphone “Studio Mic” is back."


def test_a_killed_program_leaves_all_but_the_last_second(on_rig):
    found = on_rig("killed", "--mic", "one")
    assert found["rescued_s"] >= found["elapsed_s"] - 1.0
    assert not found["complete"]
    assert found["about"]["group_id"] == "ward4-0172"
    assert found["correlation"] > 0.99

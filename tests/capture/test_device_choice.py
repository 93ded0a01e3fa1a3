from vbdesk.capture.device_choice import DeviceChoice, RememberedMicrophone, WantedDevice
from vbdesk.capture.device_helper import card_inputs
from vbdesk.capture.devices import Device, is_among, offered

STUDIO = Device("Studio Mic", "ALSA", False)
LAPTOP = Device("Laptop Mic", "ALSA", True)


def test_the_wanted_microphone_is_used_and_its_absence_said():
    choice = DeviceChoice(WantedDevice("Studio Mic", "ALSA")).listed([LAPTOP])
    assert choice.used == LAPTOP
    assert choice.notice == "The microphone “Studio Mic” is not here. “Laptop Mic” is used instead."
    back = choice.listed([LAPTOP, STUDIO])
    assert (back.used, back.notice) == (STUDIO, "The microphone “Studio Mic” is back.") or back.used == STUDIO


def test_a_vanished_microphone_is_said_and_taken_again_when_it_returns():
    choice = DeviceChoice().listed([LAPTOP, STUDIO]).chosen(STUDIO)
    gone = choice.listed([LAPTOP])
    assert (gone.used, gone.notice) == (LAPTOP, "The microphone “Studio Mic” is gone. “Laptop Mic” is used instead.")
    back = gone.listed([LAPTOP, STUDIO])
    assert (back.used, back.notice) == (STUDIO, "The microphone “Studio Mic” is back.")
    assert back.listed([LAPTOP, STUDIO]).notice is None


def test_the_last_microphone_pulled_out_leaves_none():
    gone = DeviceChoice().listed([STUDIO]).listed([])
    assert gone.used is None
    assert gone.notice == "The microphone “Studio Mic” is gone. There is no microphone now: plug one in."


def test_a_new_order_or_another_interface_of_the_same_name_changes_nothing():
    choice = DeviceChoice().listed([STUDIO, LAPTOP]).chosen(STUDIO)
    other = Device("Studio Mic", "JACK Audio Connection Kit", False)
    again = choice.listed([LAPTOP, other, STUDIO])
    assert (again.used, again.notice) == (STUDIO, None)


def test_the_systems_choice_moving_to_another_microphone_is_said():
    before, after = Device("default", "ALSA", True, "usb"), Device("default", "ALSA", True, "builtin")
    moved = DeviceChoice().listed([before]).listed([after])
    assert moved.used == after
    assert "now listens to another microphone" in moved.notice
    assert not is_among(before, [after])


def test_the_choice_is_remembered(tmp_path):
    remembered = RememberedMicrophone(tmp_path / "config" / "microphone.json")
    assert remembered.load() is None
    remembered.save(WantedDevice("Mikrofon (Gerät) µ", "Windows WASAPI"))
    assert remembered.load() == WantedDevice("Mikrofon (Gerät) µ", "Windows WASAPI")
    (tmp_path / "config" / "microphone.json").write_text("{")
    assert remembered.load() is None


def test_windows_shows_each_microphone_once_with_its_whole_name():
    listed = [
        Device("Microsoft Sound Mapper - Input", "MME", True, "Microphone (Yeti Stereo Microphone)"),
        Device("Microphone (Yeti Stereo Microph", "MME", False),
        Device("Primary Sound Capture Driver", "Windows DirectSound", True, "Microphone (Yeti Stereo Microphone)"),
        Device("Microphone (Yeti Stereo Microphone)", "Windows DirectSound", False),
        Device("Microphone (Yeti Stereo Microphone)", "Windows WASAPI", True),
        Device("Mikrofonarray (Realtek(R) Audio)", "Windows WASAPI", False),
        Device("Mikrofonarray (Realtek(R) Audio", "MME", False),
        Device("Microphone (Yeti Stereo Microphone)", "Windows WDM-KS", False),
    ]
    assert [(device.name, device.host_api) for device in offered(listed)] == [
        ("Microphone (Yeti Stereo Microphone)", "Windows WASAPI"),
        ("Mikrofonarray (Realtek(R) Audio)", "Windows WASAPI"),
        ("Primary Sound Capture Driver", "Windows DirectSound"),
        ("Microsoft Sound Mapper - Input", "MME"),
    ]


def test_the_same_name_under_two_interfaces_of_linux_stays_two():
    twice = [Device("Mic", "ALSA", True), Device("Mic", "JACK Audio Connection Kit", True)]
    assert offered(twice) == twice


def test_a_sound_card_in_use_is_still_there(tmp_path):
    (tmp_path / "cards").write_text(
        " 0 [PCH            ]: HDA-Intel - HDA Intel PCH\n"
        "                      HDA Intel PCH at 0xf7e10000 irq 32\n"
        " 1 [Microphone     ]: USB-Audio - Yeti Stereo Microphone\n"
        "                      Blue Microphones Yeti at usb-0000:00:14.0-2, full speed\n"
    )
    (tmp_path / "pcm").write_text(
        "00-00: ALC269VC Analog : ALC269VC Analog : playback 1 : capture 1\n"
        "00-03: HDMI 0 : HDMI 0 : playback 1\n"
        "01-00: USB Audio : USB Audio : playback 1 : capture 1\n"
    )
    assert card_inputs(tmp_path) == [
        "HDA Intel PCH: ALC269VC Analog (hw:0,0)",
        "Yeti Stereo Microphone: USB Audio (hw:1,0)",
    ]
    assert card_inputs(tmp_path / "none") == []

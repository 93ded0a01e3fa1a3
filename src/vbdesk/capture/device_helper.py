"""The child process that lists microphones: one line of JSON per input line, until its input ends.

PortAudio reads the list of devices once, and reading it again ends every open stream. So a separate process does that;
it imports as little as possible. Run with `python -m vbdesk.capture.device_helper`.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import sounddevice as sd

FOLLOWING = ("default", "sysdefault", "pulse", "pipewire", "Microsoft Sound Mapper", "Primary Sound Capture Driver")
PACTL_TIMEOUT_S = 2.0


def describe_inputs() -> list[dict[str, object]]:
    """Every input device in PortAudio's present list; the default of each interface counts as default."""
    sd._terminate()
    sd._initialize()
    apis = sd.query_hostapis()
    defaults = {api["default_input_device"] for api in apis}
    inputs = [(index, device) for index, device in enumerate(sd.query_devices()) if device["max_input_channels"] > 0]
    behind = _default_source(inputs) if any(device["name"].startswith(FOLLOWING) for _, device in inputs) else None
    listed: list[dict[str, object]] = [
        {
            "name": device["name"],
            "host_api": apis[device["hostapi"]]["name"],
            "is_default": index in defaults,
            "backing": behind if device["name"].startswith(FOLLOWING) else None,
        }
        for index, device in inputs
    ]
    known = {entry["name"] for entry in listed}
    in_use = [name for name in card_inputs() if name not in known]
    return listed + [{"name": name, "host_api": "ALSA", "is_default": False, "backing": None} for name in in_use]


def _default_source(inputs: list[tuple[int, dict[str, object]]]) -> str | None:
    """The microphone that the system has chosen, if that can be found out."""
    if sys.platform == "win32":
        named = {index: str(device["name"]) for index, device in inputs}
        wasapi = [api for api in sd.query_hostapis() if api["name"] == "Windows WASAPI"]
        return named.get(wasapi[0]["default_input_device"]) if wasapi else None
    pactl = shutil.which("pactl")
    if pactl is None:
        return None
    try:
        asked = subprocess.run(
            [pactl, "get-default-source"],
            capture_output=True,
            text=True,
            timeout=PACTL_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return asked.stdout.strip() or None


KERNEL_LISTS = Path("/proc/asound")
_CARD = re.compile(r"^\s*(?P<number>\d+) \[.*?\]: .*? - (?P<name>.+?)\s*$", re.MULTILINE)
_INPUT = re.compile(r"^(?P<card>\d+)-(?P<device>\d+): .*? : (?P<name>.*?) :.*\bcapture\b", re.MULTILINE)


def card_inputs(lists: Path = KERNEL_LISTS) -> list[str]:
    """Every input of every sound card, named as in PortAudio; empty without the kernel's lists."""
    try:
        cards_text = (lists / "cards").read_text(encoding="utf-8", errors="replace")
        inputs_text = (lists / "pcm").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    cards = {int(card["number"]): card["name"] for card in _CARD.finditer(cards_text)}
    return [
        f"{cards[int(found['card'])]}: {found['name']} (hw:{int(found['card'])},{int(found['device'])})"
        for found in _INPUT.finditer(inputs_text)
        if int(found["card"]) in cards
    ]


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    for _ in sys.stdin:
        sys.stdout.write(json.dumps(describe_inputs()) + "\n")
        sys.stdout.flush()

"""Linux microphones that are in use, and therefore hidden from PortAudio.

PortAudio lists a sound card's input only if it can open it. An input that already records, for us or for another
program, cannot be opened again and would seem to be unplugged. The kernel's own lists show that it is there.
"""

import re
from pathlib import Path

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

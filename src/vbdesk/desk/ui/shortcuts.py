"""All keyboard shortcuts in one table: the window and the pages take their keys from it, the help lists it."""

import re
import sys
from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence

from vbdesk.language import _, pgettext

PAGE_KEYS = ("page-1", "page-2", "page-3", "page-4", "page-5")
_KEYS = {
    "help": "F1",
    **{name: f"Ctrl+{number}" for number, name in enumerate(PAGE_KEYS, 1)},
    "find": "Ctrl+F",
    "account": "Ctrl+,",
    "print": "Ctrl+P",
    "lock": "Ctrl+L",
    "quit": "Ctrl+Q",
    "record": "Space",
    "cancel": "Esc",
    "pause": "P",
    "mark": "M",
    "next-task": "N",
    "speaker": "W",
    "play": "Space",
    "retake": "R",
    "send": "Return",
    "picture": "G",
    "trim-start": "[",
    "trim-end": "]",
    "zoom-in": "+",
    "zoom-out": "-",
    "result-play": "P",
    "result-compare": "C",
    "compare-swap-sound": "X",
    "list-open": "Return",
    "list-act": "Ctrl+Return",
    "list-tick": "Space",
    "list-all": "Ctrl+A",
    "list-none": "Esc",
    "list-delete": "Del",
    "chart-move": "Left",
    "chart-unusual": "Ctrl+Left",
    "chart-sign": "Up",
    "chart-open": "Return",
}


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A key and what it does."""

    name: str
    text: str

    @property
    def keys(self) -> str:
        """The key as the reader's keyboard is labelled."""
        return key_text(_KEYS[self.name])


@dataclass(frozen=True, slots=True)
class ShortcutGroup:
    """The shortcuts of one place."""

    title: str
    shortcuts: tuple[Shortcut, ...]


def key_text(keys: str) -> str:
    """Keys such as `Ctrl+P` as the reader's keyboard is labelled. Qt's names differ, as "Control" in Spanish."""
    if sys.platform == "darwin":  # whose keyboards have signs, the same in every language
        return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
    names = {
        # Translators: the label of a key on a keyboard of this language
        "Ctrl": pgettext("key", "Ctrl"),
        "Return": pgettext("key", "Enter"),
        "Space": pgettext("key", "Space"),
        "Esc": pgettext("key", "Esc"),
        "Del": pgettext("key", "Del"),
        "Left": "←",
        "Up": "↑",
    }
    return "+".join(names.get(key, key) for key in re.split(r"(?<=.)\+(?=.)", keys))


@cache
def sequence(name: str) -> QKeySequence:
    """Key of a shortcut."""
    return QKeySequence(_KEYS[name])


def key_of(name: str) -> Qt.Key:
    """Key of a shortcut that is one key without Ctrl or Shift."""
    key: Qt.Key = sequence(name)[0].key()  # type: ignore[index]  # missing in the stubs
    return key


def shortcut_groups() -> tuple[ShortcutGroup, ...]:
    """All shortcuts, in the order of the help."""
    everywhere = (
        Shortcut("help", _("Open this help")),
        Shortcut("page-1", _("Go to Record")),
        Shortcut("page-2", _("Go to Subjects")),
        Shortcut("page-3", _("Go to Outbox")),
        Shortcut("page-4", _("Go to Cohort")),
        Shortcut("page-5", _("Go to Account")),
        Shortcut("find", _("Search on this page, or among the subjects")),
        Shortcut("print", _("Print the report of what is shown: a result, a subject, the listed subjects")),
        Shortcut("account", _("Open the settings")),
        Shortcut("lock", _("Lock the window")),
        Shortcut("quit", _("Quit; asks while a recording runs")),
    )
    record = (
        Shortcut("record", _("Start or stop the recording")),
        Shortcut("cancel", _("Cancel the countdown")),
        Shortcut("pause", _("Pause or go on")),
        Shortcut("mark", _("Set a marker")),
        Shortcut("next-task", _("Next task")),
        Shortcut("speaker", _("Show or hide the patient screen")),
    )
    check = (
        Shortcut("play", _("Play or pause")),
        Shortcut("send", pgettext("verb", "Send")),
        Shortcut("retake", _("Record it again")),
        Shortcut("picture", _("Waveform or spectrogram")),
        Shortcut("trim-start", _("In the waveform: cut off what is before the cursor")),
        Shortcut("trim-end", _("In the waveform: cut off what is after the cursor")),
        Shortcut("zoom-in", _("In the waveform: zoom in at the cursor")),
        Shortcut("zoom-out", _("In the waveform: zoom out")),
    )
    results = (
        Shortcut("result-play", _("Play or pause the recording")),
        Shortcut("result-compare", _("Compare with another recording")),
        Shortcut("compare-swap-sound", _("In Compare: the same moment in the other recording")),
    )
    charts = (
        Shortcut("chart-move", _("To the recording before; Right: to the next one")),
        Shortcut("chart-unusual", _("To what is unusual before; with Right: after")),
        Shortcut("chart-sign", _("To the sign above; Down: to the one below")),
        Shortcut("chart-open", _("Open the recording at the cursor")),
    )
    lists = (
        Shortcut("list-open", _("Open the row")),
        Shortcut("list-act", _("Press the button of the row")),
        Shortcut("list-tick", _("Tick the row or take the tick away")),
        Shortcut("list-all", _("Tick all rows")),
        Shortcut("list-none", _("Take all ticks away")),
        Shortcut("list-delete", _("Delete the ticked rows")),
    )
    return (
        ShortcutGroup(_("Everywhere"), everywhere),
        ShortcutGroup(pgettext("activity", "Recording"), record),
        ShortcutGroup(_("After a recording"), check),
        ShortcutGroup(_("Result and Compare"), results),
        ShortcutGroup(_("Charts of a subject"), charts),
        ShortcutGroup(_("Lists"), lists),
    )

"""All keyboard shortcuts in one table: the window and the pages take their keys from it, the help lists it."""

from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QKeySequence

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
    words: str

    @property
    def keys(self) -> str:
        """The key as the system writes it."""
        return QKeySequence(_KEYS[self.name]).toString(QKeySequence.SequenceFormat.NativeText)


@dataclass(frozen=True, slots=True)
class ShortcutGroup:
    """The shortcuts of one place."""

    title: str
    shortcuts: tuple[Shortcut, ...]


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
    tr = QCoreApplication.translate
    everywhere = (
        Shortcut("help", tr("shortcuts", "Open this help")),
        Shortcut("page-1", tr("shortcuts", "Go to Record")),
        Shortcut("page-2", tr("shortcuts", "Go to Subjects")),
        Shortcut("page-3", tr("shortcuts", "Go to Outbox")),
        Shortcut("page-4", tr("shortcuts", "Go to Cohort")),
        Shortcut("page-5", tr("shortcuts", "Go to Account")),
        Shortcut("find", tr("shortcuts", "Search on this page, or among the subjects")),
        Shortcut(
            "print", tr("shortcuts", "Print the report of what is shown: a result, a subject, the listed subjects")
        ),
        Shortcut("account", tr("shortcuts", "Open the settings")),
        Shortcut("lock", tr("shortcuts", "Lock the window")),
        Shortcut("quit", tr("shortcuts", "Quit; asks while a recording runs")),
    )
    record = (
        Shortcut("record", tr("shortcuts", "Start or stop the recording")),
        Shortcut("cancel", tr("shortcuts", "Cancel the countdown")),
        Shortcut("pause", tr("shortcuts", "Pause or go on")),
        Shortcut("mark", tr("shortcuts", "Set a marker")),
        Shortcut("next-task", tr("shortcuts", "Next task")),
        Shortcut("speaker", tr("shortcuts", "Show or hide the patient screen")),
    )
    check = (
        Shortcut("play", tr("shortcuts", "Play or pause")),
        Shortcut("send", tr("shortcuts", "Send")),
        Shortcut("retake", tr("shortcuts", "Record it again")),
        Shortcut("picture", tr("shortcuts", "Waveform or spectrogram")),
        Shortcut("trim-start", tr("shortcuts", "In the waveform: cut off what is before the cursor")),
        Shortcut("trim-end", tr("shortcuts", "In the waveform: cut off what is after the cursor")),
        Shortcut("zoom-in", tr("shortcuts", "In the waveform: zoom in at the cursor")),
        Shortcut("zoom-out", tr("shortcuts", "In the waveform: zoom out")),
    )
    results = (
        Shortcut("result-play", tr("shortcuts", "Play or pause the recording")),
        Shortcut("result-compare", tr("shortcuts", "Compare with another recording")),
        Shortcut("compare-swap-sound", tr("shortcuts", "In Compare: the same moment in the other recording")),
    )
    charts = (
        Shortcut("chart-move", tr("shortcuts", "To the recording before; Right: to the next one")),
        Shortcut("chart-unusual", tr("shortcuts", "To what is unusual before; with Right: after")),
        Shortcut("chart-sign", tr("shortcuts", "To the sign above; Down: to the one below")),
        Shortcut("chart-open", tr("shortcuts", "Open the recording at the cursor")),
    )
    lists = (
        Shortcut("list-open", tr("shortcuts", "Open the row")),
        Shortcut("list-act", tr("shortcuts", "Press the button of the row")),
        Shortcut("list-tick", tr("shortcuts", "Tick the row or take the tick away")),
        Shortcut("list-all", tr("shortcuts", "Tick all rows")),
        Shortcut("list-none", tr("shortcuts", "Take all ticks away")),
        Shortcut("list-delete", tr("shortcuts", "Delete the ticked rows")),
    )
    return (
        ShortcutGroup(tr("shortcuts", "Everywhere"), everywhere),
        ShortcutGroup(tr("shortcuts", "Recording"), record),
        ShortcutGroup(tr("shortcuts", "After a recording"), check),
        ShortcutGroup(tr("shortcuts", "Result and Compare"), results),
        ShortcutGroup(tr("shortcuts", "Charts of a subject"), charts),
        ShortcutGroup(tr("shortcuts", "Lists"), lists),
    )

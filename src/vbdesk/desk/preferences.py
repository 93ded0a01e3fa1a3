"""The user's preferences for the desk, in one small file."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from vbdesk.client.update_notice import version_key
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.ui.tokens import LARGEST_SCALE, LEAST_SCALE, Scheme
from vbdesk.outbox.profiles.shared_files import replace_shared
from vbdesk.privacy import FILE_MODE, make_private, owner_only_opener
from vbdesk.report.drawing.style import Look

PEDAL_KEY = "F9"
LONGEST_LOCK_AFTER = 24 * 60


@dataclass(frozen=True, slots=True)
class SeenNotice:
    """A notice of a new version.

    Attributes:
        source: where it was asked for.
        asked_at: Unix time in seconds.
        version: the newest version that it named; empty for none.
        page: where a person gets that version.
    """

    source: str = ""
    asked_at: float = 0.0
    version: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences, with defaults.

    Attributes:
        scheme: which colours.
        text_size: in percent of the design's; None for the system's.
        language: BCP-47 tag of the prompts; empty for the system's.
        reading_language: tag of the language that vbdesk is shown in; empty for the system's.
        pedal_key: key that a foot pedal sends, in Qt's notation: "F9", "PgDown", "Ctrl+B".
        report_look: colours of reports and exported charts.
        lock_after: minutes without input after which the window locks; None for Ctrl+L only.
        window: place and size of the window in the last session: x, y, width, height.
        maximized: it filled the screen.
        update_notice: where to ask for new versions, as `NoticeSource` writes it; empty for nowhere.
        seen_notice: the last notice of a new version, and when it was asked for.
    """

    scheme: Scheme = Scheme.SYSTEM
    text_size: int | None = None
    language: str = ""
    pedal_key: str = PEDAL_KEY
    report_look: Look = Look.LIGHT
    lock_after: int | None = None
    window: tuple[int, int, int, int] | None = None
    maximized: bool = False
    reading_language: str = ""
    update_notice: str = ""
    seen_notice: SeenNotice = SeenNotice()

    @property
    def text_scale(self) -> float | None:
        """The text size as the theme takes it."""
        return None if self.text_size is None else self.text_size / 100


class PreferenceStore:
    """Loads and saves the preferences in `preferences.json`."""

    def __init__(self, config_dir: Path) -> None:
        self._path = config_dir / "preferences.json"

    def load(self) -> Preferences:
        """Load the preferences, with defaults for missing or invalid values."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return Preferences()
        chosen = Preferences()
        for field in fields(Preferences):
            try:
                chosen = replace(chosen, **{field.name: _READ[field.name](found[field.name])})
            except (KeyError, TypeError, ValueError):
                continue
        return chosen

    def save(self, preferences: Preferences) -> None:
        """Save the preferences. Raises OSError."""
        make_private(self._path.parent)
        unfinished = self._path.with_suffix(".new")
        with open(unfinished, "w", encoding="utf-8", opener=owner_only_opener) as file:
            json.dump(asdict(preferences), file, indent=2)
        replace_shared(unfinished, self._path)

    def change(self, **choices: Any) -> Preferences:
        """Save some preferences and keep the others. Raises OSError."""
        make_private(self._path.parent)
        # against other threads and windows between reading and writing
        with FileLock(self._path.with_suffix(".lock"), mode=FILE_MODE, is_singleton=False):
            changed = replace(self.load(), **choices)
            self.save(changed)
        return changed


@dataclass(frozen=True)
class PreferencesRead(Read[Preferences]):
    """The preferences."""

    topics = frozenset({Changed.SETTINGS})

    def here(self, context: ProgramContext, before: object, task: TaskContext) -> Preferences:  # noqa: D102
        return PreferenceStore(context.ports.config_dir).load()


@dataclass(frozen=True)
class ChangePreferences(Command):
    """Save the preferences that are named, and keep the others."""

    changes: Mapping[str, Any]

    def do(self, context: ProgramContext, task: TaskContext) -> Done:  # noqa: D102
        PreferenceStore(context.ports.config_dir).change(**self.changes)
        return Done(touched=frozenset({Changed.SETTINGS}))


class StoreWindowPlace(ChangePreferences):
    """Save size and place of the window for the next session."""

    beside = True


def _text_size(found: Any) -> int | None:
    if found is not None and not LEAST_SCALE <= int(found) / 100 <= LARGEST_SCALE:
        raise ValueError(found)
    return None if found is None else int(found)


def _lock_after(found: Any) -> int | None:
    if found is not None and not 1 <= int(found) <= LONGEST_LOCK_AFTER:
        raise ValueError(found)
    return None if found is None else int(found)


def _window(found: Any) -> tuple[int, int, int, int] | None:
    if found is None:
        return None
    x, y, width, height = (int(value) for value in found)
    if width <= 0 or height <= 0:
        raise ValueError(found)
    return x, y, width, height


def _seen_notice(found: Any) -> SeenNotice:
    seen = SeenNotice(str(found["source"]), float(found["asked_at"]), str(found["version"]), str(found["page"]))
    if seen.version:
        version_key(seen.version)
    return seen


_READ: dict[str, Callable[[Any], Any]] = {
    "scheme": Scheme,
    "text_size": _text_size,
    "language": str,
    "pedal_key": str,
    "report_look": Look,
    "lock_after": _lock_after,
    "window": _window,
    "maximized": bool,
    "reading_language": str,
    "update_notice": str,
    "seen_notice": _seen_notice,
}

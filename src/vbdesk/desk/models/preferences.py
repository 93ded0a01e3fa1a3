"""What a person has chosen for the desk itself, kept in one small file."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from vbdesk.desk.ui.theme import Scheme
from vbdesk.desk.ui.tokens import LARGEST_SCALE, LEAST_SCALE
from vbdesk.privacy import make_private, owner_only_opener

PEDAL_KEY = "F9"


@dataclass(frozen=True, slots=True)
class Preferences:
    """The choices; what was never chosen has its default.

    Attributes:
        scheme: which colours.
        text_size: in percent of the design's; None for the system's.
        language: BCP-47 tag of the prompts; empty for the system's.
        pedal_key: the key that a foot pedal sends, as Qt names keys: "F9", "PgDown", "Ctrl+B".
    """

    scheme: Scheme = Scheme.SYSTEM
    text_size: int | None = None
    language: str = ""
    pedal_key: str = PEDAL_KEY

    @property
    def text_scale(self) -> float | None:
        """The text size as the theme takes it."""
        return None if self.text_size is None else self.text_size / 100


class PreferenceStore:
    """The choices in `preferences.json`."""

    def __init__(self, config_dir: Path) -> None:
        self._path = config_dir / "preferences.json"

    def load(self) -> Preferences:
        """The choices; the default of each that is missing or makes no sense."""
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
        """Keep the choices. Raises OSError."""
        make_private(self._path.parent)
        unfinished = self._path.with_suffix(".new")
        with open(unfinished, "w", encoding="utf-8", opener=owner_only_opener) as file:
            json.dump(asdict(preferences), file, indent=2)
        unfinished.replace(self._path)

    def change(self, **choices: Any) -> Preferences:
        """Keep some choices, the others as they were. Raises OSError."""
        changed = replace(self.load(), **choices)
        self.save(changed)
        return changed


def _text_size(found: Any) -> int | None:
    if found is not None and not LEAST_SCALE <= int(found) / 100 <= LARGEST_SCALE:
        raise ValueError(found)
    return None if found is None else int(found)


_READ: dict[str, Callable[[Any], Any]] = {
    "scheme": Scheme,
    "text_size": _text_size,
    "language": str,
    "pedal_key": str,
}

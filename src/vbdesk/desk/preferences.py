"""What a person has chosen for the desk itself, kept in one small file."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from vbdesk.desk.theme import Scheme


@dataclass(frozen=True, slots=True)
class Preferences:
    """The choices; what was never chosen has its default.

    Attributes:
        scheme: which colours.
        pedal_key: the key that a foot pedal sends, as Qt names keys: "F9", "PgDown", "Ctrl+B". Set in the file.
    """

    scheme: Scheme = Scheme.SYSTEM
    pedal_key: str = "F9"


class PreferenceStore:
    """The choices in `preferences.json`."""

    def __init__(self, config_dir: Path) -> None:
        self._path = config_dir / "preferences.json"

    def load(self) -> Preferences:
        """The choices; the defaults where there is no file, or none that can be read."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            default = Preferences()
            return Preferences(
                Scheme(found.get("scheme", default.scheme)), str(found.get("pedal_key", default.pedal_key))
            )
        except (OSError, ValueError, AttributeError):
            return Preferences()

    def save(self, preferences: Preferences) -> None:
        """Keep the choices. Raises OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._path.with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(preferences), indent=2), encoding="utf-8")
        unfinished.replace(self._path)

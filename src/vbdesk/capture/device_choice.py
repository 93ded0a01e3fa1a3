"""Which microphone is used: the one that was chosen, as long as it is there; remembered from one start to the next."""

import json
from dataclasses import dataclass
from pathlib import Path

from vbdesk.capture.devices import Device
from vbdesk.privacy import make_private, owner_only_opener


@dataclass(frozen=True, slots=True)
class Wanted:
    """A microphone that a person chose, by interface and name."""

    name: str
    host_api: str


class RememberedMicrophone:
    """The choice in a small file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Wanted | None:
        """The choice; None where there is none, or none that can be read."""
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            return Wanted(str(document["name"]), str(document["host_api"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, wanted: Wanted) -> None:
        """Keep the choice. Raises OSError."""
        make_private(self._path.parent)
        unfinished = self._path.with_suffix(".new")
        with open(unfinished, "w", encoding="utf-8", opener=owner_only_opener) as file:
            json.dump({"name": wanted.name, "host_api": wanted.host_api}, file)
        unfinished.replace(self._path)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which microphone is used now.

    Attributes:
        devices: what there is to choose from; None before the first list.
        used: None when there is no microphone.
        notice: what a person should know of the last change; None when there is nothing to say.
    """

    wanted: Wanted | None = None
    devices: tuple[Device, ...] | None = None
    used: Device | None = None
    notice: str | None = None

    def listed(self, devices: list[Device]) -> "Choice":
        """After a new list: the wanted microphone if it is there, else the one in use, else the system's default."""
        now = tuple(devices)
        wanted = next((device for device in now if self._is_wanted(device)), None)
        same = next((device for device in now if self.used is not None and device.is_same(self.used)), None)
        default = next((device for device in now if device.is_default), None)
        used = wanted or same or default or next(iter(now), None)
        return Choice(self.wanted, now, used, self._notice(used))

    def chosen(self, device: Device) -> "Choice":
        """After a person chose."""
        return Choice(Wanted(device.name, device.host_api), self.devices, device)

    def _is_wanted(self, device: Device) -> bool:
        return self.wanted is not None and (device.name, device.host_api) == (self.wanted.name, self.wanted.host_api)

    def _notice(self, used: Device | None) -> str | None:
        before = self.used
        if used is None:
            gone = "" if before is None else f"The microphone “{before.name}” is gone. "
            return f"{gone}There is no microphone now: plug one in."
        if before is not None and before.name == used.name and before.backing != used.backing:
            return f"“{used.name}” now listens to another microphone. Check the level before you record."
        if before is not None and not before.is_same(used):
            if self._is_wanted(used):
                return f"The microphone “{used.name}” is back."
            return f"The microphone “{before.name}” is gone. “{used.name}” is used instead."
        if before is None and self.wanted is not None and not self._is_wanted(used):
            return f"The microphone “{self.wanted.name}” is not here. “{used.name}” is used instead."
        return None

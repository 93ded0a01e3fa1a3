"""Choose the microphone: the one that a person chose, while it is there; stored between starts."""

import json
from dataclasses import dataclass
from pathlib import Path

from vbdesk.capture.devices import Device
from vbdesk.language import Message, joined, message
from vbdesk.privacy import make_private, owner_only_opener


@dataclass(frozen=True, slots=True)
class WantedDevice:
    """A microphone that a person chose, by interface and name."""

    name: str
    host_api: str


class RememberedMicrophone:
    """The chosen microphone, in a small file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> WantedDevice | None:
        """The stored choice; None if there is none, or it is unreadable."""
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            return WantedDevice(str(document["name"]), str(document["host_api"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, wanted: WantedDevice) -> None:
        """Store the choice. Raises OSError."""
        make_private(self._path.parent)
        unfinished = self._path.with_suffix(".new")
        with open(unfinished, "w", encoding="utf-8", opener=owner_only_opener) as file:
            json.dump({"name": wanted.name, "host_api": wanted.host_api}, file)
        unfinished.replace(self._path)


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """The microphone in use.

    Attributes:
        devices: the available ones; None before the first list.
        used: None if there is no microphone.
        notice: what to tell a person about the last change; None if nothing.
        returned: whether `notice` is good news: the wanted microphone is back.
    """

    wanted: WantedDevice | None = None
    devices: tuple[Device, ...] | None = None
    used: Device | None = None
    notice: str | None = None
    returned: bool = False

    def listed(self, devices: list[Device]) -> "DeviceChoice":
        """Update the list: use the wanted microphone if it is there, else the one in use, else the default."""
        now = tuple(devices)
        wanted = next((device for device in now if self._is_wanted(device)), None)
        same = next((device for device in now if self.used is not None and device.is_same(self.used)), None)
        default = next((device for device in now if device.is_default), None)
        used = wanted or same or default or next(iter(now), None)
        returned = used is not None and self._has_returned(used)
        return DeviceChoice(self.wanted, now, used, self._notice(used), returned)

    def chosen(self, device: Device) -> "DeviceChoice":
        """Use the microphone that a person chose."""
        return DeviceChoice(WantedDevice(device.name, device.host_api), self.devices, device)

    def _is_wanted(self, device: Device) -> bool:
        return self.wanted is not None and (device.name, device.host_api) == (self.wanted.name, self.wanted.host_api)

    def _has_returned(self, used: Device) -> bool:
        """Whether `used` is the wanted microphone, after another one was used instead."""
        before = self.used
        return before is not None and before.name != used.name and not before.is_same(used) and self._is_wanted(used)

    def _notice(self, used: Device | None) -> Message | None:
        before = self.used
        if used is None:
            gone = "" if before is None else message("The microphone “{name}” is gone.", name=before.name)
            return joined(gone, message("There is no microphone now: plug one in."))
        if before is not None and before.name == used.name and before.backing != used.backing:
            return message(
                "“{name}” now listens to another microphone. Check the level before you record.", name=used.name
            )
        if self._has_returned(used):
            return message("The microphone “{name}” is back.", name=used.name)
        if before is not None and not before.is_same(used):
            return message(
                "The microphone “{name}” is gone. “{other}” is used instead.", name=before.name, other=used.name
            )
        if before is None and self.wanted is not None and not self._is_wanted(used):
            return message(
                "The microphone “{name}” is not here. “{other}” is used instead.",
                name=self.wanted.name,
                other=used.name,
            )
        return None

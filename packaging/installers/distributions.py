"""The distributions that an artefact contains: vbdesk and what it requires, found in a folder of installed wheels."""

import re
from collections.abc import Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement

LINUX = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
WINDOWS = {
    "sys_platform": "win32",
    "platform_system": "Windows",
    "os_name": "nt",
    "platform_machine": "AMD64",
}
MACOS = {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"}


def normal(name: str) -> str:
    """A distribution's name as package indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def shipped(folder: Path, markers: Mapping[str, str], root: str = "vbdesk") -> list[Distribution]:
    """`root` and everything it requires on a system, by name.

    Args:
        folder: of installed wheels.
        markers: values of environment markers that differ from those of this interpreter.
        root: where to begin.

    Raises:
        LookupError: something that is required is not installed.
    """
    installed = {normal(found.metadata["Name"]): found for found in distributions(path=[str(folder)])}
    wanted, seen = [(normal(root), frozenset[str]())], set[tuple[str, frozenset[str]]]()
    while wanted:
        name, extras = wanted.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        if name not in installed:
            raise LookupError(f"{name} is required, but not installed in {folder}.")
        for line in installed[name].requires or []:
            requirement = Requirement(line)
            if applies(requirement, markers, extras):
                wanted.append((normal(requirement.name), frozenset(requirement.extras)))
    return [installed[name] for name in sorted({name for name, _ in seen})]


def frozen(folder: Path, markers: Mapping[str, str]) -> list[Distribution]:
    """What a frozen program contains: vbdesk, what it requires, and PyInstaller, whose bootloader starts it."""
    (bootloader,) = distributions(name="pyinstaller", path=[str(folder)])
    return [*shipped(folder, markers), bootloader]


def applies(requirement: Requirement, markers: Mapping[str, str], extras: frozenset[str]) -> bool:
    """Whether a requirement holds on the system of `markers`, with these extras of the requiring distribution."""
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate({**markers, "extra": extra}) for extra in extras or {""})

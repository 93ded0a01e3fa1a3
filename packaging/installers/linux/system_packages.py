"""Which Debian packages have the system libraries that the program needs."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

LOADED_BY_NAME = ("libportaudio.so.2", "libpq.so.5")
"""Opened at run time, so no file names them as needed."""

OPTIONAL = {
    "libqgtk3.so": "Suggests",
    "libcupsprintersupport.so": "Recommends",
    "libqwayland": "Recommends",
    "wayland-": "Recommends",
    "libQt6Wayland": "Recommends",
    "libQt6WlShell": "Recommends",
    "libqibus": "Suggests",
    "libcomposeplatforminputcontextplugin": "Recommends",
}
"""Parts of files' names whose libraries may be absent: Qt then does without the plugin."""

_LISTED = re.compile(r"\s*(\S+) \(libc6,x86-64.*\) => (\S+)")
_C_LIBRARY = "libc6"
_STRENGTH = ("Depends", "Recommends", "Suggests")


class NotPackaged(Exception):
    """A library that no installed Debian package has."""


def relations(missing: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """Package relations (`Depends`, `Recommends`, `Suggests`) for libraries and the files that need them.

    Raises:
        NotPackaged: a library is not installed here, or is no package's.
    """
    installed = _installed_libraries()
    found: dict[str, int] = {}
    for library, users in sorted({**missing, **{name: {"the program"} for name in LOADED_BY_NAME}}.items()):
        strength = min(_STRENGTH.index(_relation(user)) for user in users)
        if library not in installed:
            if strength:
                continue
            raise NotPackaged(f"{library} is not installed on this computer; {', '.join(sorted(users)[:3])} needs it.")
        package = _package_of(installed[library])
        found[package] = min(strength, found.get(package, strength))
    found.pop(_C_LIBRARY, None)
    return {name: sorted(p for p, at in found.items() if at == index) for index, name in enumerate(_STRENGTH)}


def _relation(user: str) -> str:
    return next((strength for part, strength in OPTIONAL.items() if part in user), "Depends")


def _installed_libraries() -> dict[str, Path]:
    listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    found = (_LISTED.fullmatch(line) for line in listed.splitlines())
    return {match[1]: Path(match[2]) for match in found if match is not None}


def _package_of(path: Path) -> str:
    tried = [path, path.resolve()]
    tried += [Path(str(name).removeprefix("/usr")) for name in tried]
    for name in tried:
        told = subprocess.run(["dpkg", "-S", str(name)], check=False, capture_output=True, text=True)
        if told.returncode == 0:
            return told.stdout.split(":")[0]
    raise NotPackaged(f"{path} is in no Debian package.")

"""The programs that soaks need, and the Debian packages that have them."""

import os
import shutil
from collections.abc import Sequence

PACKAGES = {
    "Xvfb": "xvfb",
    "apt-get": "apt",
    "buildah": "buildah",
    "chroot": "coreutils",
    "dbus-daemon": "dbus-daemon",
    "debootstrap": "debootstrap",
    "dpkg-deb": "dpkg",
    "git": "git",
    "localedef": "libc-bin",
    "msibuild": "msitools",
    "openbox": "openbox",
    "pactl": "pulseaudio-utils",
    "paplay": "pulseaudio-utils",
    "pulseaudio": "pulseaudio",
    "scrot": "scrot",
    "setpriv": "util-linux",
    "unshare": "util-linux",
    "useradd": "passwd",
    "wine": "wine",
    "wixl": "wixl",
    "xdotool": "xdotool",
}
"""Package of each program; `packaging/debian-packages.txt` lists them all."""

PATH = f"{os.environ['PATH']}{os.pathsep}/usr/sbin{os.pathsep}/sbin"
"""Where administrators' programs are too, which are not on every user's path."""


def absent(needed: Sequence[str], *, root: bool = False) -> str | None:
    """Why these programs cannot be used here, for a person; None if they can.

    Args:
        needed: names of programs, keys of `PACKAGES`.
        root: whether the soak needs the rights of root.
    """
    missing = sorted({PACKAGES[name] for name in needed if shutil.which(name, path=PATH) is None})
    if missing:
        return f"{', '.join(missing)} not installed here: packaging/bootstrap.py soak installs it"
    if root and os.geteuid() != 0:
        return "it needs root"
    return None

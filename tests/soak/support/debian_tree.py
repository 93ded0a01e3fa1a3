"""A minimal Debian in a folder, made by debootstrap."""

import os
import shutil
import subprocess
from pathlib import Path

from support.programs import PATH

RELEASE = "bookworm"


def make(root: Path, *packages: str) -> None:
    """Make a Debian with these packages in `root`; it trusts whom this computer trusts. Raises CalledProcessError."""
    included = ",".join(("ca-certificates", *packages))
    command = ["debootstrap", "--variant=minbase", f"--include={included}", RELEASE, str(root), _mirror()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "PATH": PATH})
    own = Path("usr/local/share/ca-certificates")
    shutil.copytree("/" / own, root / own, dirs_exist_ok=True)
    subprocess.run(["chroot", str(root), "update-ca-certificates"], check=True, capture_output=True)


def use_same_archive(root: Path) -> None:
    """Let apt in `root` reach the archive as this computer does."""
    for folder in ("sources.list.d", "apt.conf.d"):
        shutil.copytree(Path("/etc/apt") / folder, root / "etc" / "apt" / folder, dirs_exist_ok=True)
    for name in ("/etc/apt/sources.list", "/etc/resolv.conf", "/etc/hosts"):
        if Path(name).exists():
            shutil.copyfile(name, root / name.lstrip("/"))


def _mirror() -> str:
    """Where this computer's packages come from."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", f"Codename: {RELEASE}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return found[0] if found else "http://deb.debian.org/debian"

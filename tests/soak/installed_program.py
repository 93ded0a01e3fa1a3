"""The Debian package in a clean Debian: `python tests/soak/installed_program.py [--package FILE.deb]`.

Installs it in a tree of debootstrap, walks through it as an ordinary user (`demo`, `desk --smoke`), upgrades it over an
earlier version with data, and removes it; the data must stay. Before the removal a desktop is installed beside it, with
a screen, a keyring and a virtual microphone, where an ordinary user starts it for the first time, records, reads the
result and closes it. Without `--package` it makes one first, which takes some minutes. Needs root; says what it skips.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support import debian_tree
from support.programs import absent

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "packaging"))

import bootstrap  # noqa: E402

END_TO_END = ROOT / "tests" / "e2e"
SPEECH = ROOT / "tests" / "data" / "speech_male_20s.flac"
MAKE = ROOT / "packaging" / "installers" / "make.py"
NEEDED = ("debootstrap", "dpkg-deb", "unshare", "chroot", "apt-get")
USER = "field"
HOME = f"/home/{USER}"
EARLIER = "0.0.1"
MOUNTS = "mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && exec chroot {root} "


def main() -> int:
    """Run the steps in order; 1 at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, help="the package to install; made here if none is named")
    parser.add_argument("--folder", type=Path, help="keep the tree here and use it again")
    parser.add_argument("--pictures", type=Path, help="keep the screenshots here")
    options = parser.parse_args()
    if why := absent(NEEDED, root=True):
        print(f"skipped: the installed program: {why}")
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        folder = options.folder or Path(scratch)
        package = options.package or made(folder / "installers")
        pictures = options.pictures or Path(scratch) / "pictures"
        walk(Clean(folder / "root"), package.resolve(), Path(scratch), pictures)
    print("installed program: every step passed")
    return 0


def made(out: Path) -> Path:
    """Make the package; the quick compression leaves the files as they are."""
    subprocess.run([sys.executable, str(MAKE), "linux", "--out", str(out)], check=True,
                   env={**os.environ, "VBDESK_QUICK_DEB": "1"})  # fmt: skip
    (package,) = (out / "artefacts").glob("*.deb")
    return package


class Clean:
    """A minimal Debian in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        if not (root / "etc" / "debian_version").exists():
            debian_tree.make(root)
        debian_tree.use_same_archive(root)
        if not (root / HOME.lstrip("/")).exists():
            self.run("useradd", "--create-home", "--uid", "1000", USER)

    def run(self, *command: str, as_user: bool = False) -> str:
        """Run a command inside; returns what it printed. Raises CalledProcessError."""
        inside = f"{' '.join(command)}"
        if as_user:
            inside = f"su - {USER} -c 'QT_QPA_PLATFORM=offscreen PYTHONUNBUFFERED=1 {inside}'"
        script = MOUNTS.format(root=self.root) + f'sh -c "{inside}"'
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--propagation", "private", "sh", "-c", script],
            capture_output=True, text=True, check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8"},
        )  # fmt: skip
        if done.returncode:
            print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
            done.check_returncode()
        return done.stdout

    def install(self, package: Path) -> None:
        """Install a package with what it depends on, as `apt install ./FILE` does."""
        shutil.copyfile(package, self.root / "tmp" / package.name)
        self.run(
            "apt-get", "install", "-y", "-qq", "--no-install-recommends", "--allow-downgrades", f"/tmp/{package.name}"
        )
        (self.root / "tmp" / package.name).unlink()


def walk(clean: Clean, package: Path, scratch: Path, pictures: Path) -> None:
    """Every step; a failed one raises."""
    clean.run("apt-get", "update", "-qq")
    step("the earlier version is installed", lambda: clean.install(earlier(package, scratch)))
    assert EARLIER in clean.run("dpkg-query", "-W", "vbdesk")
    store = f"{HOME}/.local/share/vbdesk/service"
    account = "vbdesk admin account create --data-dir {store} --name Ward --json"
    step("an account is made with it", lambda: clean.run(account.format(store=store), as_user=True))
    step("it is upgraded", lambda: clean.install(package))
    assert EARLIER not in clean.run("dpkg-query", "-W", "vbdesk")
    listed = clean.run(f"vbdesk admin account list --data-dir {store}", as_user=True)
    assert "Ward" in listed, listed
    step("the demonstration runs", lambda: clean.run("cd /tmp && vbdesk demo --no-window", as_user=True))
    told = step("each page opens, a recording is analysed", lambda: clean.run("vbdesk desk --smoke", as_user=True))
    assert "smoke: passed" in told, told
    opened = [line for line in told.splitlines() if line.startswith("smoke: page-")]
    assert len(opened) >= 8, told
    types = clean.root / "usr/share/mime/packages/vbdesk.xml"
    assert ".vbundle" in types.read_text()
    place = clean.root / "usr/lib/vbdesk"
    assert not [path for path in place.rglob("*") if path.is_symlink() and not path.exists()], "links to nothing"
    platform = clean.run(f"ldd {place_of_qt(clean)}")
    assert "not found" not in platform, platform  # before the packages of a desktop hide what it does not depend on
    desktop = [entry.split("|")[0] for entry in bootstrap.package_sections()["rig"]]
    step(
        "a desktop is installed",
        lambda: clean.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *desktop),
    )
    step("first start, recording, result, close", lambda: first_light(clean, pictures))
    step("it is removed", lambda: clean.run("apt-get", "purge", "-y", "-qq", "vbdesk"))
    assert not place.exists()
    assert (clean.root / store.lstrip("/") / "vbdesk.db").exists(), "the data are gone"
    print("the data stay")


def first_light(clean: Clean, pictures: Path) -> None:
    """The walk of the end-to-end tests in a real window, by the user, with the installed program."""
    clean.run("install -d -m 1777 /tmp/.X11-unix")  # Xvfb makes it only as root
    home = clean.root / HOME.lstrip("/")
    shutil.copytree(END_TO_END, home / "e2e", dirs_exist_ok=True)
    shutil.copyfile(SPEECH, home / SPEECH.name)
    shutil.rmtree(home / "pictures", ignore_errors=True)
    (home / "pictures").mkdir()
    clean.run(f"chown -R {USER}: {HOME}/e2e {HOME}/pictures")
    session = "e2e/rig/desk-session --size 1280x840 -- python3 e2e/first_light_on_rig.py"
    try:
        clean.run(f"{session} {HOME}/pictures {HOME}/{SPEECH.name} vbdesk", as_user=True)
    finally:
        shutil.copytree(home / "pictures", pictures, dirs_exist_ok=True)
    log = (pictures / "desk.log").read_text()
    assert log == "", log[:4000]


def place_of_qt(clean: Clean) -> str:
    """Qt's plugin for X11, as a path inside."""
    (plugin,) = (clean.root / "usr/lib/vbdesk").rglob("libqxcb.so")
    return f"/{plugin.relative_to(clean.root)}"


def step(words: str, act):
    """Do a step and tell how long it took."""
    begun = time.monotonic()
    told = act()
    print(f"{words}: {time.monotonic() - begun:.0f} s", flush=True)
    return told


def earlier(package: Path, scratch: Path) -> Path:
    """The same package with an earlier version: what an upgrade starts from while nothing is released."""
    tree = scratch / "earlier"
    subprocess.run(["dpkg-deb", "-R", str(package), str(tree)], check=True)
    control = tree / "DEBIAN" / "control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {EARLIER}", control.read_text()))
    target = scratch / "vbdesk_earlier.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", str(tree), str(target)], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    shutil.rmtree(tree)
    return target


if __name__ == "__main__":
    sys.exit(main())

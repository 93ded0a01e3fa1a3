"""The MSI packages under Wine: `python tests/soak/windows_package.py [--application FOLDER]`.

Installs silently with policies, upgrades, refuses a downgrade, removes; for all users and for one. Without
`--application` the packages hold stand-ins for the program: what is tested is the package. No real Windows has run it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support.programs import absent

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging"))

from installers.windows import msi

NEEDED = ("wine", "wixl", "msibuild")
POLICY = r"HKLM\Software\Policies\vbdesk"
FILES = ("vbdesk.exe", "vbdesk-desk.exe", "vbdesk.ico", "site-packages/vbdesk/__init__.py")


def main() -> int:
    """Run both walks; an assertion tells what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--application", type=Path, help="an application folder of make.py windows")
    options = parser.parse_args()
    if why := absent(NEEDED):
        print(f"skipped: the MSI under Wine: {why}")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        application = options.application or stand_in(folder / "vbdesk")
        for_all_users(Windows(folder / "machine"), application, folder)
        for_one_user(Windows(folder / "user"), application, folder)
    print("windows package: installed, upgraded, refused a downgrade, removed")
    return 0


def stand_in(place: Path) -> Path:
    """An application folder with the names of the real one."""
    for name in FILES:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(name)
    return place


class Windows:
    """A Wine prefix."""

    def __init__(self, prefix: Path) -> None:
        self.drive = prefix / "drive_c"
        self._environment = {**os.environ, "WINEPREFIX": str(prefix), "WINEDEBUG": "-all", "WINEARCH": "win64"}
        self._environment["DISPLAY"] = ""
        self.run("wineboot", "-i")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program of Windows."""
        return subprocess.run(
            ["wine", *command], env=self._environment, capture_output=True, text=True, errors="replace", check=False
        )

    def msiexec(self, job: str, package: Path, *properties: str) -> int:
        """Install (`/i`) or remove (`/x`) silently; returns the status."""
        return self.run("msiexec", job, f"Z:{package}", "/qn", *properties).returncode

    def registry(self, key: str) -> str:
        """What is below a key; empty if it is not there."""
        done = self.run("reg", "query", key, "/s")
        return done.stdout if done.returncode == 0 else ""

    def installed(self) -> set[str]:
        """Files of vbdesk, by name."""
        places = [self.drive / "Program Files", *self.drive.glob("users/*/AppData/Local/Programs")]
        return {path.name for place in places for path in (place / "vbdesk").rglob("*") if path.is_file()}


def for_all_users(windows: Windows, application: Path, folder: Path) -> None:
    """Policies are set, survive an upgrade, and stay when the program goes; an older version is refused."""
    old, new = (msi.make(application, version, msi.MACHINE, folder) for version in ("1.0.0", "1.1.0"))
    assert windows.msiexec("/i", old, "SERVICEURL=https://voice.example", "CONSENTPOLICY=required") == 0
    names = {Path(name).name for name in FILES}
    assert names <= windows.installed(), windows.installed()
    policies = windows.registry(POLICY)
    assert "https://voice.example" in policies, policies
    assert "ConsentPolicy" in policies, policies
    assert "ProfileName" not in policies, policies
    assert "vbdesk.bundle" in windows.registry(r"HKLM\Software\Classes\.vbundle")
    assert windows.msiexec("/i", new) == 0
    assert names <= windows.installed()
    assert "https://voice.example" in windows.registry(POLICY), "the upgrade lost a policy"
    assert windows.msiexec("/i", old) != 0, "a downgrade was not refused"
    assert names <= windows.installed()
    assert windows.msiexec("/x", new) == 0
    assert not names & windows.installed(), windows.installed()
    assert windows.registry(r"HKLM\Software\Classes\.vbundle") == ""
    print("for all users: passed")


def for_one_user(windows: Windows, application: Path, folder: Path) -> None:
    """It goes into the user's folder, and refuses policies."""
    package = msi.make(application, "1.0.0", msi.USER, folder)
    names = {Path(name).name for name in FILES}
    assert windows.msiexec("/i", package, "SERVICEURL=https://voice.example") != 0, "policies were not refused"
    assert not names & windows.installed()
    assert windows.msiexec("/i", package) == 0
    assert names <= windows.installed()
    assert list(windows.drive.glob("users/*/AppData/Local/Programs/vbdesk/vbdesk.exe"))
    assert not list(windows.drive.glob("users/*/AppData/Local/vbdesk")), "the program is among the recordings"
    assert windows.registry(POLICY) == ""
    assert windows.msiexec("/x", package) == 0
    assert not names & windows.installed(), windows.installed()
    print("for one user: passed")


if __name__ == "__main__":
    sys.exit(main())

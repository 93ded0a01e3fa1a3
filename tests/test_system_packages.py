"""`bootstrap.py` installs system packages under the names that this release has, and never asks twice for one."""

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLIB = "libglib2.0-0|libglib2.0-0t64"
RELEASES = {"before the change of time_t": "libglib2.0-0", "after it": "libglib2.0-0t64"}
# The archive is `archive`, apt's lists of it are `lists`, what is installed is `installed`: one name a line.
STAND_INS = {
    "dpkg-query": """while read -r name; do printf 'installed %s\\n' "$name"; done < "$STATE/installed"
printf 'not-installed removed\\n'""",
    "apt-cache": """[ "$1" = madison ] && shift
for name; do
    while read -r listed; do [ "$listed" = "$name" ] && echo "   $name | 1.0 | archive main"; done < "$STATE/lists"
done
exit 0""",
    "apt-get": """if [ "$1" = update ]; then
    while read -r name; do echo "$name"; done < "$STATE/archive" > "$STATE/lists"
    exit 0
fi
echo "$*" >> "$STATE/log"
shift 3
for name; do
    found=
    while read -r listed; do [ "$listed" = "$name" ] && found=1; done < "$STATE/lists"
    [ "$found" ] || exit 100
done
for name; do echo "$name" >> "$STATE/installed"; done""",
    "sudo": "exit 1",
}


pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")


class Release:
    """A release of Debian with the packages of its archive, as apt and dpkg show it."""

    def __init__(self, state: Path) -> None:
        self._state = state

    def write(self, name: str, *packages: str) -> None:
        (self._state / name).write_text("".join(f"{package}\n" for package in packages))

    def read(self, name: str) -> list[str]:
        return (self._state / name).read_text().splitlines()


@pytest.fixture
def release(tmp_path, monkeypatch):
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, script in STAND_INS.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    (programs / "env").symlink_to(shutil.which("env"))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("STATE", str(tmp_path))
    made = Release(tmp_path)
    for name in ("archive", "lists", "installed", "log"):
        made.write(name)
    return made


@pytest.fixture
def bootstrap(monkeypatch):
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "packaging" / "bootstrap.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script.sys, "platform", "linux")
    return script


@pytest.fixture
def as_root(bootstrap, monkeypatch):
    monkeypatch.setattr(bootstrap.os, "geteuid", lambda: 0)


@pytest.fixture
def as_user(bootstrap, monkeypatch):
    monkeypatch.setattr(bootstrap.os, "geteuid", lambda: 1000)


@pytest.mark.parametrize("name", RELEASES.values(), ids=RELEASES)
def test_a_package_is_installed_under_the_name_that_this_release_has(bootstrap, release, as_root, name):
    release.write("archive", "apt", "xvfb", name)
    for _ in range(2):
        bootstrap.install_system_packages(["xvfb", GLIB])
    assert release.read("installed") == ["xvfb", name]
    assert release.read("log") == [f"install -y --no-install-recommends xvfb {name}"], "asked for again"


@pytest.mark.parametrize("name", RELEASES.values(), ids=RELEASES)
def test_an_ordinary_user_is_told_the_name_that_this_release_has(bootstrap, release, as_user, name):
    release.write("lists", "apt", name)
    with pytest.raises(bootstrap.Unmet, match=rf"    sudo apt-get install -y --no-install-recommends {name}$"):
        bootstrap.install_system_packages([GLIB])
    release.write("installed", name)
    bootstrap.install_system_packages([GLIB])
    assert release.read("log") == []


def test_what_no_release_offers_is_named_and_the_rest_is_installed(bootstrap, release, as_root, capsys):
    release.write("archive", "apt", "xvfb")
    bootstrap.install_system_packages(["chromium", "xvfb", "gone|lost"])
    assert release.read("installed") == ["xvfb"]
    assert "this system offers no package chromium, gone or lost: " in capsys.readouterr().out


def test_an_ordinary_user_goes_on_without_what_this_release_does_not_offer(bootstrap, release, as_user, capsys):
    release.write("lists", "apt")
    bootstrap.install_system_packages(["chromium"])
    assert "this system offers no package chromium: " in capsys.readouterr().out


def test_an_ordinary_user_without_lists_of_packages_is_told_to_fetch_them(bootstrap, release, as_user):
    with pytest.raises(bootstrap.Unmet, match=r"^apt has no lists of packages\..*\n    sudo apt-get update$"):
        bootstrap.install_system_packages([GLIB])


def test_nothing_is_asked_when_everything_is_installed(bootstrap, release, as_user):
    release.write("installed", "xvfb", "libglib2.0-0t64")
    bootstrap.install_system_packages(["xvfb", GLIB])


def test_every_entry_of_the_list_is_one_or_several_names(bootstrap):
    name = r"[a-z0-9][a-z0-9+.-]+"
    entries = bootstrap.system_packages("soak")
    assert GLIB in entries
    assert [entry for entry in entries if not re.fullmatch(rf"{name}(\|{name})*", entry)] == []

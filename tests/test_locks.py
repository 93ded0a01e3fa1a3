"""The locks hold every requirement of pyproject.toml, each file with its hash, and no registry."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "packaging" / "locks"
GENERATORS = ROOT / "tests" / "service" / "generated" / "requirements.txt"
ALL_LOCKS = [*sorted(LOCKS.glob("*.txt")), GENERATORS]
EXTRAS = {
    "run": [],
    "deploy": ["cloud", "telemetry"],
    "test": ["test", "cloud", "telemetry", "parquet", "fit", "bench"],
}
PLATFORMS = {"linux": "Linux", "win32": "Windows", "darwin": "Darwin"}
PYTHONS = ["3.11", "3.12", "3.13"]
_PIN = re.compile(
    r"(?P<pin>[A-Za-z0-9._-]+==\S+)(?: ; (?P<marker>[^\\]+?))? \\\n(?P<hashes>(?: +--hash=\S+(?: \\)?\n)+)"
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(lock):
    """Name, requirement and hashes of each pin; nothing else stands in the file."""
    text = "".join(line for line in lock.read_text().splitlines(keepends=True) if not line.startswith("#"))
    found = list(_PIN.finditer(text))
    assert "".join(match.group() for match in found) == text, lock.name
    for match in found:
        requirement = Requirement(f"{match['pin']} ; {match['marker']}" if match["marker"] else match["pin"])
        yield canonicalize_name(requirement.name), requirement, match["hashes"]


def wanted(lock):
    project = PROJECT["project"]
    listed = [*PROJECT["build-system"]["requires"], *project["dependencies"]]
    for extra in EXTRAS[lock]:
        listed += project["optional-dependencies"][extra]
    return [Requirement(text) for text in listed if not text.startswith("vbdesk[")]


def test_each_job_has_a_lock():
    assert {path.stem for path in LOCKS.glob("*.txt")} == set(EXTRAS)
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(extras) == set(EXTRAS["test"]), "an extra that no lock holds"


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("lock", EXTRAS)
def test_every_requirement_is_locked_on_every_platform(lock, platform, python):
    environment = {
        **default_environment(),
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": platform,
        "platform_system": PLATFORMS[platform],
        "os_name": "nt" if platform == "win32" else "posix",
    }
    there = {
        name: next(iter(pin.specifier)).version
        for name, pin, _ in pins(LOCKS / f"{lock}.txt")
        if pin.marker is None or pin.marker.evaluate(environment)
    }
    for requirement in wanted(lock):
        if requirement.marker is None or requirement.marker.evaluate(environment):
            version = there.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement}: run packaging/lock.py"
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement} is locked at {version}"


@pytest.mark.parametrize("lock", ALL_LOCKS, ids=lambda path: path.stem)
def test_every_pin_has_hashes_and_stands_once(lock):
    names = []
    for name, pin, hashes in pins(lock):
        names.append((name, str(pin.marker)))
        assert [each.operator for each in pin.specifier] == ["=="], name
        assert re.findall(r"--hash=(\S+)", hashes), name
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in re.findall(r"--hash=(\S+)", hashes)), name
    assert len(set(names)) == len(names) > 10


@pytest.mark.parametrize("lock", ALL_LOCKS, ids=lambda path: path.stem)
def test_a_lock_names_no_registry(lock):
    assert not re.search(r"://|--(extra-)?index-url|--find-links|@", lock.read_text())


def test_all_locks_hold_the_same_versions():
    whole = {(name, str(pin)) for name, pin, _ in pins(LOCKS / "test.txt")}
    versions = {name: version.split("==")[1].split(";")[0].strip() for name, version in whole}
    for lock in ("run", "deploy"):
        for name, pin, _ in pins(LOCKS / f"{lock}.txt"):
            assert versions[name] == next(iter(pin.specifier)).version, name

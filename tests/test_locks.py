"""The locks hold everything that their packages require, each file with its hash, and are installed as they stand."""

import ast
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "packaging" / "locks"
GENERATORS = ROOT / "tests" / "service" / "generated" / "requirements.txt"
BUILD_TOOLS = tomllib.loads((ROOT / "packaging" / "installers" / "pins.toml").read_text())["build"]["requirements"]
ALL_LOCKS = [*sorted(LOCKS.glob("*.txt")), GENERATORS]
EXTRAS = {
    "run": [],
    "deploy": ["cloud", "telemetry"],
    "test": ["test", "cloud", "telemetry", "parquet", "fit", "lab", "bench"],
}
PLATFORMS = ["linux", "win32", "darwin"]
PYTHONS = ["3.11", "3.12", "3.13"]
PURPOSES = [*EXTRAS, "generators", "build tools"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


lock_script = load_script("lock")
bootstrap = load_script("bootstrap")
TEXTS = {name: path.read_text() for name, path in lock_script.lock_files().items()}
DEPENDENCIES = tomllib.loads(lock_script.DEPENDENCIES.read_text())


def pins(lock):
    """Name, requirement and hashes of each pin; nothing else stands in the file."""
    for requirement, hashes in lock_script.pins(lock.read_text()):
        yield canonicalize_name(requirement.name), requirement, hashes


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
    assert set(lock_script.lock_files().values()) == set(ALL_LOCKS)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("lock", EXTRAS)
def test_every_requirement_is_locked_on_every_platform(lock, platform, python):
    there = lock_script.environment(platform, python)
    locked = lock_script.pinned(TEXTS[lock], there)
    for requirement in wanted(lock):
        if lock_script.holds(requirement, there):
            version = locked.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement}: run packaging/lock.py"
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement} is locked at {version}"


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("purpose", PURPOSES)
def test_what_a_locked_package_requires_is_locked_too(purpose, platform, python):
    begin, text = lock_script.purposes(TEXTS)[purpose]
    there = lock_script.environment(platform, python)
    steps, lacking = lock_script.walk(begin, lock_script.pinned(text, there), DEPENDENCIES, there)
    assert lacking == [], "run packaging/lock.py"
    assert len(steps) > 10


def test_the_supported_systems_are_those_that_the_locks_are_checked_for():
    assert list(lock_script.SYSTEMS) == PLATFORMS
    assert list(lock_script.PYTHONS) == PYTHONS
    assert set(lock_script.purposes(TEXTS)) == set(PURPOSES)
    named = [text.rpartition(" :: ")[2] for text in PROJECT["project"]["classifiers"] if "Python :: 3" in text]
    assert named == PYTHONS


def test_dependencies_hold_what_the_locks_pin_and_nothing_else():
    pinned = {
        f"{canonicalize_name(pin.name)}{pin.specifier}"
        for text in (*TEXTS.values(), BUILD_TOOLS)
        for pin, _ in lock_script.pins(text)
    }
    assert set(DEPENDENCIES) == pinned, "run packaging/lock.py"
    steps = lock_script.check(TEXTS, DEPENDENCIES)
    assert lock_script.DEPENDENCIES.read_text() == lock_script.dependencies_text(DEPENDENCIES, steps)


@pytest.mark.parametrize(
    ("locked", "dependencies", "sentences"),
    [
        ({"a": "1", "b": "2"}, {"a==1": ["b>=2"], "b==2": []}, []),
        ({"a": "1"}, {"a==1": ["b"]}, ["a==1 requires b, locked is None"]),
        ({"a": "1", "b": "2"}, {"a==1": ["b<2"], "b==2": []}, ["a==1 requires b<2, locked is 2"]),
        ({"a": "1"}, {"a==1": ['b; sys_platform == "win32"']}, []),
        ({"a": "1"}, {"a==1": ['b; os_name == "posix"']}, ['a==1 requires b; os_name == "posix", locked is None']),
        ({"a": "1"}, {"a==1": ['b; extra == "x"']}, []),
        (
            {"a": "1", "b": "2"},
            {"a==1": ["b[x]"], "b==2": ['c; extra == "x"']},
            ['b==2 requires c; extra == "x", locked is None'],
        ),
        (
            {"a": "1", "b": "2", "c": "3", "d": "4"},
            {"a==1": ["b", "c", "d"], "b==2": ["d[x]"], "c==3": ["d[Y_z]"], "d==4": ['e; extra == "y-z"']},
            ['d==4 requires e; extra == "y-z", locked is None'],
        ),
        ({"a": "1", "b": "2"}, {"a==1": ["b"], "b==2": ["a[x]"]}, []),
        ({"a": "1", "b": "2"}, {"a==1": ["b"]}, ["a==1 requires b, and what b==2 requires is not known"]),
        ({}, {}, ["vbdesk requires a, locked is None"]),
    ],
)  # fmt: skip
def test_what_a_lock_lacks_is_told(locked, dependencies, sentences):
    there = lock_script.environment("linux", "3.11")
    assert lock_script.walk([Requirement("a")], locked, dependencies, there)[1] == sentences


def test_an_incomplete_lock_is_refused():
    lacking = {**DEPENDENCIES, next(iter(DEPENDENCIES)): ["absent>=1"]}
    with pytest.raises(lock_script.Incomplete, match=r"win32, Python 3\.13: \S+ requires absent>=1, locked is None"):
        lock_script.check(TEXTS, lacking)


def here():
    """The markers of this system and Python."""
    return lock_script.environment(sys.platform, ".".join(map(str, sys.version_info[:2])))


def metadata_of(found):
    """What each distribution requires, as `dependencies.toml` names it."""
    return {
        f"{canonicalize_name(each.metadata['Name'])}=={each.version}": [
            str(Requirement(text)) for text in each.requires or []
        ]
        for each in found
    }


@pytest.mark.parametrize("purpose", ["run", "deploy", "test", "generators"])
def test_dependencies_are_those_of_what_is_installed(purpose):
    path = sys.path
    if purpose == "generators":
        path = [str(place) for place in bootstrap.GENERATORS_VENV.glob("lib/python*/site-packages")]
        if not path:
            pytest.skip("the generators are not installed: packaging/bootstrap.py test installs them")
    installed = metadata_of(distributions(path=path))
    there = here()
    begin, text = lock_script.purposes(TEXTS)[purpose]
    locked = lock_script.pinned(text, there)
    named = lock_script.walk(begin, locked, DEPENDENCIES, there)
    assert named == lock_script.walk(begin, locked, installed, there)


@pytest.mark.parametrize("lock", ALL_LOCKS, ids=lambda path: path.stem)
def test_every_pin_has_hashes_and_stands_once(lock):
    names = []
    for name, pin, hashes in pins(lock):
        names.append((name, str(pin.marker)))
        assert [each.operator for each in pin.specifier] == ["=="], name
        assert re.findall(r"--hash=(\S+)", hashes), name
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in re.findall(r"--hash=(\S+)", hashes)), name
    assert len(set(names)) == len(names) > 10


def test_a_line_that_pins_nothing_is_refused():
    with pytest.raises(ValueError, match="not a pin with hashes: six"):
        list(lock_script.pins("six==1.17.0\n"))


@pytest.mark.parametrize("lock", ALL_LOCKS, ids=lambda path: path.stem)
def test_a_lock_names_no_registry(lock):
    assert not re.search(r"://|--(extra-)?index-url|--find-links|@", lock.read_text())


def test_all_locks_hold_the_same_versions():
    whole = {(name, str(pin)) for name, pin, _ in pins(LOCKS / "test.txt")}
    versions = {name: version.split("==")[1].split(";")[0].strip() for name, version in whole}
    for lock in ("run", "deploy"):
        for name, pin, _ in pins(LOCKS / f"{lock}.txt"):
            assert versions[name] == next(iter(pin.specifier)).version, name


def test_the_build_tools_of_installers_fit_the_packages_that_they_are_installed_with():
    run = {name: str(pin.specifier) for name, pin, _ in pins(LOCKS / "run.txt")}
    tools = {canonicalize_name(pin.name): str(pin.specifier) for pin, _ in lock_script.pins(BUILD_TOOLS)}
    assert {name: tools[name] for name in tools.keys() & run.keys()} == {
        name: run[name] for name in tools.keys() & run.keys()
    }


NEWEST = "9999"
"""The version of each package that a registry offers besides the locked one."""


def write_wheel(folder, key, version):
    """Make a wheel of a package, with the requirements that its locked version has; returns its hash."""
    name = key.split("==")[0]
    requirements = DEPENDENCIES[key]
    extras = {extra for text in requirements for extra in re.findall(r'extra == "([^"]+)"', text)}
    inside = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Provides-Extra: {extra}" for extra in sorted(extras)]
    metadata += [f"Requires-Dist: {text}" for text in requirements]
    path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{inside}/METADATA", "\n".join([*metadata, ""]))
        wheel.writestr(f"{inside}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{inside}/RECORD", f"{inside}/METADATA,,\n{inside}/WHEEL,,\n{inside}/RECORD,,\n")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def newer_releases(tmp_path, monkeypatch):
    """A lock whose every package has a newer release in the only registry that pip knows."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    lines = []
    for pin, _ in lock_script.pins(TEXTS["test"]):
        version = next(iter(pin.specifier)).version
        key = f"{canonicalize_name(pin.name)}=={version}"
        write_wheel(wheels, key, NEWEST)
        marker = f" ; {pin.marker}" if pin.marker else ""
        lines.append(f"{key}{marker} --hash=sha256:{write_wheel(wheels, key, version)}\n")
    lock = tmp_path / "lock.txt"
    lock.write_text("".join(lines))
    for name, value in {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": wheels.as_uri(),
        "PIP_NO_CACHE_DIR": "1",
    }.items():
        monkeypatch.setenv(name, value)
    return lock


def test_the_locked_versions_are_installed_whatever_is_newer(newer_releases, tmp_path):
    place = tmp_path / "environment"
    venv.create(place, with_pip=True)
    pip = [bootstrap.venv_bin("python", place), "-m", "pip"]
    resolving = [*pip, "install", "--dry-run", "--require-hashes", "-r", newer_releases]
    refused = subprocess.run(resolving, capture_output=True, text=True, check=False)
    assert refused.returncode, "the registry is no trap"
    assert f"-{NEWEST}-py3-none-any.whl" in refused.stderr

    bootstrap.install_locked(place, newer_releases, compiled=False)
    bootstrap.check_installed(place)
    listed = subprocess.run([*pip, "list", "--format", "json"], capture_output=True, text=True, check=True).stdout
    installed = {canonicalize_name(each["name"]): each["version"] for each in json.loads(listed)}
    locked = lock_script.pinned(TEXTS["test"], here())
    assert {name: installed.get(name) for name in locked} == locked
    assert installed.keys() - locked.keys() <= {"pip", "setuptools"}

    subprocess.run([*pip, "uninstall", "--yes", "--quiet", "six"], check=True)
    with pytest.raises(bootstrap.Unmet, match=f"Delete {re.escape(str(place))}, then try again"):
        bootstrap.check_installed(place)


FOLDERS = (".ci", ".github", "docs", "packaging", "src", "tests")
READ = {".md", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml", ""}
FROM_A_FILE = {"--require-hashes", "-r", "--requirement"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LINE = re.compile(r"\bpip\b.*\binstall\b.*(--require-hashes|\s-r\b|--requirement)")


def words_of(node):
    return [each for each in ast.walk(node) if isinstance(each, ast.Constant | ast.Name)]


def resolving_commands(path, text):
    """Installations from a requirements file that resolve it: lines of a shell, or functions that make a command."""
    found = []
    texts = [text]
    if path.suffix == ".py":
        module = ast.parse(text)
        functions = [node for node in ast.walk(module) if isinstance(node, FUNCTIONS)]
        rest = ast.Module([node for node in module.body if not isinstance(node, (*FUNCTIONS, ast.ClassDef))], [])
        for node in (*functions, rest):
            words = {getattr(each, "value", None) or getattr(each, "id", None) for each in words_of(node)}
            if words >= {"pip", "install"} and words & FROM_A_FILE and "--no-deps" not in words:
                found.append(getattr(node, "name", path.name))
        texts = [node.value for node in words_of(module) if isinstance(getattr(node, "value", None), str)]
    for each in texts:
        commands = re.split(r"\n|&&|;", each.replace("\\\n", " "))
        found += [line.strip() for line in commands if _LINE.search(line) and "--no-deps" not in line]
    return found


def test_nothing_installs_a_lock_by_resolving_it():
    files = [*ROOT.glob("*.md"), ROOT / ".pre-commit-config.yaml"]
    for folder in FOLDERS:
        files += [path for path in (ROOT / folder).rglob("*") if path.suffix in READ and path.is_file()]
    files = [path for path in files if "node_modules" not in path.parts and path != Path(__file__)]
    assert ROOT / "packaging" / "deploy" / "Dockerfile" in files
    installing = {path: text for path in files if "install" in (text := path.read_text(encoding="utf-8"))}
    found = {path: commands for path, text in installing.items() if (commands := resolving_commands(path, text))}
    assert found == {}


@pytest.mark.parametrize(
    ("name", "text", "resolves"),
    [
        ("a.md", "    pip install --require-hashes -r packaging/locks/run.txt", True),
        ("a.md", "    pip install --no-deps --require-hashes -r packaging/locks/run.txt", False),
        ("a.md", "`pip install --no-deps .` and then `pip install vbdesk`", False),
        ("a.sh", "pip install --no-deps . && uv pip install -r lock.txt", True),
        ("Dockerfile", "RUN /opt/bin/pip install \\\n    --require-hashes -r lock.txt", True),
        ("Dockerfile", "RUN /opt/bin/pip install --no-deps \\\n    --require-hashes -r lock.txt", False),
        ("a.py", "HEAD = 'Install with: pip install --require-hashes -r {name}'", True),
        ("a.py", "def install():\n    run(python, '-m', 'pip', 'install', '-r', lock)", True),
        ("a.py", "def install():\n    pip(venv, 'install', '--require-hashes', '-r', lock)", True),
        ("a.py", "run(python, '-m', 'pip', 'install', '--require-hashes', '-r', lock)", True),
        ("a.py", "def install():\n    pip(venv, 'install', '--no-deps', '--require-hashes', '-r', lock)", False),
        ("a.py", "def install():\n    pip(venv, 'install', '--no-deps', wheel)", False),
    ],
)
def test_what_resolves_a_lock_is_known(name, text, resolves):
    assert bool(resolving_commands(Path(name), text)) == resolves

#!/usr/bin/env python3
"""Write the lock files: exact versions of every package, with the hashes of their files.

    .venv/bin/python packaging/lock.py              after a change of pyproject.toml or of the installers' pins.toml;
                                                    what is locked already keeps its version
    .venv/bin/python packaging/lock.py --upgrade    the newest versions that pyproject.toml allows

Needs `uv` (`pip install uv`). The files hold for Python 3.11 to 3.13 on Linux, Windows and macOS: uv resolves for all
of them at once and writes markers where they differ. They name no registry: any that serves the same files will do.
Locks are installed without resolving, so `dependencies.toml` proves for each system that nothing is missing in them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "packaging" / "locks"
DEPENDENCIES = LOCKS / "dependencies.toml"
GENERATORS = ROOT / "tests" / "service" / "generated"
BUILD_TOOLS = ROOT / "packaging" / "installers" / "pins.toml"
HEAD = "# Made by packaging/lock.py. Install with: pip install --no-deps --require-hashes -r {name}\n"
HEAD_OF_DEPENDENCIES = """\
# Made by packaging/lock.py: what each locked package requires on any system and Python that vbdesk supports, with the
# extras that are asked for. Tests compare it with the locks and with what is installed.
"""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = {"test": [*PROJECT["project"]["optional-dependencies"]], "run": [], "deploy": ["cloud", "telemetry"]}
PYTHONS = ("3.11", "3.12", "3.13")
# `sys_platform`: other markers, and the tags of wheels. Debian 12 has glibc 2.36; macOS 14 is the oldest supported.
SYSTEMS = {
    "linux": (
        "posix",
        "Linux",
        "x86_64",
        [*(f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)), "manylinux2014_x86_64"],
    ),
    "win32": ("nt", "Windows", "AMD64", ["win_amd64"]),
    "darwin": ("posix", "Darwin", "arm64", ["macosx_14_0_arm64"]),
}
_PIN = re.compile(r"([A-Za-z0-9._-]+==\S+)(?: ; ([^\\]+?))? \\\n((?: +--hash=\S+(?: \\)?\n)+)")

Environment = dict[str, str]
Dependencies = Mapping[str, list[str]]


class Incomplete(Exception):
    """A lock lacks something, or a system has no wheel of it."""


def environment(system: str, python: str) -> Environment:
    """Return the markers of a system (`sys_platform`) and a Python."""
    os_name, platform_system, machine, _ = SYSTEMS[system]
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": os_name,
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "platform_system": platform_system,
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": system,
    }


def holds(requirement: Requirement, there: Environment, extra: str = "") -> bool:
    """Return whether a requirement applies in an environment."""
    return requirement.marker is None or requirement.marker.evaluate({**there, "extra": extra})


def pins(text: str) -> Iterator[tuple[Requirement, str]]:
    """Read the pins of a lock, with the lines of their hashes.

    Raises:
        ValueError: the file has a line that is not a pin.
    """
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    if _PIN.sub("", text):
        raise ValueError(f"not a pin with hashes: {_PIN.sub('', text)}")
    for pin, marker, hashes in _PIN.findall(text):
        yield Requirement(f"{pin} ; {marker}" if marker else pin), hashes


def pinned(text: str, there: Environment) -> dict[str, str]:
    """Return the version of each package that a lock installs in an environment."""
    return {
        canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin, _ in pins(text) if holds(pin, there)
    }


def wanted(job: str) -> list[Requirement]:
    """List what the lock of a job is made for, with the build backend."""
    project = PROJECT["project"]
    listed = [*PROJECT["build-system"]["requires"], *project["dependencies"]]
    for extra in EXTRAS[job]:
        listed += project["optional-dependencies"][extra]
    return [Requirement(text) for text in listed if not text.startswith("vbdesk[")]


def purposes(texts: Mapping[str, str]) -> dict[str, tuple[list[Requirement], str]]:
    """Return what is wanted of each environment, and the pins that are installed in it; `texts` are those of locks."""
    build = tomllib.loads(BUILD_TOOLS.read_text(encoding="utf-8"))["build"]
    generators = [Requirement(line) for line in (GENERATORS / "requirements.in").read_text().splitlines()]
    tools = [Requirement(line) for line in build["wanted"]]
    return {
        **{job: (wanted(job), texts[job]) for job in EXTRAS},
        "generators": (generators, texts["generators"]),
        "build tools": ([*wanted("run"), *tools], texts["run"] + build["requirements"]),
    }


def walk(
    wanted: Iterable[Requirement], locked: Mapping[str, str], dependencies: Dependencies, there: Environment
) -> tuple[set[str], list[str]]:
    """Follow requirements through a lock, with the extras that are asked for.

    Args:
        wanted: where to begin.
        locked: version of each package.
        dependencies: requirements of each "name==version".
        there: the markers of a system and a Python.

    Returns:
        Each step as "name==version: requirement", and a sentence for each that the lock does not meet.
    """
    steps: set[str] = set()
    lacking: list[str] = []
    seen: set[tuple[str, str]] = set()
    ahead = [("vbdesk", requirement) for requirement in wanted if holds(requirement, there)]
    while ahead:
        of, requirement = ahead.pop()
        name = canonicalize_name(requirement.name)
        version = locked.get(name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            lacking.append(f"{of} requires {requirement}, locked is {version}")
            continue
        key = f"{name}=={version}"
        if key not in dependencies:
            lacking.append(f"{of} requires {requirement}, and what {key} requires is not known")
            continue
        for extra in {"", *requirement.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, extra))
            for needed in map(Requirement, dependencies[key]):
                if holds(needed, there, extra):
                    steps.add(f"{key}: {needed}")
                    ahead.append((key, needed))
    return steps, lacking


def check(texts: Mapping[str, str], dependencies: Dependencies) -> set[str]:
    """Return every step of every lock on every system and Python.

    Raises:
        Incomplete: a requirement is not met.
    """
    steps: set[str] = set()
    lacking: set[str] = set()
    for name, (begin, text) in purposes(texts).items():
        for system in SYSTEMS:
            for python in PYTHONS:
                there = environment(system, python)
                taken, unmet = walk(begin, pinned(text, there), dependencies, there)
                steps |= taken
                lacking |= {f"{name}, {system}, Python {python}: {sentence}" for sentence in unmet}
    if lacking:
        raise Incomplete("\n".join(sorted(lacking)))
    return steps


def read_metadata(texts: list[str]) -> dict[str, list[str]]:
    """Ask the registry what each pin requires, through pip and for every system and Python.

    Raises:
        Incomplete: a system has no wheel, or two wheels of one version differ in what they require.
    """
    found: dict[str, list[str]] = {}
    with ThreadPoolExecutor() as pool:
        for read in pool.map(lambda python: _metadata_for(python, texts), PYTHONS):
            for key, requirements in read:
                if found.setdefault(key, requirements) != requirements:
                    raise Incomplete(f"Wheels of {key} differ in what they require.")
    return found


def _metadata_for(python: str, texts: list[str]) -> list[tuple[str, list[str]]]:
    """Read the requirements of pins for one Python; a wheel that serves every system is read once."""
    read: list[tuple[str, list[str]]] = []
    portable: set[str] = set()
    for text in texts:
        for system in SYSTEMS:
            there = environment(system, python)
            lines = {f"{pin.name}{pin.specifier}": hashes for pin, hashes in pins(text) if holds(pin, there)}
            for wheel in _report({pin: lines[pin] for pin in lines.keys() - portable}, system, python):
                name, version = canonicalize_name(wheel["metadata"]["name"]), wheel["metadata"]["version"]
                requirements = wheel["metadata"].get("requires_dist", [])
                read.append((f"{name}=={version}", sorted(str(Requirement(each)) for each in requirements)))
                if wheel["download_info"]["url"].endswith("-none-any.whl"):
                    portable.add(f"{name}=={version}")
    return read


def _report(lines: Mapping[str, str], system: str, python: str) -> list[dict[str, Any]]:
    """Let pip choose wheels as on another system; return what it reports of each."""
    with tempfile.TemporaryDirectory() as name:
        lock, answer = Path(name) / "lock.txt", Path(name) / "report.json"
        lock.write_text("".join(f"{pin} \\\n{hashes}" for pin, hashes in sorted(lines.items())))
        options = ["--require-hashes", "--only-binary", ":all:", "--target", name, "--report", str(answer)]
        options += ["--python-version", python, "--implementation", "cp"]
        for abi in (f"cp{python.replace('.', '')}", "abi3", "none"):
            options += ["--abi", abi]
        for tag in SYSTEMS[system][3]:
            options += ["--platform", tag]
        command = ["uv", "tool", "run", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "-qq"]
        if lines and subprocess.run([*command, *options, "-r", str(lock)], check=False).returncode:
            raise Incomplete(f"pip does not find every wheel for {system} and Python {python}.")
        return list(json.loads(answer.read_text())["install"]) if lines else []


def dependencies_text(dependencies: Dependencies, steps: set[str]) -> str:
    """Write those requirements that a lock has to meet somewhere; many packages have extras that nobody asks for."""
    text = HEAD_OF_DEPENDENCIES
    for key, requirements in sorted(dependencies.items()):
        kept = [each for each in requirements if f"{key}: {each}" in steps]
        lines = "".join(f"    '{each}',\n" for each in kept)
        text += f'"{key}" = [\n{lines}]\n' if kept else f'"{key}" = []\n'
    return text


def lock_files() -> dict[str, Path]:
    """Return the file of each lock."""
    return {**{job: LOCKS / f"{job}.txt" for job in EXTRAS}, "generators": GENERATORS / "requirements.txt"}


def compile_lock(target: Path, *sources: str, upgrade: bool) -> None:
    """Resolve `sources` into `target`, which keeps what it has unless `upgrade`."""
    options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate", "-q"]
    options += ["--no-emit-index-url", "--no-emit-find-links", "--output-file", str(target)]
    options += ["--upgrade"] if upgrade else []
    subprocess.run(["uv", "pip", "compile", *options, *sources], cwd=ROOT, check=True)


def main(arguments: list[str]) -> None:
    """Make `test.txt` with everything, then the smaller ones with the same versions; write complete ones."""
    upgrade = arguments == ["--upgrade"]
    files = lock_files()
    with tempfile.TemporaryDirectory() as name:
        made = {lock: Path(name) / f"{lock}.txt" for lock in files}
        for lock, path in files.items():
            shutil.copyfile(path, made[lock])
        build = Path(name) / "build.in"
        build.write_text("\n".join(PROJECT["build-system"]["requires"]))  # uv leaves them out
        for job, extras in EXTRAS.items():
            options = [option for extra in extras for option in ("--extra", extra)]
            same = [] if job == "test" else ["--constraints", str(made["test"])]
            compile_lock(made[job], "pyproject.toml", str(build), *options, *same, upgrade=upgrade or job != "test")
        compile_lock(made["generators"], str(GENERATORS / "requirements.in"), upgrade=upgrade)
        texts = {lock: path.read_text() for lock, path in made.items()}
    build_tools = tomllib.loads(BUILD_TOOLS.read_text(encoding="utf-8"))["build"]["requirements"]
    dependencies = read_metadata([texts["test"], texts["generators"], build_tools])
    steps = check(texts, dependencies)
    for lock, path in files.items():
        path.write_text(HEAD.format(name=path.relative_to(ROOT).as_posix()) + texts[lock])
    DEPENDENCIES.write_text(dependencies_text(dependencies, steps))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Incomplete as incomplete:
        sys.exit(f"No lock was written.\n{incomplete}")

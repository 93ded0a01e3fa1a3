"""Soaks and benchmarks: `bootstrap.py soak` installs every program they name, and what they import exists."""

import ast
import importlib
import runpy
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOAK = ROOT / "tests" / "soak"
PACKAGES = runpy.run_path(str(SOAK / "support" / "programs.py"))["PACKAGES"]
entries_of = runpy.run_path(str(ROOT / "packaging" / "bootstrap.py"))["system_packages"]


def packages_of(job):
    """Names of the packages that a job installs, each in every release."""
    return [name for entry in entries_of(job) for name in entry.split("|")]


def needed():
    """Programs that each soak names in its NEEDED."""
    return {
        path.stem: ast.literal_eval(node.value)
        for path in sorted(SOAK.rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "NEEDED"
    }


def test_every_program_that_a_soak_needs_is_in_a_package_that_is_installed_for_it():
    soaks = needed()
    assert soaks.keys() >= {"container_image", "installed_program", "rig_walk", "windows_package"}
    assert {program for programs in soaks.values() for program in programs} == PACKAGES.keys()
    installed = set(packages_of("soak"))
    for soak, programs in soaks.items():
        assert {PACKAGES[program] for program in programs} <= installed, soak


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="only Debian knows its packages")
@pytest.mark.parametrize(("program", "package"), sorted(PACKAGES.items()))
def test_the_package_has_the_program(program, package):
    found = shutil.which(program, path="/usr/bin:/usr/sbin")
    if found is None:
        pytest.skip(f"{program} is not installed here")
    places = [found, str(Path(found).resolve()), found.removeprefix("/usr")]
    told = subprocess.run(["dpkg", "-S", *places], capture_output=True, text=True, check=False).stdout
    assert package in {line.split(":")[0].strip() for line in told.splitlines()}, told


def test_each_job_installs_what_those_before_it_need():
    run, test, soak = (set(packages_of(job)) for job in ("run", "test", "soak"))
    assert run < test < soak
    assert "xvfb" in test - run
    assert "buildah" in soak - test


def imports_of(path):
    """Modules and names that a file imports from; a module as a whole has the name None."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)


def names_of(path):
    """Names that a file defines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def exists(module, name):
    """Whether a module of the product has a name; it may be a module itself."""
    try:
        if hasattr(importlib.import_module(module), name or "__name__"):
            return True
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


@pytest.mark.parametrize("folder", ["soak", "benchmarks"])
def test_what_soaks_and_benchmarks_import_exists_so_that_no_rename_breaks_them_unnoticed(folder):
    ours = defaultdict(set)
    for path in (*(ROOT / "tests").rglob("*.py"), *(ROOT / "packaging").rglob("*.py")):
        ours[path.stem].add(path)
    missing, found = [], 0
    for path in sorted((ROOT / "tests" / folder).rglob("*.py")):
        for module, name in imports_of(path):
            last = (module or "").rpartition(".")[2]
            if module and module.partition(".")[0] == "vbdesk":
                known = exists(module, name)
            elif last in ours and name is not None:
                known = any(name in names_of(each) for each in ours[last])
            else:  # a library
                continue
            found += 1
            missing += [] if known else [f"{path.name}: {module} {name}"]
    assert missing == []
    assert found > 100

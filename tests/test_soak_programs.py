"""Soaks and benchmarks: `bootstrap.py soak` installs every program they name, and they find what they import."""

import ast
import runpy
import shutil
import subprocess
import sys
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


STARTS = """
import runpy, sys
from pathlib import Path

tests, usual = Path(sys.argv[1]), list(sys.path)
ours = {path.stem for path in tests.rglob("*.py")} | {"vbdesk"}
for path in sorted([*(tests / "soak").glob("*.py"), *(tests / "benchmarks").glob("*.py")]):
    sys.path[:], sys.argv = [str(path.parent), *usual], [str(path)]
    try:
        runpy.run_path(str(path), run_name="imported")
    except ModuleNotFoundError as error:  # a library may be missing on a platform
        if str(error.name).partition(".")[0] in ours:
            print(f"{path.name}: {error}")
    except Exception as error:
        print(f"{path.name}: {error!r}")
    else:
        print("starts")
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tests)):
            del sys.modules[name]
"""


def test_every_soak_and_benchmark_finds_what_it_imports_so_that_no_rename_breaks_it_unnoticed():
    """Each with the search path that it has alone."""
    command = [sys.executable, "-W", "ignore", "-c", STARTS, str(ROOT / "tests")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = done.stdout.splitlines()
    assert [line for line in found if line != "starts"] == []
    assert len(found) > 50

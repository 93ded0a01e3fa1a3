#!/usr/bin/env python3
"""Install vbdesk into `.venv` and start a job.

    python3 packaging/bootstrap.py run [ARGS]     install, then `vbdesk demo ARGS`
    python3 packaging/bootstrap.py test [ARGS]    install with the test extras, then every check and the whole suite
                                                  (ARGS go to pytest)
    python3 packaging/bootstrap.py check [PATH]   style, types, import rules and the unit tests of what changed since
                                                  the branch left `main` (PATH: only of what changed below it)
    python3 packaging/bootstrap.py matrix         key tests with every newer Python that is installed here
    python3 packaging/bootstrap.py soak [ARGS]    the long tests, and the benchmarks of the window

The script needs Python 3.11 or newer and only the standard library. On Linux with apt it installs system libraries as
root or through sudo. Where it may not, it prints the command to run; `soak` then goes on without them. It is tested on
Debian 12 with Python 3.11. On Windows and macOS it installs wheels only; this is not tested.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOCKS = {job: ROOT / "packaging" / "locks" / f"{job}.txt" for job in ("run", "test")}
# Tests generate clients from the API description. The generators' requirements conflict with ours.
GENERATORS = ROOT / "tests" / "service" / "generated"
GENERATORS_VENV = VENV / "generators"
PLATFORM_TYPES = ROOT / "packaging" / "platform_types.py"
SYSTEM_PACKAGES = ROOT / "packaging" / "debian-packages.txt"
SECTIONS = ("run", "rig", "test", "soak")  # each needs those before it
OLDEST_PYTHON = (3, 11)
# Tests of these folders drive real windows and microphones, where most of the time is waiting.
WAITING_FOLDERS = ("tests/capture", "tests/e2e")
# Both groups run at the same time: the second leaves the processors idle most of the time.
PROCESSORS = os.cpu_count() or 1
SHARING = ("-n", str(PROCESSORS + 2), "--dist", "worksteal")  # each waits some of its time
WAITING = ("-n", "2", "--dist", "load", "--maxschedchunk", "1")

# `check` leaves these out: they start clusters, foreign programs or real windows, or run for minutes.
LONG_FOLDERS = ("e2e", "soak", "benchmarks", "service/cluster", "service/conformance", "service/generated")
NEWER_PYTHONS = ("3.12", "3.13", "3.14")
# What depends on the version of Python: the engine's SQL, child processes, the keyring, compiled packages.
KEY_TESTS = (
    "tests/service/engine/test_dbos_engine.py",
    "tests/service/engine/test_slot.py",
    "tests/service/kernel/test_sqlite_functions.py",
    "tests/service/composition/test_serve.py",
    "tests/outbox/test_library.py",
    "tests/client/test_submission.py",
    "tests/capture/test_portaudio.py",
    "tests/report/test_report_pdf.py",
    "tests/cli/test_starting.py",
    "tests/test_own_process.py",
)

ALWAYS_CHECKED = ("tests/test_architecture.py", "tests/test_house.py")


class Unmet(Exception):
    """A requirement that this script cannot provide; the message says what to do."""


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"bootstrap: {text}", flush=True)


def run(*command: str | Path, quiet: bool = False, env: dict[str, str] | None = None) -> None:
    """Run a command in the project's root; with `quiet` show its output only when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=env,
        text=True,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        check=False,
    )
    if done.returncode:
        if quiet:
            print(done.stdout, file=sys.stderr)
        raise Unmet(f"This command failed: {' '.join(str(part) for part in command)}")


def package_sections() -> dict[str, list[str]]:
    """Read the Debian packages of each section of their list."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line in SYSTEM_PACKAGES.read_text().splitlines():
        text = line.split("#")[0].strip()
        if text.startswith("["):
            name = text.strip("[]")
        elif text:
            sections.setdefault(name, []).extend(text.split())
    return sections


def system_packages(job: str) -> list[str]:
    """List the Debian packages that a job needs; `soak` includes those of `test`, and that those of `run`."""
    sections = package_sections()
    return [package for name in SECTIONS[: SECTIONS.index(job) + 1] for package in sections[name]]


def missing_packages(wanted: list[str]) -> list[str]:
    """List the packages that are not installed and whose programs are not on the PATH."""
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n"], capture_output=True, text=True, check=True
    ).stdout
    installed = {line.split(" ", 1)[1] for line in listed.splitlines() if line.startswith("installed ")}
    return [name for name in wanted if name not in installed and not shutil.which(name)]


def install_system_packages(wanted: list[str]) -> None:
    """Install Debian packages, or print the command that does so."""
    if not sys.platform.startswith("linux"):
        say("no system packages are needed here (this platform has not been tried)")
        return
    if not shutil.which("dpkg-query"):
        say(f"no apt here: if vbdesk does not start, install your system's equivalents of {' '.join(wanted)}")
        return
    missing = missing_packages(wanted)
    if not missing:
        return
    line = f"apt-get install -y --no-install-recommends {' '.join(missing)}"
    if os.geteuid() == 0:
        prefix: list[str] = []
    elif (
        shutil.which("sudo")
        and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    ):
        prefix = ["sudo", "-n"]
    else:
        raise Unmet(f"System libraries are missing. Run this, then try again:\n    sudo {line}")
    say(f"installing system packages: {' '.join(missing)}")
    noninteractive = ["env", "DEBIAN_FRONTEND=noninteractive"]
    run(*prefix, "apt-get", "update", "-qq", quiet=True)
    run(*prefix, *noninteractive, *line.split(), quiet=True)


def venv_bin(name: str, venv: Path = VENV) -> Path:
    """Return the path of a program in a virtual environment."""
    return venv / ("Scripts" if os.name == "nt" else "bin") / (f"{name}.exe" if os.name == "nt" else name)


def fingerprint(job: str) -> str:
    """Return a hash of everything that an installation depends on."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {job} {ROOT}".encode())
    tools = (GENERATORS / "requirements.txt", GENERATORS / "package-lock.json")
    for path in (ROOT / "pyproject.toml", LOCKS[job], *tools, SYSTEM_PACKAGES, Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def install(job: str) -> None:
    """Install system packages and `.venv` as locked, unless that is done already."""
    stamp = VENV / f"installed-{job}"
    if stamp.is_file() and stamp.read_text() == fingerprint(job):
        return
    install_system_packages(system_packages(job))
    if not venv_bin("python").exists():
        say("making .venv")
        try:
            run(sys.executable, "-m", "venv", VENV, quiet=True)
        except Unmet:
            shutil.rmtree(VENV, ignore_errors=True)
            install_system_packages([f"python3.{sys.version_info.minor}-venv"])
            run(sys.executable, "-m", "venv", VENV, quiet=True)
    say("installing the locked Python packages (some minutes the first time)")
    with ThreadPoolExecutor() as beside:
        generators = beside.submit(install_generators) if job == "test" else None
        # tests compile what they import; compiling everything takes as long as the rest of the installation
        install_lock(VENV, LOCKS[job], *(["--no-compile"] if job == "test" else []))
        # the lock includes the build backend
        pip(VENV, "install", "--no-deps", "--no-build-isolation", "-e", ".")
        if generators is not None:
            generators.result()
    stamp.write_text(fingerprint(job))


def compile_catalogs() -> None:
    """Compile the translations that changed since: an installation that is kept does not do so."""
    run(venv_bin("python"), ROOT / "packaging" / "translations.py", "compile")


def pip(venv: Path, *arguments: str | Path) -> None:
    """Run pip in a virtual environment."""
    run(venv_bin("python", venv), "-m", "pip", "--disable-pip-version-check", "-q", *arguments, quiet=True)


def install_lock(venv: Path, lock: Path, *options: str) -> None:
    """Install a lock file without resolving, wheels only, and check that it is complete.

    With dependencies, pip looks for the newest release of what a package asks for with an extra, and refuses its hash.
    """
    pip(venv, "install", "--no-deps", "--require-hashes", "--only-binary", ":all:", *options, "-r", lock)
    pip(venv, "check")


def install_generators() -> None:
    """Install the client generators: for Python, and for TypeScript if npm exists."""
    say("installing the generators of clients")
    if not venv_bin("python", GENERATORS_VENV).exists():
        run(sys.executable, "-m", "venv", GENERATORS_VENV, quiet=True)
    install_lock(GENERATORS_VENV, GENERATORS / "requirements.txt")
    npm = shutil.which("npm")
    if npm is None:
        say("there is no npm here: the test of the TypeScript client is skipped. Install Node.js 18 or newer for it")
        return
    run(npm, "ci", "--prefix", GENERATORS, "--ignore-scripts", "--no-audit", "--no-fund", quiet=True)


def start(*command: str | Path) -> int:
    """Run a command; return its exit status."""
    child = subprocess.Popen([str(part) for part in command])
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue  # the terminal interrupts the child too: wait until it has cleaned up


def write_bytecode() -> None:
    """Let Python keep compiled files, or each of the many processes compiles all of vbdesk again."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def run_static_checks() -> list[str]:
    """Run the checks of style, types and imports in parallel; return those that failed."""
    checks: list[tuple[str, list[str | Path]]] = [
        ("ruff check", [venv_bin("ruff"), "check", "."]),
        ("ruff format", [venv_bin("ruff"), "format", "--check", "."]),
        ("mypy --strict", [venv_bin("mypy"), "--strict"]),
        ("import-linter", [venv_bin("lint-imports")]),
    ]
    started = [
        subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _, command in checks
    ]
    failed = []
    for (name, _), child in zip(checks, started, strict=True):
        output, _ = child.communicate()
        say(name)
        print(output, end="", flush=True)
        if child.returncode:
            failed.append(name)
    return failed


def installed_interpreters() -> dict[str, str]:
    """Newer interpreters that start here, by version: on the PATH, or installed by pyenv."""
    found = {}
    for version in NEWER_PYTHONS:
        own = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), reverse=True)
        for program in filter(None, (shutil.which(f"python{version}"), *map(str, own))):
            if subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode == 0:
                found[version] = program
                break
    return found


def test_matrix() -> int:
    """Run the key tests with every newer Python; one that cannot be installed counts as failed."""
    failed = []
    for version, program in installed_interpreters().items():
        venv = VENV / "matrix" / version
        say(f"Python {version}")
        try:
            if not venv_bin("python", venv).exists():
                run(program, "-m", "venv", venv, quiet=True)
            install_lock(venv, LOCKS["test"], "--no-compile")
            pip(venv, "install", "--no-deps", "--no-build-isolation", "-e", ".")
        except Unmet as unmet:
            say(str(unmet))
            failed.append(f"installation with Python {version}")
            continue
        if start(venv_bin("python", venv), "-m", "pytest", "-q", "-n", str(PROCESSORS), *KEY_TESTS):
            failed.append(f"pytest with Python {version}")
    return report(failed)


def report(failed: list[str]) -> int:
    """Print the names of failed checks; return the exit status."""
    if failed:
        print(f"bootstrap: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def test_everything(pytest_args: list[str]) -> int:
    """Run every check and the whole test suite, even if one fails. No test is retried."""
    pytest = venv_bin("pytest")
    if pytest_args:
        failed = run_static_checks()
        if start(pytest, *pytest_args):
            failed.append("pytest")
        return report(failed)
    # compile all tests once, before several processes would do it at the same time
    collecting = [str(pytest), "--collect-only", "-qq"]
    compiling = subprocess.Popen(collecting, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    failed = run_static_checks()
    compiling.wait()
    with tempfile.TemporaryFile("w+") as output:
        others = [[venv_bin("python"), PLATFORM_TYPES], [pytest, *WAITING, *WAITING_FOLDERS]]
        started = [subprocess.Popen([str(part) for part in other], stdout=output, stderr=output) for other in others]
        say("pytest")
        if start(pytest, *SHARING, *(f"--ignore={folder}" for folder in WAITING_FOLDERS)):
            failed.append("pytest")
        say("types on other platforms; pytest, real windows and microphones")
        statuses = [process.wait() for process in started]
        output.seek(0)
        print(output.read(), end="", flush=True)
    failed += [
        name for name, status in zip(("platform types", "pytest with real windows"), statuses, strict=True) if status
    ]
    return report(failed)


def check_changes(path: str) -> int:
    """Run the static checks and the unit tests of the changed files below `path`."""
    changed = [name for name in changed_files() if Path(name).is_relative_to(path)]
    tests = tests_of(changed)
    say(f"{len(changed)} changed files, {len(tests)} test files")
    failed = run_static_checks()
    say("pytest")
    if start(venv_bin("pytest"), "-q", "-n", str(PROCESSORS), "--dist", "worksteal", *tests):
        failed.append("pytest")
    return report(failed)


def changed_files() -> list[str]:
    """List files that differ from where this branch left `main`, committed or not."""
    base = git("merge-base", "HEAD", "main") or ["HEAD"]
    return sorted({*git("diff", "--name-only", base[0]), *git("ls-files", "--others", "--exclude-standard")})


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints; none if the command fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def tests_of(changed: list[str]) -> list[str]:
    """List the unit tests of changed files: tests in the same place, and those that import a changed package."""
    packages, folders, chosen = set(), set(), set(ALWAYS_CHECKED)
    for name in map(Path, changed):
        if name.parts[:2] == ("src", "vbdesk") and name.suffix == ".py" and len(name.parts) > 3:
            packages.add(".".join(name.parts[1:-1]))
            folders.add(Path("tests", *name.parts[2:-1]))
        elif name.parts[:2] == ("src", "vbdesk") and name.suffix == ".py":
            packages.add(f"vbdesk.{name.stem}")
        elif name.suffix == ".md":
            chosen.add("tests/test_documents.py")
        elif name.parts[0] == "resources" and len(name.parts) > 2:
            folders.add(Path("tests", name.parts[1]))
        elif name.parts[0] == "tests" and not name.name.startswith("test_"):
            folders.add(name.parent)
        elif name.parts[0] == "tests" and name.suffix == ".py":
            chosen.add(str(name))
    for file in (ROOT / "tests").rglob("test_*.py"):
        test = file.relative_to(ROOT)
        if test.parent in folders or imported_packages(file) & packages:
            chosen.add(str(test))
    long = [Path("tests", folder) for folder in LONG_FOLDERS]
    return sorted(
        test
        for test in chosen
        if (ROOT / test).exists() and not any(Path(test).is_relative_to(place) for place in long)
    )


def imported_packages(file: Path) -> set[str]:
    """List the packages of vbdesk from which a file imports a module or a name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("vbdesk"):
            found |= {node.module, node.module.rpartition(".")[0]}
    return found - {"vbdesk", ""}


def main(arguments: list[str]) -> int:
    """Do the job that the first argument names."""
    if sys.version_info < OLDEST_PYTHON:
        raise Unmet(f"vbdesk needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    job, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if job == "run":
        install("run")
        compile_catalogs()
        return start(venv_bin("vbdesk"), "demo", *rest)
    if job in ("test", "check", "matrix", "soak"):
        install("test")
        compile_catalogs()
        os.chdir(ROOT)
        write_bytecode()
    if job == "test":
        return test_everything(rest)
    if job == "check":
        return check_changes(rest[0] if rest else ".")
    if job == "matrix":
        return test_matrix()
    if job == "soak":
        try:
            install_system_packages(system_packages("soak"))
        except Unmet as unmet:
            say(f"{unmet}\nbootstrap: what needs them is skipped")
        return start(venv_bin("python"), ROOT / "tests" / "soak" / "run_all.py", *rest)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Unmet as unmet:
        print(f"bootstrap: {unmet}", file=sys.stderr)
        sys.exit(1)

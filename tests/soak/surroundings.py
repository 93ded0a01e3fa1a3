"""The whole test command at other dates, in other zones and languages: `python tests/soak/surroundings.py [-- ARGS]`.

Each row of `ROWS` combines a date, a zone and a language. All run as an ordinary user with `umask 077` from a path with
spaces and letters beyond ASCII, where the command is installed at the real date first. Results stay in the folder:
started again, it goes on with the rows that are missing. ARGS go to pytest. Needs root to run as another user, and runs
as its caller otherwise. See docs/decisions/0059-surroundings.md.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from support.programs import absent

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("/tmp/vbdesk-surroundings")
USER = "vbdesk-soak"
NEEDED = ("localedef", "useradd", "setpriv", "git")
LOCALE_SOURCES = Path("/usr/share/i18n/locales")
INHERITED = ("LANG", "LC_", "TZ", "XDG_", "VBDESK_", "PYTHON", "PYTEST_", "CLOCK_")
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """Surroundings of one run."""

    date: str
    zone: str
    language: str

    def clock(self) -> dict[str, str]:
        """Return the variables of `tests/shifted_clock` for the date."""
        if self.date == "+400 days":
            return {"CLOCK_AHEAD_S": str(400 * 86400)}
        return {"CLOCK_APPROACHES": approached(self.date, ZoneInfo(self.zone)).isoformat()}


ROWS = (
    Row("+400 days", "Pacific/Chatham", "tr_TR.UTF-8"),
    Row("New Year", "America/St_Johns", "ar_SA.UTF-8"),
    Row("summer time begins", "Pacific/Chatham", "ar_SA.UTF-8"),
    Row("summer time ends", "America/St_Johns", "tr_TR.UTF-8"),
    Row("summer time begins", "America/St_Johns", "C"),
)


def approached(date: str, zone: ZoneInfo) -> datetime:
    """Return the next such moment, in UTC."""
    moment = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    if date == "New Year":
        return datetime(moment.astimezone(zone).year + 1, 1, 1, tzinfo=zone).astimezone(UTC)
    while True:
        before, moment = moment, moment + timedelta(minutes=15)
        change = moment.astimezone(zone).utcoffset() - before.astimezone(zone).utcoffset()
        if change and (change > timedelta(0)) == (date == "summer time begins"):
            return moment


class Place:
    """A clone of this repository in an unusual path, and the user who works in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clone = folder / "Ä b ü" / "vb desk"
        self.locales = folder / "locales"
        self.temporary = Path("/tmp", USER)  # short, for sockets; the lock of PostgreSQL belongs to who made it
        self._user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"] if os.geteuid() == 0 else []

    def prepare(self) -> None:
        """Make the locales, the user and the clone of what is committed here, and install there."""
        self.locales.mkdir(parents=True, exist_ok=True)
        for language in {row.language for row in ROWS} - {"C"}:
            name, charset = language.split(".")
            if not (self.locales / language).exists():
                run("localedef", "-i", name, "-f", charset, self.locales / language)
        if self._user and subprocess.run(["id", USER], capture_output=True, check=False).returncode:
            run("useradd", "--create-home", "--shell", "/bin/bash", USER)
        if not self.clone.exists():
            run("git", "clone", "-q", "--no-hardlinks", ROOT, self.clone, umask=0o077)
        git = ("git", "-c", "safe.directory=*", "-C", self.clone)
        run(*git, "fetch", "-q", ROOT, "HEAD", umask=0o077)
        run(*git, "checkout", "-q", "--force", "--detach", "FETCH_HEAD", umask=0o077)
        self.temporary.mkdir(exist_ok=True)
        if self._user:
            run("chown", "-R", f"{USER}:", self.clone.parent, self.temporary)
            if subprocess.run([*self._user, sys.executable, "-c", ""], capture_output=True, check=False).returncode:
                sys.exit(f"{USER} must not run {sys.executable}: use another Python, such as /usr/bin/python3.")
        # one test that is quickly done: `bootstrap.py test` installs what is missing before it
        command = [sys.executable, "packaging/bootstrap.py", "test", "-q", "tests/test_json_lines.py"]
        if self.start(command, {"LC_ALL": "C"}, self.folder / "installation.log"):
            sys.exit(f"The installation failed: {self.folder / 'installation.log'}")

    def start(self, command: list[str], variables: dict[str, str], log: Path) -> int:
        """Run a command of the clone as its user; its output goes to `log`."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(INHERITED)}
        if self._user:
            kept |= {"HOME": f"/home/{USER}", "USER": USER, "LOGNAME": USER, "TMPDIR": str(self.temporary)}
        with log.open("w", encoding="utf-8") as output:
            return subprocess.run(
                [*self._user, *command],
                cwd=self.clone,
                env=kept | {"LOCPATH": str(self.locales)} | variables,
                stdout=output,
                stderr=output,
                umask=0o077,
                check=False,
            ).returncode

    def test(self, row: Row, log: Path, arguments: list[str]) -> dict[str, int | float]:
        """Run the test command in the surroundings of a row."""
        shift = self.clone / "tests" / "shifted_clock"
        surroundings = {
            "LC_ALL": row.language,
            "TZ": row.zone,
            "PYTHONHASHSEED": "random",
            "PYTHONPATH": str(shift),
            "PYTEST_ADDOPTS": "-p moment_of_tests",
        }
        began = time.monotonic()
        command = [sys.executable, "packaging/bootstrap.py", "test", *arguments]
        status = self.start(command, surroundings | row.clock(), log)
        return {"status": status, "minutes": round((time.monotonic() - began) / 60, 1), **counts(log)}


def counts(log: Path) -> dict[str, int]:
    """What the last line of the test command counts; one failed if it did not come so far."""
    found = COUNTS.findall(log.read_text(encoding="utf-8", errors="replace")) or [(0, 1, 0)]
    return dict(zip(("passed", "failed", "skipped"), map(int, found[-1]), strict=True))


def run(*command: str | Path, umask: int = 0o022) -> None:
    """Run a command of the preparation."""
    subprocess.run([str(part) for part in command], umask=umask, check=True)


def main() -> int:
    """Run the rows that are missing and print the table; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--row", type=int, choices=range(1, len(ROWS) + 1), help="only this one")
    parser.add_argument("--again", action="store_true", help="also rows that have a result")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="clone, logs and results")
    parser.add_argument("arguments", nargs="*", help="of pytest, after --")
    options = parser.parse_args()
    why = absent(NEEDED) or ("" if LOCALE_SOURCES.is_dir() else "locales is not installed here")
    if why:
        print(f"skipped: surroundings: {why}")
        return 0
    place, state = Place(options.folder), options.folder / "results.json"
    wanted = [options.row] if options.row else list(range(1, len(ROWS) + 1))
    results = json.loads(state.read_text()) if state.exists() else {}
    missing = [number for number in wanted if options.again or str(number) not in results]
    if missing:
        place.prepare()
    failed = False
    print(
        "row  date                zone              language      tests  passed  failed  skipped  minutes", flush=True
    )
    for number in wanted:
        row = ROWS[number - 1]
        if number in missing:
            results[str(number)] = place.test(row, options.folder / f"row-{number}.log", options.arguments)
            state.write_text(json.dumps(results, indent=1))
        of_row = results[str(number)]
        tests = of_row["passed"] + of_row["skipped"] + of_row["failed"]
        failed = failed or bool(of_row["status"])
        print(f"{number:>3}  {row.date:<18}  {row.zone:<16}  {row.language:<12}  {tests:>5}  {of_row['passed']:>6}  "
              f"{of_row['failed']:>6}  {of_row['skipped']:>7}  {of_row['minutes']:>7}", flush=True)  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

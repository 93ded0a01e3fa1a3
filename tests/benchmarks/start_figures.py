"""How soon the window of the desk is painted, seen from outside: the pixels of a screen without a monitor.

    python tests/benchmarks/start_figures.py [--rounds N] [--cold] [--languages] [NAME=COMMAND ...]

NAME=COMMAND is a program that shows the window, such as `frozen=/usr/lib/vbdesk/vbdesk desk`; without any it is
`vbdesk desk` of this environment. The named commands start in turns, each with a home of its own, and the first is the
one that the others are compared with. `--cold` empties the disk cache before each start, as root. `--languages` also
starts the first command in English and in every other language. Needs Xvfb, and prints this machine's calibration.
"""

import argparse
import mmap
import os
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import numpy as np
from calibration import judgement, slowness, within

WARM_S, COLD_S, RATIO, TRANSLATIONS_MS = 1.5, 2.5, 1.2, 20.0
COLOUR = 0xFFFFFF  # of a pixel; its fourth byte says nothing
ROUNDS, ROUNDS_OF_LANGUAGES = 9, 15
SIZE = (1320, 880)
PAINTED, STEP = 0.3, 40
"""The window is there when this share of the looked-at pixels, one in `STEP` each way, is not black any more."""
LOOK_S, HANGS_S = 0.002, 120.0
CACHES = Path("/proc/sys/vm/drop_caches")


def main(arguments: list[str]) -> int:
    """Print the figures; 1 if one is over its bar."""
    parser = argparse.ArgumentParser(description="Measure how soon the window of the desk is painted.")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--languages", action="store_true")
    parser.add_argument("commands", nargs="*", metavar="NAME=COMMAND")
    chosen = parser.parse_args(arguments)
    commands = {name: shlex.split(words) for name, _, words in (each.partition("=") for each in chosen.commands)}
    commands = commands or {"environment": [str(Path(sys.executable).with_name("vbdesk")), "desk"]}
    slowness()
    cached = starts_are_quick(commands, chosen.rounds or ROUNDS, cold=chosen.cold)
    if chosen.languages:
        cached &= languages_are_quick(next(iter(commands.values())), chosen.rounds or ROUNDS_OF_LANGUAGES)
    return int(not cached)


def starts_are_quick(commands: Mapping[str, Sequence[str]], rounds: int, *, cold: bool) -> bool:
    """Start every command, and compare it with the bar and with the first one."""
    took = measured({name: (command, {}) for name, command in commands.items()}, rounds, cold=cold)
    walls = {name: statistics.median(wall for wall, _cpu in each) for name, each in took.items()}
    first, bar = next(iter(walls.values())), COLD_S if cold else WARM_S
    cached = True
    for name, wall in walls.items():
        cpu = statistics.median(cpu for _wall, cpu in took[name])
        least, most = (f(each[0] for each in took[name]) for f in (min, max))
        print(f"  {name:14} {wall:6.3f} s ({least:.3f} to {most:.3f}), {cpu:.3f} s of processors", end="  ")
        print(f"{judgement(wall, bar)}; ratio {wall / first:.2f}{'' if wall <= RATIO * first else '  TOO LARGE'}")
        cached &= within(wall, bar) and wall <= RATIO * first
    return cached


def languages_are_quick(command: Sequence[str], rounds: int) -> bool:
    """Start the command in English and in every other language."""
    from vbdesk.language import available_languages

    took = measured({name: (command, {"LC_ALL": f"{name}.UTF-8"}) for name in available_languages()}, rounds)
    english, cached = took["en"], True
    for name, each in took.items():
        wall, cpu = (statistics.median(starts) for starts in zip(*each, strict=True))
        print(f"  start in {name:6} {1000 * wall:7.0f} ms, {1000 * cpu:7.0f} ms of processors", end="")
        if name == "en":
            print()
            continue
        pairs = [(here[1] - there[1]) for here, there in zip(each, english, strict=True)]
        slower = max(0.0, 1000 * statistics.median(pairs))
        print(f", {slower:6.1f} ms more than en  {judgement(slower, TRANSLATIONS_MS)}")
        cached &= within(slower, TRANSLATIONS_MS)
    return cached


Start = tuple[Sequence[str], Mapping[str, str]]
"""A command, and what its environment has beside that of this process."""


def measured(starts: Mapping[str, Start], rounds: int, *, cold: bool = False) -> dict[str, list[tuple[float, float]]]:
    """Seconds until the first paint, by the clock and of processors, of each start in each round; in turns."""
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in starts}
    with screen() as (display, pixels):
        for counted in range(-1, rounds):  # the first round fills the disk cache
            for name, (command, environment) in starts.items():
                figures = first_paint(command, {**environment, "DISPLAY": display}, pixels, cold=cold)
                if counted >= 0:
                    took[name].append(figures)
    print(f"  {rounds} rounds, load {os.getloadavg()[0]:.1f}")
    return took


def first_paint(
    command: Sequence[str], environment: Mapping[str, str], pixels: np.ndarray, *, cold: bool
) -> tuple[float, float]:
    """Start a command in a home of its own, and end it when its window is painted."""
    own = ("XDG_", "QT_", "LC_", "LANG")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    with tempfile.TemporaryDirectory() as home:
        until(lambda: not (pixels & COLOUR).any(), "The screen does not become black.")
        if cold:
            os.sync()
            CACHES.write_text("3")
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        program = subprocess.Popen(
            command,
            env={**inherited, "PYTHONDONTWRITEBYTECODE": "1", "HOME": home, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            until(
                lambda: ((pixels & COLOUR) != 0).mean() >= PAINTED or program.poll() is not None,
                "No window was painted.",
            )
            took = time.perf_counter() - began
            if program.poll() is not None:
                raise RuntimeError(f"{shlex.join(command)} ended with {program.returncode}")
        finally:
            with suppress(ProcessLookupError):  # it ended by itself
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def screen() -> Iterator[tuple[str, np.ndarray]]:
    """A black screen of its own: the name of the display, and some of its pixels."""
    with tempfile.TemporaryDirectory() as folder:
        says, said = os.pipe()
        size = f"{SIZE[0]}x{SIZE[1]}x24"
        command = ["Xvfb", "-displayfd", str(said), "-screen", "0", size, "-fbdir", folder, "-nolisten", "tcp"]
        server = subprocess.Popen(command, pass_fds=[said], stderr=subprocess.DEVNULL)
        os.close(said)
        try:
            with os.fdopen(says) as number:
                display = f":{number.readline().strip()}"  # comes when the screen is there
            with (Path(folder) / "Xvfb_screen0").open("rb") as file:
                cached = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            everything = np.frombuffer(cached, np.uint8)[-4 * SIZE[0] * SIZE[1] :].view(np.uint32)
            yield display, everything.reshape(SIZE[1], SIZE[0])[::STEP, ::STEP]
        finally:
            server.terminate()
            server.wait()


def until(ready: Callable[[], bool], else_say: str) -> None:
    """Look until something holds.

    Raises:
        TimeoutError: it does not.
    """
    ends = time.monotonic() + HANGS_S
    while not ready():
        time.sleep(LOOK_S)
        if time.monotonic() > ends:
            raise TimeoutError(else_say)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

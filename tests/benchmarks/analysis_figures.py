"""All benchmarks of the analysis, with their limits and peers, in one table.

    python tests/benchmarks/analysis_figures.py [--only NAME...]

Each row is printed when it is measured. At the end the table is written to docs/method-analysis.md, between its
markers. `--only` runs some benchmarks (`praat`, `speed`, ...) and replaces only their part of the table. A benchmark
without its recordings or Praat (the extra `bench`) is skipped, and the table says so. All benchmarks take about ten
minutes; run them on an idle computer.
"""

import argparse
import importlib
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from figures import Row, Verdict, show, skipped

STATEMENT = Path(__file__).parents[2] / "docs" / "method-analysis.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
BENCHMARKS = {  # speed last, when the computer has cooled to the one task
    "praat": "voice features",
    "timing": "rate and pauses",
    "vowel": "held vowels",
    "quality": "clarity and speech activity",
    "speaker": "speakers",
    "invariance": "what must not matter",
    "repeat": "repeats of one speaker",
    "fit": "signs fitted on data",
    "speed": "time and memory",
}


def main() -> None:
    """Print every row and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, metavar="NAME", help=", ".join(BENCHMARKS))
    chosen = parser.parse_args().only
    rows = show(all_rows(chosen or list(BENCHMARKS)))
    count = {verdict: sum(row.verdict is verdict for row in rows) for verdict in Verdict}
    sys.stdout.write(", ".join(f"{number} {verdict}" for verdict, number in count.items()) + "\n")
    text = STATEMENT.read_text(encoding="utf-8")
    before, table, after = split_at_markers(text)
    parts = (parts_of(table) if chosen else {}) | markdown(rows)
    head = f"Measured on {computer()}, by `python tests/benchmarks/analysis_figures.py`."
    written = "\n\n".join([before + BEGIN, head, *parts.values(), END + after])
    STATEMENT.write_text(written, encoding="utf-8")


def all_rows(names: Sequence[str]) -> Iterator[Row]:
    """The rows of each benchmark; a missing or failing benchmark gives a row that says so."""
    for name in names:
        module = f"{name}_figures"
        try:
            yield from importlib.import_module(module).rows()
        except ModuleNotFoundError as error:
            reason = f"there is no {module}.py" if error.name == module else f"{error.name} is not installed"
            yield skipped(BENCHMARKS[name].capitalize(), "all figures", "", reason)


def markdown(rows: Sequence[Row]) -> dict[str, str]:
    """Maps topic to its part of the table, with a heading."""
    parts: dict[str, str] = {}
    for row in rows:
        topic = row.topic[:1].upper() + row.topic[1:]
        begun = parts.get(
            topic, f"### {topic}\n\n| What | Bar | Measured | | Peer in the same run |\n|---|---|---|---|---|"
        )
        parts[topic] = f"{begun}\n| {' | '.join(cell(row))} |"
    return parts


def parts_of(table: str) -> dict[str, str]:
    """Maps topic to its part of an existing table."""
    parts = [f"### {part.strip()}" for part in table.split("### ")[1:]]
    return {part.partition("\n")[0].removeprefix("### "): part for part in parts}


def cell(row: Row) -> list[str]:
    verdict = f"**{row.verdict}**" if row.verdict is Verdict.MISSED else str(row.verdict)
    return [text.replace("|", "\\|") for text in (row.what, row.bar, row.measured, verdict, row.peer)]


def computer() -> str:
    """Describe the machine and the versions."""
    cpu = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        models = [
            line.partition(":")[2].strip() for line in information.read_text().splitlines() if "model name" in line
        ]
        cpu = models[0] if models else cpu
    return f"{os.cpu_count()} cores of {cpu}, Python {platform.python_version()}, {platform.system()}"


def split_at_markers(text: str) -> tuple[str, str, str]:
    """Split the text at the markers: before, between, after.

    Raises:
        ValueError: a marker is missing.
    """
    before, _, rest = text.partition(BEGIN)
    table, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{STATEMENT.name} lacks the lines {BEGIN} and {END}.")
    return before, table, after


if __name__ == "__main__":
    main()

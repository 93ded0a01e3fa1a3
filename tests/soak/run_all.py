"""Run every soak and the benchmarks of the window, one after the other: `python tests/soak/run_all.py [NAME ...]`."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = HERE.parent / "benchmarks"
MEASURED = (
    "window_figures",
    "outbox_page_figures",
    "subjects_figures",
    "result_figures",
    "trajectory_figures",
    "longitudinal_figures",
    "reading_language_figures",
    "start_figures",
)
"""Benchmarks of what a person waits for: each prints this machine's calibration, and fails over a bar scaled by it."""


def main(names: list[str]) -> int:
    """Run the named soaks and benchmarks, or all; 1 if any failed."""
    scripts = sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)
    scripts += [BENCHMARKS / f"{name}.py" for name in MEASURED]
    known = {path.stem: path for path in scripts}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"There is no soak named {', '.join(unknown)}. There are: {', '.join(known)}.", file=sys.stderr)
        return 2
    failed = []
    for name in names or known:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, str(known[name])], check=False).returncode:
            failed.append(name)
    print(f"soak: {len(names or known) - len(failed)} passed, {len(failed)} failed {' '.join(failed)}".rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

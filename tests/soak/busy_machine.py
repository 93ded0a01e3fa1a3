"""The whole suite on a computer whose processors are busy with something else.

    python tests/soak/busy_machine.py [--loops 4] [ARGS of packaging/run_tests.py ...]

Runs the checks and all tests beside endless loops, twice as many as there are processors if no number is given. A test
that fails here waits for a time and not for a condition, or vbdesk gives up too early on a slow computer. A test that
hangs ends after ten minutes and shows where it waited. Exits as the run of the tests does.
"""

import argparse
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

RUN_TESTS = Path(__file__).parents[2] / "packaging" / "run_tests.py"
LOOP = f"import os\nwhile os.getppid() == {os.getpid()}: pass"  # ends with this program, however that ends


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=2 * (os.cpu_count() or 1))
    options, arguments = parser.parse_known_args()
    with ExitStack() as loops:
        for _ in range(options.loops):
            loop = loops.enter_context(subprocess.Popen([sys.executable, "-c", LOOP]))
            loops.callback(loop.kill)
        status = subprocess.run([sys.executable, str(RUN_TESTS), *arguments], check=False).returncode
    print(f"Tests beside {options.loops} loops on {os.cpu_count()} processors: {'failed' if status else 'passed'}")
    return status


if __name__ == "__main__":
    sys.exit(main())

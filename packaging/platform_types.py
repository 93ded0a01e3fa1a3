"""Check the types as on Windows and macOS: `python packaging/platform_types.py`.

The code is not ready for these systems yet: the numbers of errors may only fall.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ERRORS_AT_MOST = {"win32": 25, "darwin": 10}


def main() -> int:
    """Count the errors on every platform; 1 if there are more than known."""
    more = 0
    for platform, known in ERRORS_AT_MOST.items():
        cache = ROOT / ".mypy_cache" / platform
        command = [sys.executable, "-m", "mypy", "--strict", "--platform", platform, "--cache-dir", str(cache)]
        output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
        errors = re.findall(r"^.*: error: .*$", output, re.MULTILINE)
        print(f"{platform}: {len(errors)} errors, {known} known")
        if len(errors) > known:
            print("\n".join(errors))
            more = 1
    return more


if __name__ == "__main__":
    sys.exit(main())

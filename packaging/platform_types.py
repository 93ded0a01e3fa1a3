"""Check the types as on Windows and macOS: `python packaging/platform_types.py`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLATFORMS = ("win32", "darwin")


def main() -> int:
    """Check each platform; 1 if one has errors."""
    failed = 0
    for platform in PLATFORMS:
        cache = ROOT / ".mypy_cache" / platform
        command = [sys.executable, "-m", "mypy", "--strict", "--platform", platform, "--cache-dir", str(cache)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        print(f"{platform}: {done.stdout.strip()}")
        failed = failed or done.returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())

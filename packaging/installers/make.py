#!/usr/bin/env python3
"""Make the installers: `python packaging/installers/make.py JOB [--out FOLDER]`.

    linux      the Debian package (on Debian or Ubuntu)
    windows    the two MSI packages (on Linux, with the packages msitools and wixl)
    macos      the disk image (on macOS)
    check      make the Linux program twice and compare: a difference without an explanation fails
    pins       resolve the build tools again into pins.toml (needs uv)

Each job makes an environment of its own below FOLDER (default: a folder beside the checkout), installs what
packaging/locks/run.txt and pins.toml pin, and leaves its artefacts, their software bill of materials, the page of
licences and SHA256SUMS in FOLDER/artefacts.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from installers import environment, pins

DEFAULT = environment.ROOT.parent / "vbdesk-installers"


def main(arguments: list[str]) -> None:
    """Prepare the environment, then go on with its interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=("linux", "windows", "macos", "check", "pins"))
    parser.add_argument("--out", type=Path, default=DEFAULT)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    folder = options.out.resolve()
    if options.job == "pins":
        pins.resolve()
    elif not options.inside:
        environment.run_inside(folder, [str(Path(__file__)), options.job, "--out", str(folder), "--inside"])
    elif options.job == "linux":
        from installers.linux import package

        package.make(folder)
    elif options.job == "windows":
        from installers.windows import package as windows_package

        windows_package.make(folder)
    elif options.job == "macos":
        from installers.macos import package as macos_package

        macos_package.make(folder)
    else:
        from installers.linux import comparison

        comparison.make(folder)


if __name__ == "__main__":
    main(sys.argv[1:])

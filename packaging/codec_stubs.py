#!/usr/bin/env python3
"""Take the GPL encoders out of a bundle: `python packaging/codec_stubs.py FOLDER`.

PyAV's wheel has an FFmpeg under the LGPL, which links to two video encoders under the GPL, x264 and x265. vbdesk
decodes sound and never calls them. This replaces each by an empty library of the same name, whose functions answer
"nothing": FFmpeg asks at its start which pixel formats x265 has, and an encoder without a library does not open. It
needs a C compiler (`--compiler`), `nm` and `strip`; FOLDER is the `av.libs` of a Linux bundle. See
docs/decisions/0050-decoding-without-gpl.md.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

GPL_LIBRARIES = ("libx264", "libx265")
PREFIXES = ("x264_", "x265_")
TABLES = {"x264_levels"}
"""Data, read as zeros: the end of the table."""


def output_of(*command: str | Path) -> str:
    """What a command prints."""
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def wanted_symbols(folder: Path) -> list[str]:
    """What FFmpeg takes from the encoders."""
    found: set[str] = set()
    for library in folder.glob("libav*.so*"):
        listed = output_of("nm", "-D", "--undefined-only", library)
        names = (line.split()[-1].partition("@")[0] for line in listed.splitlines() if line.strip())
        found.update(name for name in names if name.startswith(PREFIXES))
    return sorted(found)


def stub_source(symbols: list[str], prefix: str) -> str:
    """C with the symbols of one library."""
    lines = []
    for symbol in symbols:
        if symbol in TABLES:
            lines.append(f"const char {symbol}[4096] = {{0}};")
        elif symbol.startswith(prefix):
            lines.append(f"void *{symbol}(void) {{ return 0; }}")
    return "\n".join(lines) + "\n"


def places(program: Path) -> list[Path]:
    """Folders of a frozen program that have the encoders; PyInstaller makes copies. Raises SystemExit without any."""
    found = sorted({library.parent for library in program.rglob(f"{GPL_LIBRARIES[0]}*")})
    if not found:
        raise SystemExit(f"{program} has no {GPL_LIBRARIES[0]}: look at what PyAV's wheel contains now.")
    return found


def replace_encoders(folder: Path, compiler: str = "cc") -> list[tuple[str, int, int]]:
    """Replace the encoders; returns names and bytes before and after. Raises SystemExit if there are none."""
    symbols = wanted_symbols(folder)
    replaced = []
    for library in sorted(folder.glob("*.so*")):
        if not library.name.startswith(GPL_LIBRARIES):
            continue
        prefix = library.name.removeprefix("lib")[:4] + "_"
        with tempfile.TemporaryDirectory() as name:
            source, made = Path(name) / "stub.c", Path(name) / library.name
            source.write_text(stub_source(symbols, prefix))
            options = ["-shared", "-fPIC", "-Os", "-Wl,--build-id=none", f"-Wl,-soname,{library.name}"]
            output_of(compiler, *options, "-o", made, source)
            output_of("strip", "--strip-unneeded", made)
            before = library.stat().st_size
            library.unlink()  # the file may be shared with another environment
            shutil.copyfile(made, library)
        replaced.append((library.name, before, library.stat().st_size))
    if len(replaced) != len(GPL_LIBRARIES):
        raise SystemExit(f"{folder} has not the expected encoders: {[name for name, _, _ in replaced]}.")
    return replaced


def main() -> None:
    """Replace the encoders of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--compiler", default="cc")
    given = parser.parse_args()
    for name, before, after in replace_encoders(given.folder, given.compiler):
        print(f"{name}: {before:,} bytes, now {after:,}")


if __name__ == "__main__":
    main()

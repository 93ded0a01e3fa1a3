#!/usr/bin/env python3
"""Take the GPL encoders out of a bundle: `python packaging/codec_stubs.py FOLDER`.

PyAV's wheels have an FFmpeg under the LGPL, which links to two video encoders under the GPL, x264 and x265. vbdesk
decodes sound and never calls them. This replaces each by an empty library of the same name, whose functions answer
"nothing": FFmpeg asks at its start which pixel formats x265 has, and an encoder without a library does not open.

FOLDER is anything with PyAV's libraries below it. Those for Linux need `cc`, `nm` and `strip`; those for Windows and
macOS are made on any system by the package `ziglang`. See docs/decisions/0050-decoding-without-gpl.md.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from installers.macos import macho
from installers.windows import pe

GPL_LIBRARIES = ("libx264", "libx265")
PREFIXES = ("x264_", "x265_")
TABLES = {"x264_levels"}
"""Data, read as zeros: the end of the table."""


@dataclass(frozen=True, slots=True)
class System:
    """How libraries of a system are read and made.

    Attributes:
        suffix: in the names of its libraries.
        needed: names that a library takes from others.
        compile: compiles C (first path) to a library (second path) that replaces another one (third path).
        export: before each definition in C.
        extra: C at the end.
    """

    suffix: str
    needed: Callable[[Path], Iterable[str]]
    compile: Callable[[Path, Path, Path], None]
    export: str = ""
    extra: str = ""


def replace_encoders(folder: Path) -> list[tuple[str, int, int]]:
    """Replace the encoders below a folder, each copy too; returns names and bytes before and after.

    Raises SystemExit if one is not there: then look at what PyAV's wheel contains now.
    """
    encoders = [path for path in sorted(folder.rglob("*x26*")) if _is_encoder(path)]
    if {path.name[: len(GPL_LIBRARIES[0])] for path in encoders} != set(GPL_LIBRARIES):
        raise SystemExit(f"{folder} has not the expected encoders: {[path.name for path in encoders]}.")
    replaced = []
    for library in encoders:
        system = _system_of(library)
        with tempfile.TemporaryDirectory() as name:
            source, made = Path(name) / "stub.c", Path(name) / library.name
            source.write_text(stub_source(wanted_symbols(library.parent, system), library, system), encoding="utf-8")
            system.compile(source, made, library)
            before = library.stat().st_size
            library.unlink()  # the file may be shared with another environment
            shutil.copyfile(made, library)
        replaced.append((library.name, before, library.stat().st_size))
    return replaced


def wanted_symbols(folder: Path, system: System) -> list[str]:
    """What the libraries beside the encoders take from them."""
    found: set[str] = set()
    for library in folder.iterdir():
        if system.suffix in library.name and library.is_file() and not library.name.startswith(GPL_LIBRARIES):
            found.update(name for name in system.needed(library) if name.startswith(PREFIXES))
    return sorted(found)


def stub_source(symbols: list[str], library: Path, system: System) -> str:
    """C with the symbols of one library."""
    prefix = library.name.removeprefix("lib")[:4] + "_"
    lines = []
    for symbol in symbols:
        if symbol in TABLES and symbol.startswith(prefix):
            lines.append(f"{system.export}const char {symbol}[4096] = {{0}};")
        elif symbol.startswith(prefix):
            lines.append(f"{system.export}void *{symbol}(void) {{ return 0; }}")
    return "\n".join([*lines, system.extra]) + "\n"


def _is_encoder(path: Path) -> bool:
    return path.name.startswith(GPL_LIBRARIES) and path.is_file() and not path.is_symlink()


def _system_of(library: Path) -> System:
    return next(system for system in _SYSTEMS if system.suffix in library.name)


def _output_of(*command: str | Path) -> str:
    """What a command prints."""
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def _elf_needed(library: Path) -> Iterable[str]:
    listed = _output_of("nm", "-D", "--undefined-only", library)
    return [line.split()[-1].partition("@")[0] for line in listed.splitlines() if line.strip()]


def _pe_needed(library: Path) -> Iterable[str]:
    with suppress(pe.NotForWindows):
        return set[str]().union(*pe.Image(library).imports().values())
    return ()


def _macho_needed(library: Path) -> Iterable[str]:
    with suppress(macho.NotForMac):  # a library for several processors, of another package
        return {name.removeprefix("_") for names in macho.Library(library).imports.values() for name in names}
    return ()


def _compile_elf(source: Path, made: Path, stood: Path) -> None:
    options = ["-shared", "-fPIC", "-Os", "-Wl,--build-id=none", f"-Wl,-soname,{stood.name}"]
    _output_of("cc", *options, "-o", made, source)
    _output_of("strip", "--strip-unneeded", made)


def _compile_pe(source: Path, made: Path, _stood: Path) -> None:
    _zig("x86_64-windows-gnu", "-nostdlib", "-o", made, source)


def _compile_macho(source: Path, made: Path, stood: Path) -> None:
    """With the name and versions of the other; zig signs it for every computer, as arm64 needs."""
    library = macho.Library(stood)
    own, oldest = (f"{number >> 16}.{number >> 8 & 0xFF}.{number & 0xFF}" for number in library.versions)
    named = f"-Wl,-install_name,{library.name},-current_version,{own},-compatibility_version,{oldest}"
    _zig("aarch64-macos.14.0", named, "-o", made, source)


def _zig(target: str, *arguments: str | Path) -> None:
    """Compile for another system; the cache is our own, so that nothing of this computer reaches the library."""
    with tempfile.TemporaryDirectory(prefix="vbdesk-zig-") as cache:
        environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
        command = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-shared", "-Os", "-s", *arguments]
        subprocess.run([str(part) for part in command], check=True, env=environment)


_SYSTEMS = (
    System(".so", _elf_needed, _compile_elf),
    System(
        ".dll",
        _pe_needed,
        _compile_pe,
        export="__declspec(dllexport) ",
        extra="int DllMainCRTStartup(void *self, unsigned reason, void *unused) { return 1; }",
    ),
    System(".dylib", _macho_needed, _compile_macho),
)


def main() -> None:
    """Replace the encoders below a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for name, before, after in replace_encoders(parser.parse_args().folder):
        print(f"{name}: {before:,} bytes, now {after:,}")


if __name__ == "__main__":
    main()

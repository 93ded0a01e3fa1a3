"""What ELF files say of themselves: which libraries they need, and whether stripping has left them whole."""

import re
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

_LOAD = 1
_GLIBC = re.compile(rb"GLIBC_2\.(\d+)")


def is_elf(path: Path) -> bool:
    """Whether a regular file is an ELF file."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def is_whole(content: bytes) -> bool:
    """Whether the loader can map every segment from the file; `strip` breaks libraries that wheels patched."""
    (at,) = struct.unpack_from("<Q", content, 32)
    entry, count = struct.unpack_from("<HH", content, 54)
    for number in range(count):
        kind, _, offset, address, _, size, _, align = struct.unpack_from("<IIQQQQQQ", content, at + number * entry)
        if kind == _LOAD and (offset + size > len(content) or (align > 1 and (address - offset) % align)):
            return False
    return True


def strip(path: Path) -> int:
    """Remove debug symbols if the file stays whole; returns the bytes saved."""
    before = path.read_bytes()
    subprocess.run(["strip", "--strip-unneeded", str(path)], check=True, capture_output=True)
    after = path.read_bytes()
    if len(after) >= len(before) or not is_whole(after):
        path.write_bytes(before)
        return 0
    return len(before) - len(after)


def needed(path: Path) -> set[str]:
    """Names of the libraries that a file needs at its start."""
    told = subprocess.run(["objdump", "-p", str(path)], check=True, capture_output=True, text=True).stdout
    return {line.split()[1] for line in told.splitlines() if line.strip().startswith("NEEDED")}


def newest_glibc(paths: Iterable[Path]) -> tuple[int, int]:
    """The newest version of the C library that any of the files asks for."""
    return 2, max(int(number) for path in paths for number in _GLIBC.findall(path.read_bytes()))


def missing_inside(tree: Path) -> dict[str, set[str]]:
    """Libraries that files of a tree need and the tree does not have, each with the files that need it."""
    files = [path for path in sorted(tree.rglob("*")) if is_elf(path)]
    inside = {path.name for path in tree.rglob("*.so*")}
    missing: dict[str, set[str]] = {}
    for path in files:
        for name in needed(path) - inside:
            missing.setdefault(name, set()).add(path.relative_to(tree).as_posix())
    return missing

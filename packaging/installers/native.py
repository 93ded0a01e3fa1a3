"""The native libraries of an artefact, each with the licence that native.toml records."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_TABLE = Path(__file__).with_name("native.toml")
_MAGIC = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""First bytes of programs and libraries: ELF, Windows, macOS, and macOS for several processors."""

_OF_PACKAGES = re.compile(
    r"(.*/)?([^/]*\.pyd|[^/]*\.abi3\.[^/]*|[^/]*\.cpython-3[^/]*|lib-dynload/.*"
    r"|(lib)?onnxruntime[^/]*|(lib)?python3[^/]*|pythonw?\.exe|python|vbdesk(-desk)?(\.exe)?)"
)
"""Of the interpreter and of Python packages, which have sections of their own."""


class NoLicence(Exception):
    """A native library that native.toml does not record."""


@dataclass(frozen=True, slots=True)
class Library:
    """What is known of a library, and its files in an artefact.

    Attributes:
        name: of the project.
        licence: SPDX expression.
        version: as a file says it; empty if none does.
        source: address of the project; may be empty.
        note: a sentence or two; may be empty.
        holder: of the copyright; may be empty.
        texts: names of files in licence_texts/, beyond those that the expression names.
        files: in the artefact, relative paths.
    """

    name: str
    licence: str
    version: str
    source: str
    note: str
    holder: str
    texts: tuple[str, ...]
    files: tuple[str, ...]


def files(tree: Path) -> Iterator[Path]:
    """Every native program and library of a tree; links count nothing."""
    for path in sorted(tree.rglob("*")):
        if not path.is_symlink() and path.is_file():
            with path.open("rb") as file:
                if file.read(4).startswith(_MAGIC):
                    yield path


def libraries(tree: Path, paths: Iterable[Path] | None = None) -> list[Library]:
    """The libraries in a tree that are no part of the interpreter or of a Python package, by name.

    Args:
        tree: files of the artefact.
        paths: its native files, if already known.

    Raises:
        NoLicence: native.toml has no entry for a file.
    """
    entries = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["library"]
    found: dict[str, list[Path]] = {}
    unknown = []
    for path in files(tree) if paths is None else paths:
        place = path.relative_to(tree).as_posix().lower()
        entry = next((entry["name"] for entry in entries if re.fullmatch(entry["files"], place)), None)
        if entry is not None:
            found.setdefault(entry, []).append(path)
        elif not _OF_PACKAGES.fullmatch(place):
            unknown.append(place)
    if unknown:
        raise NoLicence(f"Record the licences of these files in {_TABLE.name}: {', '.join(unknown)}")
    return sorted(
        (_library(entry, tree, found[entry["name"]]) for entry in entries if entry["name"] in found),
        key=lambda library: library.name.lower(),
    )


def _library(entry: dict[str, str], tree: Path, paths: list[Path]) -> Library:
    versions = [_version(path, entry["version"]) for path in paths] if "version" in entry else []
    return Library(
        entry["name"],
        entry["licence"],
        ", ".join(sorted({version for version in versions if version})),
        entry.get("source", ""),
        " ".join(entry.get("note", "").split()),
        " ".join(entry.get("holder", "").split()),
        tuple(entry.get("texts", ())),
        tuple(path.relative_to(tree).as_posix() for path in paths),
    )


def _version(path: Path, pattern: str) -> str:
    match = re.search(pattern.encode("ascii"), path.read_bytes())
    return match[1].decode("ascii") if match is not None else ""

"""What Mach-O libraries for arm64 say of themselves: their names, what they offer, and what they need of others."""

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_MAGIC, _ARM64 = 0xFEEDFACF, 0x0100000C
_SYMBOLS, _OWN_NAME, _SIGNATURE = 0x2, 0xD, 0x1D
_LOADS = (0xC, 0x80000018, 0x8000001F)  # needed, used if there, passed on
_DEBUG, _PRIVATE, _KIND, _EXTERNAL = 0xE0, 0x10, 0x0E, 0x01


class NotForMac(Exception):
    """A file is no library for macOS on arm64."""


class Library:
    """A library or program; raises NotForMac.

    Attributes:
        name: the name that others load it by; empty for what nobody loads.
        versions: its own version and the oldest that it is compatible with, as numbers `0xXXXXYYZZ`.
        loads: names of the libraries that it needs, in order.
        exports: names of functions and tables that it offers.
        imports: names that it needs, by the library of `loads`; of the program itself or of any, by an empty name.
        is_signed: whether it has a signature, of whomever; arm64 loads nothing without.
    """

    def __init__(self, path: Path) -> None:
        self._content = path.read_bytes()
        self.name, self.versions, self.loads, self.is_signed = "", (0, 0), list[str](), False
        self.exports, self.imports = set[str](), dict[str, set[str]]()
        try:
            magic, machine, _, _, count = struct.unpack_from("<5I", self._content)
            if (magic, machine) != (_MAGIC, _ARM64):
                raise NotForMac(str(path))
            symbols = [at for at, kind in self._commands(count) if self._took(at, kind)]
            for at in symbols:
                self._read_symbols(*struct.unpack_from("<4I", self._content, at + 8))
        except struct.error as error:
            raise NotForMac(str(path)) from error

    def _commands(self, count: int) -> Iterator[tuple[int, int]]:
        at = 32
        for _ in range(count):
            kind, size = struct.unpack_from("<II", self._content, at)
            yield at, kind
            at += size

    def _took(self, at: int, kind: int) -> bool:
        """Read a load command; whether it names the table of symbols, which needs all others before."""
        if kind == _OWN_NAME or kind in _LOADS:
            place, _, own, oldest = struct.unpack_from("<4I", self._content, at + 8)
            if kind == _OWN_NAME:
                self.name, self.versions = self._text(at + place), (own, oldest)
            else:
                self.loads.append(self._text(at + place))
        self.is_signed |= kind == _SIGNATURE
        return kind == _SYMBOLS

    def _read_symbols(self, at: int, count: int, texts: int, _size: int) -> None:
        for place in range(at, at + 16 * count, 16):
            text, kind, _section, about = struct.unpack_from("<IBBH", self._content, place)
            if kind & (_DEBUG | _PRIVATE) or not kind & _EXTERNAL:
                continue
            name = self._text(texts + text)
            if kind & _KIND:
                self.exports.add(name)
            else:
                number = about >> 8
                library = self.loads[number - 1] if 0 < number <= len(self.loads) else ""
                self.imports.setdefault(library, set()).add(name)

    def _text(self, place: int) -> str:
        return self._content[place : self._content.index(b"\0", place)].decode()


def missing(files: list[Path]) -> dict[str, list[str]]:
    """Names that a library among `files` needs of another one there, which does not offer them; with who needs them.

    Files for several processors are left out.
    """
    libraries: dict[str, Library] = {}
    for path in files:
        with suppress(NotForMac):
            libraries[path.name] = Library(path)
    lacking: dict[str, list[str]] = {}
    for place, library in libraries.items():
        for load, wanted in library.imports.items():
            found = libraries.get(Path(load).name)
            for name in sorted(wanted - found.exports) if found is not None else ():
                lacking.setdefault(f"{Path(load).name}!{name}", []).append(place)
    return lacking

"""Which DLLs and functions the files of an application folder need, and whether each of them is there.

The files are read here, since `objdump` says nothing of imports whose names lie outside of `.idata`: delvewheel moves
them there when it renames DLLs.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PLUS = 0x20B  # of the optional header: a file for 64 bits
_EXPORTS, _IMPORTS = 0, 1
_BY_NUMBER = 1 << 63

_OF_WINDOWS = """
    advapi32 authz avicap32 avrt bcrypt bcryptprimitives cfgmgr32 combase comctl32 comdlg32 credui crypt32
    cryptbase cryptui d2d1 d3d11 d3d12 d3d9 d3dcompiler_47 dbghelp dcomp dhcpcsvc dnsapi dsound dwmapi dwrite
    dxcore dxgi fwpuclnt gdi32 hid icuin icuuc imagehlp imm32 iphlpapi kernel32 kernelbase ksuser mf
    mfplat mfreadwrite mpr msacm32 mscms msimg32 msvcrt mswsock ncrypt netapi32
    normaliz ntdll ole32 oleacc oleaut32 opengl32 pathcch pdh
    powrprof propsys psapi rpcrt4 rstrtmgr secur32 setupapi shcore shell32 shlwapi synchronization ucrtbase
    uiautomationcore user32 userenv usp10 uxtheme version wevtapi winhttp wininet winmm winspool.drv wintrust
    wlanapi wldap32 ws2_32 wsock32 wtsapi32
"""
SYSTEM = frozenset(_OF_WINDOWS.split())
"""DLLs of Windows 10 and 11 itself, without `.dll`; there are also sets named api-ms-win-* and ext-ms-*."""


def is_of_windows(name: str) -> bool:
    """Whether a DLL is a part of Windows."""
    plain = name.lower().removesuffix(".dll")
    return plain in SYSTEM or plain.startswith(("api-ms-win-", "ext-ms-"))


class NotForWindows(Exception):
    """A file is no program or DLL for 64-bit Windows."""


class Image:
    """A program or DLL; raises NotForWindows."""

    def __init__(self, path: Path) -> None:
        self._content = path.read_bytes()
        try:
            self._read_headers()
        except struct.error as error:
            raise NotForWindows(str(path)) from error

    def _read_headers(self) -> None:
        (header,) = struct.unpack_from("<I", self._content, 0x3C)
        if self._content[:2] != b"MZ" or self._content[header : header + 4] != b"PE\0\0":
            raise struct.error("no PE file")
        (sections,) = struct.unpack_from("<H", self._content, header + 6)
        (size,) = struct.unpack_from("<H", self._content, header + 20)
        optional = header + 24
        if struct.unpack_from("<H", self._content, optional) != (_PLUS,):
            raise struct.error("not for 64 bits")
        self._tables = [struct.unpack_from("<I", self._content, optional + 112 + 8 * number)[0] for number in (0, 1)]
        self._sections = [
            struct.unpack_from("<IIII", self._content, optional + size + 40 * number + 8) for number in range(sections)
        ]
        (self._headers_end,) = struct.unpack_from("<I", self._content, optional + 60)

    def imports(self) -> dict[str, set[str]]:
        """Functions that it needs when it is loaded, by DLL; `#7` is the one with number 7."""
        found: dict[str, set[str]] = {}
        at = self._tables[_IMPORTS]
        while at:
            names, _, _, dll, addresses = struct.unpack_from("<5I", self._content, self._place(at))
            if not dll:
                break
            found.setdefault(self._text(dll), set()).update(self._wanted(names or addresses))
            at += 20
        return found

    def exports(self) -> set[str]:
        """Functions and tables that it offers, by name and as `#7`."""
        if not self._tables[_EXPORTS]:
            return set()
        head = struct.unpack_from("<10I", self._content, self._place(self._tables[_EXPORTS]))
        first, functions, named, names = head[4], head[5], head[6], head[8]
        places = struct.unpack_from(f"<{named}I", self._content, self._place(names)) if named else ()
        return {self._text(place) for place in places} | {f"#{first + number}" for number in range(functions)}

    def _wanted(self, at: int) -> Iterator[str]:
        while (entry := struct.unpack_from("<Q", self._content, self._place(at))[0]) != 0:
            yield f"#{entry & 0xFFFF}" if entry & _BY_NUMBER else self._text(entry + 2)
            at += 8

    def _place(self, address: int) -> int:
        """Where in the file the loader finds what it maps to this address."""
        for size, start, kept, place in self._sections:
            if start <= address < start + max(size, kept):
                return int(place + address - start)
        if address < self._headers_end:
            return address
        raise struct.error(f"no section has {address:#x}")

    def _text(self, address: int) -> str:
        place = self._place(address)
        return self._content[place : self._content.index(b"\0", place)].decode("ascii")


def images(folder: Path) -> Iterator[tuple[Path, Image]]:
    """The programs and libraries below a folder, but those for 32 bits, which nothing here loads."""
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in (".dll", ".pyd", ".exe"):
            with suppress(NotForWindows):
                yield path, Image(path)


def missing(folder: Path) -> dict[str, list[str]]:
    """DLLs that nothing provides, each with the files that need it, and functions that a DLL lacks, as `DLL!function`.

    Windows looks beside the file and beside the program; packages add `NAME.libs` and, for Qt, `shiboken6`. What a file
    loads late is not looked for.
    """
    files = dict(images(folder))
    beside_program = {path.name.lower() for path in folder.iterdir()}
    by_folder: dict[Path, set[str]] = {}
    offered: dict[str, set[str]] = {}
    for path, image in files.items():
        by_folder.setdefault(path.parent, set()).add(path.name.lower())
        offered.setdefault(path.name.lower(), set()).update(image.exports())
    added = {name for place, names in by_folder.items() if _is_added(place) for name in names}
    lacking: dict[str, list[str]] = {}
    for path, image in files.items():
        there = by_folder[path.parent] | beside_program | added
        place = path.relative_to(folder).as_posix()
        for name, wanted in image.imports().items():
            if name.lower() in there:
                for function in sorted(wanted - offered.get(name.lower(), wanted)):
                    lacking.setdefault(f"{name}!{function}", []).append(place)
            elif not is_of_windows(name):
                lacking.setdefault(name, []).append(place)
    return lacking


def _is_added(place: Path) -> bool:
    """Whether a package adds its folder to those where Windows looks."""
    return place.name.endswith(".libs") or place.name in ("shiboken6", "PySide6")

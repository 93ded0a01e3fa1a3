"""Which DLLs the files of an application folder need, and whether each of them is there."""

import subprocess
from pathlib import Path

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


def imports(path: Path) -> list[str]:
    """Names of the DLLs that a file needs when it is loaded; those that it loads late are not named."""
    done = subprocess.run(["objdump", "-p", str(path)], check=True, capture_output=True, text=True, errors="replace")
    return sorted({line.split()[-1] for line in done.stdout.splitlines() if line.strip().startswith("DLL Name:")})


def missing(folder: Path, packages: str = "site-packages") -> dict[str, list[str]]:
    """DLLs that nothing provides, each with the files that need it.

    Windows looks beside the file and beside the program; packages add `NAME.libs` and, for Qt, `shiboken6`.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in (".dll", ".pyd", ".exe")]
    beside_program = {path.name.lower() for path in folder.iterdir()}
    by_folder: dict[Path, set[str]] = {}
    for path in files:
        by_folder.setdefault(path.parent, set()).add(path.name.lower())
    added = {name for place, names in by_folder.items() if _is_added(place) for name in names}
    lacking: dict[str, list[str]] = {}
    for path in files:
        there = by_folder[path.parent] | beside_program | added
        for name in imports(path):
            if name.lower() not in there and not is_of_windows(name):
                lacking.setdefault(name, []).append(path.relative_to(folder).as_posix())
    return lacking


def _is_added(place: Path) -> bool:
    """Whether a package adds its folder to those where Windows looks."""
    return place.name.endswith(".libs") or place.name in ("shiboken6", "PySide6")

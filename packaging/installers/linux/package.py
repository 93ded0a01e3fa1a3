"""The Debian package."""

import gzip
import hashlib
import os
import platform
import shutil
import subprocess
import sysconfig
from pathlib import Path

from installers import artefacts, distributions, environment, icons, licences, localized, native, sbom
from installers.linux import elf, frozen, manual, system_packages

HERE = Path(__file__).parent
MOST_PACKED, MOST_INSTALLED = 200_000_000, 480_000_000
"""Bytes; a larger package fails."""
ICON_SIZES = (48, 64, 128, 256)
"""Edges of the pictures, in pixels."""


class TooLarge(Exception):
    """The package is larger than `MOST_PACKED` or `MOST_INSTALLED`."""


def make(out: Path) -> None:
    """Freeze the program and pack it; prints the sizes."""
    program = frozen.freeze(out / "linux")
    target = artefacts.folder(out)
    package = pack(program, out / "linux" / "tree", target)
    installed, packed = artefacts.size(out / "linux" / "tree"), package.stat().st_size
    print(f"{package.name}: {packed / 1e6:.1f} MB packed, {installed / 1e6:.1f} MB installed")
    artefacts.write_sums(target)
    if packed > MOST_PACKED or installed > MOST_INSTALLED:
        raise TooLarge(f"At most {MOST_PACKED / 1e6:.0f} MB packed and {MOST_INSTALLED / 1e6:.0f} MB installed.")


def pack(program: Path, tree: Path, target: Path) -> Path:
    """Lay out the files of the package in `tree`; write it and its licences and bill of materials into `target`."""
    version, date = environment.version(), environment.source_date()
    artefacts.emptied(tree)
    place = tree / "usr" / "lib" / "vbdesk"
    shutil.copytree(program, place, symlinks=True)
    (tree / "usr" / "bin").mkdir(parents=True)
    (tree / "usr" / "bin" / "vbdesk").symlink_to("../lib/vbdesk/vbdesk")
    share = tree / "usr" / "share"
    _write(share / "applications" / "vbdesk.desktop", localized.desktop_entry())
    _write_icons(share / "icons" / "hicolor")
    _write(share / "mime" / "packages" / "vbdesk.xml", localized.xml(localized.FILE_TYPE))
    metadata = localized.xml(localized.METADATA)
    day = environment_day(date)
    _write(share / "metainfo" / "org.vbdesk.desk.metainfo.xml", metadata.format(version=version, date=day))
    papers = _papers(tree, version, date)
    for name, text in papers.items():
        _write(share / "doc" / "vbdesk" / name, text)
        _write(target / f"vbdesk-{version}-linux-{name}", text)
    _write(share / "doc" / "vbdesk" / "copyright", (HERE / "copyright.txt").read_text(encoding="utf-8"))
    changes = changelog((environment.ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version, day)
    _write_compressed(share / "doc" / "vbdesk" / "changelog.gz", changes)
    _write_compressed(share / "man" / "man1" / "vbdesk.1.gz", manual.page(version, day))
    control, sums = _control(tree, version), md5sums(tree)
    _write(tree / "DEBIAN" / "control", control)
    _write(tree / "DEBIAN" / "md5sums", sums)
    _set_dates_and_modes(tree, date)
    package = target / f"vbdesk_{version}_{architecture()}.deb"
    command = ["dpkg-deb", "--root-owner-group", *compression(), "--build", str(tree), str(package)]
    subprocess.run(command, check=True, env={**os.environ, "SOURCE_DATE_EPOCH": str(date)}, stdout=subprocess.DEVNULL)
    shutil.rmtree(tree / "DEBIAN")
    return package


def changelog(text: str, version: str, day: str) -> str:
    """The changes as the package of a version brings them: what is unreleased in the checkout is this version's."""
    return text.replace("## [Unreleased]", f"## [{version}] - {day}", 1)


def md5sums(tree: Path) -> str:
    """MD5 sums of the files of a tree, as `dpkg --verify` reads them; links have none."""
    return "".join(
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(tree).as_posix()}\n"
        for path in sorted(tree.rglob("*"))
        if path.is_file() and not path.is_symlink()
    )


def compression() -> list[str]:
    """Options of dpkg-deb; `VBDESK_QUICK_DEB` makes a larger package in a tenth of the time, for tests."""
    return ["-Zzstd", "-z3"] if os.environ.get("VBDESK_QUICK_DEB") else ["-Zxz"]


def architecture() -> str:
    """Debian's name of this computer's processor."""
    return {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def environment_day(seconds: int) -> str:
    """The day of a date, as ISO 8601."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def _papers(tree: Path, version: str, date: int) -> dict[str, str]:
    packages = distributions.frozen(Path(sysconfig.get_path("purelib")), distributions.LINUX)
    python = platform.python_version()
    licence = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    text = licence.read_text(encoding="utf-8") if licence.exists() else "https://docs.python.org/3/license.html"
    return {
        "licences.html": licences.page(packages, [(f"CPython {python}", "PSF-2.0", text)], native.libraries(tree)),
        "sbom.cdx.json": sbom.document(packages, [sbom.interpreter(python)], tree, version, date),
    }


def _control(tree: Path, version: str) -> str:
    relations = system_packages.relations(elf.missing_inside(tree))
    newest = elf.newest_glibc(path for path in tree.rglob("*") if elf.is_elf(path))
    relations["Depends"] = [f"libc6 (>= {newest[0]}.{newest[1]})", *relations["Depends"], "fontconfig", "xdg-utils"]
    relations["Recommends"] = [*relations["Recommends"], "gnome-keyring | kwalletmanager"]
    fields = {
        "Package": "vbdesk",
        "Version": version,
        "Architecture": architecture(),
        "Maintainer": environment.AUTHORS,
        "Installed-Size": str(-(-artefacts.size(tree) // 1024)),
        **{name: ", ".join(packages) for name, packages in relations.items() if packages},
        "Section": "science",
        "Priority": "optional",
        "Description": (HERE / "description.txt").read_text(encoding="utf-8").rstrip(),
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _write_compressed(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _write_icons(theme: Path) -> None:
    """The mark as a drawing, and as pictures for desktops that want those."""
    svg = icons.mark_svg()
    _write(theme / "scalable" / "apps" / "vbdesk.svg", svg)
    for edge in ICON_SIZES:
        picture = theme / f"{edge}x{edge}" / "apps" / "vbdesk.png"
        picture.parent.mkdir(parents=True)
        picture.write_bytes(icons.png(svg, edge))


def _set_dates_and_modes(tree: Path, date: int) -> None:
    """What the machine that packs leaves on files is not part of the package."""
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or (path.name == "vbdesk" and path.parent.name == "vbdesk")
            path.chmod(0o755 if runs or (elf.is_elf(path) and ".so" not in path.name) else 0o644)
        os.utime(path, (date, date), follow_symlinks=False)

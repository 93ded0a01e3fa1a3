"""The application folder for Windows: an interpreter, wheels for Windows, and two small programs that start them.

Put together on any system: wheels are only unpacked.
"""

import io
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution
from importlib.metadata import distributions as installed_in
from importlib.resources import files
from pathlib import Path

import codec_stubs
from installers import artefacts, distributions, environment, frozen_parts, icons, pins
from installers.windows import pe

PACKAGES = "site-packages"
_STARTS = {"vbdesk.exe": ("t64.exe", "python.exe", "run"), "vbdesk-desk.exe": ("w64.exe", "pythonw.exe", "run_desk")}
"""Program: launcher of distlib, interpreter beside it, function of `vbdesk.__main__`."""

_RUNTIME = ("msvcp140.dll", "msvcp140_1.dll", "msvcp140_2.dll", "vcruntime140_1.dll", "concrt140.dll")
"""Microsoft's C++ runtime, which Qt's wheels carry; beside the interpreter every library finds it."""

_MAIN = "import sys\nfrom vbdesk.__main__ import {function}\nsys.exit({function}())\n"


class Incomplete(Exception):
    """The application folder lacks something."""


def assemble(out: Path, wheel: Path) -> Path:
    """Make the folder; returns its path.

    Raises:
        Incomplete: a DLL is missing, or lacks a function that another one needs.
        PinBroken: the interpreter is not the pinned one.
    """
    pinned = pins.load()["windows"]
    place = artefacts.emptied(out / "windows" / "vbdesk")
    with zipfile.ZipFile(pins.fetch(pinned["embeddable"], pinned["sha256"], out / "downloads")) as interpreter:
        interpreter.extractall(place)
    packages = place / PACKAGES
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(packages), "--no-deps"]
    install += ["--no-build", "--python-platform", pinned["platform"], "--python-version", pinned["python"]]
    environment.run(*install, "--require-hashes", "-r", pins.LOCK)
    environment.run(*install, wheel)
    prune(packages)
    codec_stubs.replace_encoders(packages)
    finish(place, pinned["python"])
    lacking = pe.missing(place)
    if lacking:
        raise Incomplete(f"These DLLs are missing: {lacking}")
    return place


def contents(packages: Path) -> list[Distribution]:
    """The distributions of the application folder."""
    python = pins.load()["windows"]["python"]
    markers = {"python_version": python, "python_full_version": f"{python}.0"}
    return distributions.shipped(packages, {**distributions.WINDOWS, **markers})


def prune(packages: Path) -> None:
    """Remove build tools, parts that no page uses, and texts of other languages."""
    kept = {found.metadata["Name"] for found in contents(packages)}
    for found in installed_in(path=[str(packages)]):
        if found.metadata["Name"] not in kept:
            for file in found.files or []:
                Path(str(found.locate_file(file))).unlink(missing_ok=True)
    languages = frozen_parts.languages()
    for path in sorted(packages.rglob("*"), reverse=True):
        place = path.relative_to(packages).as_posix()
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif not frozen_parts.is_kept(place, languages, "win32") or _is_unused_qt(place):
            path.unlink()
    shutil.rmtree(packages / "bin", ignore_errors=True)


def finish(place: Path, python: str) -> None:
    """Tell the interpreter where the packages are, and add the programs, the C++ runtime and the icon."""
    short = python.replace(".", "")
    (place / f"python{short}._pth").write_text(f"python{short}.zip\n.\n{PACKAGES}\n", encoding="utf-8")
    for name in _RUNTIME:
        found = next((place / PACKAGES).rglob(name), None)
        if found is not None and not (place / name).exists():
            shutil.copyfile(found, place / name)
    for name, (launcher, interpreter, function) in _STARTS.items():
        start = files("distlib").joinpath(launcher).read_bytes()
        (place / name).write_bytes(program(start, interpreter, function))
    svg = icons.mark_svg()
    (place / "vbdesk.ico").write_bytes(icons.ico({edge: icons.png(svg, edge) for edge in icons.ICO_SIZES}))


def program(launcher: bytes, interpreter: str, function: str) -> bytes:
    """A launcher followed by what it runs, with the interpreter of its own folder."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py", (1980, 1, 1, 0, 0, 0)), _MAIN.format(function=function))
    return launcher + f"#!<launcher_dir>\\{interpreter}\r\n".encode() + packed.getvalue()


def sign(paths: list[Path]) -> bool:
    """Sign programs and packages if a certificate is named; returns whether they were signed.

    `VBDESK_SIGN_PKCS12` names the file and `VBDESK_SIGN_PASSWORD_FILE` the file with its password;
    `VBDESK_SIGN_TIMESTAMP` names a server of time stamps.
    """
    import os

    certificate = os.environ.get("VBDESK_SIGN_PKCS12")
    if not certificate:
        print("not signed: no certificate is named (VBDESK_SIGN_PKCS12)")
        return False
    for path in paths:
        signed = path.with_name(f"{path.name}.signed")
        command = ["osslsigncode", "sign", "-pkcs12", certificate, "-n", "vbdesk", "-h", "sha256"]
        command += ["-readpass", os.environ["VBDESK_SIGN_PASSWORD_FILE"]]
        if os.environ.get("VBDESK_SIGN_TIMESTAMP"):
            command += ["-ts", os.environ["VBDESK_SIGN_TIMESTAMP"]]
        subprocess.run([*command, "-in", str(path), "-out", str(signed)], check=True)
        signed.replace(path)
    return True


_QT_KEPT = ("Core", "Gui", "Widgets", "Svg", "Network", "PrintSupport", "OpenGL", "OpenGLWidgets", "DBus")

_PLUGINS_LEFT_OUT = ("designer", "qmltooling", "qmllint", "qmlls", "sqldrivers", "vectorimageformats", "assetimporters")
_PLUGINS_OF_OTHERS = ("qpdf.dll", "qtvirtualkeyboardplugin.dll")
"""They need Qt modules that are left out."""


def _is_unused_qt(place: str) -> bool:
    """Whether a file of PySide6 belongs to tools or to modules that no page uses."""
    parts = place.split("/")
    if parts[0] != "PySide6":
        return False
    name = parts[-1]
    if len(parts) > 1 and parts[1] in ("qml", "metatypes", "include", "typesystems", "scripts", "glue", "doc"):
        return True
    if parts[1] == "plugins" and (parts[2] in _PLUGINS_LEFT_OUT or name in _PLUGINS_OF_OTHERS):
        return True
    if len(parts) == 2 and (name.endswith((".exe", ".lib")) or name.startswith(("opengl32sw", "pyside6qml"))):
        return True
    for prefix, suffix in (("Qt6", ".dll"), ("Qt", ".pyd")):
        if len(parts) == 2 and name.startswith(prefix) and name.endswith(suffix):
            return name.removeprefix(prefix).removesuffix(suffix) not in _QT_KEPT
    return False

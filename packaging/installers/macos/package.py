"""The macOS application and its disk image. Runs on macOS only; no real machine has run it yet."""

import os
import plistlib
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import codec_stubs
from installers import artefacts, distributions, environment, icons, licences, localized, native, pins, sbom
from installers.macos import macho
from vbdesk.language import N_, available_languages

HERE = Path(__file__).parent
IDENTIFIER = "org.vbdesk.desk"
ENTITLEMENTS = {
    "com.apple.security.device.audio-input": True,
    "com.apple.security.cs.allow-unsigned-executable-memory": True,  # libffi's closures, which PortAudio calls
    "com.apple.security.cs.disable-library-validation": True,  # wheels are signed by others, or not at all
}
# Translators: macOS shows it when the program asks for the microphone for the first time
MICROPHONE = N_("vbdesk records the voice of the person who agreed to be recorded.")
FILE_TYPE = N_("vbdesk transfer bundle")
COPYRIGHT = N_("Copyright the vbdesk authors. Apache License 2.0.")


class Incomplete(Exception):
    """A library of the application lacks something that another one needs."""


class NotOnThisSystem(Exception):
    """The disk image is made on macOS."""


def information(version: str, oldest_system: str) -> dict[str, object]:
    """The content of Info.plist."""
    return {
        "CFBundleDevelopmentRegion": "en",
        "CFBundleDisplayName": "vbdesk",
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": FILE_TYPE,
                "CFBundleTypeRole": "Viewer",
                "LSHandlerRank": "Owner",
                "LSItemContentTypes": [f"{IDENTIFIER}.bundle"],
            }
        ],
        "CFBundleExecutable": "vbdesk",
        "CFBundleIconFile": "vbdesk.icns",
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleInfoDictionaryVersion": "6.0",
        "CFBundleLocalizations": [_apples_name(name) for name in available_languages()],
        "CFBundleName": "vbdesk",
        "CFBundlePackageType": "APPL",
        "CFBundleShortVersionString": version,
        "CFBundleVersion": version,
        "LSApplicationCategoryType": "public.app-category.medical",
        "LSMinimumSystemVersion": oldest_system,
        "NSHighResolutionCapable": True,
        "NSHumanReadableCopyright": COPYRIGHT,
        "NSMicrophoneUsageDescription": MICROPHONE,
        "UTExportedTypeDeclarations": [
            {
                "UTTypeIdentifier": f"{IDENTIFIER}.bundle",
                "UTTypeDescription": FILE_TYPE,
                "UTTypeConformsTo": ["public.data"],
                "UTTypeTagSpecification": {
                    "public.filename-extension": ["vbundle"],
                    "public.mime-type": ["application/x-vbdesk-bundle"],
                },
            }
        ],
    }


def localized_information() -> dict[str, dict[str, str]]:
    """Texts of Info.plist by folder and key; a file type's key is its English text."""
    keys = {MICROPHONE: "NSMicrophoneUsageDescription", COPYRIGHT: "NSHumanReadableCopyright", FILE_TYPE: FILE_TYPE}
    found: dict[str, dict[str, str]] = {}
    for english, key in keys.items():
        for name, text in {"en": english, **localized.translations(english)}.items():
            found.setdefault(f"{_apples_name(name)}.lproj", {})[key] = text
    return found


def _apples_name(language: str) -> str:
    return language.replace("_", "-")


def make(out: Path) -> None:
    """Freeze, sign, pack and notarise; the last three skip what no certificate is there for."""
    if sys.platform != "darwin":
        raise NotOnThisSystem("The disk image is made on macOS 14 or newer, with an arm64 processor.")
    version = environment.version()
    application = build(out / "macos", version)
    identity = os.environ.get("VBDESK_SIGN_IDENTITY")
    sign(application, identity, out / "macos")
    target = artefacts.folder(out)
    image = target / f"vbdesk-{version}-arm64.dmg"
    pack(application, image)
    notarise(image, os.environ.get("VBDESK_NOTARY_PROFILE") if identity else None)
    write_papers(application, target, version)
    artefacts.write_sums(target)
    print(f"{image.name}: {image.stat().st_size / 1e6:.1f} MB; {artefacts.size(application) / 1e6:.1f} MB installed")


def build(folder: Path, version: str) -> Path:
    """Freeze vbdesk into `vbdesk.app`; returns its path."""
    artefacts.emptied(folder)
    svg = icons.mark_svg()
    icon = folder / "vbdesk.icns"
    icon.write_bytes(icons.icns({edge: icons.png(svg, edge) for edge in icons.ICNS_TYPES}))
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    command += ["--distpath", str(folder), "--workpath", str(folder / "work"), str(HERE / "vbdesk.spec")]
    environment.run(*command)
    application = folder / "vbdesk.app"
    codec_stubs.replace_encoders(application)
    lacking = macho.missing([path for path in application.rglob("*.dylib") if not path.is_symlink()])
    if lacking:
        raise Incomplete(f"These functions are missing: {lacking}")
    with (application / "Contents" / "Info.plist").open("wb") as file:
        plistlib.dump(information(version, pins.load()["macos"]["oldest_system"]), file)
    resources = application / "Contents" / "Resources"
    shutil.copyfile(icon, resources / "vbdesk.icns")
    for folder_name, texts in localized_information().items():
        strings = resources / folder_name / "InfoPlist.strings"
        strings.parent.mkdir(exist_ok=True)
        strings.write_bytes(plistlib.dumps(texts))
    return application


def sign(application: Path, identity: str | None, folder: Path) -> None:
    """Sign for the hardened runtime; without an identity for this computer only, so that it starts on arm64."""
    entitlements = folder / "entitlements.plist"
    with entitlements.open("wb") as file:
        plistlib.dump(ENTITLEMENTS, file)
    command = ["codesign", "--force", "--deep", "--options", "runtime", "--entitlements", str(entitlements)]
    if identity:
        command += ["--timestamp"]
    else:
        print("signed for this computer only: no identity is named (VBDESK_SIGN_IDENTITY)")
    environment.run(*command, "--sign", identity or "-", str(application))


def pack(application: Path, image: Path) -> None:
    """Write the disk image with the application and a link to Applications."""
    stage = artefacts.emptied(application.parent / "stage")
    shutil.copytree(application, stage / application.name, symlinks=True)
    (stage / "Applications").symlink_to("/Applications")
    image.unlink(missing_ok=True)
    command = ["hdiutil", "create", "-volname", "vbdesk", "-srcfolder", str(stage), "-format", "ULFO", str(image)]
    subprocess.run(command, check=True)


def notarise(image: Path, profile: str | None) -> None:
    """Have Apple check the image, and attach its ticket; `profile` is one of `notarytool store-credentials`."""
    if not profile:
        print("not notarised: no profile is named (VBDESK_NOTARY_PROFILE)")
        return
    environment.run("xcrun", "notarytool", "submit", str(image), "--keychain-profile", profile, "--wait")
    environment.run("xcrun", "stapler", "staple", str(image))


def write_papers(application: Path, target: Path, version: str) -> None:
    """The bill of materials and the page of licences."""
    parts = distributions.frozen(Path(sysconfig.get_path("purelib")), distributions.MACOS)
    python = sys.version.split()[0]
    others = [(f"CPython {python}", "PSF-2.0", "https://docs.python.org/3/license.html")]
    page = licences.page(parts, others, native.libraries(application))
    (target / f"vbdesk-{version}-macos-licences.html").write_text(page, encoding="utf-8")
    bill = sbom.document(parts, [sbom.interpreter(python)], application, version, environment.source_date())
    (target / f"vbdesk-{version}-macos-sbom.cdx.json").write_text(bill, encoding="utf-8")

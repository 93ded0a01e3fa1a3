"""The guide as it ships: Markdown pages in several languages, and the pictures that they show."""

import re
from dataclasses import dataclass
from pathlib import Path

from vbdesk.language.catalogs import SOURCE
from vbdesk.resource_files import resource

PAGES = (
    "README.md", "first-start.md", "record.md", "outbox.md", "subjects.md", "results.md", "subject.md", "cohort.md",
    "account.md",
)  # fmt: skip
"""In the order of the help window."""

_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"`[^`]+`")
_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
_LEFT_TO_RIGHT, _END = "\u2066", "\u2069"


@dataclass(frozen=True, slots=True)
class Chapter:
    """A page of the guide.

    Attributes:
        name: of its file, the same in every language.
        title: its first heading.
        text: Markdown; its links lead to chapters, and its pictures are named as in `Guide.pictures`.
        language: catalog name of the language that it is in.
    """

    name: str
    title: str
    text: str
    language: str


@dataclass(frozen=True, slots=True)
class Guide:
    """The guide; pictures by their path in its folder, such as `de/record-light.png`."""

    chapters: tuple[Chapter, ...]
    pictures: dict[str, bytes]


def guide_folder() -> Path:
    """The guide: in the installed package, or in the source checkout. Raises FileNotFoundError."""
    try:
        return resource("guide")
    except FileNotFoundError:
        folder = resource("icons").parents[1] / "docs" / "guide"
        if folder.is_dir():
            return folder
        raise


def read_guide(language: str, folder: Path | None = None) -> Guide:
    """Read all chapters, each in a language or else in English, and the pictures that they show. Blocks on the disk.

    Args:
        language: catalog name, such as `pt_BR`.
        folder: of the English pages; the shipped guide if None.
    """
    folder = guide_folder() if folder is None else folder
    pictures: dict[str, bytes] = {}
    chapters = []
    for name in PAGES:
        for written, path in ((language, folder / language / name), (SOURCE, folder / name)):
            if path.is_file():
                text = path.read_text(encoding="utf-8")
                shown = _shown(text, path.parent, folder, pictures)
                chapters.append(Chapter(name, _title(text, path.stem), shown, written))
                break
    return Guide(tuple(chapters), pictures)


def anchor_of(heading: str) -> str:
    """What a link to a heading ends with, as on the usual sites that show Markdown."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def right_to_left(text: str) -> str:
    """Markdown of a page from right to left as Qt shows it so: code keeps its order, tables begin at the right."""
    isolated = _CODE.sub(lambda code: f"{_LEFT_TO_RIGHT}{code.group()}{_END}", text)
    return _ROW.sub(lambda row: "|".join(reversed(row.group().split("|"))), isolated)


def _title(text: str, otherwise: str) -> str:
    return next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), otherwise)


def _shown(text: str, here: Path, guide: Path, pictures: dict[str, bytes]) -> str:
    """A page without pictures that did not ship, and without links to documents outside the guide.

    `here` is the folder of the page and `guide` that of the guide; `pictures` takes those of the page.
    """

    def shown(link: re.Match[str]) -> str:
        target = link["target"]
        if link["picture"]:
            path = here / target
            if not path.is_file():
                return ""
            name = path.relative_to(guide).as_posix()
            pictures[name] = path.read_bytes()
            return f"![{link['text']}]({name})"
        return link.group() if target.partition("#")[0] in ("", *PAGES) else link["text"]

    return _LINK.sub(shown, text)

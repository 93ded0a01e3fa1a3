"""Translated pages of the guide: which version of its English page each translates, and what both must share.

`docs/guide/<language>/` has a page for each English page, its pictures, and `translated.toml` with the SHA-256 of the
English page that each was translated from. `packaging/translations.py guide` is the command for translators.
"""

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from urllib.parse import unquote

import tomli_w
from babel import Locale
from markdown_it import MarkdownIt
from markdown_it.token import Token

from vbdesk.desk.help.guide import anchor_of
from vbdesk.language.catalogs import SOURCE

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "guide"
RECORD = "translated.toml"

Words = Mapping[str, set[str]]
"""Texts of the window in English, with their translations."""

_HEADING = "a heading of level"
_BLOCKS = {
    "heading": _HEADING + " {}",
    "paragraph": "a paragraph",
    "bullet_list": "a list",
    "ordered_list": "a numbered list",
    "list_item": "an item of a list",
    "table": "a table",
    "tr": "a row of a table",
    "th": "a heading of a table",
    "td": "a cell of a table",
    "fence": "a block of code",
    "code_block": "a block of code",
    "blockquote": "a quotation",
    "hr": "a line",
}
_IN_DARK_COLOURS = re.compile(r"^!\[[^\]]*\]\([^)]+-dark\.png\)\n*", re.MULTILINE)
"""A picture that only the English page has, on a line of its own."""
_PICTURE_OF = "tests/e2e/rig/desk-session --size 1320x880 -- .venv/bin/python packaging/screenshots.py --language {} {}"
_QUOTED = re.compile(r'"([^"]+)"')


@dataclass(slots=True)
class Page:
    """What a translation keeps of a page, and its words of the window.

    Attributes:
        blocks: headings, paragraphs, lists and tables, in order; blocks of code with their content.
        headings: their texts.
        links, pictures, code, bold: targets or texts, in order.
        leading_out: texts of paragraphs, items and cells with a link to a document outside the guide.
        text: of all, in one line.
    """

    blocks: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    bold: list[str] = field(default_factory=list)
    leading_out: list[str] = field(default_factory=list)
    text: str = ""


def page_of(markdown: str) -> Page:
    """Read a page."""
    page, pieces = Page(), []
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        kind = token.type.removesuffix("_open")
        if kind in _BLOCKS:
            page.blocks.append(_BLOCKS[kind].format(token.tag[1:]) + (f": {token.content}" if token.content else ""))
        if token.type == "inline":
            pieces.append(_plain(token.children or []))
            known = len(page.links)
            _read_inline(token.children or [], page)
            if any(link.startswith("../../") for link in page.links[known:]):
                page.leading_out.append(pieces[-1])
            if page.blocks[-1].startswith(_HEADING):
                page.headings.append(pieces[-1])
    page.text = "\n".join(pieces)
    return page


def _read_inline(tokens: list[Token], page: Page) -> None:
    for place, token in enumerate(tokens):
        if token.type == "link_open":
            page.links.append(unquote(str(token.attrs["href"])))
        elif token.type == "image":
            page.pictures.append(str(token.attrs["src"]))
        elif token.type == "code_inline":
            page.code.append(token.content)
        elif token.type == "strong_open":
            end = next(n for n, each in enumerate(tokens) if n > place and each.type == "strong_close")
            page.bold.append(_plain(tokens[place:end]))


def _plain(tokens: list[Token]) -> str:
    return "".join(" " if token.type == "softbreak" else token.content for token in tokens)


def names() -> list[str]:
    """Names of the English pages."""
    return sorted(path.name for path in GUIDE.glob("*.md"))


def faults(language: str, words: Words) -> list[str]:
    """What is wrong with the guide in a language, as sentences."""
    folder = GUIDE / language
    found = [f"{path.name} has no English page. Delete it." for path in folder.glob("*.md") if path.name not in names()]
    recorded = _recorded(language)
    for name in names():
        found += damages(language, name, words)
        if (folder / name).is_file() and recorded.get(name) != version_of(name):
            found.append(
                f"{name} is not recorded as a translation of the present English page, whose changes "
                f"`git log -p docs/guide/{name}` shows. When it is, run `translations.py guide {language} {name}`."
            )
    return found


def damages(language: str, name: str, words: Words) -> list[str]:
    """How a translated page differs from its English page in what both must share, as sentences."""
    if name not in names():
        return [f"{name} has no English page."]
    if not (GUIDE / language / name).is_file():
        return [f"{name} is not translated."]
    return [f"{name}: {fault}" for fault in _differences(language, name, words)]


def _differences(language: str, name: str, words: Words) -> Iterator[str]:
    english = page_of(_IN_DARK_COLOURS.sub("", (GUIDE / name).read_text(encoding="utf-8")))
    translated = page_of((GUIDE / language / name).read_text(encoding="utf-8"))
    passed = 0  # headings
    for wanted, there in zip_longest(english.blocks, translated.blocks, fillvalue="nothing"):
        if wanted != there:
            after = f"the heading {english.headings[passed - 1]!r}" if passed else "the beginning"
            yield f"after {after}, the English page has {wanted}, and the translation has {there}."
            break
        passed += wanted.startswith(_HEADING)
    shared = (
        ("the pictures", english.pictures, translated.pictures),
        ("the links", [_link_in(language, name, link) for link in english.links], translated.links),
        ("the code", english.code, translated.code),
    )
    for what, wanted_ones, there_ones in shared:
        lacking, too_many = Counter(wanted_ones) - Counter(there_ones), Counter(there_ones) - Counter(wanted_ones)
        if lacking or too_many:
            yield f"of {what}, {sorted(lacking.elements())} are missing and {sorted(too_many.elements())} are too many."
    for picture in translated.pictures:
        if picture in english.pictures and not (GUIDE / language / picture).is_file():
            command = _PICTURE_OF.format(language.replace("_", "-"), f"docs/guide/{language}")
            yield f"the picture docs/guide/{language}/{picture} is missing. Make it with `{command}`."
    for text in translated.leading_out:
        if (name_of_english := Locale.parse(language).languages[SOURCE]) not in text:
            yield f"{text[:60]!r} links to a document in English, without the word {name_of_english!r}."
    for word in dict.fromkeys(english.bold):
        if word in words and words[word].isdisjoint(translated.bold):
            yield f"**{word}** is in the window {sorted(words[word])}, which is not there in bold."
    for word in dict.fromkeys(_QUOTED.findall(english.text)):
        if word in words and not any(each in translated.text for each in words[word]):
            yield f'"{word}" is in the window {sorted(words[word])}, which is not there.'


def _link_in(language: str, name: str, link: str) -> str:
    """What a link of an English page must be in its translation; a heading has the name that it has there."""
    file, mark, anchor = link.partition("#")
    if "://" in link:
        return link
    if file.startswith("../"):
        return f"../{link}"
    target = file or name
    translated = GUIDE / language / target
    if not mark or not translated.is_file():
        return link
    headings = page_of((GUIDE / target).read_text(encoding="utf-8")).headings
    theirs = page_of(translated.read_text(encoding="utf-8")).headings
    places = [place for place, heading in enumerate(headings) if anchor_of(heading) == anchor]
    return f"{file}#{anchor_of(theirs[places[0]])}" if places and places[0] < len(theirs) else link


def version_of(name: str) -> str:
    """SHA-256 of an English page; the same for every kind of line end."""
    return hashlib.sha256((GUIDE / name).read_text(encoding="utf-8").encode()).hexdigest()


def _recorded(language: str) -> dict[str, str]:
    path = GUIDE / language / RECORD
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def record(language: str, translated: list[str]) -> None:
    """Note that these pages are translations of the present English pages."""
    entries = {name: sha for name, sha in _recorded(language).items() if name in names()}
    entries |= {name: version_of(name) for name in translated}
    path = GUIDE / language / RECORD
    path.write_text(
        "# The English pages that these pages translate, as SHA-256. Written by `packaging/translations.py guide`.\n"
        + tomli_w.dumps(dict(sorted(entries.items()))),
        encoding="utf-8",
    )

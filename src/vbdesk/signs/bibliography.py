"""The publications behind the evidence, read from a BibTeX file."""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

_ENTRY = re.compile(r"^@\w+\{([^,\s]+),\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s+(\w+) = \{(.*)\},?$", re.MULTILINE)
_ACCENT = re.compile(r"\\(['`^\"~]|[cvuk](?=\{))\{?([A-Za-z])\}?")
_COMBINING = {"'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303"}
_COMBINING |= {"c": "\u0327", "v": "\u030c", "u": "\u0306", "k": "\u0328"}
_LETTERS = {r"\aa": "å", r"\AA": "Å", r"\o": "ø", r"\l": "ł", r"\L": "Ł", r"\ss": "ß", r"\&": "&", "--": "-"}


@dataclass(frozen=True, slots=True)
class Publication:
    """One publication.

    Attributes:
        venue: journal, proceedings or school; empty where the file names none.
        verified: whether the publication itself was read when the evidence was written.
    """

    key: str
    authors: str
    year: str
    title: str
    venue: str
    doi: str
    verified: bool

    def citation(self) -> str:
        """The citation in one line."""
        doi = f" doi:{self.doi}" if self.doi else ""
        venue = f" {self.venue}." if self.venue else ""
        unseen = "" if self.verified else " [not seen by us]"
        return f"{self.authors} ({self.year}). {self.title}.{venue}{doi}{unseen}"


def read_bibliography(path: Path) -> dict[str, Publication]:
    """Read the publications of a BibTeX file, by key."""
    return {key: _source(key, body) for key, body in _ENTRY.findall(path.read_text(encoding="utf-8"))}


def _source(key: str, body: str) -> Publication:
    fields = {name: _plain(value) for name, value in _FIELD.findall(body)}
    venue = next((fields[name] for name in ("journal", "booktitle", "school", "howpublished") if name in fields), "")
    return Publication(
        key=key,
        authors=_authors(fields.get("author", "")),
        year=fields.get("year", ""),
        title=fields.get("title", ""),
        venue=venue,
        doi=fields.get("doi", ""),
        verified=fields.get("verified") == "true",
    )


def _authors(names: str) -> str:
    people = names.split(" and ")
    return f"{people[0]} and others" if len(people) > 3 else "; ".join(people)


def _plain(text: str) -> str:
    """Convert TeX markup to plain characters."""
    text = _ACCENT.sub(lambda found: unicodedata.normalize("NFC", found[2] + _COMBINING[found[1]]), text)
    for markup, letter in _LETTERS.items():
        text = re.sub(rf"{re.escape(markup)}(?![a-zA-Z])" if markup[-1].isalpha() else re.escape(markup), letter, text)
    return text.replace("{", "").replace("}", "")

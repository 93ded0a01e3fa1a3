"""Templates of the console have no text of their own: each goes through a function of the catalogs."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import nodes

from vbdesk.language.markup import FUNCTIONS
from vbdesk.service.http.templates import templates_in

TEMPLATES = Path(__file__).parents[2] / "resources" / "console" / "templates"
SPOKEN = {"alt", "aria-label", "data-label", "placeholder", "title"}
LETTERS = re.compile(r"[A-Z][a-z]|[a-z] [a-z]")


class _Markup(HTMLParser):
    """Text, and attributes that are read out, with a mark for each expression."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in SPOKEN and value]

    def handle_data(self, data: str) -> None:
        self.found.append(data.strip())


def hard_coded(source: str) -> list[str]:
    """Texts of a template that people would read in English whatever their language."""
    tree = templates_in("console", "templates").parse(source)
    markup = _Markup()
    markup.feed("".join(pieces(tree)))
    return [text for text in [*markup.found, *constants(tree)] if LETTERS.search(text)]


def pieces(node: nodes.Node) -> Iterator[str]:
    """The template's own characters; an expression is one mark, so that attributes stay whole."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.TemplateData):
            yield child.data
        elif isinstance(child, nodes.Expr):
            yield "\u2026"
        else:
            yield from pieces(child)


def constants(node: nodes.Node) -> Iterator[str]:
    """Strings of expressions that are not handed to a function of the catalogs."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in FUNCTIONS:
        for field in node.kwargs:
            yield from constants(field.value)
        return
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == "code":
        return  # the macro for ids and names of programs
    if isinstance(node, nodes.Pair):
        yield from constants(node.value)
        return
    if isinstance(node, nodes.Const) and isinstance(node.value, str):
        yield node.value
    for child in node.iter_child_nodes():
        yield from constants(child)


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.stem)
def test_a_template_has_no_text_of_its_own(path):
    assert hard_coded(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("<p>Not marked</p>", ["Not marked"]),
        ("{% if a %}<p>{{ a }} are on it</p>{% endif %}", ["\u2026 are on it"]),
        ('<a title="Not {{ a }} marked">{{ _("Marked") }}</a>', ["Not \u2026 marked"]),
        ('{{ "Close it" if a else _("No") }}', ["Close it"]),
        ('{% set words = {"a": "Close it", "b": _("No")} %}', ["Close it"]),
        ('{{ _("Marked {name}", name="Not marked") }}', ["Not marked"]),
        ('<p class="{{ a }} is-wide" id="x">{{ ngettext("One", "Two of {it}", 2, it=b) }}</p>', []),
    ],
)
def test_hard_coded_texts_are_found(source, found):
    assert hard_coded(source) == found

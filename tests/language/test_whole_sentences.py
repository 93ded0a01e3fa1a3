"""No text for people is put together from pieces: a field is a value, never another word of the sentence."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache

from source_trees import SOURCES, name_of, trees

FILLS = {"_", "ngettext", "pgettext", "npgettext", "message", "plural_message"}
LETTERS = re.compile(r"[A-Za-z]{2}")
CODED = {"action", "gives", "kind", "level", "sex", "state", "status", "verdict"}
"""Attributes with an English word of the code, such as `job.status`."""
CASES = {"capitalize", "lower", "swapcase", "title"}
NOUNS = re.compile(r"(label|title|text|words|sentence)$")
VALUES = {
    *("_moment", "age_text", "approximate_duration", "clock_text", "day_in_sentence", "day_text", "format_moment"),
    *("day_and_time", "format_utc_offset", "moment_in_sentence"),
    *("_amount", "unit_word"),
    *("_name", "field_at_fault", "label_word", "sign_text"),
}
"""Moments and lengths, amounts, names: they stand in a sentence as a number does."""

BEFORE, AFTER = r"(^|: |[(“«\[]|\) |, |\. |· )", r"([.;:,)”»\]]|$| \(| ·)"
"""Between marks, as in `Level: {level}.` and `{sign} ({name})`, the form of a word does not matter."""

ALLOWED = {
    "lab/commands/longitudinal.py: name in '{name} cannot be read: {reason}.'": "the name of a file, or stdin",
    "lab/commands/longitudinal.py: name in '{name} is not text in UTF-8.'": "the name of a file, or stdin",
    "cli/main.py: command in 'See {command} for help.'": "a command that a person types",
    "desk/account/plan_card.py: profile.plan.value.capitalize()": "the name of a product",
    "desk/outbox/bundle_cards.py: f'{_(_FILES)} (*.vbundle)'": "a filter of files, in Qt's form",
    "report/fhir/observations.py: band.value.capitalize()": "data for machines",
    "voice/ffmpeg_reader.py: codec in 'The sound in the file is coded as {codec}.'": "the name of a codec",
}


def assembled(tree: ast.AST) -> Iterator[str]:
    """Every place where a text is put together."""
    for function in ast.walk(tree):
        if isinstance(function, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            nodes = list(own_nodes(function))
            local = {
                target.id: node.value
                for node in nodes
                if isinstance(node, ast.Assign)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            for node in nodes:
                yield from assembly(node, local)


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a function, without those of functions inside of it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from own_nodes(child)


def assembly(node: ast.AST, local: Mapping[str, ast.expr]) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr | ast.BinOp):
        ours = any(isinstance(part, ast.Call) and name_of(part.func) in FILLS for part in ast.walk(node))
        if ours and any(LETTERS.search(text) for text in letters_of(node)):
            yield ast.unparse(node)
    elif isinstance(node, ast.Call) and name_of(node.func) in FILLS:
        yield from word_fields(node, local)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CASES:
        text = before_replacing(node.func.value)
        if is_word(text, local) or NOUNS.search(name_of(text)) or name_of(text) == "value":
            yield ast.unparse(node)


def before_replacing(text: ast.expr) -> ast.expr:
    """`a` of `a.replace("_", " ")`."""
    while isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute) and text.func.attr == "replace":
        text = text.func.value
    return text


def word_fields(call: ast.Call, local: Mapping[str, ast.expr]) -> Iterator[str]:
    """Fields that hold a word, in the middle of a sentence."""
    templates = [part.value for part in call.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    for keyword in call.keywords:
        if keyword.arg is not None and is_word(keyword.value, local):
            alone = re.compile(rf"{BEFORE}{{{keyword.arg}(:[^}}]*)?}}{AFTER}")
            if not all(alone.search(text) for text in templates if f"{{{keyword.arg}" in text):
                yield f"{keyword.arg} in {templates[-1]!r}"


def is_word(node: ast.expr, local: Mapping[str, ast.expr]) -> bool:
    """Whether a value is a text of ours, or an English word of the code."""
    match node:
        case ast.Name():
            return node.id in local and is_word(local[node.id], {})
        case ast.IfExp():
            return is_word(node.body, local) or is_word(node.orelse, local)
        case ast.Constant(value=str(text)):
            return LETTERS.search(text) is not None
        case ast.JoinedStr():
            parts = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
            return any(map(LETTERS.search, letters_of(node))) or any(is_word(part, local) for part in parts)
        case ast.Call():
            called = name_of(node.func)
            return called in FILLS | {"N_"} or (called in makers() and called not in VALUES)
        case ast.Attribute(attr="value"):
            return is_word(node.value, local)
    return isinstance(node, ast.Attribute) and node.attr in CODED


@cache
def makers() -> frozenset[str]:
    """Names of functions of the package that return a text of ours."""
    return frozenset(
        function.name
        for _name, tree in trees(SOURCES)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in own_nodes(function)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call) and name_of(node.value.func) in FILLS
    )


def letters_of(node: ast.AST) -> Iterator[str]:
    """The literals of an f-string or a sum, without those inside of calls."""
    if isinstance(node, ast.JoinedStr):
        yield from (str(part.value) for part in node.values if isinstance(part, ast.Constant))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from (*letters_of(node.left), *letters_of(node.right))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


LEVEL_WORDS = {"level_word", "overall_word"}
LEVEL_FIRST = r"(^|· ){%s}"


def capital_levels(function: ast.AST) -> Iterator[str]:
    """Texts in which a level that begins with a capital letter is not at the beginning."""
    nodes = list(own_nodes(function))
    made = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and any(is_level(part) for part in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in nodes:
        if isinstance(call, ast.Call) and name_of(call.func) in FILLS:
            texts = [part.value for part in call.args if isinstance(part, ast.Constant)]
            for keyword in call.keywords:
                if is_level(keyword.value) or name_of(keyword.value) in made:
                    yield from (text for text in texts if not re.search(LEVEL_FIRST % keyword.arg, text))


def is_level(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and name_of(node.func) in LEVEL_WORDS


def test_a_level_inside_of_a_sentence_has_its_own_form():
    functions = [
        (name, node) for name, tree in trees(SOURCES) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    ]
    found = [f"{name}: {text}" for name, function in functions for text in capital_levels(function)]
    assert found == [], "take `level_in_sentence`"


def test_no_text_is_assembled():
    found = {f"{name}: {what}" for name, tree in trees(SOURCES) for what in assembled(tree)}
    assert found - ALLOWED.keys() == set(), "write whole sentences, one for each case"
    assert ALLOWED.keys() - found == set(), "no longer needed"


def test_assembled_texts_are_found():
    code = """
_("There is no {kind} here", kind=self.kind)
_("It is {what} now", what="open" if one else _("closed"))
part = _("only {n}", n=3)
_("They have {part} left", part=part)
message("Ended {status} today", status=job.status.value)
f"{_('Sent')} to {place}"
"The " + _("recording")
label.lower()
state.value.replace("_", " ").capitalize()
_("Set by {who} today", who=f"team {name}")
_("The {level} one", level=level_word(level))
"""
    assert [what.split(" in '")[0] for what in assembled(ast.parse(code))] == [
        "kind",
        "what",
        "part",
        "status",
        "f\"{_('Sent')} to {place}\"",
        "'The ' + _('recording')",
        "label.lower()",
        "state.value.replace('_', ' ').capitalize()",
        "who",
        "level",
    ]


def test_values_and_words_between_marks_are_no_assembly():
    code = """
_("Level: {level}.", level=level_word(level))
_("{sign} ({state})", sign=sign, state=job.state)
_("Read {age}.", age=age_words(then, now))
_("{name} is missing.", name=name)
f"{_('One sentence.')} {_('Another.')}"
"  " + _("indented")
name.lower()
"""
    assert list(assembled(ast.parse(code))) == []

"""The language of the commands: which one, and the texts that typer shows itself: help, usage, refused arguments.

Help texts stay plain constants in the code. The finished tree of commands is translated at once, before it runs, so no
command has to be imported in a certain order. `help_texts` lists what a translation of the tree needs.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import typer

from vbdesk.language import (
    N_,
    Language,
    LanguageMissing,
    _,
    available_languages,
    language_of,
    message,
    pgettext,
    use,
    use_system_language,
)

OPTION = "--language"

TYPERS_OWN = (
    N_("[OPTIONS]"),
    N_("COMMAND [ARGS]..."),
    N_("Arguments:"),
    N_("Options:"),
    N_("Commands:"),
    N_("default: {default}"),
    N_("required"),
    N_("env var: {var}"),
    N_("Missing command."),
    N_("Show this message and exit."),
)
"""Texts of its help; `typer.core._` is replaced for those that it looks up."""

_KIND = re.compile(r"<(list\[)?(.*?)( range)?(\])?>")

_REFUSALS = (
    (
        re.compile(r"No such command '(?P<name>.*)'\. Did you mean (?P<names>.*)\?"),
        # Translators: {names} are commands in quotation marks
        N_("There is no command {name}. Did you mean {names}?"),
    ),
    (re.compile(r"No such command '(?P<name>.*)'\."), N_("There is no command {name}.")),
    (re.compile(r"Option '(?P<option>.*)' requires an argument\."), N_("{option} needs a value.")),
    (re.compile(r"Option '(?P<option>.*)' does not take a value\."), N_("{option} takes no value.")),
    (re.compile(r"Got unexpected extra argument\(s\) \((?P<arguments>.*)\)"), N_("Too many arguments: {arguments}")),
)
"""Why typer refuses a command line, in its English."""

_BAD_VALUES = (
    (
        re.compile(r"Input should be greater than or equal to (?P<limit>\S+)"),
        N_("{parameter} must be at least {limit}."),
    ),
    (re.compile(r"Input should be greater than (?P<limit>\S+)"), N_("{parameter} must be more than {limit}.")),
    (re.compile(r"Input should be less than or equal to (?P<limit>\S+)"), N_("{parameter} must be at most {limit}.")),
    (re.compile(r"Input should be less than (?P<limit>\S+)"), N_("{parameter} must be less than {limit}.")),
    (re.compile(r"Input should be a valid integer.*"), N_("{parameter} must be a whole number.")),
    (re.compile(r"Input should be a valid number.*"), N_("{parameter} must be a number.")),
)
"""Why pydantic refuses a value, in its English."""


def choose_language(arguments: Sequence[str]) -> None:
    """Use the language of `--language TAG` before the command, else that of the system.

    Raises:
        LanguageMissing: there are no texts in the named one.
    """
    use_system_language()  # also that of the sentence which refuses a tag
    tag = _named(arguments)
    if tag is not None:
        use(language_named(tag), named=True)


def language_named(tag: str) -> Language:
    """The language of a tag such as `de` or `pt-BR`.

    Raises:
        LanguageMissing: there are no texts in it; the message is for a person.
    """
    if not tag.strip():
        raise LanguageMissing(message("{option} needs a value.", option=OPTION))
    found = language_of(tag)
    if found is None:
        known = ", ".join(name.replace("_", "-") for name in available_languages())
        raise LanguageMissing(
            message("There are no texts in the language {tag}. Choose one of: {known}.", tag=tag, known=known)
        )
    return found


def _named(arguments: Sequence[str]) -> str | None:
    """The value of the option before the first command."""
    rest = iter(arguments)
    for argument in rest:
        if argument == OPTION:
            return next(rest, None)
        if argument.startswith(f"{OPTION}="):
            return argument.partition("=")[2]
        if not argument.startswith("-"):
            return None
    return None


def translate_commands(command: Any) -> None:
    """Show the help of a command and its subcommands in the reader's language."""
    vars(sys.modules["typer.core"])["_"] = lambda text: _(text) if text in TYPERS_OWN else text
    for each in _tree(command):
        each.context_class = _TranslatedContext
        each.help = _translated_help(each.help)
        each.short_help = (each.help or "").partition("\n\n")[0]  # typer would cut it to one line
        each.epilog = _translated_help(each.epilog)
        each.options_metavar = each.options_metavar and _(each.options_metavar)
        if hasattr(each, "commands"):
            each.subcommand_metavar = _(each.subcommand_metavar)
        for parameter in each.params:
            parameter.help = _translated_help(parameter.help)
            parameter.metavar = _translated_help(parameter.metavar)
            parameter.display_type = partial(_type_word, parameter.display_type)


def _type_word(typers: Callable[[Any], str], context: Any) -> str:
    """`<path>`, `<path>...`; choices such as `<free|standard>` are what a person types."""
    shown = typers(context)
    form = _KIND.fullmatch(shown)
    # Translators: what an option takes, in the help of a command: "--out <path>"
    path, text, number = pgettext("value", "path"), pgettext("value", "text"), pgettext("value", "number")
    file, folder = pgettext("value", "file"), pgettext("value", "folder")
    words = {"path": path, "Path": path, "file": file, "dir": folder, "str": text, "int": number, "float": number}
    word = words.get(form[2]) if form is not None else None
    return shown if form is None or word is None else f"<{word}>" + ("..." if form[1] else "")


def help_texts(command: Any) -> Iterator[str]:
    """Every paragraph that the help of a command and its subcommands shows."""
    for each in _tree(command):
        shown = [text for parameter in each.params for text in (parameter.help, parameter.metavar)]
        for text in (each.help, each.epilog, *shown):
            yield from _paragraphs(text)


def _tree(command: Any) -> Iterator[Any]:
    yield command
    for below in getattr(command, "commands", {}).values():
        yield from _tree(below)


def _paragraphs(text: str | None) -> list[str]:
    """The paragraphs of a docstring, each in one line."""
    return [" ".join(part.split()) for part in (text or "").split("\n\n") if part.strip()]


def _translated_help(text: str | None) -> str | None:
    return None if text is None else "\n\n".join(_(paragraph) for paragraph in _paragraphs(text))


class _TranslatedContext(typer.Context):
    """A context whose usage line and `--help` are translated."""

    def __init__(self, command: Any, **rest: Any) -> None:
        super().__init__(command, **rest)
        option = command.get_help_option(self)
        if option is not None:
            option.help = _(TYPERS_OWN[-1])

    def make_formatter(self) -> Any:
        formatter: Any = super().make_formatter()
        write_usage = formatter.write_usage
        formatter.write_usage = lambda prog, args="", prefix=None: write_usage(prog, args, prefix or usage_prefix())
        formatter.write_heading = lambda heading: formatter.write(f"{_(heading + ':')}\n")
        return formatter


def usage_prefix() -> str:
    """`Usage: `."""
    # Translators: before the form of a command, as in "Usage: vbdesk report FILES"
    return _("Usage:") + " "


def refusal(error: typer.TyperException) -> str:
    """Why typer refused the command line, as a sentence; its own English one where it has a form of its own."""
    kind, reason = type(error).__name__, str(getattr(error, "message", "")) or str(error)
    parameter: Any = getattr(error, "param", None)
    name = parameter.get_error_hint().strip("'") if parameter is not None else ""
    if kind == "MissingParameter" and name:
        return _("{parameter} is missing.", parameter=name)
    if kind == "NoSuchOption":
        return _no_such_option(str(getattr(error, "option_name", "")), getattr(error, "possibilities", None) or ())
    if kind == "BadParameter" and name:
        return _bad_value(name, reason, getattr(parameter.type_descriptor, "choices", None) or ())
    for english, ours in _REFUSALS:
        if (match := english.fullmatch(reason)) is not None:
            return _(ours, **match.groupdict())
    return reason


def _no_such_option(option: str, possible: Sequence[str]) -> str:
    if not possible:
        return _("There is no option {option}.", option=option)
    return _("There is no option {option}. Did you mean {names}?", option=option, names=", ".join(sorted(possible)))


def _bad_value(name: str, reason: str, choices: Sequence[object]) -> str:
    if choices:
        known = ", ".join(str(getattr(choice, "value", choice)) for choice in choices)
        return _("{parameter} must be one of: {choices}.", parameter=name, choices=known)
    for english, ours in _BAD_VALUES:
        if (match := english.fullmatch(reason)) is not None:
            return _(ours, parameter=name, **match.groupdict())
    return _("{parameter} is not usable: {reason}", parameter=name, reason=reason)

"""The manual page, made of the help of the command."""

import typer

_WHERE = "vbdesk COMMAND --help explains a command. The guide is in the help of the desktop application."


def page(version: str, day: str) -> str:
    """vbdesk(1) as roff, in English: each command with the first sentence of its help."""
    from vbdesk.cli.main import app

    command = typer.main.get_command(app)
    context = typer.Context(command)
    lines = [
        f'.TH VBDESK 1 "{day}" "vbdesk {version}" "User Commands"',
        ".SH NAME",
        r"vbdesk \- voice biomarker desk",
        ".SH SYNOPSIS",
        ".B vbdesk",
        "[OPTION] COMMAND [ARGUMENT]...",
        ".SH DESCRIPTION",
        _escaped(command.help or ""),
        ".SH OPTIONS",
    ]
    for parameter in command.get_params(context):
        told = parameter.get_help_record(context)
        if told is not None:
            lines += _entry(*told)
    lines.append(".SH COMMANDS")
    for name in command.list_commands(context):
        lines += _entry(name, command.get_command(context, name).get_short_help_str(limit=200))
    return "\n".join([*lines, ".SH MORE", _escaped(_WHERE), ""])


def _entry(title: str, text: str) -> list[str]:
    return [".TP", rf".B {_escaped(title)}", _escaped(text)]


def _escaped(text: str) -> str:
    """Text as roff, which reads a backslash, a hyphen and a point at the start of a line as its own."""
    plain = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + plain if plain.startswith((".", "'")) else plain

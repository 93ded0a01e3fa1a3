"""The language of a recording, as an option of a command."""

from vbdesk.cli.connection import USAGE
from vbdesk.cli.output import fail
from vbdesk.contract.spoken_language import language_tag
from vbdesk.language import translated


def known_language(text: str | None) -> str | None:
    """The tag in its usual case; None if none was given. Another text ends the command."""
    try:
        return None if text is None else language_tag(text)
    except ValueError as error:
        fail(translated(error), USAGE)

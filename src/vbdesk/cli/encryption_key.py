"""Read an encryption key from standard input: arguments are visible to other users."""

import io
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from vbdesk.cli.output import fail
from vbdesk.language import _, translated

if TYPE_CHECKING:
    from vbdesk.service.encryption.keys import EncryptionKeys

KeyStdin = Annotated[
    bool, typer.Option("--key-stdin", help="Read the encryption key from standard input, to its end: 64 hex digits.")
]


def read_keys(from_stdin: bool, *, first_line: bool = False) -> "EncryptionKeys":
    """The keys from standard input, if requested; reports a fault in one line.

    Args:
        from_stdin: whether they were requested.
        first_line: whether the input stays open after the key.
    """
    if not from_stdin:
        return ()
    from vbdesk.service.encryption.keys import KeyUnusable, read_stdin

    try:
        return read_stdin(io.StringIO(sys.stdin.readline()) if first_line else sys.stdin)
    except (KeyUnusable, UnicodeDecodeError) as error:
        fail(translated(error) if isinstance(error, KeyUnusable) else _("Standard input holds no encryption key."))

"""The passphrase of this computer for a command: from the environment, a file descriptor, or a terminal."""

import os
import sys
from collections.abc import MutableMapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from vbdesk.cli.output import fail
from vbdesk.language import _, translated

if TYPE_CHECKING:
    from vbdesk.outbox.profiles.encrypted_vault import EncryptedVault

PASSPHRASE, PASSPHRASE_FD = "VBDESK_PASSPHRASE", "VBDESK_PASSPHRASE_FD"
_ACT_FIRST = 4
_LONGEST = 4096


@cache
def vault_of_passphrase(folder: Path) -> "EncryptedVault":
    """The secrets in `folder`, opened with the passphrase; asked for once in a command. Ends it without one."""
    from vbdesk.outbox.profiles.encrypted_vault import EncryptedVault
    from vbdesk.outbox.profiles.service_key import PassphraseWrong, ServiceKeyMissing, ServiceKeyStore

    try:
        key = ServiceKeyStore(folder).unlock(_passphrase()).key
    except (PassphraseWrong, ServiceKeyMissing) as error:
        _end_with(error)
    return EncryptedVault(folder, key)


def _passphrase() -> str:
    """The passphrase of this computer: given, or asked for in the terminal."""
    passphrase = _given(os.environ)
    if passphrase is not None:
        return passphrase
    if not sys.stdin.isatty():
        fail(
            _(
                "The library needs unlocking: its keys open with the passphrase of this computer. Give this"
                " command in a terminal. A script sets {passphrase}, or {passphrase_fd} to the number of an"
                " open file descriptor.",
                passphrase=PASSPHRASE,
                passphrase_fd=PASSPHRASE_FD,
            ),
            _ACT_FIRST,
        )
    return str(typer.prompt(_("Passphrase of this computer"), hide_input=True, err=True))


def _end_with(error: Exception) -> NoReturn:
    fail(translated(error), _ACT_FIRST)


def _given(environ: MutableMapping[str, str]) -> str | None:
    """The passphrase that a script gives; removed from the environment, so that no child process inherits it."""
    passphrase, descriptor = environ.pop(PASSPHRASE, None), environ.pop(PASSPHRASE_FD, None)
    if descriptor is None:
        return passphrase or None
    try:
        with open(int(descriptor), encoding="utf-8") as file:  # noqa: PTH123
            return file.read(_LONGEST).rstrip("\r\n")
    except (ValueError, OSError):
        fail(
            _("{passphrase_fd} is not the number of a file descriptor that can be read.", passphrase_fd=PASSPHRASE_FD),
            _ACT_FIRST,
        )

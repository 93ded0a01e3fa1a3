"""Read consent and its rules from a library without opening it: for commands that work next to the desk."""

import sqlite3
from contextlib import closing
from pathlib import Path

from vbdesk.language import message
from vbdesk.outbox.library.column_encryption import ColumnCipher, InvalidTag
from vbdesk.outbox.library.consent_gate import ConsentList
from vbdesk.outbox.library.consents import CONSENTS
from vbdesk.outbox.library.database import SCHEMA_VERSION
from vbdesk.outbox.library.encrypted_sqlite import open_to_read
from vbdesk.outbox.library.journal import Journal
from vbdesk.outbox.library.proved_tables import ProvedTables
from vbdesk.outbox.library.settings import SETTINGS_NAME, ConsentRules, read_settings


class ConsentUnreadable(Exception):
    """It cannot be read; `str(error)` is one sentence for a person."""


def has_library(folder: Path) -> bool:
    """Whether there is a library in this folder."""
    return (folder / "library.sqlite").exists()


def read_consent_list(folder: Path, key: bytes) -> ConsentList:
    """The consent of all subjects and the rules, as the library in `folder` has them now.

    Raises:
        ConsentUnreadable: it is of another version, damaged, changed by something else, or belongs to another key.
    """
    cipher = ColumnCipher(key)
    try:
        with closing(open_to_read(folder / "library.sqlite", key)) as database:
            database.execute("BEGIN")  # rules and events of one moment
            kept = database.execute("SELECT sealed FROM settings WHERE name = ?", (SETTINGS_NAME,)).fetchone()
            known = Journal(ProvedTables(database, cipher, str)).read(CONSENTS)
            library = database.execute("SELECT schema_version, key_check FROM library").fetchone()
        cipher.decrypt(library["key_check"], "library")
        if library["schema_version"] != SCHEMA_VERSION:
            raise ValueError("its consents are elsewhere")
        rules = ConsentRules()
        if kept is not None:
            rules = read_settings(cipher.decrypt(kept["sealed"], f"settings/{SETTINGS_NAME}")).consent
        return ConsentList(rules, known)
    except (sqlite3.Error, InvalidTag, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ConsentUnreadable(
            message(
                "The consent that the desk has noted cannot be read: open the desk once with this version of "
                "vbdesk, then try again."
            )
        ) from error

"""Names that people give to subjects: ids of the service, or aliases in any script for what its ids cannot carry.

An alias never leaves this computer but in an encrypted bundle. The service knows its subject by a random id, since a
hash of a name could be guessed.
"""

import secrets
import unicodedata
from collections.abc import Container
from dataclasses import dataclass

from vbdesk.contract.groups import group_id_fault
from vbdesk.language import message

LONGEST_ALIAS = 120
_ID_CHARACTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # without letters that are misread
_ID_LENGTH = 10
_ISOLATE, _END = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
_SPOKEN = "LMN"  # letters, their marks, numbers


@dataclass(frozen=True, slots=True)
class ShownSubject:
    """How a subject is shown.

    Attributes:
        name: the alias, isolated from text of another direction; else the id.
        detail: the second line, isolated as well; may be empty.
    """

    name: str
    detail: str = ""

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.name} · {self.detail}" if self.detail else self.name


def isolated(text: str) -> str:
    """`text`, kept apart from text around it that runs in another direction; ids and numbers need nothing."""
    return text if text.isascii() else f"{_ISOLATE}{text}{_END}"


def tidy(text: str) -> str:
    """The text as it is stored: composed, without invisible characters at its ends and with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).strip(" \u200e\u200f\u2066\u2067\u2068\u2069").split())


def search_key(text: str) -> str:
    """The form that is compared: compatibility forms, case and invisible characters make no difference."""
    if text.isascii():
        return " ".join(text.casefold().split())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join("".join(each for each in folded if unicodedata.category(each) != "Cf").split())


def as_group_id(text: str) -> str | None:
    """The id of the service that the text is, also if typed in full-width letters; None if it needs an alias."""
    composed = unicodedata.normalize("NFKC", tidy(text))
    return composed if group_id_fault(composed) is None else None


def alias_fault(alias: str) -> str | None:
    """Why a text cannot be an alias, as a sentence; None if it can."""
    if len(alias) > LONGEST_ALIAS:
        return message(
            "A subject's name has at most {most} characters; this one has {length}. Shorten it.",
            most=LONGEST_ALIAS,
            length=len(alias),
        )
    if any(unicodedata.category(each) in ("Cc", "Cs", "Co", "Cn") for each in alias):
        return message("A subject's name has only characters that can be shown. Type it again.")
    if not any(unicodedata.category(each)[0] in _SPOKEN for each in search_key(alias)):
        return message("A subject's name has at least one letter or digit.")
    return None


def new_group_id(taken: Container[str] = ()) -> str:
    """A random id for a subject with an alias; reveals nothing about it."""
    while True:
        group_id = "s-" + "".join(secrets.choice(_ID_CHARACTERS) for _ in range(_ID_LENGTH))
        if group_id not in taken:
            return group_id

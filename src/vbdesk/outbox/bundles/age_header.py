"""Check the header of an age file before decryption: the library limits neither its size nor its work factor.

See https://c2sp.org/age for the format: a version line, a stanza for each recipient, and a line with the MAC.
"""

from vbdesk.language import message
from vbdesk.outbox.bundles.bundle_errors import MalformedBundle

LARGEST_HEADER = 16 * 1024
MOST_WORK = 20  # scrypt takes 2**20 KiB of memory; a fast computer chooses 19 or 20
_VERSION = b"age-encryption.org/v1\n"
_END = b"\n---"
_STANZA = b"-> "


def check_key_header(start: bytes) -> None:
    """Check the header of a file for a key, in its first `LARGEST_HEADER` bytes. Raises MalformedBundle."""
    if any(stanza[:1] == [b"scrypt"] for stanza in _stanzas(start)):
        raise MalformedBundle(message("Its encryption asks for a passphrase where a key belongs."))


def check_passphrase_header(locked: bytes) -> None:
    """Check the header of a file for a passphrase: one stanza, and an acceptable work factor.

    Raises:
        MalformedBundle: the header is another one.
    """
    stanzas = _stanzas(locked)
    if len(stanzas) != 1 or len(stanzas[0]) != 3 or stanzas[0][0] != b"scrypt":
        raise MalformedBundle(message("Its passphrase is not applied as vbdesk applies one."))
    work = stanzas[0][2]
    if not (work.isdigit() and len(work) <= 2 and not work.startswith(b"0")):
        raise MalformedBundle(message("Its passphrase is not applied as vbdesk applies one."))
    if int(work) > MOST_WORK:
        raise MalformedBundle(
            message(
                "Trying a passphrase would take {amount:,} times the memory that is allowed.",
                amount=2 ** (int(work) - MOST_WORK),
            )
        )


def _stanzas(start: bytes) -> list[list[bytes]]:
    """The arguments of every stanza."""
    end = start[:LARGEST_HEADER].find(_END)
    if not start.startswith(_VERSION) or end < 0:
        raise MalformedBundle(message("The header of its encryption is too long, or not one."))
    lines = start[:end].split(b"\n")
    return [line[len(_STANZA) :].split(b" ") for line in lines if line.startswith(_STANZA)]

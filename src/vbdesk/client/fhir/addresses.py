"""Addresses of a FHIR server and of its token endpoint."""

import re

import httpx

from vbdesk.client.loopback import is_loopback
from vbdesk.language import N_, Message, joined, message

_PLAIN = re.compile(r"[^\s\\\x00-\x1f]+")  # programs read a backslash in an address in different ways
_LOGGED = frozenset("abcdefghijklmnopqrstuvwxyz0123456789.-:")
_LONGEST_LOGGED = 40
_ADVICE = N_(
    "Give an address such as https://fhir.example.org/r4, without a user name, a password, a query or a fragment."
)
_OF_SERVER = N_("The address of the FHIR server is not usable: {why}.")
OF_TOKENS = N_("The server's address for tokens is not usable: {why}.")


def fhir_address(text: str, refused: str = _OF_SERVER) -> str:
    """A checked address without a slash at its end; plain http only on this computer.

    Raises:
        ValueError: it is none; the message names no part of it, because it may contain a password.
    """
    text = text.strip()
    try:
        url = httpx.URL(text) if _PLAIN.fullmatch(text) else httpx.URL()
        url.host.encode("idna")
    except (httpx.InvalidURL, UnicodeError):
        url = httpx.URL()
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError(_wrong(refused, message("it does not begin with https:// and a host")))
    if url.userinfo or url.query or url.fragment or "?" in text or "#" in text:
        raise ValueError(_wrong(refused, message("it has more than a host and a path")))
    if url.scheme == "http" and not is_loopback(str(url)):
        raise ValueError(_wrong(refused, message("plain http shows results and credentials to everybody on the way")))
    return str(url).rstrip("/")


def _wrong(refused: str, why: str) -> Message:
    return joined(Message.make(refused, fields={"why": why}), _ADVICE)


def host_of(address: str) -> str:
    """The host of an address, to name a server in a sentence."""
    return httpx.URL(address).host


def host_in_log(address: str) -> str:
    """The host in the small letters that the audit log takes, shortened."""
    host = httpx.URL(address).raw_host.decode("ascii", "replace").lower()
    return "".join(letter if letter in _LOGGED else "-" for letter in host[:_LONGEST_LOGGED])

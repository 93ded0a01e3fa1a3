"""Which addresses the service may be made to call: public ones, looked at by number, never by name alone."""

import ipaddress
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

NEVER = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "192.0.0.0/24",
        "198.18.0.0/15",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "64:ff9b::/96",  # NAT64: an IPv4 address in disguise
        "64:ff9b:1::/48",
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
        "fec0::/10",
        "ff00::/8",
    )
)
"""Networks that Python counts as global on some versions, or that lead elsewhere."""


LookUp = Callable[[str, int], list[str]]


def _look_up(host: str, port: int) -> list[str]:
    return [str(address[0]) for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class AddressRefused(Exception):
    """The service will not call this address; `str(error)` says why and what to do."""


class AddressGuard:
    """Decides on addresses."""

    def __init__(self, *, allow_private: bool, look_up: LookUp = _look_up) -> None:
        """Set up.

        Args:
            allow_private: the operator's word for tests and closed networks.
            look_up: numbers of a name; raises OSError when there are none.
        """
        self._allow_private = allow_private
        self._look_up = look_up

    def check_url(self, url: str) -> None:
        """Accept an address at set-up; a name that does not resolve yet may do so later.

        Raises:
            AddressRefused: not http or https, malformed, or not public.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise AddressRefused("The address is malformed. Give a URL such as https://host/path.") from None
        if parts.scheme not in ("http", "https"):
            raise AddressRefused("The address must begin with https:// (or http://).")
        if not host or any(character.isspace() or not character.isprintable() for character in url):
            raise AddressRefused("The address names no host. Give a URL such as https://host/path.")
        try:
            self.resolve(host, port or (443 if parts.scheme == "https" else 80))
        except OSError:
            return

    def resolve(self, host: str, port: int) -> list[str]:
        """The numbers behind a name, every one of them allowed.

        Raises:
            AddressRefused: at least one is not public.
            OSError: the name does not resolve.
        """
        try:
            numbers = self._look_up(host, port)
        except UnicodeError:
            raise AddressRefused("The address names no host. Give a URL such as https://host/path.") from None
        if not self._allow_private and not all(is_public(number) for number in numbers):
            raise AddressRefused("The address leads into a private network. Give a publicly reachable one.")
        return numbers


def is_public(number: str) -> bool:
    """Whether an IP address belongs to the public internet."""
    address = ipaddress.ip_address(number.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if not address.is_global or address.is_multicast:
        return False
    return not any(address in network for network in NEVER if network.version == address.version)

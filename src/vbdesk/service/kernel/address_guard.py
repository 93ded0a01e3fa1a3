"""Which addresses the service may be made to call: public ones, looked at by number, never by name alone."""

import ipaddress
from urllib.parse import urlsplit

from vbdesk.service.kernel.name_resolver import LookUp, Resolver, ask_system

DEFAULT_PORTS = {"http": 80, "https": 443}
NO_HOST = "The address names no host. Give a URL such as https://host/path."

GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All that is routed on the public internet. Outside it lie loopback, link-local and multicast addresses, and forms
that embed an IPv4 address: `::/96`, `::ffff:0:0:0/96` and NAT64 (`64:ff9b::/96`, `64:ff9b:1::/48`)."""

NEVER = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "192.0.0.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "198.18.0.0/15",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",  # protocol assignments, Teredo among them
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)
"""Networks that Python counts as global on some versions, or that lead elsewhere."""


class AddressRefused(Exception):
    """The service will not call this address; `str(error)` says why and what to do."""


class AddressGuard:
    """Decides on addresses; one for a process, since it bounds the lookups of names."""

    def __init__(self, *, allow_private: bool, look_up: LookUp = ask_system) -> None:
        """Set up.

        Args:
            allow_private: the operator's word for tests and closed networks.
            look_up: addresses of a name; raises OSError when there are none.
        """
        self._allow_private = allow_private
        self._resolver = Resolver(look_up)

    async def check_url(self, url: str, account_id: str) -> None:
        """Accept a URL at set-up; a name that does not resolve yet, or not in time, may do so later.

        Raises:
            AddressRefused: not http or https, malformed, or not public.
        """
        host, port = endpoint_of(url)
        try:
            await self.resolve(host, port, account_id)
        except OSError:
            return

    async def resolve(self, host: str, port: int, account_id: str) -> list[str]:
        """The addresses behind a name, every one of them allowed; the lookup counts for the account.

        Raises:
            AddressRefused: at least one is not public.
            OSError: the name does not resolve, or not in time.
        """
        _require_name(host)
        return self._allowed(await self._resolver.resolve(host, port, account_id))

    def resolve_blocking(self, host: str, port: int, account_id: str) -> list[str]:
        """The same, for a thread that may wait."""
        _require_name(host)
        return self._allowed(self._resolver.resolve_blocking(host, port, account_id))

    def _allowed(self, addresses: list[str]) -> list[str]:
        if not self._allow_private and not all(map(is_public, addresses)):
            raise AddressRefused("The address leads into a private network. Give a publicly reachable one.")
        return addresses


def endpoint_of(url: str) -> tuple[str, int]:
    """Host and port that a URL names. Raises AddressRefused: malformed, or neither http nor https."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise AddressRefused("The address is malformed. Give a URL such as https://host/path.") from None
    if parts.scheme not in DEFAULT_PORTS:
        raise AddressRefused("The address must begin with https:// (or http://).")
    if not host or any(character.isspace() or not character.isprintable() for character in url):
        raise AddressRefused(NO_HOST)
    return host, port or DEFAULT_PORTS[parts.scheme]


def is_public(number: str) -> bool:
    """Whether an IP address belongs to the public internet."""
    address = ipaddress.ip_address(number.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        elif address not in GLOBAL_UNICAST:
            return False
    if not address.is_global or address.is_multicast:
        return False
    return not any(address in network for network in NEVER if network.version == address.version)


def _require_name(host: str) -> None:
    """Refuse what cannot even be asked for, before it takes a place among the lookups."""
    try:
        host.encode("idna")
    except UnicodeError:
        raise AddressRefused(NO_HOST) from None

"""Check of addresses that callers name: only public IP addresses are called."""

import ipaddress
from urllib.parse import urlsplit

from vbdesk.language import N_
from vbdesk.service.kernel.name_resolver import LookUp, Resolver, ask_system

DEFAULT_PORTS = {"http": 80, "https": 443}
NO_HOST = N_("The address names no host. Give a URL such as https://host/path.")

GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All addresses routed on the public internet. Loopback, link-local and multicast addresses are outside it. So are
forms that embed an IPv4 address: `::/96`, `::ffff:0:0:0/96` and NAT64 (`64:ff9b::/96`, `64:ff9b:1::/48`)."""

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
"""Networks that some Python versions count as global, or that relay to other networks."""


class AddressNotAllowed(Exception):
    """The service does not call this address; `str(error)` says why and what to do."""


class AddressGuard:
    """Checks addresses; one per process, because it limits concurrent name lookups."""

    def __init__(self, *, allow_private: bool, look_up: LookUp = ask_system) -> None:
        """Create the guard.

        Args:
            allow_private: accept private addresses too, for tests and closed networks.
            look_up: returns the addresses of a name; raises OSError when there are none.
        """
        self._allow_private = allow_private
        self._resolver = Resolver(look_up)

    async def check_url(self, url: str, account_id: str) -> None:
        """Accept a URL at set-up, also if its name does not resolve yet.

        Raises:
            AddressNotAllowed: not http or https, malformed, or not public.
        """
        host, port = endpoint_of(url)
        try:
            await self.resolve(host, port, account_id)
        except OSError:
            return

    async def resolve(self, host: str, port: int, account_id: str) -> list[str]:
        """Resolve a name to addresses that are all allowed; the lookup counts for the account.

        Raises:
            AddressNotAllowed: at least one is not public.
            OSError: the name does not resolve, or not in time.
        """
        _require_name(host)
        return self._allowed(await self._resolver.resolve(host, port, account_id))

    def resolve_blocking(self, host: str, port: int, account_id: str) -> list[str]:
        """Resolve like `resolve`, but block the calling thread."""
        _require_name(host)
        return self._allowed(self._resolver.resolve_blocking(host, port, account_id))

    def _allowed(self, addresses: list[str]) -> list[str]:
        if not self._allow_private and not all(map(is_public, addresses)):
            raise AddressNotAllowed(N_("The address leads into a private network. Give a publicly reachable one."))
        return addresses


def endpoint_of(url: str) -> tuple[str, int]:
    """Return host and port of a URL. Raises AddressNotAllowed: malformed, or neither http nor https."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise AddressNotAllowed(N_("The address is malformed. Give a URL such as https://host/path.")) from None
    if parts.scheme not in DEFAULT_PORTS:
        raise AddressNotAllowed(N_("The address must begin with https:// (or http://)."))
    if not host or any(character.isspace() or not character.isprintable() for character in url):
        raise AddressNotAllowed(NO_HOST)
    return host, port or DEFAULT_PORTS[parts.scheme]


def is_public(number: str) -> bool:
    """Return whether an IP address belongs to the public internet."""
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
    """Refuse a name that cannot be encoded, before it uses a lookup slot."""
    try:
        host.encode("idna")
    except UnicodeError:
        raise AddressNotAllowed(NO_HOST) from None

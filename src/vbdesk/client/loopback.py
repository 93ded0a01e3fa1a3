"""Addresses that mean this computer."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(address: str) -> bool:
    """Whether an address, with or without scheme and port, means this computer."""
    host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False

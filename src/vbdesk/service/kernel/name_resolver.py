"""Name resolution in separate threads: a slow name server delays only the account using it."""

import asyncio
import ipaddress
import socket
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

TIMEOUT_S = 2.0
"""How long a caller waits for the addresses of a name, including the wait for a free thread."""

AT_ONCE = 64
AT_ONCE_OF_ONE_ACCOUNT = 2
"""Maximum number of concurrent lookups. A lookup cannot be cancelled: it uses its slot until the system ends it, which
may be long after its caller stopped waiting."""

LookUp = Callable[[str, int], list[str]]
"""Returns the addresses of a host and port; raises OSError when there are none."""


def ask_system(host: str, port: int) -> list[str]:
    """Ask the resolver of the operating system; this may take many seconds."""
    return [str(address[0]) for *_, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def numeric_address(host: str) -> str | None:
    """Return the IP address that `host` spells, also in old forms such as 127.1; None for a name."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True, eq=False)
class _Lookup:
    account_id: str
    host: str
    port: int
    addresses: Future[list[str]] = field(default_factory=Future)


class Resolver:
    """Resolves names with a timeout and few concurrent lookups per account.

    The threads are daemons: a lookup that hangs does not delay the end of the process.
    """

    def __init__(self, look_up: LookUp = ask_system) -> None:
        self._look_up = look_up
        self._lock = threading.Lock()
        self._waiting: list[_Lookup] = []
        self._running: Counter[str] = Counter()  # lookups, by account
        self._threads = 0

    async def resolve(self, host: str, port: int, account_id: str) -> list[str]:
        """Return the addresses of `host` without blocking. Raises OSError: none, or not in time."""
        address = numeric_address(host)
        if address is not None:
            return [address]
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await asyncio.wrap_future(self._begin(host, port, account_id))
        except TimeoutError:
            raise _no_answer() from None

    def resolve_blocking(self, host: str, port: int, account_id: str) -> list[str]:
        """Return the addresses of `host`, blocking the thread. Raises OSError: none, or not in time."""
        address = numeric_address(host)
        if address is not None:
            return [address]
        addresses = self._begin(host, port, account_id)
        try:
            return addresses.result(TIMEOUT_S)
        except TimeoutError:
            addresses.cancel()
            raise _no_answer() from None

    def _begin(self, host: str, port: int, account_id: str) -> Future[list[str]]:
        lookup = _Lookup(account_id, host, port)
        with self._lock:
            self._waiting.append(lookup)
            if self._threads < AT_ONCE and self._running[account_id] < AT_ONCE_OF_ONE_ACCOUNT:
                threading.Thread(target=self._work, name="vbdesk-resolve", daemon=True).start()
                self._threads += 1
        return lookup.addresses

    def _work(self) -> None:
        ended = None
        while (lookup := self._next(ended)) is not None:
            try:
                lookup.addresses.set_result(self._look_up(lookup.host, lookup.port))
            except Exception as error:  # the caller handles it
                lookup.addresses.set_exception(error)
            ended = lookup

    def _next(self, ended: _Lookup | None) -> _Lookup | None:
        """Return the oldest waiting lookup whose account has a free slot; None ends the thread."""
        chosen = None
        with self._lock:
            if ended is not None:
                self._running -= Counter([ended.account_id])
            waiting, self._waiting = self._waiting, []
            for lookup in waiting:
                if chosen is None and self._running[lookup.account_id] < AT_ONCE_OF_ONE_ACCOUNT:
                    if lookup.addresses.set_running_or_notify_cancel():
                        chosen = lookup
                elif not lookup.addresses.cancelled():
                    self._waiting.append(lookup)
            if chosen is None:
                self._threads -= 1
            else:
                self._running[chosen.account_id] += 1
        return chosen


def _no_answer() -> socket.gaierror:
    return socket.gaierror(socket.EAI_AGAIN, "The name server did not answer in time.")

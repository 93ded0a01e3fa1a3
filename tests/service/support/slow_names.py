"""Name resolution that does not answer, and the timeouts of its callers."""

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from vbdesk.service.kernel.address_guard import AddressGuard

ENOUGH_S = 60


def wait_until(condition: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + ENOUGH_S
    while not condition():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


class SlowNames:
    """Answers names below `slow.example` only after `release` is set.

    Attributes:
        asked: names that were resolved.
        checked: addresses that the service began to check.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, patience_s: float = ENOUGH_S) -> None:
        self.release = threading.Event()
        self.asked: list[str] = []
        self.checked: list[str] = []
        self._ask_system = socket.getaddrinfo
        self._check_url: Any = AddressGuard.check_url
        monkeypatch.setattr(socket, "getaddrinfo", self._getaddrinfo)
        monkeypatch.setattr(AddressGuard, "check_url", lambda *arguments: self._counted(*arguments))
        monkeypatch.setattr("vbdesk.service.kernel.name_resolver.TIMEOUT_S", patience_s, raising=False)

    def look_up(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if host.endswith(".slow.example"):
            self.release.wait(ENOUGH_S)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return ["127.0.0.1"]

    def _getaddrinfo(self, host: Any, *arguments: Any, **options: Any) -> Any:
        if str(host).endswith(".slow.example"):
            self.look_up(host, 0)
        return self._ask_system(host, *arguments, **options)

    def _counted(self, guard: AddressGuard, url: str, *account_id: str) -> Any:
        self.checked.append(url)
        return self._check_url(guard, url, *account_id)

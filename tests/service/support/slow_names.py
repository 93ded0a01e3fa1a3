"""Name resolution that does not answer, and the timeouts of its callers."""

import socket
import threading
from typing import Any

import pytest

from patience import HANGS_S
from vbdesk.service.kernel.address_guard import AddressGuard


class SlowNames:
    """Answers names below `slow.example` only after `release` is set.

    Attributes:
        asked: names that were resolved.
        checked: addresses that the service began to check.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, patience_s: float = HANGS_S) -> None:
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
            self.release.wait(HANGS_S)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return ["127.0.0.1"]

    def _getaddrinfo(self, host: Any, *arguments: Any, **options: Any) -> Any:
        if str(host).endswith(".slow.example"):
            self.look_up(host, 0)
        return self._ask_system(host, *arguments, **options)

    def _counted(self, guard: AddressGuard, url: str, *account_id: str) -> Any:
        self.checked.append(url)
        return self._check_url(guard, url, *account_id)

"""Places for deliveries under way: a few for each account and receiver, so that none waits for those of another."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from sqlalchemy import Row

from vbdesk.service.kernel.address_guard import AddressRefused, endpoint_of
from vbdesk.service.kernel.name_resolver import numeric_address

AT_ONCE = 128
"""Deliveries of one process under way at the same time; each is a thread that mostly waits."""

OF_ONE_ACCOUNT = 6
OF_ONE_RECEIVER = 8
OF_ONE_ACCOUNT_AT_ONE_RECEIVER = 4
"""Fewer than the two above: a receiver that does not answer leaves places to the account's other receivers, and an
account whose deliveries hang leaves places at the receiver to others."""


class DeliverySlots:
    """Counts the deliveries under way and says who may begin one more."""

    def __init__(self, under_way: Iterable[Row[Any]] = ()) -> None:
        self.free = AT_ONCE
        self._taken: Counter[Hashable] = Counter()
        for delivery in under_way:
            self._occupy(delivery.account_id, receiver_of(delivery.url))

    @property
    def full_accounts(self) -> list[str]:
        """Accounts that may begin nothing more."""
        return [key for key, count in self._taken.items() if isinstance(key, str) and count >= OF_ONE_ACCOUNT]

    def take(self, delivery: Row[Any]) -> bool:
        """Take a place for `delivery`; False when it has to wait for one."""
        account_id, receiver = delivery.account_id, receiver_of(delivery.url)
        if (
            self.free <= 0
            or self._taken[account_id] >= OF_ONE_ACCOUNT
            or self._taken[receiver] >= OF_ONE_RECEIVER
            or self._taken[account_id, receiver] >= OF_ONE_ACCOUNT_AT_ONE_RECEIVER
        ):
            return False
        self._occupy(account_id, receiver)
        return True

    def _occupy(self, account_id: str, receiver: tuple[str, int]) -> None:
        self.free -= 1
        self._taken.update([account_id, receiver, (account_id, receiver)])


def receiver_of(url: str) -> tuple[str, int]:
    """Host and port, written in one way; a URL that names none is a receiver of its own."""
    try:
        host, port = endpoint_of(url)
    except AddressRefused:
        return url, 0
    return numeric_address(host) or host.rstrip("."), port

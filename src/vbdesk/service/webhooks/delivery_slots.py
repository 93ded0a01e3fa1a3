"""Slots for running deliveries: a few per account and receiver, so that none blocks the others."""

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from sqlalchemy import Row

from vbdesk.service.kernel.address_guard import AddressNotAllowed, endpoint_of
from vbdesk.service.kernel.name_resolver import numeric_address

AT_ONCE = 128
"""Concurrent deliveries of one process; each uses a thread that mostly waits."""

OF_ONE_ACCOUNT = 6
OF_ONE_RECEIVER = 8
OF_ONE_ACCOUNT_AT_ONE_RECEIVER = 4
"""Lower than both limits above. A receiver that does not answer leaves slots for the account's other receivers. An
account whose deliveries hang leaves the receiver's slots to other accounts."""


class DeliverySlots:
    """Counts running deliveries and decides which may start."""

    def __init__(self, under_way: Iterable[Row[Any]] = ()) -> None:
        self.free = AT_ONCE
        self._taken: Counter[Hashable] = Counter()
        for delivery in under_way:
            self._occupy(delivery.account_id, receiver_of(delivery.url))

    @property
    def full_accounts(self) -> list[str]:
        """Accounts that have no free slot."""
        return [key for key, count in self._taken.items() if isinstance(key, str) and count >= OF_ONE_ACCOUNT]

    def take(self, delivery: Row[Any]) -> bool:
        """Take a slot for `delivery`; False when none is free."""
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
    """Return the normalised host and port; a URL without a host is its own receiver."""
    try:
        host, port = endpoint_of(url)
    except AddressNotAllowed:
        return url, 0
    return numeric_address(host) or host.rstrip("."), port

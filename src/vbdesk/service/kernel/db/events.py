"""Events of a transaction: published once it is committed, and not at all when it is rolled back."""

from dataclasses import dataclass

from sqlalchemy import Connection

_EVENTS = "vbdesk_events"


@dataclass(frozen=True, slots=True)
class CreditsMoved:
    """A line of the ledger."""

    kind: str
    amount: int


@dataclass(frozen=True, slots=True)
class JobAccepted:
    """A submit that was answered 200."""


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job that reached its terminal state."""

    status: str


@dataclass(frozen=True, slots=True)
class UploadMinted:
    """An upload address that was handed out."""


@dataclass(frozen=True, slots=True)
class DeliveryTried:
    """One attempt at a webhook delivery: sent, to be tried again, or given up."""

    outcome: str


Event = CreditsMoved | JobAccepted | JobEnded | UploadMinted | DeliveryTried


def publish(connection: Connection, event: Event) -> None:
    """Publish `event` if and when the transaction is committed."""
    connection.info.setdefault(_EVENTS, []).append(event)


def begin(connection: Connection) -> list[Event]:
    """The list of what the transaction that begins now will publish."""
    events: list[Event] = []
    connection.info[_EVENTS] = events  # in place of what a transaction left that was rolled back
    return events

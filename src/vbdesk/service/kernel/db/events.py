"""Events of a transaction: published after its commit, dropped on rollback."""

from dataclasses import dataclass

from sqlalchemy import Connection

_EVENTS = "vbdesk_events"


@dataclass(frozen=True, slots=True)
class CreditsMoved:
    """A new ledger entry."""

    kind: str
    amount: int


@dataclass(frozen=True, slots=True)
class JobAccepted:
    """A submit was accepted (200)."""


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job reached its terminal state."""

    status: str


@dataclass(frozen=True, slots=True)
class UploadMinted:
    """An upload address was created."""


@dataclass(frozen=True, slots=True)
class DeliveryTried:
    """An attempt at a webhook delivery: sent, to be retried, or given up."""

    outcome: str


Event = CreditsMoved | JobAccepted | JobEnded | UploadMinted | DeliveryTried


def publish(connection: Connection, event: Event) -> None:
    """Publish `event` when the transaction commits."""
    connection.info.setdefault(_EVENTS, []).append(event)


def begin(connection: Connection) -> list[Event]:
    """Return the list that collects the events of the transaction that begins now."""
    events: list[Event] = []
    connection.info[_EVENTS] = events  # drop the events of a rolled-back transaction
    return events

"""What a transaction tells once it is committed: counted exactly once, and not at all when it is rolled back."""

from dataclasses import dataclass

from sqlalchemy import Connection

_FACTS = "vbdesk_facts"


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


Fact = CreditsMoved | JobAccepted | JobEnded | UploadMinted | DeliveryTried


def tell(connection: Connection, fact: Fact) -> None:
    """Tell `fact` if and when the transaction is committed."""
    connection.info.setdefault(_FACTS, []).append(fact)


def begin(connection: Connection) -> list[Fact]:
    """The list of what the transaction that begins now will tell."""
    facts: list[Fact] = []
    connection.info[_FACTS] = facts  # in place of what a transaction left that was rolled back
    return facts

"""Consents of one subject, as a document for another system shows them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

ConsentPurpose = Literal["clinical", "research", "not_stated"]


@dataclass(frozen=True, slots=True)
class ConsentGrant:
    """One consent for one purpose. It has no name of the person who asked.

    Attributes:
        event_id: of the consent event; one event may be about two purposes.
        purpose: `not_stated` is a tick of an earlier release.
        at: when it was given or, if `refused`, withdrawn.
        wording: version of the wording; empty if it is not known.
        language: of the wording, as a BCP 47 tag; empty if it is not known.
        expires: when it ends as agreed; None if it has no end.
        ended_at: when it was withdrawn or replaced by a newer one; None if neither happened.
        refused: a withdrawal without an earlier consent on this computer.
    """

    event_id: str
    purpose: ConsentPurpose
    at: datetime
    wording: str = ""
    language: str = ""
    expires: datetime | None = None
    ended_at: datetime | None = None
    refused: bool = False

    @property
    def active(self) -> bool:
        """Whether nothing has ended it; an agreed end is no such thing, because it is stated."""
        return self.ended_at is None and not self.refused

    @property
    def until(self) -> datetime | None:
        """When it ended or ends; None if it has no end."""
        return min((end for end in (self.expires, self.ended_at) if end is not None), default=None)

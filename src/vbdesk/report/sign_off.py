"""Who read a report, and when."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SignOff:
    """A reader's name as typed, and the aware moment of signing; not a cryptographic signature."""

    name: str
    at: datetime

    def __post_init__(self) -> None:
        """Refuse a sign-off that names nobody or no moment."""
        if not self.name.strip():
            raise ValueError("Give the name of the person who has read the report.")
        if self.at.tzinfo is None:
            raise ValueError("The time of a sign-off needs a zone.")

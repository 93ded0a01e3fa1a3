"""Who read a report, and when."""

from dataclasses import dataclass
from datetime import datetime

from vbdesk.language import message

MAX_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class SignOff:
    """Typed name and time (aware) of a reader; not a cryptographic signature."""

    name: str
    at: datetime

    def __post_init__(self) -> None:
        """Refuse a sign-off without a name or a time zone."""
        if not self.name.strip() or len(self.name) > MAX_NAME_LENGTH:
            raise ValueError(
                message(
                    "Give the name of the person who has read the report, with at most {length} characters.",
                    length=MAX_NAME_LENGTH,
                )
            )
        if self.at.tzinfo is None:
            raise ValueError("The time of a sign-off needs a time zone.")

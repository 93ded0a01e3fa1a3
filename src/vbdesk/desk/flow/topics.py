"""Topics: what a change makes old, as values."""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum, auto

Topic = Hashable


class Changed(Enum):
    """Changes that concern more than one subject."""

    LIBRARY = auto()  # a recording, a subject's notes, a consent or a setting
    STATUS = auto()  # the connection, what holds the queue, or the network
    TRAJECTORIES = auto()  # a subject has a newer trajectory
    SETTINGS = auto()  # profiles, preferences or the webhook
    ARRIVED = auto()  # a recording has its result
    CONNECTED = auto()  # the service answers again


@dataclass(frozen=True, slots=True)
class SubjectTopic:
    """Everything about one subject."""

    group_id: str

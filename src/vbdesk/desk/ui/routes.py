"""Page arguments of `Navigator.open` that are more than a text."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RecordingRoute:
    """The recording whose result to show: one on this computer, a job of the service, or both.

    Attributes:
        recorded_at: if the caller knows it; a job does not contain it.
    """

    take_id: str | None = None
    job_id: str | None = None
    group_id: str | None = None
    recorded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ComparisonRoute:
    """Two recordings of one subject to compare."""

    left: RecordingRoute
    right: RecordingRoute


@dataclass(frozen=True, slots=True)
class ReviewRoute:
    """A recording on this computer whose check to show again."""

    take_id: str


@dataclass(frozen=True, slots=True)
class FilesRoute:
    """Files and folders to import."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class BundleRoute:
    """A transfer bundle of another computer to take in."""

    path: Path


def page_of_file(path: Path) -> tuple[str, object]:
    """The page that opens a file, and its argument: a bundle is taken in, anything else is imported as sound."""
    if path.suffix.lower() == ".vbundle":
        return "outbox", BundleRoute(path)
    return "record", FilesRoute((path,))

"""The journal of a submission: what was begun for each recording, so that nothing is begun twice."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from vbdesk.client.lines import LineFile, LinesDamaged
from vbdesk.contract.timestamps import format_timestamp, parse_timestamp


@dataclass(frozen=True, slots=True)
class Entry:
    """What the journal knows of a recording; the last line about it counts.

    Attributes:
        recorded_at: as the service is told, unlike that of every other recording.
        upload_ref: the bytes are at the storage.
        asked: the service was asked for the analysis, and its answer was not written down.
    """

    key: str
    group_id: str
    recorded_at: datetime
    upload_ref: str | None = None
    asked: bool = False
    job_id: str | None = None
    refusal: str | None = None


class Journal:
    """What was begun and what was finished, by recording; one program at a time may have it open."""

    def __init__(self, path: Path) -> None:
        """Read the journal at `path`, made with its first entry. Raises LinesDamaged, OSError."""
        self._file = LineFile(path)
        self._entries: dict[str, Entry] = {}
        for line in self._file.read():
            try:
                entry = Entry(**line | {"recorded_at": parse_timestamp(line["recorded_at"])})
            except (TypeError, KeyError, ValueError):
                raise LinesDamaged(f"{path} is not a journal of submissions. Name another file.") from None
            self._entries[entry.key] = entry
        self._moments = {entry.recorded_at for entry in self._entries.values()}

    def get(self, key: str) -> Entry | None:
        """What is known of a recording, None if nothing."""
        return self._entries.get(key)

    def begin(self, key: str, group_id: str, recorded_at: datetime) -> Entry:
        """A new recording; its moment is moved on until no other has it."""
        while recorded_at in self._moments:
            recorded_at += timedelta(microseconds=1)
        self._moments.add(recorded_at)
        return self.write(Entry(key, group_id, recorded_at))

    def write(self, entry: Entry) -> Entry:
        """Write an entry to the disk, in place of an earlier one of its recording. Raises OSError."""
        fields = {name: getattr(entry, name) for name in Entry.__slots__}
        self._file.append(fields | {"recorded_at": format_timestamp(entry.recorded_at)})
        self._entries[entry.key] = entry
        return entry

    def is_known_job(self, job_id: str) -> bool:
        """Whether a job belongs to a recording of this journal."""
        return any(entry.job_id == job_id for entry in self._entries.values())

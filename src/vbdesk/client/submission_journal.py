"""The journal of a submission: what was begun for each recording, so that nothing is begun twice."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from vbdesk.client.submission_recovery import with_own_digits
from vbdesk.contract.timestamps import format_timestamp, parse_timestamp
from vbdesk.json_lines import JsonLinesDamaged, JsonLinesFile

_TIMES = ("recorded_at", "asked_service_at")


@dataclass(frozen=True, slots=True)
class Entry:
    """What the journal knows of a recording; the last line about it counts.

    Attributes:
        recorded_at: as the service is told, unlike that of every other recording.
        time_is_unique: no other recording, here or elsewhere, can have this time: its digits were drawn at random.
        upload_ref: the bytes are at the storage.
        asked: the service was asked for the analysis, and its answer was not written down.
        asked_service_at: the service's time when it was asked first; None if it is not known.
        key_kept_s: for how many seconds the service had promised then to keep the key; None: no promise.
        unproven: the service may have the recording, and no job is proved to be its own: a person decides.
    """

    key: str
    group_id: str
    recorded_at: datetime
    upload_ref: str | None = None
    asked: bool = False
    job_id: str | None = None
    refusal: str | None = None
    time_is_unique: bool = False
    asked_service_at: datetime | None = None
    key_kept_s: int | None = None
    unproven: bool = False


class Journal:
    """What was begun and what was finished, by recording; one program at a time may have it open."""

    def __init__(self, path: Path) -> None:
        """Read the journal at `path`, made with its first entry. Raises JsonLinesDamaged, OSError."""
        self._file = JsonLinesFile(path)
        self._entries: dict[str, Entry] = {}
        for line in self._file.read():
            try:
                times = {name: parse_timestamp(line[name]) for name in _TIMES if line.get(name) is not None}
                entry = Entry(**line | times | {"recorded_at": times["recorded_at"]})
            except (TypeError, KeyError, ValueError):
                raise JsonLinesDamaged(f"{path} is not a journal of submissions. Name another file.") from None
            self._entries[entry.key] = entry
        self._moments = {entry.recorded_at for entry in self._entries.values()}

    def get(self, key: str) -> Entry | None:
        """What is known of a recording, None if nothing."""
        return self._entries.get(key)

    def begin(self, key: str, group_id: str, recorded_at: datetime) -> Entry:
        """A new recording; a time without a fraction gets one at random, and is moved on until no other has it."""
        unique = recorded_at.microsecond == 0
        recorded_at = with_own_digits(recorded_at)
        while recorded_at in self._moments:
            recorded_at += timedelta(microseconds=1)
        self._moments.add(recorded_at)
        return self.write(Entry(key, group_id, recorded_at, time_is_unique=unique))

    def write(self, entry: Entry) -> Entry:
        """Write an entry to the disk, in place of an earlier one of its recording. Raises OSError."""
        fields = {name: getattr(entry, name) for name in Entry.__slots__}
        times = {name: format_timestamp(fields[name]) for name in _TIMES if fields[name] is not None}
        self._file.append(fields | times)
        self._entries[entry.key] = entry
        return entry

    def is_known_job(self, job_id: str) -> bool:
        """Whether a job belongs to a recording of this journal."""
        return any(entry.job_id == job_id for entry in self._entries.values())

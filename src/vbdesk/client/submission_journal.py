"""The journal of a submission: records each step of each recording, so that nothing is sent twice."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from vbdesk.client.submission_recovery import with_random_microseconds
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.contract.timestamps import format_timestamp, parse_timestamp
from vbdesk.json_lines import JsonLinesDamaged, JsonLinesFile
from vbdesk.language import message

_TIMES = ("recorded_at", "asked_service_at")


@dataclass(frozen=True, slots=True)
class SubmissionEntry:
    """State of a recording; its last line in the journal counts.

    Attributes:
        recorded_at: as sent to the service; unique in the journal.
        time_is_unique: whether no other recording anywhere can have this time, because its digits are random.
        upload_ref: set once the bytes are at the storage.
        asked: whether the analysis was requested without a recorded answer.
        asked_service_at: the service's time at the first request; None if unknown.
        named: whether the service had announced then that it reads references.
        unproven: the service may have the recording, but no job is proved to be its own: a person decides.
        spoken: what was said about the language when the analysis was requested; a repeat says the same.
        account_id: account of the recording; None in entries of earlier releases.
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
    named: bool = False
    unproven: bool = False
    account_id: str | None = None
    spoken: SpokenLanguage = UNKNOWN_LANGUAGE


class SubmissionJournal:
    """Entries by recording; one program at a time may open it."""

    def __init__(self, path: Path, account_id: str) -> None:
        """Read the journal at `path`, created by its first entry.

        Raises:
            JsonLinesDamaged: it is no journal of this account.
            OSError: it cannot be read.
        """
        self._file = JsonLinesFile(path)
        self._account_id = account_id
        self._entries: dict[str, SubmissionEntry] = {}
        for line in self._file.read():
            try:
                line.pop("key_kept_s", None)  # of earlier releases
                times = {name: parse_timestamp(line[name]) for name in _TIMES if line.get(name) is not None}
                spoken = SpokenLanguage.of_form(line.get("spoken") or {})
                entry = SubmissionEntry(**line | times | {"recorded_at": times["recorded_at"], "spoken": spoken})
            except (TypeError, KeyError, ValueError, AttributeError):
                raise JsonLinesDamaged(
                    message("{path} is not a journal of submissions. Name another file.", path=path)
                ) from None
            if entry.account_id not in (None, account_id):
                raise JsonLinesDamaged(
                    message("{path} is the journal of another account. Name another file.", path=path)
                )
            self._entries[entry.key] = entry
        self._moments = {entry.recorded_at for entry in self._entries.values()}

    def get(self, key: str) -> SubmissionEntry | None:
        """The entry of a recording; None if there is none."""
        return self._entries.get(key)

    def entry(self, key: str) -> SubmissionEntry:
        """The entry of a recording that `begin` has added. Raises KeyError."""
        return self._entries[key]

    def begin(self, key: str, group_id: str, recorded_at: datetime) -> SubmissionEntry:
        """Add a recording; a time without a fraction gets a random one, and is increased until it is unique."""
        unique = recorded_at.microsecond == 0
        recorded_at = with_random_microseconds(recorded_at)
        while recorded_at in self._moments:
            recorded_at += timedelta(microseconds=1)
        self._moments.add(recorded_at)
        return self.write(
            SubmissionEntry(key, group_id, recorded_at, time_is_unique=unique, account_id=self._account_id)
        )

    def write(self, entry: SubmissionEntry) -> SubmissionEntry:
        """Write an entry to the disk, replacing an earlier one of its recording. Raises OSError."""
        fields = {name: getattr(entry, name) for name in SubmissionEntry.__slots__}
        times = {name: format_timestamp(fields[name]) for name in _TIMES if fields[name] is not None}
        self._file.append(fields | times | {"spoken": entry.spoken.form})
        self._entries[entry.key] = entry
        return entry

    def is_known_job(self, job_id: str) -> bool:
        """Whether a job belongs to a recording of this journal."""
        return any(entry.job_id == job_id for entry in self._entries.values())

"""The service's data: its jobs, ledger and sounds, read directly from its folder."""

import hashlib
import io
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import soundfile as sf


@dataclass(frozen=True)
class StoredJob:
    """A job in the service's database."""

    job_id: str
    group_id: str | None
    recorded_at: datetime
    status: str
    name: str
    audio_key: str
    result: str | None


class ServiceRecords:
    """The service's data folder, read only; `close` releases it."""

    def __init__(self, data_dir: Path) -> None:
        self._objects = data_dir / "objects"
        address = f"file:{data_dir / 'vbdesk.db'}?mode=ro"
        self._database = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=30)

    def close(self) -> None:
        self._database.close()

    def jobs(self, account_id: str) -> list[StoredJob]:
        """Every job of an account, in the order of submission."""
        rows = self._database.execute(
            "SELECT jobs.job_id, group_id, recorded_at, status, coalesce(model_name, sign_name), audio_key, result "
            "FROM jobs "
            "LEFT JOIN memberships USING (job_id) LEFT JOIN groups USING (group_key) "
            "WHERE jobs.account_id = ? ORDER BY jobs.created_at, jobs.job_id",
            (account_id,),
        )
        return [StoredJob(row[0], row[1], _moment(row[2]), *row[3:]) for row in rows]

    def ledger(self, account_id: str) -> tuple[int, dict[str, list[str]]]:
        """The balance, and the ledger's entries for each job, such as `hold -10`."""
        [[balance]] = self._database.execute("SELECT credits FROM credit_balances WHERE account_id = ?", (account_id,))
        entries: dict[str, list[str]] = {}
        for job_id, kind, amount in self._database.execute(
            "SELECT job_id, kind, amount FROM credit_entries WHERE account_id = ? AND job_id IS NOT NULL "
            "ORDER BY created_at, entry_id",
            (account_id,),
        ):
            entries.setdefault(job_id, []).append(f"{kind} {amount}")
        return balance, entries

    def audio(self, job: StoredJob) -> bytes:
        return (self._objects / job.audio_key).read_bytes()


def samples_sha256(flac: bytes) -> str:
    """Digest of the decoded samples, as in a take's manifest."""
    samples, _ = sf.read(io.BytesIO(flac), dtype="int16")
    return hashlib.sha256(samples.astype("<i2").tobytes()).hexdigest()


def _moment(stored: str) -> datetime:
    return datetime.fromisoformat(stored).replace(tzinfo=UTC)

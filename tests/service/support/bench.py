"""Test bench for jobs: submits over HTTP and acts as the worker."""

from dataclasses import dataclass
from typing import Any

import httpx
from sample_audio import noise_wav
from sample_results import result_json

from vbdesk.service.jobs.lifecycle import JobLifecycle
from vbdesk.service.kernel.db.tables import webhook_deliveries

ACCEPTABLE = noise_wav(15.5)


@dataclass
class Bench:
    service: Any
    account: Any
    client: httpx.Client
    queue: Any = None

    def __post_init__(self) -> None:
        self._audio_of_others = self._audio()

    def post(
        self,
        path: str = "/v2/models/pulse/analyze",
        audio: bytes | None = ACCEPTABLE,
        headers: Any = None,
        **fields: str,
    ) -> httpx.Response:
        parts: dict[str, Any] = {name: (None, value) for name, value in fields.items()}
        if audio is not None:
            parts["audio"] = ("take.wav", audio, "audio/wav")
        return self.client.post(path, files=parts or {"nothing": (None, "")}, headers=headers)

    def submit(self, path: str = "/v2/models/pulse/analyze", **fields: Any) -> str:
        answer = self.post(path, **fields)
        assert answer.status_code == 200, answer.text
        job_id: str = answer.json()["job_id"]
        return job_id

    def submit_to(self, group_id: str, *, longitudinal: bool = False, **fields: Any) -> str:
        ending = "/longitudinal" if longitudinal else ""
        return self.submit(f"/v2/models/pulse/groups/{group_id}/analyze{ending}", **fields)

    def read(self, job_id: str) -> Any:
        answer = self.client.get(f"/v2/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def status(self, job_id: str) -> str:
        status: str = self.read(job_id)["status"]
        return status

    def credits(self) -> int:
        credits: int = self.client.get("/v2/account/credits").json()["credits"]
        return credits

    def get(self, path: str, **query: Any) -> Any:
        answer = self.client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def start(self, job_id: str) -> bool:
        """Start the job; return whether there was anything to start."""
        with self.service.context.database.writing() as connection:
            return self._lifecycle.start(connection, job_id, "bench", 120) is not None

    def finish(self, job_id: str, score: float = 0.4) -> None:
        """Start the job and store a successful analysis, like a worker."""
        with self.service.context.database.writing() as connection:
            run = self._lifecycle.start(connection, job_id, "bench", 120)
        assert run is not None
        kind = "model" if run.target.sign_count > 1 else "sign"
        self.conclude(job_id, result_json(kind, run.target.analysed, score))

    def conclude(self, job_id: str, result: str) -> None:
        """Store a successful analysis of a started job, like a worker, regardless of the job's state."""
        self.service.context.database.write(lambda connection: self._lifecycle.analysed(connection, job_id, result))

    def fail(self, job_id: str) -> None:
        with self.service.context.database.writing() as connection:
            self._lifecycle.fail(connection, job_id)

    def time_out(self, job_id: str) -> None:
        with self.service.context.database.writing() as connection:
            self._lifecycle.time_out(connection, job_id)

    def stored_audio(self) -> list[str]:
        """Return the ids of this bench's jobs whose audio is stored."""
        return sorted(self._audio() - self._audio_of_others)

    def _audio(self) -> set[str]:
        return {path.name for path in self.service.context.settings.data_dir.glob("objects/audio/*")}

    def deliveries(self) -> list[Any]:
        with self.service.context.database.reading() as connection:
            return list(connection.execute(webhook_deliveries.select()).all())

    @property
    def _lifecycle(self) -> Any:
        return JobLifecycle.of(self.service.context)


class NoRuns:
    """Engine that has nothing to recover."""

    def recover(self, list_live: Any, find_forgotten: Any) -> int:
        return 0

    def purge(self, keep: Any) -> int:
        return 0

"""The whole service in a process of its own: a real recording goes in, a result comes out, whatever is killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from served import Served, upload, wait_for_end

from patience import until

RECORDING = Path(__file__).parents[2] / "data" / "speech_kathleen_20s.flac"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    service = Served(tmp_path)
    service.start()
    service.make_account(credits=1_000)
    yield service
    service.stop()


def test_a_recording_goes_in_and_results_and_a_trajectory_come_out(served: Served) -> None:
    with served.client() as client:
        reference = upload(client, RECORDING, "audio/flac")
        jobs = []
        for day in (1, 2):
            form = {"audio_upload_ref": (None, reference), "recorded_at": (None, f"2026-02-0{day}T08:00:00Z")}
            path = "/v2/models/pulse/groups/subj-1/analyze/longitudinal"
            jobs.append(client.post(path, files=form).raise_for_status().json()["job_id"])
        first, second = (wait_for_end(client, job) for job in jobs)
        sign = client.post("/v2/signs/stress/analyze", files={"audio": RECORDING.read_bytes()}).json()
        assert wait_for_end(client, sign["job_id"])["result"]["signal"]["name"] == "stress"
        assert (first["status"], second["status"]) == ("done", "done")
        result = second["result"]
        assert result.keys() >= {"summary", "signals", "audio_quality", "extended_metrics"}
        assert len(result["signals"]) == 6
        assert result["audio_quality"]["voice_percentage"] > 50
        assert first["result"]["signals"][0]["baseline_score"] is None
        assert second["result"]["signals"][0]["baseline_score"] is not None
        assert client.get("/v2/account/credits").json() == {"credits": 1_000 - 60 - 60 - 10}
    assert served.stop() == 0


def test_killed_in_the_middle_it_finishes_everything_after_its_restart(served: Served) -> None:
    with served.client() as client:
        reference = upload(client, RECORDING, "audio/flac")
        form = {"audio_upload_ref": (None, reference)}
        jobs = [client.post("/v2/models/pulse/analyze", files=form).json()["job_id"] for _ in range(4)]
        until(lambda: client.get(f"/v2/jobs/{jobs[0]}").json()["status"] != "queued")
    served.kill()
    served.start()
    with served.client() as client:
        assert {wait_for_end(client, job)["status"] for job in jobs} == {"done"}
        assert client.get("/v2/account/credits").json() == {"credits": 1_000 - 4 * 60}


def test_told_to_stop_in_the_middle_it_ends_cleanly_and_loses_nothing(served: Served) -> None:
    with served.client() as client:
        reference = upload(client, RECORDING, "audio/flac")
        form = {"audio_upload_ref": (None, reference)}
        jobs = [client.post("/v2/models/pulse/analyze", files=form).json()["job_id"] for _ in range(4)]
    assert served.stop() == 0
    assert "Traceback" not in served.log.read_text()
    served.start()
    with served.client() as client:
        assert {wait_for_end(client, job)["status"] for job in jobs} == {"done"}


def test_a_real_analysis_that_takes_too_long_is_timed_out_and_costs_nothing(tmp_path: Path) -> None:
    service = Served(tmp_path, job_timeout_s="0.05")
    service.start()
    try:
        service.make_account(credits=100)
        with service.client() as client, RECORDING.open("rb") as recording:
            job = client.post("/v2/models/pulse/analyze", files={"audio": recording}).json()
            ended = wait_for_end(client, job["job_id"])
            assert (ended["status"], ended["completed_at"], ended["result"]) == ("timed-out", None, None)
            assert client.get("/v2/account/credits").json() == {"credits": 100}
    finally:
        service.stop()

"""A sign of a lab's own through the real service: in the catalog, submitted, paid, and followed over time."""

import hashlib
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import tomli_w
from served import Served, wait_for_end

from vbdesk.clock import utc_now
from vbdesk.resource_files import resource

DATA = Path(__file__).parents[2] / "data"
RECORDING = DATA / "speech_kathleen_20s.flac"
ONNX = DATA / "logistic_three_features.onnx"
SIGN = {
    "format": 1,
    "name": "slow-speech",
    "version": "3.0",
    "evidence_grade": "C",
    "max_level": "moderate",
    "meaning": "how slow the speech is",
    "known": "nothing yet",
    "timescale": "fast",
    "confounders": ["reading aloud"],
    "model": {"kind": "linear", "weights": {"speech_rate": -0.6, "pause_ratio": 0.4}},
    "reference": {"mean": 0.1, "sd": 0.5},
    "cut_points": {"low": 1.0, "consider": 1.5, "moderate": 2.0, "elevated": 2.5},
    "expected_rate": {"low": 0.1, "consider": 0.05, "moderate": 0.015, "elevated": 0.005},
}


NETWORK = {
    **SIGN,
    "name": "network-voice",
    "model": {
        "kind": "onnx",
        "file": ONNX.name,
        "sha256": hashlib.sha256(ONNX.read_bytes()).hexdigest(),
        "features": ["pitch_variability", "speech_rate", "pause_ratio"],
        "gives": "probability",
    },
}


STEADY = {**SIGN, "name": "steady-speech", "timescale": "slow"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    service = Served(tmp_path)
    folder = service.data_dir / "signs"
    folder.mkdir(parents=True)
    (folder / "slow-speech.toml").write_text(tomli_w.dumps(SIGN))
    (folder / "network-voice.toml").write_text(tomli_w.dumps(NETWORK))
    (folder / "steady-speech.toml").write_text(tomli_w.dumps(STEADY))
    shutil.copy(ONNX, folder)
    (folder / "broken.toml").write_text("name = ")
    service.start()
    service.make_account(credits=100)
    yield service
    service.stop()


def test_a_sign_of_ones_own_goes_all_the_way(served: Served) -> None:
    with served.client() as client:
        listed = client.get("/v2/signs").json()["signs"]
        assert len(listed) == 20
        assert listed[-2] == {"name": "slow-speech", "label": "Slow Speech"}
        detail = client.get("/v2/signs/slow-speech").json()
        assert detail == {"name": "slow-speech", "label": "Slow Speech", "condition": None}
        assert client.get("/v2/signs/broken").status_code == 404
        jobs = []
        for days_ago in (2, 1):
            recorded_at = (utc_now() - timedelta(days=days_ago)).isoformat()
            path = "/v2/signs/slow-speech/groups/subj-1/analyze/longitudinal"
            form = {"audio": RECORDING.read_bytes(), "recorded_at": (None, recorded_at)}
            answer = client.post(path, files=form)
            assert answer.status_code == 200, answer.text
            jobs.append(answer.json()["job_id"])
        first, second = (wait_for_end(client, job) for job in jobs)
        assert (second["status"], second["job_type"], second["sign_name"]) == ("done", "sign", "slow-speech")
        signal = second["result"]["signal"]
        assert (signal["name"], signal["label"]) == ("slow-speech", "Slow Speech")
        assert (signal["sign_version"], signal["evidence_grade"]) == ("3.0", "C")
        assert signal["score_interval"][0] < signal["score"] < signal["score_interval"][1]
        assert first["result"]["signal"]["baseline_score"] is None
        assert signal["baseline_score"] is not None
        assert client.get("/v2/account/credits").json() == {"credits": 100 - 2 * 10}
        trajectory = client.get("/v2/groups/subj-1/longitudinal").json()
        assert [(sign["name"], sign["label"]) for sign in trajectory["signs"]] == [("slow-speech", "Slow Speech")]
        alone = client.get("/v2/groups/subj-1/longitudinal", params={"sign": "slow-speech"})
        assert alone.json()["signs"] == trajectory["signs"]
        assert client.get("/v2/groups/subj-1/longitudinal", params={"sign": "nonsense"}).status_code == 422
        network = client.post("/v2/signs/network-voice/analyze", files={"audio": RECORDING.read_bytes()}).json()
        assert wait_for_end(client, network["job_id"])["result"]["signal"]["name"] == "network-voice"
        built_in = client.post("/v2/signs/stress/analyze", files={"audio": RECORDING.read_bytes()}).json()
        assert wait_for_end(client, built_in["job_id"])["status"] == "done"
    assert "broken.toml is not valid TOML" in served.log.read_text()


def test_how_soon_a_sign_changes_is_as_its_file_says(served: Served) -> None:
    """Two files that differ in nothing else: the faster sign believes less in what was long ago."""
    followed, own = {}, {}
    with served.client() as client:
        for name in ("slow-speech", "steady-speech"):
            for days_ago in (90, 1):
                recorded_at = (utc_now() - timedelta(days=days_ago)).isoformat()
                form = {"audio": RECORDING.read_bytes(), "recorded_at": (None, recorded_at)}
                answer = client.post(f"/v2/signs/{name}/groups/{name}/analyze/longitudinal", files=form)
                job = wait_for_end(client, answer.json()["job_id"])
            own[name] = job["result"]["signal"]["baseline_score"]
            followed[name] = client.get(f"/v2/groups/{name}/longitudinal").json()["signs"][0]
    assert [followed[name]["time_scale"] for name in followed] == ["fast", "slow"]
    assert own["slow-speech"] != own["steady-speech"]
    assert {name: sign["baseline_score"] for name, sign in followed.items()} == pytest.approx(own, abs=2e-4)


def test_a_service_on_norms_of_its_own_names_them_in_every_result(tmp_path: Path) -> None:
    norms = tmp_path / "site.toml"
    shipped = resource("norms", "norms.toml").read_text(encoding="utf-8")
    norms.write_text(shipped.replace('version = "2.0.0"', 'version = "2.0+site"', 1), encoding="utf-8")
    served = Served(tmp_path, norms_file=str(norms))
    served.start()
    served.make_account(credits=100)
    try:
        with served.client() as client:
            job = client.post("/v2/signs/stress/analyze", files={"audio": RECORDING.read_bytes()}).json()["job_id"]
            signal = wait_for_end(client, job)["result"]["signal"]
    finally:
        served.stop()
    assert signal["sign_version"] == "2.0.0+norms.2.0.site"


def test_without_its_file_a_sign_is_gone_but_its_results_stay(served: Served) -> None:
    with served.client() as client:
        job = client.post("/v2/signs/slow-speech/analyze", files={"audio": RECORDING.read_bytes()}).json()["job_id"]
        assert wait_for_end(client, job)["status"] == "done"
    served.stop()
    (served.data_dir / "signs" / "slow-speech.toml").unlink()
    served.start()
    with served.client() as client:
        assert client.get(f"/v2/jobs/{job}").json()["result"]["signal"]["name"] == "slow-speech"
        assert client.get("/v2/signs/slow-speech").status_code == 404
        answer = client.post("/v2/signs/slow-speech/analyze", files={"audio": RECORDING.read_bytes()})
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")

"""Make `service_6.zip` and `service_8.zip`: a service's data folder as the last release with that schema wrote it.

    python tests/data/make_old_service.py TARGET        (run with that release's code)

It holds one account and two jobs: one that is done, submitted with an idempotency key, and one that is queued. From
`service_8.zip` on it also holds an upload with its file, a webhook, and the records of an erased job and group.
"""

import io
import json
import sys
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import httpx
import numpy as np
import soundfile as sf

sys.path.append(str(Path.cwd() / "tests" / "outbox"))

from service_in_process import API, Clock, ServiceInProcess

from vbdesk.contract.limits import Plan
from vbdesk.service.erasure.service import Eraser

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def recording() -> bytes:
    """Sixteen seconds at 8 kHz; the same bytes each time."""
    file = io.BytesIO()
    samples = np.random.default_rng(1).integers(-3000, 3000, 16 * 8000).astype(np.int16)
    sf.write(file, samples, 8000, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def main(target: Path) -> None:
    """Write the archive."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        service = ServiceInProcess(folder, Clock(NOW))
        account = service.add_account(Plan.ENTERPRISE, 1000)
        headers = {"X-Account-ID": account.account_id, "X-API-Key": account.api_key}
        job_ids = []
        for key in ({"Idempotency-Key": "take-1"}, {}):
            request = httpx.Request(
                "POST",
                f"{API}/v2/signs/stress/groups/ward4-0172/analyze",
                files={"audio": ("a.flac", recording(), "audio/flac")},
                headers=headers | key,
            )
            job_ids.append(service.exchange(request, request.read()).json()["job_id"])
        service.finish(job_ids[0])

        def send(method: str, path: str, **what: object) -> httpx.Response:
            request = httpx.Request(method, f"{API}{path}", headers=headers, **what)
            return service.exchange(request, request.read())

        grant = send("POST", "/v2/audio/uploads", json={"content_type": "audio/flac"}).json()
        put = httpx.Request("PUT", grant["upload_url"], headers=grant["required_headers"], content=recording())
        service.exchange(put, put.read())
        send("POST", "/v2/account/webhook", json={"url": "https://example.org/hook", "secret_key": "signed"})
        erase = Eraser(service.context.database, service.context.storage, service._lifecycle, service.clock)
        for group in ("gone-1", "gone-2"):
            path = f"/v2/signs/stress/groups/{group}/analyze"
            job_id = send("POST", path, files={"audio": ("a.flac", recording(), "audio/flac")}).json()["job_id"]
            if group == "gone-1":
                erase.erase_job(account.account_id, job_id)
            else:
                erase.erase_group(account.account_id, group)
        service.close()
        known = {
            "account_id": account.account_id,
            "api_key": account.api_key,
            "job_ids": job_ids,
            "upload_ref": grant["upload_ref"],
        }
        (folder / "known.json").write_text(json.dumps(known))
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and not path.name.endswith((".lock", "-shm", "-wal")):
                    archive.write(path, path.relative_to(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

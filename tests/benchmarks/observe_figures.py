"""What counting costs the read that callers poll: `python tests/benchmarks/observe_figures.py`.

The same finished job is read through the same application with and without the layer, in turns, without a socket
between; processor time of the whole process is counted, so that others on the computer disturb little. The bar for
counting is 3 % of a read; what HTTP itself costs comes on top of a real read, so the true share is smaller.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "service" / "support"))

from sample_results import result_json

from vbdesk.clock import SystemClock
from vbdesk.contract.ids import new_id
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService
from vbdesk.service.composition.app import create_app
from vbdesk.service.composition.open_context import close_context, open_context
from vbdesk.service.jobs import repository
from vbdesk.service.kernel.db.migrate import upgrade
from vbdesk.service.kernel.db.session import open_database
from vbdesk.service.kernel.settings import load_settings
from vbdesk.service.observability.request_metrics import MeasureRequests
from vbdesk.service.ports.context import Context

PLENTY = {"enterprise": dict.fromkeys(("general", "analyze", "polling"), 10**9)}
READS = 50
TURNS = 60


class Nothing:
    """Stands where no job is submitted."""


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        settings = load_settings(Path(name), rate_limits=PLENTY)
        database = open_database(settings)
        upgrade(database, settings.data_dir)
        context = open_context(settings, database, Nothing(), Nothing(), SystemClock(), "http://127.0.0.1")  # type: ignore[arg-type]
        scope = finished_job(context)
        asyncio.run(compare(context, scope))
        close_context(context)


async def compare(context: Context, scope: dict[str, Any]) -> None:
    """Read in turns and print the least of each."""
    bare, counted = create_app(context), create_app(context)
    bare.user_middleware = []
    apps = {
        "bare": bare,
        "counted": counted,
        "nothing": do_nothing,
        "nothing counted": MeasureRequests(do_nothing, context.metrics),
    }
    costs: dict[str, list[float]] = {name: [] for name in apps}
    for _ in range(TURNS):
        for name, app in apps.items():
            costs[name].append(await cost_us(app, scope))
    least = {name: min(found) for name, found in costs.items()}
    ratios = [counted / bare for counted, bare in zip(costs["counted"], costs["bare"], strict=True)]
    print(
        f"a read: {least['bare']:.0f} us of processor time, counted {least['counted']:.0f} us; "
        f"of {TURNS} turns the median ratio is {statistics.median(ratios):.3f}"
    )
    layer = least["nothing counted"] - least["nothing"]
    print(f"the layer that counts, by itself: {layer:.1f} us, {100 * layer / least['bare']:.1f} % of a read (bar 3 %)")


async def do_nothing(_scope: Any, _receive: Any, send: Any) -> None:
    """Answer."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def cost_us(app: Any, scope: dict[str, Any]) -> float:
    """Processor time of one read."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    async def send(message: dict[str, Any]) -> None:
        assert message.get("status", 200) == 200, message

    began = time.process_time()
    for _ in range(READS):
        await app(dict(scope), receive, send)
    return (time.process_time() - began) / READS * 1e6


def finished_job(context: Context) -> dict[str, Any]:
    """Store a finished job; the scope of a request that reads it."""
    accounts, job_id, now = AccountService(context.clock), new_id(), context.clock.now()
    with context.database.writing() as connection:
        account = accounts.create(connection, "Figures", Plan.ENTERPRISE, 1)
        key = accounts.create_key(connection, account.account_id, "figures")
        repository.insert(
            connection,
            job_id=job_id,
            account_id=account.account_id,
            status="done",
            created_at=now,
            completed_at=now,
            recorded_at=now,
            job_type="model",
            api_version="v2",
            model_name="pulse",
            diarize=False,
            audio_content_type="audio/wav",
            audio_size_bytes=1,
            audio_duration_seconds=20.0,
            audio_sample_rate=16_000,
            result=result_json("model", "pulse", 0.3),
        )
    path = f"/v2/jobs/{job_id}"
    headers = [(b"x-account-id", account.account_id.encode()), (b"x-api-key", key.api_key.encode())]
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "scheme": "http",
    }


if __name__ == "__main__":
    main()

"""Inject faults into a whole cluster while callers submit; then check that nothing was lost, stuck or paid twice.

    python tests/soak/cluster_chaos.py [--seconds 600] [--seed 1] [--clients 3] [--store s3] [--gap 6] [--pause 60]

Two API processes behind one address, two workers, PostgreSQL and an object store are killed, stopped, disconnected and
slowed down, each kind of fault at least once. Prints one JSON object with counts of attempts and losses; exits with 0
if nothing was lost.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "service" / "cluster")]

from chaos_books import Books, crashes_shown, secrets_shown  # noqa: E402
from chaos_faults import Faults  # noqa: E402
from chaos_load import Caller, CallerAccount, RefusingReceiver, World  # noqa: E402
from cluster import Cluster  # noqa: E402
from own_postgresql import OwnPostgresql  # noqa: E402
from store_server import StoreAccess, StoreServer  # noqa: E402

from vbdesk.clock import utc_now  # noqa: E402
from vbdesk.service.kernel.db.engine import create_engine  # noqa: E402
from vbdesk.service.kernel.db.session import open_database  # noqa: E402
from vbdesk.service.kernel.settings import load_settings  # noqa: E402
from vbdesk.service.maintenance.orphans import SAFE_AGE, SweptStore, quarantine, search_orphans  # noqa: E402
from vbdesk.service.maintenance.store_identity import STORE_ID_KEY  # noqa: E402
from vbdesk.service.storage.opening import open_store  # noqa: E402
from vbdesk.service.storage.quarantine import QUARANTINE_FOLDER  # noqa: E402

ACCOUNTS = 2
CREDITS = 10_000_000
SETTLE_LIMIT_S = 300
PREFIX = "chaos/audio"
DATABASE_PASSWORD = "not-asked-for-but-not-to-be-shown"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--store", choices=["s3", "gcs"], default="s3")
    parser.add_argument("--gap", type=float, default=6, help="longest time between two strikes")
    parser.add_argument("--pause", type=float, default=60, help="longest time that a worker stands still")
    parser.add_argument("--keep", action="store_true", help="keep the logs, also when all is well")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="vbdesk-chaos-"))
    postgresql, store = OwnPostgresql(), StoreServer(options.store)
    world = World(RefusingReceiver())
    cluster = None
    try:
        database_url = postgresql.make_database("chaos").replace("@", f":{DATABASE_PASSWORD}@")
        access = store.access(PREFIX)
        settings = {"allow_private_addresses": "true"}
        cluster = Cluster(folder, database_url, access, apis=2, workers=2, **settings)
        cluster.start()
        tried = torment(cluster, postgresql, store, world, options)
        settled_s = settle(database_url)
        figures = judge(database_url, cluster, store, access, world)
    finally:
        if cluster is not None:
            cluster.close()
        world.receiver.close()
        store.close()
        postgresql.close()
    lost = figures.pop("lost")
    good = not any(lost.values())
    counts = {what: len(found) for what, found in lost.items()}
    print(
        json.dumps({"seed": options.seed, **tried, "settled_after_s": settled_s, **figures, "lost": counts}, indent=1)
    )
    if not good:
        print(json.dumps({what: found[:5] for what, found in lost.items() if found}, indent=1), file=sys.stderr)
    if good and not options.keep:
        shutil.rmtree(folder)
    else:
        print(f"kept for a look: {folder}", file=sys.stderr)
    return 0 if good else 1


def torment(
    cluster: Cluster, postgresql: OwnPostgresql, store: StoreServer, world: World, options: argparse.Namespace
) -> dict[str, Any]:
    """Let callers submit while one fault follows the other."""
    accounts = [make_account(cluster, world, number) for number in range(ACCOUNTS)]
    callers = [
        Caller(number, options.seed, cluster.base_url, accounts[number % ACCOUNTS], world)
        for number in range(options.clients)
    ]
    faults = Faults(cluster, postgresql, store, random.Random(options.seed), options.pause)
    for caller in callers:
        caller.start()
    try:
        faults.strike(options.seconds, longest_gap_s=options.gap)
    finally:
        world.stop.set()
        faults.repair()
    for caller in callers:
        caller.join()
    return {"faults": dict(faults.counts), "connections_cut": cluster.proxy.cut_connections}


def make_account(cluster: Cluster, world: World, number: int) -> CallerAccount:
    bought = ["--plan", "enterprise", "--credits", str(CREDITS)]
    made = cluster.operate("account", "create", "--name", f"Chaos {number}", *bought)
    key = cluster.operate("key", "create", "--account", made["account_id"], "--name", "chaos")
    headers = {"X-Account-ID": made["account_id"], "X-API-Key": key["api_key"]}
    account = CallerAccount(made["account_id"], headers)
    world.secrets += [made["secret_key"], key["api_key"], account.webhook_secret]
    hook = {"url": f"{world.receiver.origin}/account-{number}", "secret_key": account.webhook_secret}
    url = f"{cluster.base_url}/v2/account/webhook"
    httpx.post(url, json=hook, headers=headers, trust_env=False).raise_for_status()
    return account


def settle(database_url: str) -> float:
    """Wait without faults until all work is done or the timeout has passed; returns the seconds."""
    began = time.monotonic()
    while not read_books(database_url).at_rest() and time.monotonic() - began < SETTLE_LIMIT_S:
        time.sleep(1)
    return round(time.monotonic() - began, 1)


def read_books(database_url: str) -> Books:
    engine = create_engine(database_url)
    try:
        with engine.connect() as connection:
            return Books.read(connection)
    finally:
        engine.dispose()


class LaterClock:
    """A future time, when leftovers of kills are old enough to be removed."""

    def now(self) -> datetime:
        return utc_now() + 2 * SAFE_AGE


def tidy_up(cluster: Cluster, access: StoreAccess) -> int:
    """Run the service's maintenance of later, without its limits; returns the number of quarantined orphans."""
    os.environ.update(access.environment)
    settings = load_settings(cluster.data_dir)
    database, storage = open_database(settings), open_store(settings)
    try:
        whole = SweptStore(database, storage, LaterClock())
        search = search_orphans(whole)
        return quarantine(whole, search.orphans) if search else 0
    finally:
        storage.close()
        database.close()


def judge(database_url: str, cluster: Cluster, store: StoreServer, access: StoreAccess, world: World) -> dict[str, Any]:
    """Counts of attempts; `lost` holds every violation."""
    books = read_books(database_url)
    tried, received = world.tried, world.receiver.deliveries
    quarantined = tidy_up(cluster, access)
    names = [stored.name for stored in store.kept().below("")]
    keys = [name.split(f"/{PREFIX}/", 1)[1] for name in names if f"/{PREFIX}/" in name]
    keys = [key for key in keys if key != STORE_ID_KEY and not key.startswith(f"{QUARANTINE_FOLDER}/")]
    logs = cluster.logs
    secrets = [*world.secrets, DATABASE_PASSWORD, (cluster.secrets_file).read_text().strip(), "X-Amz-Signature="]
    return {
        "accepted": len(tried.accepted),
        "submits": dict(tried.submits),
        "repeats": dict(tried.repeats),
        "statuses": dict(books.statuses),
        "run_again": sum(job.starts > 1 for job in books.jobs.values()),
        "most_starts": max(job.starts for job in books.jobs.values()),
        "deliveries": len(received),
        "delivered_twice": sum(times > 1 for times in world.receiver.taken.values()),
        "objects": len(keys),
        "orphans_quarantined": quarantined,
        "lost": {
            "jobs": books.lost(tried.accepted),
            "doubled": books.doubled(tried.accepted),
            "unfinished": books.unfinished(),
            "wrong_ends": books.wrong_ends(),
            "ledger": books.ledger_faults(),
            "histories": books.out_of_order(),
            "counts": books.miscounted(),
            "webhooks": books.wrong_deliveries(received, tried.accepted),
            "audio": books.missing_audio(keys),
            "objects_for_ever": books.orphans(keys) + [name for name in names if f"/{PREFIX}/" not in name],
            "refused": tried.refused,
            "given_up": tried.given_up,
            "crashes_shown": crashes_shown(tried.server_errors),
            "secrets_shown": secrets_shown(logs + "".join(tried.server_errors), secrets),
        },
    }


if __name__ == "__main__":
    sys.exit(main())

"""Invariant checks of the chaos run: correct data passes, and every damage is found."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from chaos_books import Books, crashes_shown, secrets_shown
from chaos_load import SPEECH, Delivery

from vbdesk.contract.ids import new_id
from vbdesk.contract.webhooks import webhook_signature
from vbdesk.service.jobs.lifecycle import JobLifecycle

sys.path.append(str(Path(__file__).parents[1] / "support"))

from sample_results import result_json

SECRET = "whsec"


@dataclass(frozen=True)
class Rest:
    """Idle service with two recordings of one subject and one failed job."""

    engine: sa.Engine
    older: str
    later: str
    failed: str
    received: list[Delivery]

    def faults(self, *spoil: str) -> dict[str, list[str]]:
        """Return the violations after these statements, then roll the statements back."""
        with self.engine.connect() as connection:
            for statement in spoil:
                connection.exec_driver_sql(statement.format(**vars(self)))
            books = Books.read(connection)
            connection.rollback()
        secrets = dict.fromkeys((self.older, self.later, self.failed), SECRET)
        return {
            "lost": books.lost(secrets),
            "doubled": books.doubled(secrets),
            "unfinished": books.unfinished(),
            "wrong ends": books.wrong_ends(),
            "ledger": books.ledger_faults(),
            "histories": books.out_of_order(),
            "counts": books.miscounted(),
            "webhooks": books.wrong_deliveries(self.received, secrets),
            "audio": books.missing_audio({f"audio/{job_id}" for job_id in secrets}),
        }

    @property
    def books(self) -> Books:
        with self.engine.connect() as connection:
            return Books.read(connection)


@pytest.fixture(scope="module")
def rest(module_service: Any) -> Rest:
    client = module_service.client(module_service.add_account())
    client.post("/v2/account/webhook", json={"url": "https://example.com/", "secret_key": SECRET}).raise_for_status()

    def submit(path: str, **fields: str) -> str:
        form = {name: (None, value) for name, value in fields.items()}
        answer = client.post(path, files={**form, "audio": ("a.flac", SPEECH, "audio/flac")})
        job_id: str = answer.raise_for_status().json()["job_id"]
        return job_id

    path = "/v2/signs/stress/groups/g/analyze/longitudinal"
    older, later = (submit(path, recorded_at=f"2026-02-0{day}T08:00:00Z") for day in (1, 2))
    failed = submit("/v2/models/pulse/analyze")
    lifecycle, database = JobLifecycle.of(module_service.context), module_service.context.database
    for job_id in (older, later, *[failed] * 4):  # four starts without an end: then it fails
        module_service.clock.advance(60)
        with database.writing() as connection:
            run = lifecycle.start(connection, job_id, "a worker", 120)
            if job_id != failed:
                lifecycle.analysed(connection, job_id, result_json("sign", run.target.analysed, 0.4))
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE webhook_deliveries SET state = 'sent'")
    received = [delivery_of(client.get(f"/v2/jobs/{job_id}").content) for job_id in (older, later, failed)]
    return Rest(database.engine, older, later, failed, received)


def delivery_of(body: bytes) -> Delivery:
    headers = {"x-webhook-signature": webhook_signature(body, SECRET), "x-webhook-delivery": new_id()}
    return Delivery("POST", "/", headers, body, 0.0)


def test_clean_books_are_found_clean(rest: Rest) -> None:
    assert not any(rest.faults().values()), rest.faults()
    assert rest.books.statuses == {"done": 2, "failed": 1}
    assert rest.books.at_rest()


DOUBLED = (
    "INSERT INTO credit_entries SELECT '{new}', account_id, kind, amount, delta, job_id, created_at "
    "FROM credit_entries WHERE job_id = '{older}' AND kind = 'capture'"
).replace("{new}", new_id())


@pytest.mark.parametrize(
    ("statements", "seen"),
    [
        (["DROP INDEX uq_credit_entries_settlement", DOUBLED], {"ledger"}),
        (["DELETE FROM credit_entries WHERE job_id = '{failed}' AND kind = 'release'"], {"ledger"}),
        (["UPDATE credit_balances SET credits = credits + 1"], {"ledger"}),
        (["UPDATE credit_entries SET amount = 11 WHERE job_id = '{later}' AND kind = 'capture'"], {"ledger"}),
        (
            ["UPDATE jobs SET status = 'running' WHERE job_id = '{later}'"],
            {"unfinished", "wrong ends", "ledger", "webhooks", "counts"},
        ),
        (["UPDATE jobs SET executor_id = 'a worker' WHERE job_id = '{later}'"], {"unfinished"}),
        (["UPDATE jobs SET result = NULL WHERE job_id = '{later}'"], {"wrong ends", "webhooks"}),
        (["UPDATE jobs SET starts = 1 WHERE job_id = '{failed}'"], {"wrong ends"}),
        (["UPDATE jobs SET completed_at = NULL WHERE job_id = '{failed}'"], {"wrong ends"}),
        (["UPDATE webhook_deliveries SET state = 'pending' WHERE job_id = '{failed}'"], {"webhooks"}),
        (["DELETE FROM webhook_deliveries WHERE job_id = '{failed}'"], {"webhooks"}),
        (["UPDATE jobs SET completed_at = '2100-01-01' WHERE job_id = '{older}'"], {"histories"}),
        (["UPDATE groups SET done_job_count = 1"], {"counts"}),
        (["UPDATE job_days SET jobs = 2"], {"counts"}),
        (["UPDATE jobs SET audio_key = 'audio/gone' WHERE job_id = '{failed}'"], {"audio"}),
        (["DELETE FROM jobs WHERE job_id = '{older}'"], {"lost", "ledger", "webhooks", "counts"}),
    ],
)  # fmt: skip
def test_spoilt_books_are_seen(rest: Rest, statements: list[str], seen: set[str]) -> None:
    assert {kind for kind, found in rest.faults(*statements).items() if found} == seen


def test_deliveries_that_are_lost_forged_or_untrue_are_seen(rest: Rest) -> None:
    first = rest.received[0]
    bad = {
        "lost": [],
        "forged": [replace(first, headers=first.headers | {"x-webhook-signature": "0" * 64})],
        "untrue": [delivery_of(json.dumps(first.job | {"status": "failed"}).encode())],
        "renamed": [first, replace(first, headers=first.headers | {"x-webhook-delivery": new_id()})],
        "of no job": [first, delivery_of(json.dumps(first.job | {"job_id": new_id()}).encode())],
    }
    for name, instead in bad.items():
        assert replace(rest, received=[*instead, *rest.received[1:]]).faults()["webhooks"], name
    assert not replace(rest, received=[first, *rest.received]).faults()["webhooks"], "the same twice is allowed"


def test_job_of_which_nobody_was_told_is_seen(rest: Rest) -> None:
    assert rest.books.doubled([rest.older, rest.later]) == [rest.failed]


def test_objects_of_nothing_are_seen(rest: Rest) -> None:
    strays = [f"audio/{new_id()}", "uploads/nonsense", f"probes/{new_id()}"]
    assert rest.books.orphans([f"audio/{rest.older}", f"uploads/{new_id()}", *strays]) == strays


def test_words_that_show_too_much_are_seen() -> None:
    plain = '{"code": "PROCESSING_ERROR", "message": "Try again.", "status": 500}'
    crash = plain.replace("Try again.", "Traceback (most recent call last)")
    assert crashes_shown([plain, crash, "Internal Server Error"]) == [crash, "Internal Server Error"]
    assert secrets_shown("an error at whsec-abcdef", ["whsec-abcdef", "another"]) == ["whsec-..."]

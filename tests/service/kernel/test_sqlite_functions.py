"""Times with a fraction of a second on a SQLite that cannot tell them."""

import sqlite3
import subprocess
import sys
import time

import pytest
import sqlalchemy as sa

from vbdesk.clock import utc_now
from vbdesk.service.kernel.db import engine
from vbdesk.service.kernel.db.engine import create_engine

STAMPED = "CREATE TABLE t (id INTEGER PRIMARY KEY, at BIGINT NOT NULL DEFAULT (unixepoch('subsec') * 1000))"


def now_s():
    """The time by the clock that answers: ours on an old SQLite, the system's on a new one."""
    ours = sqlite3.sqlite_version_info < engine.KNOWS_SUBSEC
    return utc_now().timestamp() if ours else time.time()


@pytest.fixture(params=["as it is", "old"])
def any_sqlite(request, monkeypatch):
    """The SQLite of this computer, and one that is older than the function."""
    if request.param == "old":
        monkeypatch.setattr(engine, "KNOWS_SUBSEC", (99, 0, 0))


def test_a_row_is_stamped_to_the_millisecond(any_sqlite, tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/a.sqlite")
    before = now_s() * 1000 - 1
    with engine.begin() as connection:
        connection.execute(sa.text(STAMPED))
        connection.execute(sa.text("INSERT INTO t (id) VALUES (1)"))
        stamped = connection.scalar(sa.text("SELECT at FROM t"))
    assert before <= stamped <= now_s() * 1000 + 1
    engine.dispose()


def test_connections_that_others_open_have_the_function_too(any_sqlite):
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        now = connection.scalar(sa.select(sa.cast(sa.func.unixepoch("subsec") * 1000, sa.BigInteger)))
    engine.dispose()
    assert now / 1000 == pytest.approx(now_s(), abs=60)


def test_another_time_is_refused_and_never_misread(monkeypatch):
    monkeypatch.setattr(engine, "KNOWS_SUBSEC", (99, 0, 0))
    connection = sqlite3.connect(":memory:")
    engine.supply_functions(connection)
    with pytest.raises(sqlite3.OperationalError):
        connection.execute("SELECT unixepoch('2000-01-01')").fetchone()
    assert connection.execute("SELECT unixepoch('2000-01-01', '+1 day')").fetchone() == (946771200,)
    connection.close()


QUEUE_AS_ON_NEWER_PYTHON = """
import sys
real = sys.version_info
if real < (3, 12):  # DBOS writes its statements while it is imported
    sys.version_info = (3, 12, 0, "final", 0)
import dbos._migration
sys.version_info = real
import dbos._sys_db
dbos._sys_db.sys = type("sys", (), {"version_info": (3, 12), "__getattr__": lambda self, name: getattr(sys, name)})()
from vbdesk.service.kernel.db import engine
from vbdesk.service.engine.dbos_engine import DbosQueue
from vbdesk.service.kernel.db.engine import create_engine
assert "subsec" in dbos._migration.sqlite_migration_one
engine = create_engine(sys.argv[1])
queue = DbosQueue(sys.argv[1])
with engine.begin() as connection:
    queue.enqueue(connection, "job_1", 1)
print([(each.status, each.created_at // 10**11) for each in queue.client.list_workflows()])
queue.client.resume_workflow("job_1", queue_name="vbdesk_jobs")
queue.close()
"""


def test_the_queue_works_with_the_statements_of_newer_pythons(tmp_path):
    url = f"sqlite:///{tmp_path}/jobs.sqlite"
    done = subprocess.run(
        [sys.executable, "-c", QUEUE_AS_ON_NEWER_PYTHON, url], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"[('ENQUEUED', {int(now_s()) // 10**8})]\n"

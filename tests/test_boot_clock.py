"""The time since the start of this computer."""

import subprocess
import sys
import time

from patience import HANGS_S
from vbdesk import boot_clock
from vbdesk.boot_clock import boot_time

TELL = "from vbdesk.boot_clock import boot_time; print(boot_time().boot_id, boot_time().seconds)"


def told_by_another_process():
    boot_id, seconds = subprocess.run(
        [sys.executable, "-c", TELL], capture_output=True, text=True, check=True, timeout=HANGS_S
    ).stdout.split()
    return boot_id, float(seconds)


def test_two_programs_of_one_start_can_be_compared():
    before = boot_time()
    boot_id, seconds = told_by_another_process()
    assert boot_id == before.boot_id
    assert before.seconds <= seconds <= boot_time().seconds


def test_it_counts_as_the_systems_clock_does():
    began = boot_time().seconds
    time.sleep(0.2)
    assert 0.2 <= boot_time().seconds - began < 100, "in seconds, and not in milliseconds"


def test_where_the_system_does_not_tell_its_start_only_this_run_is_compared(monkeypatch, tmp_path):
    monkeypatch.setattr(boot_clock, "_LINUX_BOOT_ID", tmp_path / "none")
    boot_clock._boot_id.cache_clear()
    try:
        unknown = boot_time().boot_id
        assert unknown == boot_time().boot_id
        boot_clock._boot_id.cache_clear()  # another run
        assert unknown != boot_time().boot_id
    finally:
        boot_clock._boot_id.cache_clear()

"""The rules of Windows for open files hold for vbdesk in the listed tests, and only for it."""

import os
import shutil
import sys
from pathlib import Path

import pytest

import windows_files
from vbdesk.report import exports

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Windows has these rules itself")


def as_vbdesk(code, **names):
    """Run code as if it were in a file of vbdesk."""
    exec(compile(code, windows_files.PRODUCT + "x.py", "exec"), {"os": os, "shutil": shutil, "Path": Path, **names})


@pytest.fixture
def taken(tmp_path):
    """An open file, a closed one and a free name."""
    for name in ("open", "closed"):
        (tmp_path / name).write_text("x")
    with (tmp_path / "open").open("rb") as file:
        yield {"file": file, "folder": tmp_path}


@pytest.mark.parametrize(
    "code",
    [
        "os.unlink(folder / 'open')",
        "(folder / 'open').unlink(missing_ok=True)",
        "os.remove(str(folder / 'open'))",
        "(folder / 'open').replace(folder / 'new')",
        "(folder / 'closed').replace(folder / 'open')",
        "(folder / 'open').rename(folder / 'new')",
        "os.rename(folder, folder.with_name('other'))",
        "os.link(folder / 'open', folder / 'second'); os.unlink(folder / 'second')",
    ],
)
def test_an_open_file_stays_where_it_is(taken, code):
    with pytest.raises(PermissionError, match="as on Windows: the file is open"):
        as_vbdesk(code, **taken)
    assert (taken["folder"] / "open").exists()


def test_a_name_that_is_taken_is_not_renamed_over(taken):
    with pytest.raises(FileExistsError):
        as_vbdesk("(folder / 'closed').rename(folder / 'closed')", **taken)


def test_a_file_opened_for_reading_is_not_flushed(taken):
    with pytest.raises(OSError, match="reading only"):
        as_vbdesk("os.fsync(file.fileno())", **taken)


@pytest.mark.parametrize(
    "code",
    [
        "os.unlink(folder / 'closed')",
        "file.close(); os.unlink(folder / 'open')",
        "(folder / 'closed').replace(folder / 'new')",
        "Path(folder / 'missing').unlink(missing_ok=True)",
        "os.fsync(os.open(folder, os.O_RDONLY))",
        "f = open(folder / 'new', 'wb'); os.fsync(f.fileno()); f.close()",
    ],
)
def test_what_windows_allows_is_done(taken, code):
    as_vbdesk(code, **taken)


def test_a_test_can_lift_the_rules(taken):
    with windows_files.lifted():
        as_vbdesk("os.unlink(folder / 'open')", **taken)
    assert not (taken["folder"] / "open").exists()


def test_the_listed_tests_exist():
    root = Path(__file__).parents[1]
    listed = (*windows_files.RULED, *windows_files.WITHOUT)
    assert [name for name in listed if not (root / name).exists()] == []
    assert windows_files.holds_in("tests/outbox/test_library.py::test_x")
    assert windows_files.holds_in("tests/service/storage/test_local.py::test_x")
    assert not windows_files.holds_in("tests/service/http/test_slow_clients.py::test_x")


def test_tests_and_other_packages_are_left_alone(taken):
    (taken["folder"] / "open").unlink()
    assert exports.__file__.startswith(windows_files.PRODUCT)

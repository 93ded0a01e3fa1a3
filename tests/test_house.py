"""The house rules that import-linter cannot see."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[1] / "src" / "vbdesk"
ROOMS = ["contract", "voice", "signs", "longitudinal", "service", "client", "capture", "outbox", "report", "cli"]

WITHOUT_QT = """
import importlib, pkgutil, sys
class NoQt:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"PySide6", "shiboken6", "pyqtgraph"}:
            raise ImportError(name + " is not installed")
sys.meta_path.insert(0, NoQt())
import vbdesk
count = 0
for room in sys.argv[1:]:
    package = importlib.import_module("vbdesk." + room)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if "migrations.versions" not in module.name and not module.name.endswith("migrations.env"):
            importlib.import_module(module.name)
            count += 1
print(count)
"""


def test_everything_but_the_desk_imports_without_qt():
    done = subprocess.run([sys.executable, "-c", WITHOUT_QT, *ROOMS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


@pytest.mark.parametrize(
    "pattern", [r"\bQThread\(", r"(?<![\w.])Thread\(", r"threading\.Thread\(", r"\.moveToThread\("]
)
def test_the_desk_starts_threads_in_one_place_only(pattern):
    users = [path.name for path in (SOURCES / "desk").rglob("*.py") if re.search(pattern, path.read_text())]
    assert set(users) <= {"tasks.py"}


def test_colours_stand_in_the_theme_alone():
    colour = re.compile(r"[\"']#[0-9A-Fa-f]{6}\b")
    users = [path.name for path in (SOURCES / "desk").rglob("*.py") if colour.search(path.read_text())]
    assert set(users) <= {"theme.py", "tokens.py"}

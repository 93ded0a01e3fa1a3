"""Which tests `check` tries for a change, in which order, and what it counts."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "packaging"))

import check_changes
import choose_tests
import code_size
import run_tests

PROJECT = {
    "src/vbdesk/voice/level.py": """
LOUDEST = 1.0

def measure(samples):
    return max(samples) / LOUDEST

class Meter:
    def read(self):
        return _scaled(3)

def _scaled(value):
    return value * 2
""",
    "src/vbdesk/voice/report.py": """
from vbdesk.voice.level import measure

def describe(samples):
    return f"level {measure(samples)}"
""",
    "src/vbdesk/service/jobs/routes.py": """
def list_jobs():
    return []
""",
    "resources/voice/levels.toml": "",
    "tests/conftest.py": """
import pytest
from vbdesk.voice.level import Meter

@pytest.fixture
def level_meter():
    return Meter()
""",
    "tests/voice/test_level.py": """
from vbdesk.voice.level import measure

def test_the_loudest():
    assert measure([1.0]) == 1.0
""",
    "tests/voice/test_texts.py": """
from vbdesk.voice.report import describe

def test_a_description():
    assert describe([1.0])

def test_the_data():
    assert open("resources/voice/levels.toml")
""",
    "tests/service/jobs/test_job_list.py": """
def test_the_list(client):
    assert client.get("/v2/jobs")
""",
    "tests/service/test_far.py": "def test_something_else():\n    pass\n",
    "tests/cli/test_meter.py": """
class TestMeter:
    def test_reading(self, level_meter):
        assert level_meter.read()
""",
    "tests/e2e/test_whole.py": """
from vbdesk.voice.level import measure

def test_everything():
    assert measure([1.0])
""",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for module in (choose_tests, check_changes):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(choose_tests, "CACHE", tmp_path / ".pytest_cache" / "names.pickle")
    return tmp_path


def line_of(file, text):
    return next(number for number, line in enumerate(PROJECT[file].splitlines(), 1) if text in line)


LEVEL = "tests/voice/test_level.py::test_the_loudest"
TEXTS = "tests/voice/test_texts.py::test_a_description"
METER = "tests/cli/test_meter.py::TestMeter::test_reading"


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("return max", {LEVEL, TEXTS}),
        ("LOUDEST = ", {LEVEL, TEXTS}),
        ("return _scaled", {LEVEL, METER}),
        ("return value * 2", {LEVEL, METER}),
    ],
)
def test_tests_that_reach_the_changed_line_by_names_come_first(project, text, chosen):
    file = "src/vbdesk/voice/level.py"
    tests = choose_tests.choose_tests({file: [line_of(file, text)]})
    assert set(tests[:2]) == chosen
    assert "tests/service/test_far.py::test_something_else" not in tests
    assert not [test for test in tests if test.startswith("tests/e2e/")]


def test_a_route_has_the_tests_of_its_folder(project):
    tests = choose_tests.choose_tests({"src/vbdesk/service/jobs/routes.py": [3]})
    assert tests[0] == "tests/service/jobs/test_job_list.py::test_the_list"


def test_a_data_file_has_the_tests_that_name_it(project):
    tests = choose_tests.choose_tests({"resources/voice/levels.toml": []})
    assert tests[0] == "tests/voice/test_texts.py::test_the_data"


def test_a_changed_test_comes_first(project):
    file = "tests/voice/test_texts.py"
    line = line_of(file, "levels.toml")
    assert choose_tests.choose_tests({file: [line]})[0] == "tests/voice/test_texts.py::test_the_data"


def test_names_are_read_again_only_where_a_file_changed(project, monkeypatch):
    choose_tests.Names()
    read, nothing = [], choose_tests.Source((), frozenset())
    monkeypatch.setattr(choose_tests, "read_source", lambda file: read.append(file) or nothing)
    (project / "tests" / "voice" / "test_level.py").write_text("def test_new():\n    pass\n")
    choose_tests.Names()
    assert read == ["tests/voice/test_level.py"]
    choose_tests.CACHE.write_bytes(b"damaged")
    choose_tests.Names()
    assert len(read) == 1 + sum(name.endswith(".py") for name in PROJECT)


@pytest.mark.parametrize(
    ("file", "lines", "rules"),
    [
        ("src/vbdesk/voice/report.py", [5], choose_tests.RULES),
        ("src/vbdesk/voice/report.py", [2], choose_tests.ALL_RULES),
        ("src/vbdesk/voice/report.py", [], choose_tests.ALL_RULES),
        ("tests/voice/test_level.py", [5], choose_tests.ALL_RULES),
        ("resources/voice/levels.toml", [], choose_tests.RULES),
    ],
)
def test_rules_about_tests_and_imports_are_tried_where_these_change(project, file, lines, rules):
    assert choose_tests.rules_for({file: lines}) == rules


def test_every_process_gets_whole_files_and_the_first_one_the_rules_for_the_code(tmp_path, monkeypatch):
    monkeypatch.setattr(check_changes, "PROCESSORS", 2)
    tests = ["a.py::test_1", "b.py::test_1", "a.py::test_2"]
    groups = check_changes.test_groups(tests, ["rules.py", "house.py::test_1"], 10, tmp_path)
    plans = [json.loads((tmp_path / f"{number}.json").read_text()) for number in range(2)]
    assert [plan["order"] for plan in plans] == [["a.py::test_1", "a.py::test_2"], ["b.py::test_1"]]
    assert [plan["seconds"] for plan in plans] == [10, 16]
    assert [group.arguments[:-1] for group in groups] == [
        ["a.py", "rules.py", "house.py::test_1"],
        ["b.py"],
    ]
    for group in groups:
        group.close()


@pytest.fixture
def repository(project):
    for command in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "Test"],
        ["config", "user.email", "test@localhost"],
        ["add", "-A"],
        ["commit", "-qm", "Start"],
    ):
        subprocess.run(["git", *command], cwd=project, check=True)
    return project


def test_the_changed_lines_and_the_growth_are_those_since_main(repository):
    level = repository / "src/vbdesk/voice/level.py"
    level.write_text(PROJECT["src/vbdesk/voice/level.py"].replace("* 2", "* 3").replace("LOUDEST = 1.0\n", ""))
    (repository / "src/vbdesk/voice/report.py").unlink()
    (repository / "src/vbdesk/clock.py").write_text('"""Time."""\n\n# a remark\n\nSTEP_S = (\n    1,\n)\n')
    changed = check_changes.changed_lines("main")
    scaled = line_of("src/vbdesk/voice/level.py", "value * 2") - 1
    assert changed == {"src/vbdesk/clock.py": [], "src/vbdesk/voice/level.py": [1, 2, scaled]}
    assert check_changes.growth("main", changed) == {"vbdesk": 3, "vbdesk/voice": -4}


def test_no_blank_line_comment_or_docstring_is_a_line_of_code():
    text = '"""Text\nof two lines."""\n\nX = """\na text\n"""  # three lines\n\n\n'
    function = 'def f():\n    """Doc."""\n    # no\n    return X\n'
    assert code_size.lines_of_code(text + function) == 5


@pytest.mark.parametrize(
    ("file", "package"),
    [
        ("src/vbdesk/desk/shell/app.py", "vbdesk/desk"),
        ("src/vbdesk/clock.py", "vbdesk"),
        ("packaging/installers/make.py", "packaging"),
        ("tests/voice/test_level.py", "tests"),
        ("resources/signs/signs.toml", None),
    ],
)
def test_each_file_counts_for_a_package(file, package):
    assert code_size.package_of(file) == package


SUITE = """
import pytest
from pathlib import Path

@pytest.fixture(autouse=True)
def written(request):
    with Path({log!r}).open("a") as file:
        print(request.node.name, file=file)

def test_first():
    pass

@pytest.mark.parametrize("number", [1, 2])
def test_second(number):
    pass

def test_third():
    pass

def test_not_chosen():
    pass
"""


@pytest.mark.parametrize("seconds", [600, -1])
def test_a_plan_runs_in_its_order_while_there_is_time_and_other_files_in_any_case(tmp_path, monkeypatch, seconds):
    log = tmp_path / "log"
    for name in ("test_planned", "test_always"):
        (tmp_path / f"{name}.py").write_text(SUITE.format(log=str(log)))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    plan = tmp_path / "plan.json"
    order = [f"test_planned.py::{name}" for name in ("test_third", "test_second", "test_first")]
    plan.write_text(json.dumps({"order": order, "seconds": seconds}))
    run = run_tests.Run()
    group = run_tests.TestGroup("pytest", ["test_planned.py", "test_always.py"], 1, plan)
    group.start()
    while group.runs:
        run._take_events([group])
    run._take_events([group])
    assert group.problem() is None
    group.close()
    ran = log.read_text().split()
    always = ["test_first", "test_not_chosen", "test_second[1]", "test_second[2]", "test_third"]
    assert sorted(ran[-5:]) == always
    if seconds > 0:
        assert [name.split("[")[0] for name in ran[:-5]] == ["test_third", "test_second", "test_first", "test_second"]
        assert run.tests.outcomes == {"passed": 9}
    else:
        assert len(ran) == 5
        assert run.tests.outcomes == {"passed": 5, "skipped": 4}
        assert list(run.tests.skips) == ["not tried: the -1 s for the chosen tests were over"]


def test_no_package_is_larger_than_its_budget():
    record = (code_size.ROOT / "docs" / "decisions" / "0064-size.md").read_text(encoding="utf-8")
    budgets = {
        package: int(most.replace(",", "")) for package, most in re.findall(r"^\| (\S+) \| ([\d,]+) ", record, re.M)
    }
    sizes = code_size.sizes(code_size.ROOT)
    assert set(budgets) == set(sizes)
    assert {package: lines for package, lines in sizes.items() if lines > budgets[package]} == {}

"""What documents for contributors say about files and commands is true."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
import typer
import yaml

sys.path.append(str(Path(__file__).parents[1] / "packaging"))

from choose_tests import choose_tests

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "vbdesk"
DOCUMENTS = ("CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md")
NAMED_FILE = re.compile(r"`([\w./*-]+\.(?:py|md|toml|bib|yml|json))`")
WITHOUT_FOLDER = {"routes.py", "service.py", "repository.py", "view_model.py", "page.py", "bibliography.bib"}


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_named_file_exists(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    names = set(NAMED_FILE.findall(text)) - WITHOUT_FOLDER
    linked = {name for name in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in name}
    missing = {name for name in names if not any(list(folder.glob(name)) for folder in (ROOT, SOURCES))}
    missing |= {name for name in linked if not (ROOT / document).parent.joinpath(name).exists()}
    assert missing == set()


def test_the_walks_name_enough_files():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert len(set(NAMED_FILE.findall(text))) > 40


def test_the_picture_of_the_architecture_is_current():
    script = load_script("architecture_picture")
    assert script.PICTURE.read_text(encoding="utf-8") == script.draw(), "run packaging/architecture_picture.py"
    assert [box.package for box in script.BOXES.values() if not (SOURCES / box.package).is_dir()] == []


def test_the_workflow_runs_what_continuous_integration_runs():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "checks.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["linux"]["steps"]
    assert steps[-1]["run"] == ".ci/run"
    assert "bootstrap.py test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_hooks_run_the_programs_of_the_environment():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    programs = {hook["entry"].split()[0] for hook in hooks}
    assert programs == {".venv/bin/ruff", ".venv/bin/mypy", ".venv/bin/lint-imports"}


@pytest.mark.parametrize(
    "template", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md")), ids=lambda path: path.stem
)
def test_issue_templates_have_a_name_and_a_purpose(template):
    _, head, _ = template.read_text(encoding="utf-8").split("---\n", 2)
    assert {"name", "about"} <= yaml.safe_load(head).keys()


@pytest.mark.parametrize(
    ("changed", "chosen", "left_out"),
    [
        ("src/vbdesk/report/exports.py", "tests/report/", "tests/voice/"),
        ("tests/report/conftest.py", "tests/report/", "tests/signs/"),
        ("resources/signs/signs.toml", "tests/signs/", "tests/report/"),
        ("docs/install.md", "tests/test_documents.py", "tests/e2e/"),
    ],
)
def test_the_tests_of_a_change_are_chosen(changed, chosen, left_out):
    tests = choose_tests({changed: []})[:100]
    assert [test for test in tests if test.startswith(chosen)]
    assert [test for test in tests if test.startswith(left_out)] == []


def test_the_table_of_commands_is_complete():
    from vbdesk.cli.main import app
    from vbdesk.contract.catalog import ModelName

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    named = {command for row in rows for command in re.findall(r"`([a-z]+)`", row)}
    assert named >= set(typer.main.get_command(app).commands)
    assert f"`vbdesk analyze FILE --model pulse`; models: {', '.join(f'`{model}`' for model in ModelName)} |" in text


def test_each_decision_record_has_a_number_of_its_own():
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(path.name[:4]) for path in records]
    assert len(set(numbers)) == len(numbers) > 50
    for number, path in zip(numbers, records, strict=True):
        assert path.read_text(encoding="utf-8").startswith(f"# {number}. "), path.name


WITH_COMMANDS = [
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "decisions" not in path.parts
]
STANDS_FOR_ANY = {"COMMAND", "..."}


def commands_in(text):
    """Words of every `vbdesk` command in inline code and indented lines; `a\\|b` gives the first alternative."""
    inline = re.findall(r"`([^`]+)`", text.replace("\n", " "))
    lines = [
        re.split("  +", line.strip())[0] for line in text.replace("\\\n", " ").splitlines() if line.startswith("    ")
    ]
    for fragment in (*inline, *lines):
        if (command := re.match(r"(?:\.venv/bin/)?vbdesk +(?=[a-z-])([^|;<>\\]+)", fragment)) is not None:
            yield re.findall(r'"[^"]*"|\S+', command[1])


def unknown_in(words):
    """The first word that is neither a command nor an option where it is; None if all are known."""
    from vbdesk.cli.main import app

    command, options, rest = typer.main.get_command(app), {"--help": None}, iter(words)
    while True:
        options |= {name: each for each in command.params for name in (*each.opts, *each.secondary_opts)}
        for word in rest:
            name, has_value, _value = word.partition("=")
            if word.startswith("--") and name not in options:
                return word
            if word.startswith("--") and options[name] is not None and not (options[name].is_flag or has_value):
                next(rest, None)
            elif not word.startswith("-") and hasattr(command, "commands"):
                if word not in command.commands:
                    return None if word in STANDS_FOR_ANY else word
                command = command.commands[word]
                break
        else:
            return None


@pytest.mark.parametrize("document", WITH_COMMANDS)
def test_every_command_in_a_document_exists_with_its_options(document):
    found = list(commands_in((ROOT / document).read_text(encoding="utf-8")))
    unknown = {" ".join(words): word for words in found if (word := unknown_in(words)) is not None}
    assert unknown == {}


def test_commands_that_do_not_exist_would_be_found():
    text = "Run `vbdesk bundle read FILE`.\n\n    vbdesk shine --dark\n    vbdesk demo --no-window  # quick\n"
    assert [unknown_in(words) for words in commands_in(text)] == ["read", "shine", None]
    assert unknown_in(["--language", "de", "bundle", "import", "FILE", "--nowhere"]) == "--nowhere"
    assert (
        sum(1 for document in WITH_COMMANDS for _ in commands_in((ROOT / document).read_text(encoding="utf-8"))) > 120
    )

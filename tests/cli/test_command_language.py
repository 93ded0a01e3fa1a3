"""The language of the commands: help, refused command lines, texts of the code; what machines read stays English."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from vbdesk.cli import main, output
from vbdesk.cli.command_language import choose_language, help_texts, language_named, translate_commands
from vbdesk.cli.main import app
from vbdesk.language import Language, LanguageMissing, current, is_named, reading_in, translated, use

PSEUDO = Language("en_XA", "en_GB")
SOURCES = Path(main.__file__).parents[1]


@pytest.fixture
def language_kept(monkeypatch):
    """The language of the process is the same after the test."""
    before = current()
    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    yield
    use(before)


def vbdesk(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The real program, as an operator starts it."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    return subprocess.run(
        [sys.executable, "-m", "vbdesk", *arguments], capture_output=True, env=inherited | environment, check=False
    )


def tree(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from tree(below, (*path, name))


def outside_brackets(text: str) -> str:
    """What is not in the brackets of the pseudo-language."""
    while (shorter := re.sub(r"\[[^\[\]]*\]", "", text)) != text:
        text = shorter
    return text


def test_the_help_of_every_command_is_translated() -> None:
    with reading_in(PSEUDO):
        translated = get_command(app)
        translate_commands(translated)
        shown = list(help_texts(translated))
    assert len(shown) > 300
    assert [text for text in shown if outside_brackets(text).strip()] == []


@pytest.mark.parametrize("tag", ["en", "de", "fr", "es", "pt-BR", "ar"])
def test_lists_of_commands_show_whole_sentences_in_a_narrow_terminal(tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    runner = CliRunner()
    with reading_in(language_named(tag)):
        command = get_command(app)
        translate_commands(command)
        for path, each in tree(command):
            if not hasattr(each, "commands"):
                continue
            with runner.isolation() as (out, *_rest):
                command.main([*path, "--help"], prog_name="vbdesk", standalone_mode=False)
                page = "".join(out.getvalue().decode().split())
            for name, below in each.commands.items():
                first_paragraph = below.help.partition("\n\n")[0]
                assert name + "".join(first_paragraph.split()) in page, (path, name)


def test_every_page_of_help_is_printed_in_the_language_and_keeps_the_names_of_options() -> None:
    english = {path: {o for p in command.params for o in p.opts} for path, command in tree(get_command(app))}
    assert len(english) > 60
    runner = CliRunner()
    with reading_in(PSEUDO):
        command = get_command(app)
        translate_commands(command)
        for path, options in english.items():
            with runner.isolation() as (out, *_rest):
                command.main([*path, "--help"], prog_name="vbdesk", standalone_mode=False)
                page = out.getvalue().decode()
            assert page.startswith("[Ûságé: "), path
            usage = page.partition("\n\n")[0].split("vbdesk", 1)[1]
            assert set(outside_brackets(usage).split()) <= {*path, "{}", "{}...", "..."}, usage
            assert "[Shöw thïs mésságé áñd éxït." in " ".join(page.split()), path
            assert all(option in page for option in options if option.startswith("--")), path


def test_the_language_comes_from_the_option_else_from_the_system(language_kept, monkeypatch) -> None:
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    choose_language(["doctor", "--language", "en-XA"])
    assert current() == Language("en", "en_US"), "an option after the command is that command's own"
    monkeypatch.setenv("LANG", "en_XA.UTF-8")
    choose_language(["doctor"])
    assert current() == PSEUDO
    assert not is_named()
    choose_language(["--language", "en", "doctor"])
    assert current().name == "en"
    assert is_named(), "a choice kept by the desk does not count then"
    choose_language(["--language=en-XA", "doctor"])
    assert current() == PSEUDO
    with pytest.raises(LanguageMissing, match="no texts in the language xx"):
        choose_language(["--language", "xx"])


def test_a_language_without_texts_is_refused() -> None:
    done = vbdesk("--language", "xx", "doctor")
    assert (done.returncode, done.stdout) == (2, b"")
    assert "There are no texts in the language xx. Choose one of: " in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("nonsense", "[Théré ïs ñö çömmáñd nonsense."),
        ("sing", "[Théré ïs ñö çömmáñd sing. Dïd ýöû méáñ 'signs'?"),
        ("submit --nope", "[Théré ïs ñö öptïöñ --nope."),
        ("report --papr a4", "[Théré ïs ñö öptïöñ --papr. Dïd ýöû méáñ --paper?"),
        ("admin account list", "[--data-dir ïs mïssïñg."),
        ("signs show", "[[ÑÁMÉ on] ïs mïssïñg."),
        ("report --look", "[--look ñééds á válûé."),
        ("report --force=x", "[--force tákés ñö válûé."),
        ("doctor extra more", "[Töö máñý árgûméñts: extra more"),
        ("features measure --jobs 0 .", "[--jobs mûst bé át léást 1."),
        ("features measure --jobs x .", "[--jobs mûst bé á whölé ñûmbér."),
        ("sync --disk-timeout -1", "[--disk-timeout mûst bé át léást 0."),
        ("admin account create --plan x", "[--plan mûst bé öñé öf: standard, enterprise."),
    ],
)
def test_a_refused_command_line_is_explained(monkeypatch, capsys, arguments, told) -> None:
    monkeypatch.setattr(sys, "argv", ["vbdesk", *arguments.split()])
    with reading_in(PSEUDO):
        assert main._status() == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    *usage, last = shown.err.strip().splitlines()
    assert last.startswith(told)
    assert not usage or usage[0].startswith("[Ûságé: ")  # typer's parser knows no command
    assert "OPTIONS" not in shown.err


def test_kinds_of_values_and_headings_are_translated() -> None:
    with reading_in(PSEUDO):
        command = get_command(app)
        translate_commands(command)
        with CliRunner().isolation() as (out, *_rest):
            command.main(["signs", "fit", "--help"], prog_name="vbdesk", standalone_mode=False)
            page = out.getvalue().decode()
    for words in ("[Árgûméñts:", "[Öptïöñs:", "--out <[páth", "--jobs <[ñûmbér", "--sign <[téxt"):
        assert words in page
    assert not re.search(r"<(path|str|int|float|list)", page)


def test_what_machines_read_is_the_same_in_every_language(tmp_path) -> None:
    """JSON, CSV and key=value, byte by byte, by commands of several kinds."""
    history = tmp_path / "history.json"
    history.write_text(json.dumps({"as_of": "2026-11-21T10:00:00Z", "jobs": []}))
    for arguments in (
        ("signs", "show", "stress", "--json"),
        ("features", "list", "--json"),
        ("longitudinal", str(history)),
        ("admin", "account", "create", "--data-dir", str(tmp_path), "--name", "A", "--json"),
    ):
        answers = []
        for language in (Language("en", "en_GB"), PSEUDO):
            with reading_in(language):
                answers.append(CliRunner().invoke(app, list(arguments)))
        english, pseudo = answers
        assert english.exit_code == pseudo.exit_code == 0, arguments
        if arguments[0] == "admin":
            assert json.loads(english.stdout).keys() == json.loads(pseudo.stdout).keys()
        else:
            assert english.stdout_bytes == pseudo.stdout_bytes, arguments


def test_texts_of_a_command_are_translated_and_its_status_stays(tmp_path) -> None:
    with reading_in(PSEUDO):
        shown = CliRunner().invoke(app, ["signs", "show", "stress"])
        refused = CliRunner().invoke(app, ["report", str(tmp_path / "none.json"), "--paper", "a3"])
    assert shown.exit_code == 0
    assert "[Évïdéñçé grádé" in shown.stdout
    assert "[Whát çáñ söûñd thé sámé:" in shown.stdout
    assert refused.exit_code == 2
    assert refused.stderr.startswith("[Théré ïs ñö pápér 'a3'.")


def test_a_language_without_texts_is_refused_in_the_language_of_the_system(language_kept, monkeypatch) -> None:
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    with pytest.raises(LanguageMissing) as refused:
        choose_language(["--language", "xx", "norms"])
    assert translated(refused.value).startswith("In der Sprache xx gibt es keine Texte.")


@pytest.mark.parametrize("arguments", [("--language", ""), ("--language=",), ("--language", " ")])
def test_an_empty_language_is_refused_as_a_missing_value(language_kept, arguments) -> None:
    with pytest.raises(LanguageMissing, match=r"^--language needs a value\.$"):
        choose_language([*arguments, "norms"])


def test_a_service_that_cannot_start_says_why_in_the_language(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with reading_in(Language("de", "de_DE")):
        folder = CliRunner().invoke(app, ["serve", "--data-dir", str(tmp_path / "file")])
        workers = CliRunner().invoke(app, ["serve", "--data-dir", str(tmp_path), "--workers", "-3"])
    assert (folder.exit_code, workers.exit_code) == (1, 1)
    assert folder.stderr.startswith(f"Der Ordner {tmp_path / 'file'} ist nicht verwendbar: ")
    assert workers.stderr == "workers muss mindestens 0 sein.\n"


def test_a_terminal_without_the_letters_gets_question_marks() -> None:
    done = vbdesk("report", "ملف.json", PYTHONIOENCODING="cp1252")
    assert done.returncode == 1
    assert b"?????.json" in done.stderr or b"???.json" in done.stderr
    for environment in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        done = vbdesk("--language", "en-XA", "signs", "list", **environment)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(("answer", "goes_on"), [("y", True), ("Yes", True), ("o", True), ("oui", True), ("n", False)])
def test_a_question_understands_its_language_and_english(monkeypatch, answer, goes_on) -> None:
    words = {"y/n": "o/n", "yes": "oui"}
    monkeypatch.setattr(output, "_", lambda text, **fields: words.get(text, text))
    monkeypatch.setattr("typer.prompt", lambda question, **rest: answer)
    if goes_on:
        output.confirm("Delete it?")
    else:
        with pytest.raises(output.typer.Abort):
            output.confirm("Delete it?")


def test_isolates_are_printed_only_where_lines_begin_at_the_right() -> None:
    marked = "\u2068ward-4\u2069"
    assert output.printable(marked) == "\\u2068ward-4\\u2069"
    with reading_in(Language("ar", "ar_EG")):
        assert output.printable(marked) == marked
        assert output.printable("\u202eevil\x1b") == "\\u202eevil\\x1b", "what turns letters around stays visible"


def test_columns_stand_below_each_other_with_marks_of_direction() -> None:
    assert output.columns(("\u2068D\u2069 x", "1"), ("abc", "2")) == ["\u2068D\u2069 x  1", "abc  2"]


# No hard-coded text: an analysis of the code.

MARKS = {"_", "N_", "ngettext", "pgettext", "npgettext", "message", "plural_message"}
SHOWS = {"say", "fail", "echo", "print", "wrapped", "table", "columns", "prompt", "confirm", "status", "add_task"}
HELP = {"help", "epilog", "metavar", "short_help"}
"""Read from the finished tree of commands, and translated there."""
PHRASE = re.compile(r"^[^<=]*[A-Za-z]{2,}[,:;.]? +[A-Za-z(]|^[ :;,]+[a-z]{3,}[^=]*$")
WORD = re.compile("[A-Za-z]{3,}")
FOR_MACHINES = {
    "cli/connection.py": {"Ends with 0"},  # an epilog, through a constant
    "cli/demo.py": {"Demonstration"},  # the name of an account
    "cli/export.py": {", sent to "},  # a detail of the audit log
    "lab/commands/feature_table.py": None,  # the dictionary of a CSV file
    "lab/commands/norms.py": {"vbdesk norms variability"},  # noted in a data file
    "cli/report.py": {"light, print", "Language of the texts"},  # help, through constants
    "lab/commands/fit.py": {"likeness to", "anything else", "Value error, "},  # written into a sign's file
    "cli/command_language.py": {"MissingParameter", "NoSuchOption", "BadParameter"},
    "cli/main.py": {"NoArgsIsHelpError"},
    "report/documents/compiler.py": {"Noto", "DejaVu", "the text"},  # fonts, and what Typst reports
    "report/drawing/style.py": {"a level has no colours"},  # about shipped files
    "report/drawing/svg.py": None,  # SVG
    "report/result_texts.py": {"result_words.toml"},  # about a shipped file
    "report/sign_off.py": {"The time of a sign-off needs a time zone."},  # a mistake of a programmer
    "report/data_package.py": None,  # data formats
    "report/data_dictionary.py": None,
    "report/fhir/codes.py": None,
    "report/fhir/bundle.py": None,
    "report/fhir/observations.py": None,
    "report/fhir/provenance.py": None,
    "report/bids/dataset.py": None,
    "report/tables.py": None,
    "report/tidy_csv.py": None,
    "report/parquet.py": None,
}


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def unmarked(path: Path) -> Iterator[str]:
    """Texts for people that no mark holds: neither in a call that shows text, nor in a value that such a call gets."""
    parsed = ast.parse(path.read_text(encoding="utf-8"))
    skipped: set[ast.AST] = set()
    for node in ast.walk(parsed):
        if isinstance(node, ast.Call) and name_of(node.func) in {*MARKS, "compile"}:  # an expression is no text
            skipped.update(ast.walk(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        elif isinstance(node, ast.keyword) and node.arg in HELP:
            skipped.update(ast.walk(node))
        elif isinstance(node, ast.Raise) and "TypeError" in ast.unparse(node):
            skipped.update(ast.walk(node))  # a mistake of a programmer
        elif isinstance(node, ast.AnnAssign):
            skipped.update(ast.walk(node.annotation))
        elif isinstance(node, ast.FunctionDef):
            notes = [argument.annotation for argument in (*node.args.args, *node.args.kwonlyargs)]
            for note in [node.returns, *notes]:
                if isinstance(note, ast.Constant) or (note is not None and "Annotated" not in ast.unparse(note)):
                    skipped.update(ast.walk(note))
    shown = {
        part
        for node in ast.walk(parsed)
        if isinstance(node, ast.Call) and name_of(node.func) in SHOWS
        for argument in node.args
        for part in (argument, *getattr(argument, "values", ()))
    }
    for node in ast.walk(parsed):
        text = node.value if isinstance(node, ast.Constant) and node not in skipped else None
        if isinstance(text, str) and (WORD if node in shown else PHRASE).search(text):
            yield text


@pytest.mark.parametrize("folder", ["cli", "lab/commands", "report"])
def test_no_text_for_people_is_hard_coded(folder) -> None:
    found = {}
    for path in sorted((SOURCES / folder).rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        allowed = FOR_MACHINES.get(name, set())
        if allowed is not None:
            texts = [text for text in unmarked(path) if not any(text.startswith(known) for known in allowed)]
            found |= {name: texts} if texts else {}
    assert found == {}


def test_the_analysis_of_the_code_finds_a_hard_coded_text(tmp_path) -> None:
    code = tmp_path / "a.py"
    code.write_text(
        'def f(x):\n    say(f"There are {x} recordings.")\n    fail(_("Told."))\n    hint = "Try again later."\n'
    )
    assert set(unmarked(code)) == {"There are ", " recordings.", "Try again later."}

"""Every setting is in the code and on the operators' page, with its flag if it has one."""

import re
from pathlib import Path
from unittest.mock import Mock

import pytest
import typer

from vbdesk.cli.serve import serve
from vbdesk.cli.worker import worker
from vbdesk.service.kernel.settings import Settings, SettingsInvalid, load_settings

PAGE = (Path(__file__).parents[3] / "docs" / "operating.md").read_text(encoding="utf-8")
CHAPTER = PAGE.split("\n## Settings\n")[1].split("\n## ")[0]
COMMANDS = {"serve": serve, "worker": worker}
OF_THE_COMMAND = {"ready_file", "parent_pid", "stop_with_stdin", "key_stdin"}
"""Options of one process, not settings of the service."""
OTHER_NAMES = {"norms": "norms_file", "drain_seconds": "drain_s"}
SAMPLES = {"host": "127.0.0.1", "norms": "norms.toml", "signs_dir": "signs", "drain_seconds": "7", "data_dir": "data"}


def flags_of(command):
    app = typer.Typer(add_completion=False)
    app.command()(COMMANDS[command])
    options = {option.name: option.opts[0] for option in typer.main.get_command(app).params}
    return {name: flag for name, flag in options.items() if name not in OF_THE_COMMAND | {"help"}}


def rows(header):
    table = CHAPTER.split(header)[1].split("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]


def documented_flags(command):
    """Return the setting of each flag on the page."""
    text = dict(rows("| command | flags |\n")).get(f"`{command}`", "")
    found = re.findall(r"`(--[\w-]+)`(?: \(`(\w+)`\))?", text)
    return {flag: setting or flag.removeprefix("--").replace("-", "_") for flag, setting in found}


def test_every_setting_is_once_on_the_page():
    first = [name for row in rows("| setting | if not set | meaning |\n") for name in re.findall(r"`(\w+)`", row[0])]
    assert len(set(first)) == len(first)
    assert set(first) == set(Settings.model_fields) - {"data_dir"}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_names_the_existing_flags(command):
    there = {flag: OTHER_NAMES.get(name, name) for name, flag in flags_of(command).items()}
    assert documented_flags(command) == there
    assert set(there.values()) <= set(Settings.model_fields)


def test_the_page_says_that_other_settings_have_no_flag():
    assert "Every other setting has no flag" in CHAPTER


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_reaches_its_setting(command, monkeypatch, tmp_path):
    given = Mock(side_effect=SettingsInvalid("enough"))
    monkeypatch.setattr("vbdesk.service.kernel.settings.load_settings", given)
    for name in flags_of(command):
        value = SAMPLES.get(name, 7)
        with pytest.raises(typer.Exit):
            COMMANDS[command](**{"data_dir": tmp_path, name: value})
        setting = OTHER_NAMES.get(name, name)
        arguments = {"data_dir": given.call_args.args[0], **given.call_args.kwargs}
        assert arguments[setting] == value, name


def test_every_setting_is_explained_in_the_code():
    explained = set(re.findall(r"^        (\w+): ", Settings.__doc__ or "", flags=re.M))
    assert explained == set(Settings.model_fields)


def test_every_setting_can_be_given_in_the_environment(tmp_path, monkeypatch):
    for name in set(Settings.model_fields) - {"data_dir"}:
        monkeypatch.setenv(f"VBDESK_{name.upper()}", "\N{SNOWMAN}")
        try:
            settings = load_settings(tmp_path)
        except SettingsInvalid as refused:
            assert name in str(refused).lower(), name
        else:
            assert "\N{SNOWMAN}" in str(getattr(settings, name)), name
        monkeypatch.delenv(f"VBDESK_{name.upper()}")

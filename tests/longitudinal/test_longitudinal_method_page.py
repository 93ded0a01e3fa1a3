"""docs/method-longitudinal.md matches the shipped parameters and tables."""

import re
from pathlib import Path

import pytest

from vbdesk.lab.commands.simulate import BEGIN, END, VARIANCES_BEGIN, VARIANCES_END
from vbdesk.lab.history_file import read_history_file
from vbdesk.lab.simulation.longitudinal.report import published_results
from vbdesk.lab.simulation.longitudinal.run import all_settings
from vbdesk.longitudinal.parameters import METHODS, shipped_parameters

PAGE = (Path(__file__).parents[2] / "docs" / "method-longitudinal.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([\w.]+)` \| (.+?) \| (.+?) \| .+ \|$", re.MULTILINE)
CLASSES = ("fast", "slow")


def told(value):
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return ", ".join(f"{part:g}" for part in value) if isinstance(value, tuple) else f"{value:g}"


def shipped(method):
    """Every parameter of a version as the page shows it."""
    parameters = shipped_parameters(method)
    sections = parameters.model_dump(exclude={"method", "version", "fit", "account_fit", "signs", "classes"})
    numbers = {f"{section}.{name}": told(value) for section, rule in sections.items() for name, value in rule.items()}
    classes = {name: parameters.classes[name].model_dump(exclude={"time_scale"}) for name in CLASSES}
    return numbers | {
        f"classes.{name}": "; ".join(f"{scale} {told(classes[scale][name])}" for scale in CLASSES)
        for name in classes["fast"]
    }


def test_the_page_lists_every_parameter():
    table = PAGE.split("## Every number and why")[1].split("##")[0]
    first, second = (shipped(method) for method in METHODS)
    assert {name: (one, two) for name, one, two in ROW.findall(table)} == {
        name: (first[name], second[name]) for name in first
    }
    for method in METHODS:
        assert f"`{method}`" in PAGE


def test_the_page_shows_false_alarms_and_power_of_both_versions():
    tables = PAGE.split(VARIANCES_BEGIN)[1].split(VARIANCES_END)[0]
    for method in METHODS:
        assert f"| weekly | {shipped_parameters(method).version} |" in tables


def test_the_page_shows_the_simulation_with_every_bar_held():
    tables = PAGE.split(BEGIN)[1].split(END)[0]
    rows = sum(len(bar.classes) * len(bar.schedules) for bar in published_results().bars)
    assert f"Of {rows} bars {rows} hold." in tables
    for setting in all_settings(CLASSES):
        assert re.search(rf"^\| {setting.sign_class} \| {setting.schedule} \| ", tables, re.MULTILINE)


@pytest.mark.parametrize(
    "name",
    [
        "longitudinal HISTORY.json",
        "simulate longitudinal",
        "simulate variances",
        "norms variability",
        "--features-out",
        "--each-job",
        "--method tss-2",
    ],
)
def test_the_page_names_the_commands(name):
    assert name in PAGE


def test_the_pages_example_is_a_history():
    example = PAGE.split("    {", 1)[1].split("## The idea")[0]
    case = read_history_file("{" + example)
    assert [entry.job_id for entry in case.history] == ["a7"]
    assert case.history[0].signs["stress"].interval == (0.36, 0.48)

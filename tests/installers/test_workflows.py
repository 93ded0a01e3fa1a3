"""The workflows: files and commands that they name exist, actions are pinned by version, rights are few."""

import itertools
import re
import shlex
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_have_versions_and_the_token_only_reads(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@(v\d+|release/v\d+)", action) for action in used), used
    needed = {name for job in workflow["jobs"].values() for name in [job.get("needs", [])] if isinstance(name, str)}
    assert needed <= workflow["jobs"].keys()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_that_are_run_exist_with_these_jobs(path):
    for step in steps(read(path)):
        for line in step.get("run", "").splitlines():
            words = shlex.split(line, comments=True) if "packaging/" in line and "'" not in line else []
            for script, job in itertools.pairwise(words):
                if script.startswith("packaging/") and script.endswith(".py"):
                    text = (ROOT / script).read_text(encoding="utf-8")
                    assert job.startswith("$") or f'"{job}"' in text, line


def test_every_system_is_tested_and_installed_on():
    jobs = read(ROOT / ".github" / "workflows" / "test.yml")["jobs"]
    matrix = jobs["suite"]["strategy"]["matrix"]
    assert matrix == {"os": ["ubuntu-latest", "windows-latest", "macos-14"], "python": ["3.11", "3.13"]}
    commands = "\n".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    assert commands.count("desk --smoke") == 3
    assert commands.count("demo --no-window") == 3


def test_only_the_attestation_and_the_publication_may_sign():
    jobs = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    allowed = {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})}
    assert allowed == {"attest", "publish"}

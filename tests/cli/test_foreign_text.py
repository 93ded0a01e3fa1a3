"""No command prints control characters from a service, a bundle, a file name or a library."""

import sys
import unicodedata
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import vbdesk.cli.audit
import vbdesk.cli.bundle
import vbdesk.cli.groups
import vbdesk.cli.jobs
import vbdesk.cli.submit
import vbdesk.outbox.bundles.bundle_export as outbox_bundle
import vbdesk.outbox.bundles.bundle_file
import vbdesk.outbox.bundles.bundle_import
import vbdesk.outbox.bundles.bundle_keys
from vbdesk.cli.doctor import _show
from vbdesk.cli.main import app
from vbdesk.cli.output import fail, print_json, printable, say, table
from vbdesk.cli.sync import _Watch
from vbdesk.contract.groups import Group, GroupDeleted, GroupJobItem, JobsAdded
from vbdesk.contract.jobs import Job, JobStatus, JobType
from vbdesk.outbox.bundles.bundle_errors import BundleError
from vbdesk.outbox.bundles.bundle_import import ImportedBundle
from vbdesk.outbox.library.states import OutboxState

EVERY = "".join(map(chr, range(sys.maxunicode + 1)))  # surrogates too
ALL = (
    "".join(sign for sign in EVERY if unicodedata.category(sign) not in ("Co", "Cn") and not sign.isprintable()) + "abc"
)
MOMENT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
STEERING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def steering(printed):
    """Characters of the output that could control a terminal, except line feeds."""
    return {sign for sign in set(printed) if unicodedata.category(sign) in STEERING} - {"\n"}


@pytest.fixture
def run():
    def run(*words):
        result = CliRunner().invoke(app, list(map(str, words)))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        printed = result.stdout + result.stderr
        assert steering(printed) == set()
        return printed

    return run


@pytest.fixture
def account(monkeypatch):
    """An account whose every text holds all of Unicode."""
    job = Job.model_construct(
        job_id=ALL, status=JobStatus.QUEUED, created_at=MOMENT, completed_at=None, job_type=JobType.MODEL,
        model_name=ALL, sign_name=None, use_case=None, condition=None, audio_duration_seconds=20.0,
        audio_content_type=ALL, result=None,
    )  # fmt: skip
    group = Group.model_construct(
        group_id=ALL, job_count=1, done_job_count=1, earliest_recorded_at=MOMENT, latest_recorded_at=MOMENT,
        created_at=MOMENT, updated_at=MOMENT,
    )  # fmt: skip
    item = GroupJobItem.model_construct(
        job_id=ALL, status=JobStatus.QUEUED, recorded_at=MOMENT, created_at=MOMENT, use_case=None, condition=None,
        audio_duration_seconds=20.0, model_name=ALL, sign_name=None,
    )  # fmt: skip
    client = SimpleNamespace(
        jobs=SimpleNamespace(all=lambda: [job], get=lambda job_id: job, wait_each=lambda *_, **__: iter([job])),
        groups=SimpleNamespace(
            all=lambda: [group],
            all_jobs=lambda *_, **__: [item],
            delete=lambda group_id: GroupDeleted.model_construct(group_id=ALL),
            add_jobs=lambda *_: JobsAdded.model_construct(added=[ALL], skipped={}, not_found=[ALL], not_yet_done=[]),
        ),
    )

    @contextmanager
    def open_client(*_, **__):
        yield SimpleNamespace(
            client=client, service="https://voice.example", account_id="acc-1", profile=None, vault=None
        )

    for module in (vbdesk.cli.jobs, vbdesk.cli.groups, vbdesk.cli.submit):
        monkeypatch.setattr(module, "open_client", open_client)


@pytest.mark.parametrize(
    "words",
    [
        "jobs list",
        "jobs show x",
        "jobs wait x",
        "groups list",
        "groups jobs g",
        "groups delete g --yes",
        "groups add g j",
    ],
)
def test_answers_of_a_service(run, account, words):
    assert "\\x1b" in run(*words.split())


@pytest.mark.parametrize("words", ["jobs list", "groups list", "groups jobs g"])
def test_answers_of_a_service_as_json(run, account, words):
    assert "\\u001b" in run(*words.split(), "--json")


NAMES = ["\x1b]0;gone\x07.txt", "a\u202ecod.txt", "a\u2028b.txt", "a\nb.txt", "\x9b2J.txt", "\udcff.txt"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_of_files_that_are_submitted(run, account, tmp_path, name):
    (tmp_path / name).write_bytes(b"no sound")
    words = ["--group", "g", "--model", "pulse", "--journal", tmp_path / "journal"]
    printed = run("submit", tmp_path / name, *words)
    assert printable(name) in printed
    run("submit", tmp_path / name / "x", *words)


def test_the_audit_log(run, monkeypatch):
    entry = SimpleNamespace(seq=1, at=ALL, part=ALL, account_id=ALL, what=ALL, take_id=ALL, detail=ALL)
    reader = SimpleNamespace(entries=lambda: [entry], verify=lambda: SimpleNamespace(ok=False, sentence=ALL))
    log = SimpleNamespace(reader=reader, findings=lambda: [ALL])
    monkeypatch.setattr(vbdesk.cli.audit, "_log", lambda *_: nullcontext(log))
    assert "\\x1b" in run("audit", "show")
    assert "\\u001b" in run("audit", "show", "--json")


def test_bundles(run, monkeypatch, tmp_path):
    @contextmanager
    def held(*_, **__):
        yield SimpleNamespace(library=None, profile=None, vault=None)

    monkeypatch.setattr(vbdesk.cli.bundle, "locked_library", held)
    made = outbox_bundle.Bundle(ALL, MOMENT, Path(ALL.replace("/", "")), ALL, False, 1, {OutboxState.WAITING: 1})
    monkeypatch.setattr(outbox_bundle, "settle", lambda library: [])
    monkeypatch.setattr(outbox_bundle, "bundles", lambda library: [made])
    assert "\\x1b" in run("bundle", "list")
    assert "\\u001b" in run("bundle", "list", "--json")

    (tmp_path / "b").write_bytes(b"")
    head = SimpleNamespace(needs_passphrase=False)
    monkeypatch.setattr(vbdesk.outbox.bundles.bundle_file, "read_head", lambda file: head)
    monkeypatch.setattr(outbox_bundle, "owner_of", lambda profile: None)
    monkeypatch.setattr(vbdesk.outbox.bundles.bundle_keys, "secret_of", lambda *_: None)
    clash = SimpleNamespace(group_id=ALL, recorded_at=datetime.min.replace(tzinfo=UTC))
    monkeypatch.setattr(
        vbdesk.outbox.bundles.bundle_import, "import_bundle", lambda *_, **__: ImportedBundle(clashing=[clash])
    )
    assert "\\x1b" in run("bundle", "import", tmp_path / "b")

    def refuse(*_, **__):
        raise BundleError(ALL)

    monkeypatch.setattr(vbdesk.outbox.bundles.bundle_import, "import_bundle", refuse)
    assert "\\x1b" in run("bundle", "import", tmp_path / "b")


def test_findings_of_the_doctor(capsys):
    _show(SimpleNamespace(findings=(SimpleNamespace(profile=ALL, health="mend", topic=ALL, sentence=ALL),)))
    printed = capsys.readouterr().out
    assert steering(printed) == set()
    assert "\\x1b" in printed


def test_recordings_that_are_synchronised(capsys):
    item = SimpleNamespace(
        group_id=ALL,
        recorded_at=MOMENT,
        state=OutboxState.DONE,
        reason=ALL,
        take_id="t",
        fix=None,
        fault=None,
        asked=False,
    )
    watch = object.__new__(_Watch)
    watch._library = SimpleNamespace(changes_since=lambda version: SimpleNamespace(version=1, items=[item]))
    watch._version, watch._unsettled, watch._chosen, watch._ended, watch._on_way = 0, set(), {"t"}, {}, {}
    watch._quiet, watch._said = False, None
    watch._tell()
    watch._say(ALL)
    printed = "".join(capsys.readouterr())
    assert steering(printed) == set()
    assert printed.count("\\x1b") == 3


@given(st.text())
def test_a_line_stays_one_line_and_letters_stay_as_they_are(text):
    shown = printable(text)
    assert steering(shown) == set()
    assert "\n" not in shown
    assert len(shown.splitlines()) <= 1
    assert printable(shown) == shown
    assert all(sign in shown for sign in text if unicodedata.category(sign)[0] in "LMNPS")


def test_every_way_of_printing_escapes_all_of_unicode(capsys):
    say(EVERY, err=True)
    say(*table((printable("x"),), [(EVERY,)]))
    print_json({EVERY: EVERY}, indent=1)
    with pytest.raises(typer.Exit):
        fail(EVERY)
    printed = capsys.readouterr()
    assert steering(printed.out + printed.err) == set()

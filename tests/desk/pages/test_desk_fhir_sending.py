"""Sending of subjects to the FHIR server of the profile, from the pages."""

import sys
import threading
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

sys.path.append(str(Path(__file__).parents[2] / "client"))  # fhir_double, by name

from fhir_double import BASE, FhirDouble, outcome

from vbdesk.client.fhir import BasicLogin, FhirServer, StoredLogin, host_in_log
from vbdesk.contract.limits import Plan
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.outbox.library.consent import ConsentKind

PASSWORD = "s3cret-pass-word"


@pytest.fixture
def server():
    return FhirDouble()


@pytest.fixture
def profile(profile):
    """An account whose rate limits end no test."""
    return replace(profile, plan=Plan.ENTERPRISE)


@pytest.fixture
def ports(ports, server, profile):
    """A FHIR server is configured."""
    ports = replace(
        ports,
        fhir_server=lambda login: FhirServer(login.address, login.credentials, transport=server.transport()),
    )
    log_in(ports, profile, BASE)
    return ports


def log_in(ports, profile, address):
    ports.keyring.set(
        profile.fhir_login_name, StoredLogin(address, BasicLogin(user="ward", password=PASSWORD)).secret()
    )


@pytest.fixture
def page(shelf, service, open_listed, qtbot):
    """Two subjects that the service knows, and one that it does not."""
    for group_id in ("a-1", "b-1", "never-sent"):
        shelf.put(group_id)
    page = open_listed(SubjectsPage, 3)
    qtbot.waitUntil(page.sending.action.isVisible)
    return page


def ended(page, qtbot):
    banner = page.sending
    qtbot.waitUntil(lambda: banner.button.text() == "Close" and not banner.isHidden())
    assert PASSWORD not in banner.text()
    return banner.text()


def send(page):
    page.sending.action.trigger()
    page.sending.button.click()


def audited(workspace):
    return [row["detail"] for row in workspace.library.store.rows("SELECT detail FROM audit WHERE what = 'exported'")]


def test_the_question_names_server_and_subjects_and_nothing_is_sent_before_yes(page, server, workspace, qtbot):
    page.sending.action.trigger()
    assert "3 subjects to fhir.example.org?" in page.sending.text()
    page.sending.other_button.click()
    assert not page.sending.isVisible()
    page.sending.action.trigger()
    page.sending._close.click()
    assert page.sending.offered == ()  # nothing is asked any more
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert server.requests == [] and audited(workspace) == []


def test_subjects_arrive_with_their_consents_and_a_second_time_changes_nothing(page, server, workspace, qtbot):
    workspace.library.consents.give("a-1", ConsentKind.BOTH)
    send(page)
    words = ended(page, qtbot)
    assert words.startswith("Subjects at fhir.example.org: 2. Resources created: ")
    assert words.endswith("The service does not know 1 of the subjects yet.")
    kinds = {resource["resourceType"] for resource in server.resources.values()}
    assert kinds >= {"Consent", "DiagnosticReport", "Observation", "Provenance"}
    stored = dict(server.resources)
    qtbot.waitUntil(lambda: not page.sending.busy)
    send(page)
    qtbot.waitUntil(lambda: "created: 0" in page.sending.text())
    assert server.resources == stored
    assert audited(workspace) == ["fhir, sent to fhir.example.org, subjects=2"] * 2


def test_a_redirect_is_not_followed_and_is_explained(page, server, workspace, qtbot):
    server.instead = [httpx.Response(307, headers={"Location": "https://evil.example.org/r4"})]
    send(page)
    words = ended(page, qtbot)
    assert "points to another address" in words and "0 of 2 subjects completely" in words
    assert [str(request.url) for request in server.requests] == [BASE]


def test_an_error_in_the_middle_says_what_the_server_has(page, server, workspace, qtbot):
    answer = server.answer

    def second_fails(request):
        return httpx.Response(503, json=outcome("down")) if len(server.requests) == 1 else answer(request)

    server.answer = second_fails
    send(page)
    assert "1 of 2 subjects completely" in ended(page, qtbot)
    assert audited(workspace) == ["fhir, sent to fhir.example.org, subjects=2"]


def test_another_server_than_the_one_in_the_question_gets_nothing(page, server, ports, profile, workspace, qtbot):
    page.sending.action.trigger()
    log_in(ports, profile, "https://other.example.org/r4")
    page.sending.button.click()
    assert "Another server was configured meanwhile" in ended(page, qtbot)
    assert server.requests == [] and audited(workspace) == []


def test_a_slow_server_can_be_stopped(page, server, workspace, qtbot):
    asked, may_answer, answer = threading.Event(), threading.Event(), server.answer

    def slow(request):
        asked.set()
        may_answer.wait()
        return answer(request)

    server.answer = slow
    send(page)
    qtbot.waitUntil(asked.is_set)
    page.sending.button.click()
    assert page.sending.text().startswith("Stopping.")
    may_answer.set()
    assert ended(page, qtbot).startswith("Stopped.")
    assert len(server.requests) == 1
    assert audited(workspace) == ["fhir, sent to fhir.example.org, subjects=1"]


def test_without_a_configured_server_there_is_no_entry(shelf, service, open_listed, ports, profile, workspace, qtbot):
    ports.keyring.delete(profile.fhir_login_name)
    shelf.put("a-1")
    page = open_listed(SubjectsPage, 1)
    page.sending.read_server()
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    assert not page.sending.action.isVisible()


def test_one_subject_is_sent_from_its_page(shelf, service, workspace, server, qtbot):
    shelf.put("a-1")
    page = SubjectPage(workspace.flow)
    qtbot.addWidget(page)
    page.show()
    page.opened("a-1")
    qtbot.waitUntil(lambda: page.view_model.reading is not None and page.sending.action.isVisible())
    page.sending.action.trigger()
    assert "of a-1 to fhir.example.org?" in page.sending.text()
    page.sending.button.click()
    assert ended(page, qtbot).startswith("Subjects at fhir.example.org: 1.")
    page.closed()


def test_account_shows_the_server_and_never_the_credentials(account, profile, ports, qtbot):
    qtbot.waitUntil(lambda: BASE in account.fhir.text())
    assert account.fhir.text() == f"{BASE}, with a user name and a password."
    ports.keyring.delete(profile.fhir_login_name)
    account.opened(None)
    qtbot.waitUntil(lambda: account.fhir.text().startswith("No server is configured."))
    ports.keyring.set(profile.fhir_login_name, PASSWORD)
    account.opened(None)
    qtbot.waitUntil(lambda: "are damaged" in account.fhir.text())
    assert PASSWORD not in account.fhir.text()


@pytest.mark.parametrize(
    "address", ["https://fhir.example.org/r4", "https://bücher.example/r4", "https://[::1]:8080/x"]
)
def test_every_host_can_be_written_into_the_audit_log(workspace, address):
    from vbdesk.outbox.library.audit import AuditAction

    workspace.library.note(AuditAction.EXPORTED, detail=f"fhir, sent to {host_in_log(address)}, subjects=1000")
    long = f"https://{'a' * 60}.{'b' * 60}.example/r4"
    workspace.library.note(AuditAction.EXPORTED, detail=f"fhir, sent to {host_in_log(long)}, subjects=1000")

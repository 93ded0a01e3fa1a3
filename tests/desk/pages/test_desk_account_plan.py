"""Credits and plan, and the webhook, on the Account page."""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QLabel

from vbdesk.client.trial_delivery import TrialFailed
from vbdesk.contract.limits import Bucket
from vbdesk.desk.account.connection import PricesRead, use_of_plan
from vbdesk.desk.account.plan_card import PlanCard
from vbdesk.desk.account.prices import prices
from vbdesk.desk.account.webhook_card import WebhookCard
from vbdesk.desk.shell.window_status import credits_text
from vbdesk.outbox.library.response_cache import ResponseCache
from vbdesk.outbox.sync.connectivity import SyncStatus

SECRET = "a-secret-of-the-ward"


@pytest.fixture
def trials():
    """Events sent to receivers; each answers 200 or the status given for its address."""
    return {"sent": [], "answers": {}}


@pytest.fixture
def ports(ports, network, trials):
    def send(url, secret_key):
        trials["sent"].append((url, secret_key))
        answer = trials["answers"].get(url, 200)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return replace(ports, send_trial=send)


def words(widget):
    return " ".join(label.text() for label in widget.findChildren(QLabel))


def test_what_the_credits_buy_is_counted_for_every_model(account, qtbot):
    account.test_button.click()
    qtbot.waitUntil(lambda: account.plan.credits.text() == "412")
    rows = account.plan.prices()
    assert rows[0] == "One sign 1 10 41"
    assert "Pulse 6 60 6" in rows
    assert len(rows) == len(prices()) == 9
    assert "another service may ask others" in account.plan.note.text()


@pytest.mark.parametrize(("kind", "base_url"), [("local", None), ("service", "http://127.0.0.1:18180")])
def test_the_service_on_this_computer_is_free_and_tells_no_credits(workspace, profile, qtbot, kind, base_url):
    workspace.profile = replace(profile, kind=kind, base_url=base_url)
    workspace.flow.context = replace(workspace.flow.context, profile=workspace.profile)
    card = PlanCard(workspace.flow)
    qtbot.addWidget(card)
    qtbot.waitUntil(lambda: card.content.of(PricesRead).value is not None)
    qtbot.waitUntil(lambda: not workspace.tasks.busy)
    card.show_balance(412)
    assert "redit" not in words(card)
    assert credits_text(SyncStatus(True, "", None, 412), workspace.profile) == ""


def test_credits_of_an_old_answer_are_not_told_as_the_present_ones(profile):
    assert credits_text(SyncStatus(True, "", None, 412), profile) == "412 credits"
    assert credits_text(SyncStatus(False, "", None, 1), profile) == "Last known: 1 credit"


def test_a_connection_test_renews_the_balance_everywhere(account, workspace, qtbot):
    account.test_button.click()
    qtbot.waitUntil(lambda: workspace.sync.status.credits == 412)


def test_the_use_of_the_plan_is_that_of_the_budget_that_all_share(account, workspace):
    now = workspace.ports.clock.monotonic()
    before = {use.bucket: use.used for use in use_of_plan(workspace.flow.context)}
    for _ in range(3):
        workspace.budget.spend(Bucket.POLLING, now)
    account.plan.refresh()
    used = {use.bucket: (use.used, use.limit) for use in use_of_plan(workspace.flow.context)}
    assert used[Bucket.POLLING] == (before[Bucket.POLLING] + 3, 30)
    assert "3 of 30" in words(account.plan)
    bar = account.plan._rows[Bucket.POLLING][0]
    assert bar.accessibleName() == "Questions for a result: 10%"


def test_the_use_is_looked_at_only_while_it_is_in_sight(account):
    assert account.plan._timer.isActive()
    account.hide()
    assert not account.plan._timer.isActive()


def test_a_webhook_is_set_and_its_address_is_known_the_next_time(account, network, workspace, qtbot):
    card = account.webhook
    card.url.setText("https://receiver.example/hook")
    card.secret.setText(SECRET)
    card.save.click()
    qtbot.waitUntil(lambda: card.answer.text() == "Set. The service reports finished analyses to this address.")
    assert network.webhooks == [{"url": "https://receiver.example/hook", "secret_key": SECRET}]
    again = WebhookCard(workspace.flow)
    qtbot.addWidget(again)
    again.open()
    qtbot.waitUntil(lambda: "https://receiver.example/hook" in again.state.text())
    assert again.url.text() == "https://receiver.example/hook"
    assert again.secret.text() == ""
    kept, _ = ResponseCache(workspace.library.store).read("webhook")
    assert SECRET.encode() not in kept


@pytest.mark.parametrize("url", ["", "receiver.example", "ftp://receiver.example/", "https://" + "a" * 2100])
def test_a_wrong_address_is_said_and_nothing_is_asked(account, network, trials, url):
    account.webhook.url.setText(url)
    account.webhook.secret.setText(SECRET)
    account.webhook.save.click()
    account.webhook.try_out.click()
    assert "https://host/path" in account.webhook.url_field.below_text()
    assert not network.webhooks and not trials["sent"]
    assert account.webhook.save.isEnabled() and account.webhook.try_out.isEnabled()


def test_a_missing_secret_is_said_and_one_can_be_made(account, trials, qtbot):
    card = account.webhook
    card.url.setText("https://receiver.example/hook")
    card.try_out.click()
    assert "Enter the secret" in card.secret_field.below_text()
    card.make.click()
    assert len(card.secret.text()) >= 40
    card.try_out.click()
    qtbot.waitUntil(lambda: "The receiver took the trial (HTTP 200)" in card.answer.text())
    assert trials["sent"] == [("https://receiver.example/hook", card.secret.text())]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (403, "The receiver refused the trial (HTTP 403)"),
        (302, "The receiver refused the trial (HTTP 302)"),
        (TrialFailed("The webhook's receiver cannot be reached."), "The webhook's receiver cannot be reached."),
    ],
)
def test_a_receiver_that_does_not_take_the_trial_is_said(account, trials, qtbot, answer, sentence):
    trials["answers"]["https://receiver.example/hook"] = answer
    account.webhook.url.setText("https://receiver.example/hook")
    account.webhook.secret.setText(SECRET)
    account.webhook.try_out.click()
    qtbot.waitUntil(lambda: sentence in account.webhook.answer.text())
    assert account.webhook.save.isEnabled()


def test_a_secret_does_not_stay_on_a_page_that_was_left(account):
    account.webhook.secret.setText(SECRET)
    account.closed()
    assert account.webhook.secret.text() == ""

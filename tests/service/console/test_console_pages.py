"""What an account holder sees and does in the console."""

import html
import re
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from slow_names import SlowNames

from patience import HANGS_S, until
from vbdesk.contract.limits import Plan
from vbdesk.service.accounts.service import AccountService

PUBLIC = "https://93.184.216.34/hook"


def words(page: httpx.Response) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.text)).split())


def test_the_overview_shows_the_plan_and_what_is_used_of_it(service, make_person):
    account = service.add_account(Plan.STANDARD, credits=1234)
    client = service.client(account)
    for _ in range(3):
        client.get("/v2/models")
    service.clock.advance(59)
    client.get("/v2/jobs/019aa000-0000-7000-8000-000000000000")
    person = make_person()
    person.sign_in(account)
    text = words(person.page)
    assert "Credits 1,234" in text
    assert "Standard plan" in text
    assert "General requests 3 of 10" in text
    assert "Uploads and analyses 0 of 5" in text
    assert "Job polling 1 of 30" in text
    service.clock.advance(1)
    assert "General requests 0 of 10" in words(person.open())


def test_the_console_takes_nothing_of_the_plans_limits(service, make_person):
    account = service.add_account(Plan.STANDARD)
    person = make_person()
    person.sign_in(account)
    for _ in range(12):
        assert person.open("/console").status_code == 200
    assert service.client(account).get("/v2/models").status_code == 200


def test_a_key_is_shown_once_and_opens_the_api(service, person, account):
    person.open("/console/keys")
    created = person.send("/console/keys", name="  Study laptop  ")
    [key] = re.findall(r"vbk_[\w-]+", created.text)
    assert "Study laptop" in created.text
    headers = {"X-Account-ID": account.account_id, "X-API-Key": key}
    assert service.client().get("/v2/account/credits", headers=headers).status_code == 200
    listed = person.open("/console/keys")
    assert "Study laptop" in listed.text
    assert "vbk_" not in listed.text


@pytest.mark.parametrize("name", ["", "   ", "x" * 201, "two\nlines"])
def test_a_key_needs_a_proper_name(person, name):
    person.open("/console/keys")
    answer = person.send("/console/keys", name=name)
    assert answer.status_code == 422
    assert "Give the key a name of 1 to 200 characters." in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert "vbk_" not in answer.text


def test_names_are_shown_as_written(person):
    person.open("/console/keys")
    person.send("/console/keys", name='<script>alert(1)</script> & "co"')
    text = person.open("/console/keys").text
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_last_use_of_a_key_is_shown_to_the_hour(service, person, account):
    row = "test 1 Mar 2026, 09:30 {} Revoke"
    assert row.format("Not used yet") in words(person.open("/console/keys"))
    client = service.client(account)
    for advance_s, shown in ((0, "09:30"), (3500, "09:30"), (1200, "10:48")):
        service.clock.advance(advance_s)
        assert client.get("/v2/models").status_code == 200
        person.sign_in(account)
        until(lambda: row.format(f"1 Mar 2026, {shown}") in words(person.open("/console/keys")), shown)  # noqa: B023


def test_a_key_is_revoked_after_a_question(service, person, account):
    [link] = re.findall(r'href="(/console/keys/[^"]+/revoke)"', person.open("/console/keys").text)
    question = person.open(link)
    assert "Revoke the key “test”?" in question.text
    assert service.client(account).get("/v2/models").status_code == 200
    answer = person.send(link)
    assert "The key is revoked." in answer.text
    assert "There is no key yet." in answer.text
    assert "Revoked keys Name Created on Revoked on test 1 Mar 2026, 09:30 1 Mar 2026, 09:30" in words(answer)
    assert service.client(account).get("/v2/models").status_code == 401
    assert person.open(link).status_code == 404


def test_keys_of_another_account_cannot_be_revoked(service, person):
    other = service.add_account()
    with service.context.database.reading() as connection:
        [key] = AccountService(service.clock).list_keys(connection, other.account_id)
    token = person.forms()[0].fields["form_token"]
    path = f"/console/keys/{key.key_id}/revoke"
    assert person.open(path).status_code == 404
    assert person.post(path, {"form_token": token}).status_code == 404
    assert service.client(other).get("/v2/models").status_code == 200


def test_the_webhook_is_set_changed_and_removed(person, bench, deliver, sender):
    assert "Nothing is reported yet." in person.open("/console/webhook").text
    answer = person.send("/console/webhook", url=PUBLIC, secret_key="first secret")
    assert "Finished jobs will be reported to this address." in answer.text
    assert PUBLIC in answer.text
    assert "first secret" not in answer.text
    person.send("/console/webhook", url="https://93.184.216.35/hook", secret_key="second secret")
    bench.finish(bench.submit())
    assert deliver() == 1
    assert sender.urls == ["https://93.184.216.35/hook"]
    question = person.open("/console/webhook/remove")
    assert "https://93.184.216.35/hook" in question.text
    assert "The webhook is removed." in person.send("/console/webhook/remove").text
    bench.finish(bench.submit())
    assert deliver() == 0


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://127.0.0.1/", "The address leads into a private network."),
        ("http://169.254.169.254/latest/", "The address leads into a private network."),
        ("http://[::1]/", "The address leads into a private network."),
        ("http://localhost/", "The address leads into a private network."),
        ("ftp://93.184.216.34/", "The address must begin with https:// (or http://)."),
        ("nonsense", "Give a URL such as https://host/path"),
        ("", "Give a URL such as https://host/path"),
        ("https://x/" + "y" * 2083, "Give a URL such as https://host/path"),
    ],
)
def test_the_webhooks_address_is_held_to_the_rules_of_the_api(person, url, sentence):
    person.open("/console/webhook")
    answer = person.send("/console/webhook", url=url, secret_key="a secret")
    assert answer.status_code == 422
    assert sentence in html.unescape(answer.text)
    assert "a secret" not in answer.text
    assert "Nothing is reported yet." in person.open("/console/webhook").text


def test_a_webhook_needs_a_secret(person):
    person.open("/console/webhook")
    answer = person.send("/console/webhook", url=PUBLIC, secret_key="")
    assert answer.status_code == 422
    assert "Enter the secret that signs the reports." in answer.text


def test_deliveries_are_listed_with_their_outcome(service, person, bench, deliver, sender):
    person.open("/console/webhook")
    person.send("/console/webhook", url=PUBLIC, secret_key="s")
    job_ids = [bench.submit() for _ in range(2)]
    sender.answers = [500, 204]
    for job_id in job_ids:
        bench.finish(job_id)
        deliver()
    text = words(person.open("/console/webhook"))
    waiting, sent = text.index("Waiting"), text.index("Delivered")
    assert sent < waiting  # newest first
    assert re.search(rf"{job_ids[1]} To {PUBLIC} Delivered 1 Mar 2026, 09:30 1 HTTP 204 Deliver again", text)
    assert re.search(
        rf"{job_ids[0]} To {PUBLIC} Waiting for delivery Next try 1 Mar 2026, 09:30 1 HTTP 500(?! Deliver)", text
    )


def test_a_delivery_is_sent_again_to_where_the_webhook_is_now(service, person, bench, deliver, sender):
    person.open("/console/webhook")
    person.send("/console/webhook", url=PUBLIC, secret_key="s")
    bench.finish(bench.submit())
    sender.answers = [OSError()] * 11
    for _ in range(11):
        assert deliver() == 1
        service.clock.advance(50_000)
    person.sign_in(bench.account)
    assert "Given up" in words(person.open("/console/webhook"))
    person.send("/console/webhook", url="https://93.184.216.35/new", secret_key="s")
    [redeliver] = [form.action for form in person.forms() if form.action.endswith("/redeliver")]
    assert "The delivery is due again." in person.send(redeliver).text
    assert not any(form.action == redeliver for form in person.forms())
    assert deliver() == 1
    assert sender.urls[-1] == "https://93.184.216.35/new"
    assert "Delivered" in words(person.open("/console/webhook"))
    assert bench.deliveries()[-1].attempts == 1


def test_a_delivery_under_way_is_not_sent_twice(person, bench, deliver):
    person.open("/console/webhook")
    person.send("/console/webhook", url=PUBLIC, secret_key="s")
    bench.finish(bench.submit())
    delivery_id = bench.deliveries()[-1].delivery_id
    token = person.forms()[0].fields["form_token"]
    path = f"/console/webhook/deliveries/{delivery_id}/redeliver"
    answer = person.post(path, {"form_token": token})
    assert answer.status_code == 409
    assert "This delivery is being tried already." in answer.text
    assert deliver() == 1


def test_nothing_is_sent_again_to_a_webhook_that_was_removed(person, bench, deliver, sender):
    person.open("/console/webhook")
    person.send("/console/webhook", url=PUBLIC, secret_key="s")
    bench.finish(bench.submit())
    own = bench.submit(webhook_url="https://93.184.216.36/own", webhook_secret_key="s")
    bench.finish(own)
    person.open("/console/webhook/remove")
    text = words(person.send("/console/webhook/remove"))
    assert "The webhook was removed." in text
    [redeliver] = [form.action for form in person.forms() if form.action.endswith("/redeliver")]
    answer = person.send(redeliver)
    assert answer.status_code == 409
    assert "There is no webhook to deliver to." in answer.text
    assert deliver() == 1
    assert sender.urls == ["https://93.184.216.36/own"]


def test_deliveries_of_another_account_are_out_of_reach(service, person, bench, deliver):
    client = service.client(bench.account)
    assert client.post("/v2/account/webhook", json={"url": PUBLIC, "secret_key": "s"}).status_code == 200
    bench.finish(bench.submit())
    deliver()
    other = service.add_account()
    person.sign_in(other)
    assert "Nothing was delivered yet." in person.open("/console/webhook").text
    path = f"/console/webhook/deliveries/{bench.deliveries()[-1].delivery_id}/redeliver"
    assert person.post(path, {"form_token": person.forms()[0].fields["form_token"]}).status_code == 404
    assert deliver() == 0


def test_deliveries_come_in_pages(service, person, bench):
    client = service.client(bench.account)
    client.post("/v2/account/webhook", json={"url": PUBLIC, "secret_key": "s"})
    job_ids = [bench.submit() for _ in range(21)]
    for job_id in job_ids:
        bench.finish(job_id)
    first = person.open("/console/webhook")
    assert [job_id in first.text for job_id in job_ids] == [False] + [True] * 20
    [older] = re.findall(r'href="(/console/webhook\?before=[^"]+)"', first.text)
    second = person.open(older)
    assert [job_id in second.text for job_id in job_ids] == [True] + [False] * 20
    assert "Older" not in second.text
    assert "Newest" in second.text


def test_pages_show_nothing_of_results(person, bench):
    job_id = bench.submit()
    bench.finish(job_id, score=0.4321)
    for path in ("", "/keys", "/webhook"):
        assert "0.43" not in person.open(f"/console{path}").text


def test_a_webhook_whose_name_hangs_keeps_no_other_account_waiting(service, person, monkeypatch):
    names = SlowNames(monkeypatch)
    other = service.client(service.add_account())
    person.open("/console/webhook")
    fields = person.form("/console/webhook").fields | {"url": "https://receiver.slow.example/", "secret_key": "s"}
    cookies = dict(person.client.cookies)

    def set_webhook():
        with httpx.Client(base_url=service.base_url, cookies=cookies, timeout=HANGS_S, trust_env=False) as client:
            return client.post("/console/webhook", data=fields).status_code

    with ThreadPoolExecutor(60) as threads:
        sent = [threads.submit(set_webhook) for _ in range(60)]
        until(lambda: len(names.checked) >= 40 and names.asked)  # as many as there are threads for admission
        try:
            assert [other.get("/v2/jobs").status_code for _ in range(5)] == [200] * 5
            assert not any(answer.done() for answer in sent)
        finally:
            names.release.set()
        assert {answer.result() for answer in sent} == {303}

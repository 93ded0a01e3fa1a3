"""Commands of operators and account holders, and their effects on API clients."""

import re
import subprocess
import sys
from typing import Any

import httpx
import pytest
from examination import (
    Account,
    Examined,
    OwnService,
    assert_error,
    caller,
    credits,
    done,
    new_group,
    read,
    submit,
)


@pytest.fixture(scope="module")
def own(waiting: Examined) -> OwnService:
    return waiting.operated()


def holder(own: OwnService, name: str = "main") -> list[str]:
    return ["--account", own.account(name).account_id]


def test_key_is_made_listed_and_revoked(own: OwnService) -> None:
    made = own.admin("key", "create", *holder(own), "--name", "second")
    assert set(made) == {"key_id", "api_key", "name"}
    account = Account(own.account().account_id, made["api_key"], "")
    with caller(own.base_url, account.headers) as client:
        assert client.get("/v2/models").status_code == 200
        listed = own.admin("key", "list", *holder(own))
        assert made["key_id"] in {key["key_id"] for key in listed}
        assert made["api_key"] not in str(listed)
        own.admin("key", "revoke", *holder(own), "--key", made["key_id"])
        assert_error(client.get("/v2/models"), 401, "UNAUTHORIZED")


def test_granted_credits_can_be_spent_at_once(own: OwnService) -> None:
    with caller(own.base_url, own.account("broke").headers) as client:
        before = credits(client)
        own.admin("credits", "grant", *holder(own, "broke"), "--amount", "5")
        assert credits(client) == before + 5


def test_account_is_made_with_its_plan_and_credits(own: OwnService) -> None:
    made = own.admin("account", "create", "--name", "Another", "--plan", "standard", "--credits", "70")
    assert set(made) == {"account_id", "secret_key", "plan", "credits"}
    assert (made["plan"], made["credits"]) == ("standard", 70)
    assert made["account_id"] in {account["account_id"] for account in own.admin("account", "list")}


def test_erased_job_is_not_found_in_any_version_and_gives_back_its_hold(own: OwnService) -> None:
    account, group = own.account(), new_group()
    with caller(own.base_url, account.headers) as client, caller(own.base_url, account.v1_headers) as v1:
        before = credits(client)
        job_id = submit(client, f"/v2/signs/stress/groups/{group}/analyze")["job_id"]
        assert before - credits(client) == 10
        own.admin("job", "delete", *holder(own), "--job", job_id)
        assert_error(client.get(f"/v2/jobs/{job_id}"), 404, "NOT_FOUND")
        assert_error(v1.get(f"/api/v1/account/jobs/{job_id}"), 404, "NOT_FOUND")
        assert job_id not in {job["job_id"] for job in read(client, "/v2/jobs")["jobs"]}
        assert read(client, f"/v2/groups/{group}/jobs")["total_jobs"] == 0
        assert credits(client) == before


def test_erased_group_goes_with_its_jobs_and_leaves_a_line_of_record(own: OwnService) -> None:
    group = new_group()
    with caller(own.base_url, own.account().headers) as client:
        ids = [submit(client, f"/v2/signs/stress/groups/{group}/analyze")["job_id"] for _ in range(2)]
        erasure = own.admin("group", "erase", *holder(own), "--group", group)
        assert_error(client.get(f"/v2/groups/{group}/jobs"), 404, "NOT_FOUND")
        for job_id in ids:
            assert_error(client.get(f"/v2/jobs/{job_id}"), 404, "NOT_FOUND")
    recorded = own.admin("erasure", "list")
    assert erasure in recorded
    assert group not in str(recorded)


def test_erased_job_leaves_the_trajectory_and_keeps_its_price(examined: Examined) -> None:
    own, group = examined.operated(), new_group()
    with caller(own.base_url, own.account("webhooks").headers) as client:
        ids = [submit(client, f"/v2/signs/stress/groups/{group}/analyze")["job_id"] for _ in range(2)]
        for job_id in ids:
            done(client, job_id)
        assert read(client, f"/v2/groups/{group}/longitudinal")["done_job_count"] == 2
        before = credits(client)
        own.admin("job", "delete", *holder(own, "webhooks"), "--job", ids[0])
        trajectory = read(client, f"/v2/groups/{group}/longitudinal")
        assert [point["job_id"] for point in trajectory["data_points"]] == [ids[1]]
        assert credits(client) == before


def test_commands_run_as_processes_of_their_own(own: OwnService) -> None:
    command = [sys.executable, "-m", "vbdesk", "admin", "account", "list", "--data-dir", str(own.data_dir), "--json"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    assert own.account().account_id in answer.stdout
    assert own.account().secret_key not in answer.stdout


def sign_in(client: httpx.Client, account: Account) -> httpx.Response:
    form = client.get("/console/sign-in", follow_redirects=True)
    token = re.search(r'name="form_token" value="([^"]+)"', form.text)
    assert token
    fields = {"form_token": token[1], "account_id": account.account_id, "secret_key": account.secret_key}
    return client.post("/console/sign-in", data=fields)


def form_token(page: httpx.Response) -> str:
    found: Any = re.search(r'name="form_token" value="([^"]+)"', page.text)
    token: str = found[1]
    return token


def test_console_makes_a_key_that_opens_the_api_and_shows_it_once(own: OwnService) -> None:
    account = own.account()
    with caller(own.base_url) as client:
        assert sign_in(client, account).status_code == 303
        page = client.get("/console/keys")
        made = client.post("/console/keys", data={"form_token": form_token(page), "name": "from the console"})
        (api_key,) = re.findall(r"vbk_[\w-]+", made.text)
        assert api_key not in client.get("/console/keys").text
    with caller(own.base_url, Account(account.account_id, api_key, "").headers) as api:
        assert api.get("/v2/models").status_code == 200


def test_console_session_is_out_of_reach_of_scripts_and_other_sites(own: OwnService) -> None:
    with caller(own.base_url) as client:
        cookies = sign_in(client, own.account()).headers.get_list("set-cookie")
        assert cookies and all("HttpOnly" in cookie and "SameSite=strict" in cookie for cookie in cookies)
        page = client.get("/console")
        assert "script-src" not in page.headers["content-security-policy"]
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        refused = client.post("/console/keys", data={"form_token": "0" * 64, "name": "forged"})
        assert refused.status_code == 403
        assert "forged" not in client.get("/console/keys").text


def test_console_shows_credits_plan_and_sets_the_webhook(own: OwnService) -> None:
    account = own.account("other")
    with caller(own.base_url) as client, caller(own.base_url, account.headers) as api:
        sign_in(client, account)
        page = client.get("/console")
        assert f"{credits(api):,}" in page.text and "Enterprise" in page.text
        hook = client.get("/console/webhook")
        fields = {"form_token": form_token(hook), "url": "https://example.com/console-hook", "secret_key": "whsec"}
        assert client.post("/console/webhook", data=fields).status_code == 303
        shown = client.get("/console/webhook").text
        assert "https://example.com/console-hook" in shown and "whsec" not in shown


def test_console_needs_the_secret_key_and_not_an_api_key(own: OwnService) -> None:
    account = own.account()
    with caller(own.base_url) as client:
        assert client.get("/console").headers["location"] == "/console/sign-in"
        assert sign_in(client, Account(account.account_id, "", account.api_key)).status_code == 401
        assert client.get("/console").status_code == 303

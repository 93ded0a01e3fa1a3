"""Credits: prices of analyses, and refusals when credits run out."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from examination import (
    MODELS,
    SPEECH,
    USE_CASES,
    Examined,
    assert_error,
    credits,
    new_group,
    post_form,
    read,
    submit,
)


def test_balance_is_an_integer(still: httpx.Client) -> None:
    body = read(still, "/v2/account/credits")
    assert set(body) == {"credits"} and type(body["credits"]) is int


@pytest.mark.parametrize("model", MODELS)
def test_model_costs_ten_tokens_a_sign_in_every_form(still: httpx.Client, sign_price: int, model: str) -> None:
    cost, group = sign_price * len(MODELS[model]), new_group()
    for tail in ("analyze", f"groups/{group}/analyze", f"groups/{group}/analyze/longitudinal"):
        before = credits(still)
        submit(still, f"/v2/models/{model}/{tail}")
        assert before - credits(still) == cost, tail


@pytest.mark.parametrize("path", ["signs/stress", "conditions/depression"])
def test_single_sign_or_condition_costs_ten_in_every_form(still: httpx.Client, sign_price: int, path: str) -> None:
    group = new_group()
    tails = ["analyze", f"groups/{group}/analyze/longitudinal"] if path.startswith("signs") else []
    for tail in [*tails, f"groups/{group}/analyze"]:
        before = credits(still)
        submit(still, f"/v2/{path}/{tail}")
        assert before - credits(still) == sign_price, tail


@pytest.mark.parametrize(
    ("path", "signs"), [("models/tide/analyze", 6), ("signs/stress/groups/g/analyze/longitudinal", 1)]
)
def test_diarization_adds_a_flat_fifty(still: httpx.Client, sign_price: int, path: str, signs: int) -> None:
    before = credits(still)
    submit(still, f"/v2/{path}", diarize="true")
    assert before - credits(still) == signs * sign_price + 50


@pytest.mark.parametrize("use_case", USE_CASES)
def test_use_case_costs_as_its_model(still: httpx.Client, sign_price: int, use_case: str) -> None:
    cost = sign_price * len(MODELS[USE_CASES[use_case]])
    before = credits(still)
    submit(still, "/v2/use-case/analyze", use_case=use_case)
    submit(still, f"/v2/use-cases/{use_case}/groups/{new_group()}/analyze")
    assert before - credits(still) == 2 * cost


@pytest.mark.parametrize(("condition", "signs"), [("wellness", 6), ("cognitive", 1), ("anemia", 7)])
def test_v1_costs_as_its_use_case_and_fifty_more_diarized(
    still: httpx.Client, still_v1: httpx.Client, sign_price: int, condition: str, signs: int
) -> None:
    cost = signs * sign_price
    for form, price in (("analyze-audio", cost), ("analyze-and-diarize-audio", cost + 50)):
        before = credits(still)
        submit(still_v1, f"/api/v1/{condition}/{form}")
        assert before - credits(still) == price


def test_credits_pay_to_the_last_one_and_then_402_keeps_nothing(waiting: Examined) -> None:
    account = waiting.account("poor")
    poor, group = waiting.call(account.headers), new_group()
    submit(poor, "/v2/models/pulse/analyze")
    refused = [
        post_form(poor, "/v2/models/clarity/analyze", diarize="true"),
        post_form(poor, f"/v2/models/pulse/groups/{group}/analyze"),
        post_form(poor, f"/v2/models/pulse/groups/{group}/analyze/longitudinal"),
        post_form(poor, "/v2/use-case/analyze", use_case="metabolic"),
        post_form(waiting.call(account.v1_headers), "/api/v1/wellness/analyze-audio"),
    ]
    for answer in refused:
        assert_error(answer, 402, "INSUFFICIENT_CREDITS")
    assert credits(poor) == 49
    assert len(read(poor, "/v2/jobs")["jobs"]) == 1
    assert_error(poor.get(f"/v2/groups/{group}/jobs"), 404, "NOT_FOUND")

    def one(_: int) -> int:
        return post_form(poor, "/v2/models/breath/analyze").status_code

    with ThreadPoolExecutor(6) as pool:  # concurrently: the balance never becomes negative
        assert sorted(pool.map(one, range(6))) == [200, 200, 402, 402, 402, 402]
    assert credits(poor) == 9


def test_everything_but_an_analysis_is_free(still: httpx.Client) -> None:
    group = new_group()
    job_id = submit(still, "/v2/signs/stress/analyze")["job_id"]
    before = credits(still)
    still.post("/v2/groups", json={"group_id": group})
    still.post(f"/v2/groups/{group}/jobs", json={"job_ids": [job_id]})
    for path in ("/v2/groups", f"/v2/groups/{group}/jobs", f"/v2/groups/{group}/longitudinal"):
        read(still, path)
    read(still, f"/v2/groups/{group}/aggregate")
    still.delete(f"/v2/groups/{group}/jobs/{job_id}")
    still.delete(f"/v2/groups/{group}")
    still.post("/v2/audio/uploads", json={"content_type": "audio/wav"})
    assert credits(still) == before


def test_402_comes_before_the_audio_is_judged(waiting: Examined) -> None:
    broke = waiting.call(waiting.account("broke").headers)
    assert_error(post_form(broke, "/v2/signs/stress/analyze", b"no recording"), 402, "INSUFFICIENT_CREDITS")
    assert_error(post_form(broke, "/v2/signs/stress/analyze", SPEECH), 402, "INSUFFICIENT_CREDITS")

"""Every refusal has one shape and says nothing it should not."""

import httpx


def test_an_unknown_path_answers_in_the_error_shape(client: httpx.Client):
    answer = client.get("/v2/nowhere")
    assert answer.status_code == 404
    assert answer.json().keys() == {"code", "message", "status"}
    assert (answer.json()["code"], answer.json()["status"]) == ("NOT_FOUND", 404)


def test_a_wrong_method_answers_405_and_names_the_right_one(client: httpx.Client):
    answer = client.delete("/v2/models")
    assert (answer.status_code, answer.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == "GET"


def test_a_trailing_slash_is_an_unknown_path(client: httpx.Client):
    assert client.get("/v2/models/").json()["code"] == "NOT_FOUND"

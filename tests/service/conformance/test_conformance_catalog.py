"""Catalog: exactly the models and signs of the API's tables."""

import httpx
import pytest
from examination import INTERNAL_SIGNS, MODELS, SIGNS, assert_error, read


def test_model_list_holds_the_eight_models_with_their_signs(api: httpx.Client) -> None:
    models = read(api, "/v2/models")["models"]
    assert {model["name"]: model["signs"] for model in models} == MODELS
    assert len(models) == len(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_model_read_gives_the_model_object(api: httpx.Client, name: str) -> None:
    assert read(api, f"/v2/models/{name}") == {"name": name, "signs": MODELS[name]}


@pytest.mark.parametrize("name", ["unknown", "Pulse", "pulse ", "stress"])
def test_unknown_model_is_not_found(api: httpx.Client, name: str) -> None:
    assert_error(api.get(f"/v2/models/{name}"), 404, "NOT_FOUND")


def test_sign_list_holds_the_standalone_signs_with_title_cased_labels(api: httpx.Client) -> None:
    signs = read(api, "/v2/signs")["signs"]
    assert {sign["name"] for sign in signs} == set(SIGNS)
    assert len(signs) == len(SIGNS)
    assert all(sign == {"name": sign["name"], "label": sign["name"].replace("-", " ").title()} for sign in signs)


@pytest.mark.parametrize("name", SIGNS)
def test_sign_read_adds_the_condition(api: httpx.Client, name: str) -> None:
    expected = {"name": name, "label": name.replace("-", " ").title(), "condition": SIGNS[name]}
    assert read(api, f"/v2/signs/{name}") == expected


@pytest.mark.parametrize("name", [*INTERNAL_SIGNS, "unknown", "pulse", "acute-stress"])
def test_unknown_or_model_internal_sign_is_not_found(api: httpx.Client, name: str) -> None:
    assert_error(api.get(f"/v2/signs/{name}"), 404, "NOT_FOUND")

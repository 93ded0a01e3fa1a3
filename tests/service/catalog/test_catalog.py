"""Catalog routes."""

import pytest

from vbdesk.contract.catalog import MODEL_INTERNAL_SIGNS


def test_models_are_listed_with_their_signs(client):
    models = {model["name"]: model["signs"] for model in client.get("/v2/models").json()["models"]}
    assert list(models) == ["pulse", "haven", "apex", "aria", "breath", "clarity", "harbor", "tide"]
    assert models["breath"] == ["airway-obstruction-pattern", "allergy"]


def test_one_model_is_read_by_name(client):
    assert client.get("/v2/models/clarity").json() == {"name": "clarity", "signs": ["cognitive-impairment"]}


def test_signs_are_listed_without_the_internal_ones(client):
    signs = client.get("/v2/signs").json()["signs"]
    assert len(signs) == 17
    assert signs[0] == {"name": "airway-obstruction-pattern", "label": "Airway Obstruction Pattern"}


def test_a_sign_refers_back_to_its_condition(client):
    assert client.get("/v2/signs/stress").json() == {"name": "stress", "label": "Stress", "condition": "acute-stress"}


@pytest.mark.parametrize("path", ["/v2/models/nothing", "/v2/models/PULSE", "/v2/signs/nothing"])
def test_an_unknown_name_is_404(client, path: str):
    assert (client.get(path).status_code, client.get(path).json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("sign", sorted(MODEL_INTERNAL_SIGNS))
def test_an_internal_sign_is_404(client, sign: str):
    assert client.get(f"/v2/signs/{sign}").status_code == 404

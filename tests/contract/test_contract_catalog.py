"""The catalog of the interface."""

from vbdesk.contract import catalog
from vbdesk.contract.catalog import CONDITION_SIGNS, MODEL_INTERNAL_SIGNS, MODEL_SIGNS, STANDALONE_SIGNS, SignName


def test_eight_models_and_seventeen_plus_four_signs():
    assert [model.name for model in catalog.models().models] == [
        "pulse", "haven", "apex", "aria", "breath", "clarity", "harbor", "tide",
    ]  # fmt: skip
    assert len(STANDALONE_SIGNS) == 17
    assert {sign.value for sign in MODEL_INTERNAL_SIGNS} == {
        "cognitive-load", "cardiovascular-strain", "emotional-destabilization", "dry-mouth",
    }  # fmt: skip


def test_the_sign_list_is_alphabetical_and_without_internal_signs():
    names = [sign.name for sign in catalog.signs().signs]
    assert names == sorted(names)
    assert not set(names) & {sign.value for sign in MODEL_INTERNAL_SIGNS}


def test_every_sign_is_in_a_model_or_standalone():
    in_models = {sign for signs in MODEL_SIGNS.values() for sign in signs}
    assert in_models | set(STANDALONE_SIGNS) == set(SignName)
    assert in_models >= MODEL_INTERNAL_SIGNS


def test_labels_are_the_title_cased_words():
    assert SignName.AIRWAY_OBSTRUCTION_PATTERN.label == "Airway Obstruction Pattern"
    assert SignName.ELEVATED_BLOOD_PRESSURE.label == "Elevated Blood Pressure"


def test_conditions_and_signs_refer_to_each_other():
    assert catalog.sign_detail(SignName.STRESS).condition == "acute-stress"
    assert catalog.sign_detail(SignName.DRY_MOUTH).condition is None
    assert set(CONDITION_SIGNS.values()) == set(STANDALONE_SIGNS)

"""Lookup of the best available language."""

import pytest

from vbdesk.contract.language import look_up_language, match_language


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("de", "de"),
        (" DE_at ", "de"),
        ("pt-BR", "pt-BR"),
        ("PT-br-x-old", "pt-BR"),
        ("pt-PT", None),
        ("zh-hant-TW", "zh-Hant"),
        ("", None),
        ("deu", None),
    ],
)
def test_subtags_are_removed_from_the_end_until_a_tag_matches(wanted: str, found: str | None) -> None:
    assert look_up_language(wanted, ("de", "pt-BR", "zh-Hant")) == found


def test_without_its_tag_the_first_one_of_the_same_language_is_taken():
    assert match_language("pt-PT", ["en", "pt-BR", "pt-AO"]) == "pt-BR"
    assert match_language("pt-AO", ["en", "pt-BR", "pt-AO"]) == "pt-AO"
    assert match_language("fr", ["en", "pt-BR"]) is None

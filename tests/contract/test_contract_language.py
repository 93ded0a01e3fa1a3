"""Lookup of the best available language."""

import pytest

from vbdesk.contract.language import look_up_language


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

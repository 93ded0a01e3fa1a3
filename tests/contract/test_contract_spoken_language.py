"""Language tags of recordings, and what they mean for the comparison."""

import pytest

from vbdesk.contract.spoken_language import WIDENED, SpokenLanguage, is_widened, language_tag, without_widening


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("en", "en"),
        (" DE ", "de"),
        ("PT-br", "pt-BR"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("zh-yue-hk", "zh-yue-HK"),
        ("es-419", "es-419"),
        ("sl-rozaj-biske", "sl-rozaj-biske"),
        ("de-1996", "de-1996"),
        ("en-u-ca-gregory", "en-u-ca-gregory"),
        ("de-x-ward", "de-x-ward"),
        ("fil", "fil"),
        ("X-Ours", "x-ours"),
        ("und", None),
    ],
)
def test_a_tag_is_written_in_its_usual_case(text: str, tag: str | None) -> None:
    assert language_tag(text) == tag
    assert tag is None or language_tag(tag) == tag


@pytest.mark.parametrize(
    "text",
    ["", "e", "english", "en_US", "en-", "-en", "en--us", "12", "en us", "dé", "en-" + "a" * 40, "x" * 1000, "en\n1"],
)
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="such as en, de or pt-BR"):
        language_tag(text)


def test_a_tag_has_at_most_35_signs() -> None:
    assert language_tag("de-x-" + "-".join(["a" * 7] * 3 + ["b" * 6])) is not None
    with pytest.raises(ValueError, match="such as en"):
        language_tag("de-x-" + "-".join(["a" * 7] * 4))


@pytest.mark.parametrize("language", [None, "de", "pt-BR"])
@pytest.mark.parametrize("second", [None, True, False])
def test_what_is_known_survives_storage_and_the_form(language: str | None, second: bool | None) -> None:
    spoken = SpokenLanguage(language, second)
    assert SpokenLanguage.of_json(spoken.json) == spoken
    assert SpokenLanguage.of_form(spoken.form) == spoken
    assert (spoken.json is None) is not spoken.is_known


def test_three_letter_codes_are_the_same_language() -> None:
    assert not SpokenLanguage("eng").differs_from("en")
    assert not SpokenLanguage("de").differs_from("deu-AT")
    assert SpokenLanguage("enm").differs_from("en")


def test_a_second_or_another_language_differs_from_the_reference() -> None:
    differing = [(language, second) for language in (None, "en", "de") for second in (None, False, True)
                 if SpokenLanguage(language, second).differs_from("en")]  # fmt: skip
    assert differing == [(None, True), ("en", True), ("de", None), ("de", False), ("de", True)]


@pytest.mark.parametrize("norms", ["", "norms.site-7", f"norms.{WIDENED}"])
@pytest.mark.parametrize("own", ["", "a", "a.b"])
def test_a_widened_version_without_its_mark_is_the_calibration_s_own(own: str, norms: str) -> None:
    plain = "+".join(filter(None, ["1.2", ".".join(filter(None, [own, norms]))]))
    widened = "1.2+" + ".".join(filter(None, [own, WIDENED, norms]))
    assert (is_widened(plain), is_widened(widened)) == (False, True)
    assert without_widening(widened) == without_widening(plain) == plain

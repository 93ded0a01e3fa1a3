"""Every shipped catalog is complete, keeps the fields of each text, and can be compiled."""

import importlib.util
import os
import re
import shutil
import string
import sys
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message

from vbdesk.language import formats, language_of, reading_in

ROOT = Path(__file__).parents[2]
SHARE = re.compile(r"[0-9]([^\w(){}\n]{0,2}%\u200e?)(?!\})")


@pytest.fixture(scope="module")
def translations():
    specification = importlib.util.spec_from_file_location("translations_tool", ROOT / "packaging" / "translations.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    yield module
    del sys.modules[specification.name]


@pytest.fixture
def shelf(translations, tmp_path, monkeypatch):
    """A folder of catalogs for a code with three texts."""
    source = Catalog()
    source.add("Open {file}", locations=[("a.py", None)], auto_comments=["Translators: a verb"])
    source.add(("{count} take of {who}", "{count} takes of {who}"), locations=[("a.py", None)])
    source.add("Done", locations=[("b.py", None)], context="state")
    monkeypatch.setattr(translations, "FOLDER", tmp_path)
    monkeypatch.setattr(translations, "source_texts", lambda: source)
    translations.update(["de"])
    return translations


GERMAN = [
    {"text": "Open {file}", "translation": "{file} öffnen"},
    {"text": "{count} take of {who}", "translation": ["{count} Aufnahme von {who}", "{count} Aufnahmen von {who}"]},
    {"text": "Done", "context": "state", "translation": "Fertig"},
]


def test_every_shipped_catalog_is_complete(translations):
    found = {language: translations.faults(language)[:20] for language in translations.languages()}
    assert {language: sentences for language, sentences in found.items() if sentences} == {}


def test_narratives_and_protocols_have_the_texts_of_english(translations):
    found = {language: list(translations.resource_faults(language)) for language in translations.languages()}
    assert {language: sentences for language, sentences in found.items() if sentences} == {}


def test_a_language_without_narrative_or_with_half_a_protocol_is_found(translations, tmp_path, monkeypatch):
    resources = shutil.copytree(ROOT / "resources", tmp_path / "resources", ignore=shutil.ignore_patterns("models"))
    monkeypatch.setattr(translations, "RESOURCES", resources)
    assert "resources/narrative/nl.toml is missing" in next(translations.resource_faults("nl"))
    shutil.copy(resources / "narrative" / "en.toml", resources / "narrative" / "nl.toml")
    with (resources / "protocols" / "vowel.toml").open("a", encoding="utf-8") as file:
        file.write('\n[nl]\ntitle = "Klinker"\nkleur = "blauw"\n')
    found = "\n".join(translations.resource_faults("nl"))
    assert "has to begin with language = 'nl'" in found
    assert "resources/protocols/vowel.toml [nl] does not have begin, help, text." in found
    assert "resources/protocols/vowel.toml [nl] has kleur" in found
    assert "resources/protocols/counting.toml [nl] does not have begin, help, text, title." in found


def test_a_share_in_a_text_has_the_form_of_a_figure(translations):
    """Such as `90% interval`; German compounds have a hyphen before the sign."""
    odd = {}
    for language in translations.languages():
        with reading_in(language_of(language.replace("_", "-"))):
            sign = formats.number(0.5, ".0%").removeprefix("50")
        catalog = translations.read(language)
        forms = [(m.string,) if isinstance(m.string, str) else m.string for m in catalog if m.id]
        signs = [found for texts in forms for text in texts for found in SHARE.findall(text)]
        assert len(signs) > 30
        odd[language] = {found for found in signs if found not in (sign, "-%")}
    english = translations.source_texts()
    ids = [text for m in english for text in ((m.id,) if isinstance(m.id, str) else m.id)]
    odd["en"] = {found for text in ids for found in SHARE.findall(text) if found != "%"}
    assert {language: found for language, found in odd.items() if found} == {}


def test_a_new_catalog_lists_every_text_and_takes_translations(shelf):
    assert len(shelf.faults("de")) == 3
    assert [shelf.as_data(entry, 2)["text"] for entry in shelf.missing(shelf.read("de"))] == [
        "Open {file}",
        "{count} take of {who}",
        "Done",
    ]
    shelf.fill("de", GERMAN)
    assert shelf.faults("de") == []
    shelf.compile_catalogs()
    assert (shelf.FOLDER / "de.mo").stat().st_size > 100
    catalog = shelf.FOLDER / "de.po"
    assert shelf.is_compiled(catalog)
    os.utime(catalog, (2**32, 2**32))
    assert not shelf.is_compiled(catalog)


@pytest.mark.parametrize(
    ("number", "translation", "fault"),
    [
        (0, "öffnen", "has the fields"),
        (0, "{fiel} öffnen", "has the fields"),
        (0, "{file öffnen", "wrong bracket"),
        (0, " {file} öffnen", "spaces at an end"),
        (1, ["{count} Aufnahme von {who}", ""], "is not translated"),
        (1, ["{count} Aufnahme", "{count} Aufnahmen von {who}"], "has the fields"),
        (2, "", "is not translated"),
    ],
)
def test_a_damaged_translation_is_found(shelf, number, translation, fault):
    entries = [dict(each) for each in GERMAN]
    entries[number]["translation"] = translation
    shelf.fill("de", entries)
    (only,) = shelf.faults("de")
    assert fault in only


@pytest.mark.parametrize(("number", "translation"), [(0, ["{file} öffnen"]), (1, "{count} Aufnahmen von {who}")])
def test_plural_forms_are_a_list_and_other_texts_are_none(shelf, number, translation):
    with pytest.raises(TypeError, match="a list of its plural forms"):
        shelf.fill("de", [{**GERMAN[number], "translation": translation}])


def test_a_plural_form_may_leave_out_the_count(shelf):
    entries = [dict(each) for each in GERMAN]
    entries[1]["translation"] = ["Eine Aufnahme von {who}", "{count} Aufnahmen von {who}"]
    shelf.fill("de", entries)
    assert shelf.faults("de") == []


def test_an_update_keeps_what_still_fits_and_drops_what_is_gone(shelf, monkeypatch):
    shelf.fill("de", GERMAN)
    newer = Catalog()
    newer.add("Open {file}", locations=[("c.py", None)])
    newer.add("Close", locations=[("c.py", None)])
    monkeypatch.setattr(shelf, "source_texts", lambda: newer)
    shelf.update([])
    kept = shelf.read("de")
    assert kept.get("Open {file}").string == "{file} öffnen"
    assert kept.get("Done", "state") is None
    assert [type(entry) for entry in shelf.missing(kept)] == [Message]


def test_texts_of_nested_resources_have_keys(translations):
    data = {"action": {"none": {"title": "A", "steps": ["B", "C"]}}, "version": 1}
    assert list(translations.texts_of(data)) == [
        ("action.none.title", "A"),
        ("action.none.steps.0", "B"),
        ("action.none.steps.1", "C"),
    ]


def test_an_arabic_text_of_fields_alone_says_its_direction(translations):
    """Otherwise Qt shows it from left to right: it looks for a letter outside of the isolated fields."""
    undecided = []
    for entry in translations.read("ar"):
        for text in entry.string if isinstance(entry.string, tuple) else (entry.string,):
            fixed = "".join(fixed for fixed, *_field in string.Formatter().parse(text))
            if entry.id and fixed and fixed != text and not re.search(r"[^\W\d_]|[\u200e\u200f\u2066\u2067]", fixed):
                undecided.append(text)
    assert undecided == []

"""The guide in other languages: complete, in step with its English pages, and in the words of the window."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from vbdesk.desk.help.guide import PAGES, guide_folder

ROOT = Path(__file__).parents[2]


def load(name, monkeypatch):
    specification = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, name, module)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def guide_pages(monkeypatch):
    return load("guide_pages", monkeypatch)


@pytest.fixture
def translations(guide_pages, monkeypatch):
    return load("translations", monkeypatch)


def test_the_guide_is_complete_and_current_in_every_language(translations):
    found = {language: translations.guide_faults(language) for language in translations.languages()}
    assert {language: sentences for language, sentences in found.items() if sentences} == {}


def test_the_help_shows_every_page():
    assert sorted(PAGES) == sorted(path.name for path in guide_folder().glob("*.md"))


ENGLISH = """# Record

![Ready](record-light.png)

Press **Send**, or `vbdesk sync`. It says "No network". See [consent](#asking) and [exports](../exports.md).

| Key | Action |
|---|---|
| P | plays |

## Asking

- one

![In dark colours](record-dark.png)
"""
SPANISH = """# Grabar

![Preparado](record-light.png)

Pulse **Enviar** o `vbdesk sync`. Dice «Sin red». Vea [exportaciones](../../exports.md)
en inglés y [consentimiento](#petición).

| Tecla | Acción |
|---|---|
| P | reproduce |

## Petición

- uno
"""
WORDS = {"Send": {"Enviar", "Envío"}, "No network": {"Sin red"}}


@pytest.fixture
def guide(guide_pages, monkeypatch, tmp_path):
    """A guide of one page, with its Spanish page recorded."""
    monkeypatch.setattr(guide_pages, "GUIDE", tmp_path)
    (tmp_path / "es").mkdir()
    (tmp_path / "record.md").write_text(ENGLISH, encoding="utf-8")
    (tmp_path / "es" / "record.md").write_text(SPANISH, encoding="utf-8")
    (tmp_path / "es" / "record-light.png").touch()
    guide_pages.record("es", ["record.md"])
    return guide_pages


def test_a_complete_translation_has_no_fault(guide):
    assert guide.faults("es", WORDS) == []


@pytest.mark.parametrize(
    ("written", "instead", "fault"),
    [
        ("## Petición", "### Petición", "a heading of level 2, and the translation has a heading of level 3"),
        ("## Petición", "## Solicitud", "'#solicitud'"),
        ("(record-light.png", "(../record-light.png", "the pictures"),
        ("../../exports.md", "../exports.md", "the links"),
        ("\nen inglés", "", "'inglés'"),
        ("vbdesk sync", "vbdesk sincronizar", "the code"),
        ("| P | reproduce |\n", "", "'Record', the English page has a row of a table"),
        ("- uno\n", "uno\n", "a list"),
        ("- uno\n", "- uno\n- dos\n", "'Asking', the English page has nothing"),
        ("**Enviar**", "**Mandar**", "**Send**"),
        ("Sin red", "No hay red", '"No network"'),
    ],
)
def test_a_damaged_page_is_found(guide, written, instead, fault):
    page = guide.GUIDE / "es" / "record.md"
    assert written in SPANISH
    page.write_text(SPANISH.replace(written, instead), encoding="utf-8")
    (only,) = guide.faults("es", WORDS)
    assert fault in only


def test_a_missing_picture_is_named_with_the_command_that_makes_it(guide):
    (guide.GUIDE / "es" / "record-light.png").unlink()
    (only,) = guide.faults("es", WORDS)
    assert "the picture docs/guide/es/record-light.png is missing" in only
    assert "packaging/screenshots.py --language es docs/guide/es`" in only


def test_a_page_is_translated_again_after_its_english_page_changed(guide, translations, monkeypatch):
    monkeypatch.setattr(translations, "words_of_the_window", lambda language: WORDS)
    (guide.GUIDE / "record.md").write_text(ENGLISH.replace("- one", "- one thing"), encoding="utf-8")
    (only,) = translations.guide_faults("es")
    assert "translations.py guide es record.md" in only
    assert translations.record_pages("es", ["record.md"]) == []
    assert translations.guide_faults("es") == []


def test_a_damaged_page_is_not_recorded(guide, translations, monkeypatch):
    monkeypatch.setattr(translations, "words_of_the_window", lambda language: WORDS)
    (guide.GUIDE / "record.md").write_text(ENGLISH.replace("- one", "- one\n- two"), encoding="utf-8")
    assert len(translations.record_pages("es", ["record.md"])) == 1
    assert translations.record_pages("es", ["nothing.md"]) == ["nothing.md has no English page."]
    assert len(translations.guide_faults("es")) == 2


def test_missing_and_foreign_pages_are_found(guide):
    shutil.copy(guide.GUIDE / "record.md", guide.GUIDE / "outbox.md")
    (guide.GUIDE / "es" / "old.md").write_text("# Viejo\n", encoding="utf-8")
    assert guide.faults("es", WORDS) == ["old.md has no English page. Delete it.", "outbox.md is not translated."]

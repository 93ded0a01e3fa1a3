"""Texts in the reader's language: messages, fields, plurals, formats, and catalogs."""

import errno
import os
import pickle
from datetime import datetime, timedelta

import numpy as np
import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from hypothesis import given
from hypothesis import strategies as st

from other_catalogs import catalogs_in
from vbdesk.contract.levels import Level
from vbdesk.language import (
    Language,
    _,
    available_languages,
    catalogs,
    current,
    formats,
    joined,
    language_of,
    message,
    ngettext,
    pgettext,
    plural_message,
    read_message,
    reading_in,
    system_reason,
    translated,
    use_system_language,
    written_message,
)
from vbdesk.language.fields import filled
from vbdesk.language.pseudo import pseudo
from vbdesk.report.reader_words import level_in_sentence, level_word, with_unit
from vbdesk.report.result_texts import overall_in_sentence, overall_word

TEXTS = {
    "The file {path} is missing.": "Die Datei {path} fehlt.",
    ("{count} recording waits.", "{count} recordings wait."): (
        "{count} Aufnahme wartet.",
        "{count} Aufnahmen warten.",
    ),
    "{share:.1%} of {seconds:,.1f} s": "{share:.1%} von {seconds:,.1f} s",
    "Paused.": "Angehalten.",
}


@pytest.fixture
def german(tmp_path):
    """A small German catalog, and one in Arabic, in place of the shipped ones."""
    for name in ("de", "ar"):
        catalog = Catalog(locale=name)
        for text, translation in TEXTS.items():
            forms = (translation[0], *translation[1:] * (catalog.num_plurals - 1)) if isinstance(text, tuple) else None
            catalog.add(text, forms or translation)
        catalog.add("Open", "Öffnen" if name == "de" else "فتح", context="verb")
        with (tmp_path / f"{name}.mo").open("wb") as file:
            write_mo(file, catalog)
    with catalogs_in(tmp_path), reading_in(Language("de", "de_AT")):
        yield


def test_texts_fields_and_plurals_follow_the_language(german):
    assert _("The file {path} is missing.", path="a{b}.wav") == "Die Datei a{b}.wav fehlt."
    assert ngettext("{count} recording waits.", "{count} recordings wait.", 1) == "1 Aufnahme wartet."
    assert ngettext("{count} recording waits.", "{count} recordings wait.", 1234) == "1234 Aufnahmen warten."
    assert ngettext("{count} recording waits.", "{count} recordings wait.", 0) == "0 Aufnahmen warten."
    assert _("{share:.1%} of {seconds:,.1f} s", share=0.125, seconds=1234.56) == "12,5\u00a0% von 1.234,6 s"
    assert pgettext("verb", "Open") == "Öffnen"
    assert pgettext("state", "Open") == "Open"
    assert _("") == ""


def test_an_error_reads_english_in_logs_and_is_translated_for_its_reader(german):
    error = ValueError(message("The file {path} is missing.", path="a.wav"))
    assert str(error) == "The file a.wav is missing."
    assert translated(error) == "Die Datei a.wav fehlt."
    assert translated(message("{count} of {all}", count=1, all=error)) == "1 of Die Datei a.wav fehlt."
    assert translated(OSError(2, "No such file")) == str(OSError(2, "No such file"))


def test_sentences_and_nested_messages_are_translated_each(german):
    inner = plural_message("{count} recording waits.", "{count} recordings wait.", 2)
    both = joined("Paused.", "", inner)
    assert both == "Paused. 2 recordings wait."
    assert translated(both) == "Angehalten. 2 Aufnahmen warten."
    assert translated(message("The file {path} is missing.", path=inner)) == "Die Datei 2 Aufnahmen warten. fehlt."


@pytest.mark.parametrize(("count", "text"), [(0, "0 Aufnahmen warten."), (1, "1 Aufnahme wartet.")])
def test_a_kept_count_chooses_the_translated_form(german, count, text):
    kept = plural_message("{count} recording waits.", "{count} recordings wait.", count)
    for each in (kept, read_message(written_message(kept)), pickle.loads(pickle.dumps(kept))):
        assert translated(each) == text


def test_a_text_without_a_translation_stays_english(german):
    assert translated(message("{count} of {all}", count=1, all=2)) == "1 of 2"
    assert translated("Stored by an earlier version {with} braces") == "Stored by an earlier version {with} braces"


NAMES = st.text("abcxyz", min_size=1, max_size=3)
VALUES = st.one_of(st.integers(), st.text(), st.floats(allow_nan=False, allow_infinity=False))


@given(fields=st.dictionaries(NAMES, VALUES, max_size=3), count=st.one_of(st.none(), st.integers(0, 5)))
def test_a_kept_message_is_the_same_message(fields, count):
    template = " ".join(f"{{{name}}}" for name in fields) + "."
    plain = message(template, **fields) if count is None else plural_message("One.", template, count, **fields)
    nested = joined(message("Because: {reason}", reason=plain), plain)
    for text in (plain, nested):
        again = read_message(written_message(text))
        assert again == text
        assert written_message(again) == written_message(text)
        assert pickle.loads(pickle.dumps(text)).fields == text.fields


def test_texts_from_right_to_left_isolate_names(german):
    with reading_in(Language("ar", "ar_EG")):
        assert current().right_to_left
        assert _("The file {path} is missing.", path="ward-4") == "Die Datei \u2068ward-4\u2069 fehlt."
        assert ngettext("{count} recording waits.", "{count} recordings wait.", 12) == "١٢ Aufnahmen warten."


@pytest.mark.parametrize(
    ("tag", "name", "region"),
    [
        ("de", "de", "de"),
        ("de_AT.UTF-8", "de", "de_AT"),
        ("de-CH@euro", "de", "de_CH"),
        ("en_US", "en", "en_US"),
        ("en", "en", "en_GB"),
        ("AR-EG", "ar", "ar_EG"),
    ],
)
def test_the_best_catalog_for_a_tag(german, tag, name, region):
    assert language_of(tag) == Language(name, region)


def test_a_language_without_a_catalog_is_refused_or_passed_over(german, monkeypatch):
    assert language_of("xx") is None
    with pytest.raises(catalogs.LanguageMissing, match="xx"):
        catalogs.catalog("xx")
    monkeypatch.setattr("vbdesk.language.reader._default", current())
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "xx_XX.UTF-8")
    monkeypatch.setenv("LANGUAGE", "yy:ar_EG")
    assert use_system_language() == Language("ar", "ar_EG")


def test_dates_and_lists_have_the_form_of_the_region():
    when = datetime(2026, 11, 21, 16, 30)
    with reading_in(Language("en", "en_GB")):
        assert formats.day(when) == "21 Nov 2026"
        assert formats.day_without_year(when) == "21 Nov"
        assert formats.day_and_time(when) == "21 Nov 2026, 16:30"
        assert formats.month(when) == "Nov"
        assert formats.month_and_year(when) == "Nov 2026"
        assert formats.long_day(when) == "21 November 2026"
        assert formats.clock(65) == "1:05"
        assert formats.long_day_and_time(when, year=False) == "21 November, 16:30"
        assert formats.figure(-1.2, ".2f") == "−1.20"
        assert formats.ago(timedelta(hours=3)) == "3 hours ago"
        assert formats.list_of(["a", "b", "c"]) == "a, b and c"
    with reading_in(Language("en", "pt_BR")):
        assert formats.number(1234.5, "+,.2f") == "+1.234,50"
        assert formats.ago(timedelta(days=1)) == "há 1 dia"
        assert formats.long_day_and_time(when, year=False) == "21 de novembro, 16:30"


def test_number_formats_agree_with_python_in_english():
    with reading_in(Language("en", "en_US")):
        for value in (0.0, 1.0, -3.25, 12345.678, 0.125):
            for spec in (".1f", ",.2f", "+.1f", ".0%", ".1%"):
                assert formats.number(value, spec) == format(value, spec), (value, spec)
        assert formats.number(0.01234, ".3g") == "0.0123"
        with pytest.raises(ValueError, match="not supported"):
            formats.number(1.0, ">8")


def test_numbers_beyond_every_measure_have_a_text():
    with reading_in(Language("en", "fr_FR")):
        assert formats.number(float("nan"), ".1f") == "nan"
        assert formats.number(float("-inf"), ".0%") == "-inf%"
        assert formats.number(10**30, ",") == format(10**30, ",")
    with reading_in(Language("en", "ar_EG")):
        assert formats.clock(65) == "١:٠٥"


def test_the_pseudo_language_keeps_fields_and_grows():
    text = "Hand over {count:,} recordings of {{Mr}} {name!r:>4} now"
    grown = pseudo(text)
    assert len(grown) >= 1.3 * len(text)
    assert grown.format(count=1200, name="x") != text
    assert "1,200" in grown.format(count=1200, name="x")
    with reading_in(Language("en_XA", "en_GB")):
        assert _("Open").startswith("[Öpéñ")
        assert translated(message("Open")).startswith("[Öpéñ")


@pytest.mark.parametrize("region", ["en_GB", "ar_EG"])
def test_a_field_is_a_plain_name_with_the_format_of_a_number(region):
    """Catalogs and stored messages are data: a template must not reach into values, nor break a page."""
    with reading_in(Language("en" if region == "en_GB" else "en_XA", region)):
        for template in ("{x.real}", "{x[0]}", "{0}", "{}", "{x!z}", "{y:.1f}", "{x", "x}"):
            assert template.strip("{}")[:1] in _(template, x=1.5)
        assert "1.5" in _("{x:>999999999} {x:{y}}", x=1.5)
        assert "nan" in _("{x:.1f}", x=float("nan")).lower()
        assert len(_("{x:.999999999f}", x=1.5)) < 100
        assert "ward" in _("{x:.1f}", x="ward")
        assert "2.0" in _("{x:.1f} {n:d}", x=np.float32(2), n=np.int64(3))


@pytest.mark.parametrize(
    ("code", "english"), [(errno.ENOENT, "No such file or directory"), (errno.EACCES, "Permission denied")]
)
def test_the_reason_of_the_system_is_in_the_readers_language(code, english):
    reason = system_reason(OSError(code, os.strerror(code)))
    assert str(reason) == english
    with reading_in(Language("en_XA", "en_GB")):
        assert english not in _("{file} cannot be read: {reason}.", file="a", reason=reason)


def test_a_rare_reason_stays_as_the_system_says_it():
    assert str(system_reason(OSError(errno.EXDEV, "Cross-device link"))) == "Cross-device link"


def test_a_minus_sign_keeps_its_place_in_lines_from_right_to_left():
    arabic = Language("ar", "ar")
    with reading_in(arabic):
        assert formats.number(-0.18, "+.2f") == "\u200e-0.18"
        assert formats.figure(-0.18, "+.2f") == "\u200e−0.18"
        assert formats.number(0.87, "+.2f") == "\u200e+0.87"


def test_a_figure_stands_left_of_a_latin_unit_and_before_an_arabic_one():
    """One run from left to right in an isolate: a mark before it does not set the direction of a whole paragraph."""
    with reading_in(language_of("ar")):
        latin, arabic = with_unit(1.35, "s"), with_unit(2.99, "semitones")
    assert latin == "\u2066\u20681.35\u2069 \u2068s\u2069\u2069"
    assert arabic == "\u20682.99\u2069 نصف نغمة"


@pytest.mark.parametrize("name", ["de", "es", "fr", "pt_BR"])
def test_a_level_inside_of_a_sentence_is_the_same_word_with_a_small_letter(name):
    with reading_in(Language(name, name)):
        words = [(level_word(level), level_in_sentence(level)) for level in Level]
        words += [(overall_word(Level.NONE), overall_in_sentence(Level.NONE))]
        told = _("{sign}: {level}, first time.", sign="x", level=level_in_sentence(Level.ELEVATED))
    assert all(within[0].islower() and alone[0].isupper() for alone, within in words)
    assert all(within.casefold() == alone.casefold() for alone, within in words)
    assert told.startswith(("x: e", "x\u202f: é"))


@pytest.mark.parametrize("name", available_languages())
@pytest.mark.parametrize(
    ("value", "template"),
    [(-0.04, "{x:+.1f}"), (-0.0, "{x:.2f}"), (-0.0, "{x}"), (-0.004, "{x:.0%}"), (-3e-9, "{x:.2f}")],
)
def test_no_zero_has_a_minus_sign(name, value, template):
    language, spec = language_of(name), template[1:-1].partition(":")[2]
    with reading_in(language):
        shown = formats.number(value, spec), formats.figure(value, spec), filled(template, {"x": value}, language)
        small = formats.number(-0.06, ".1f")
    assert not set("".join(shown)) & {"-", "\u2212"}
    assert set(small) & {"-", "\u2212"}

"""The narrative in the reader's language: written from the signals, as the service writes it."""

from itertools import combinations
from types import SimpleNamespace

import pytest

from vbdesk.contract.catalog import MODEL_SIGNS, ModelName
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.contract.longitudinal import LongitudinalFields
from vbdesk.contract.results import IssueCode, LongitudinalSignal
from vbdesk.contract.spoken_language import UNKNOWN_LANGUAGE, SpokenLanguage
from vbdesk.language import reading_in
from vbdesk.language.reader import Language
from vbdesk.report.language_note import language_note, second_language_flags
from vbdesk.report.narrative import narrative_of
from vbdesk.signs.reference_data import load_reference_data
from vbdesk.signs.scoring import Reading
from vbdesk.signs.summary import make_signal, summarise_readings

READERS = [("de", "de"), ("es", "es"), ("fr", "fr"), ("pt_BR", "pt-BR"), ("ar", "ar")]
"""Names of catalogs, and the service's tag of the same language."""

FIELDS = LongitudinalFields(baseline_score=0.2, anomaly=False, z_score=3.0).model_dump()


def analysed(model, named=(), level=Level.NONE, issues=(), language="en"):
    """Signals and summary as the service makes them; every feature of the named signs is at its z limit."""
    reference = load_reference_data(language)
    signs, readings, z = reference.calibration.signs, [], {}
    for name in MODEL_SIGNS[model]:
        moved = {}
        if name in named:
            moved = {row.feature: abs(row.weight) * 3 for row in signs[name].evidence}
            z |= {row.feature: 3.0 if row.weight > 0 else -3.0 for row in signs[name].evidence}
        readings.append(Reading(name, 2.0, 0.5, level if name in named else Level.NONE, moved))
    passage = SimpleNamespace(z=z, features={feature: SimpleNamespace(value=1.0) for feature in z})
    return [make_signal(each, reference) for each in readings], summarise_readings(readings, passage, issues, reference)


@pytest.mark.parametrize(("name", "tag"), READERS)
def test_one_english_result_reads_as_the_service_writes_it_in_the_reader_s_language(name, tag):
    for model in ModelName:
        for named in [(), *combinations(MODEL_SIGNS[model], 1)]:
            level = LEVEL_ORDER[2 + len(model) % 3] if named else Level.NONE
            issues = [IssueCode.CLIPPING] if len(model) % 2 else []
            signals, summary = analysed(model, named, level, issues)
            with reading_in(Language(name, name)):
                shown = narrative_of(signals, summary, issues)
            assert not shown.of_service
            assert shown.text == analysed(model, named, level, issues, tag)[1].description.summary


def test_the_comparison_with_earlier_recordings_is_told():
    signals, summary = analysed(ModelName.PULSE, MODEL_SIGNS[ModelName.PULSE][:1], Level.CONSIDER)
    changed = [
        LongitudinalSignal(**{**signal.model_dump(), **FIELDS, "anomaly": place == 0})
        for place, signal in enumerate(signals)
    ]
    assert "This is a change from this subject's own earlier recordings." in narrative_of(changed, summary, ()).text
    for within in (0.4, 1.96, -1.96):
        steady = [signal.model_copy(update={"anomaly": False, "z_score": within}) for signal in changed]
        assert "It is in line with this subject's own" in narrative_of(steady, summary, ()).text
    once = [signal.model_copy(update={"anomaly": False}) for signal in changed]
    assert "A change was seen once" in narrative_of(once, summary, ()).text
    assert "earlier recordings" not in narrative_of(signals, summary, ()).text


def test_words_of_a_service_with_other_signs_stay_and_are_called_so():
    signals, summary = analysed(ModelName.BREATH)
    strange = [signals[0].model_copy(update={"name": "house-sign"}), *signals[1:]]
    with reading_in(Language("de", "de")):
        shown = narrative_of(strange, summary, ())
        untold = narrative_of([signal.model_copy(update={"sign_version": None}) for signal in signals], summary, ())
    assert shown.of_service
    assert untold.of_service
    assert shown.text == untold.text == summary.description.summary


def test_the_note_says_how_the_language_moves_false_alarms():
    signals, _ = analysed(ModelName.PULSE)
    assert language_note(signals, UNKNOWN_LANGUAGE, ModelName.PULSE) == ""
    assert language_note(signals, SpokenLanguage("en-GB"), ModelName.PULSE) == ""
    told = language_note(signals, SpokenLanguage("de"), ModelName.PULSE)
    assert told.startswith("This recording is not in English, the language of the reference readers.")
    assert "the Pulse analysis flagged 12.5% of 40 healthy second-language readers, against 6.1%" in told
    cautious = [signal.model_copy(update={"sign_version": f"{signal.sign_version}+widened"}) for signal in signals]
    told = language_note(cautious, SpokenLanguage("en", second_language=True), ModelName.PULSE)
    assert told.startswith("The speaker reads a second language;")
    assert "the Pulse analysis flagged 7.5% of 40" in told
    assert "more often than the reference readers" in language_note(cautious[:1], SpokenLanguage("de"), None)


def test_every_model_has_figures_for_second_language_readers():
    flags = second_language_flags()
    assert set(flags.known) == set(flags.unknown) == {model.value for model in ModelName}

"""Language of a subject, and what the desk says about a more cautious comparison; models alone."""

import pytest

from vbdesk.contract.results import AudioQuality, Signal, SignResult
from vbdesk.contract.spoken_language import SpokenLanguage, is_widened, without_widening
from vbdesk.desk.language_choice import language_name, language_names
from vbdesk.desk.results.result_text import reading_of
from vbdesk.report.shipped_signs import shipped_signs


def result(version):
    signal = Signal(name="stress", label="Stress", score=0.3, level="low", flagged=False, sign_version=version)
    return SignResult(signal=signal, audio_quality=AudioQuality(issues=[], voice_percentage=80, audio_clarity=90))


@pytest.fixture
def here():
    return shipped_signs()["stress"].version


@pytest.mark.parametrize(
    ("spoken", "sentence"),
    [
        (SpokenLanguage("en", True), "Compared more cautiously: the speaker reads a second language."),
        (SpokenLanguage("de"), "Compared more cautiously: the recording is not in the language of the reference."),
        (SpokenLanguage(), "Compared more cautiously, because of the language of the recording."),
    ],
)
def test_a_cautious_comparison_is_said_beside_the_level_in_one_sentence(here, spoken, sentence):
    reading = reading_of(result(f"{here}+widened"), spoken_language=spoken)
    assert reading.voice.compared == sentence
    assert not any("Scored by calibration" in note for note in reading.notes)


def test_a_result_of_a_service_that_did_not_widen_says_nothing(here):
    reading = reading_of(result(here), spoken_language=SpokenLanguage("en", second_language=True))
    assert reading.voice.compared == ""


@pytest.mark.parametrize(
    ("version", "without"),
    [
        ("2.0.0+widened", "2.0.0"),
        ("2.0.0+widened.norms.site.1", "2.0.0+norms.site.1"),
        ("1.0+lab.widened", "1.0+lab"),
        ("1.0+lab.widened.norms.x", "1.0+lab.norms.x"),
        ("2.0.0+norms.widened", "2.0.0+norms.widened"),
        ("2.0.0", "2.0.0"),
    ],
)
def test_the_calibration_is_known_without_the_mark(version, without):
    assert without_widening(version) == without
    assert not is_widened(without)


def test_languages_have_names_and_variants_keep_their_tag():
    names = dict(language_names())
    assert {"en": "English", "de": "German", "pt": "Portuguese"}.items() <= names.items()
    assert "" not in names
    assert language_name("pt-BR") == "Portuguese (pt-BR)"
    assert language_name("qaa") == "qaa"

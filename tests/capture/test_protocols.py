import re

import pytest

from vbdesk.capture.protocols import nearest_language, protocol_languages, protocol_titles, protocols
from vbdesk.capture.speech_meter import SpeechProgress
from vbdesk.contract.limits import MIN_DURATION_S
from vbdesk.language import Language, reading_in

KINDS = ("reading", "picture", "counting", "vowel", "free", "sequence")


def by_id(language="en", folder=None):
    return {protocol.protocol_id: protocol for protocol in protocols(language, folder)}


def test_every_kind_is_there_in_every_language():
    assert protocol_languages()[0] == "en"
    assert protocol_languages() == ("en", "ar", "de", "es", "fr", "pt-BR")
    for language in protocol_languages():
        found = protocols(language)
        assert tuple(protocol.protocol_id for protocol in found) == KINDS
        assert all(protocol.language == task.language == language for protocol in found for task in protocol.tasks)


def test_no_two_languages_share_their_words():
    for texts in zip(*(protocols(language) for language in protocol_languages()), strict=True):
        assert len({protocol.title for protocol in texts}) == len(texts)
        assert len({protocol.text for protocol in texts}) == len(texts)


def test_prompts_are_in_the_language_of_the_subject_and_titles_in_that_of_the_reader():
    reading = {protocol.protocol_id: protocol for protocol in protocols("ar", reader="de-AT")}["reading"]
    assert (reading.language, reading.title) == ("ar", "Lesetext")
    assert reading.text == by_id("ar")["reading"].text
    assert reading.begin.format(seconds=3) == "3 Sekunden Countdown, dann laut vorlesen"
    with reading_in(Language("fr", "fr_CA")):
        assert protocol_titles()["reading"] == "Texte à lire"


WORDS_A_MINUTE = {"en": 228, "ar": 138, "de": 179, "es": 218, "fr": 195, "pt-BR": 181}
"""Means of reading aloud: Trauzettel-Klosinski and Dietz 2012, doi:10.1167/iovs.11-8284, table 1."""

NUCLEI = {
    "en": r"[aeiouy]+",
    "de": r"ie|ei|ai|au|eu|äu|ee|aa|oo|[aeiouyäöü]",
    "es": r"[iu]?[aeoáéó][iuy]?|[íú]|[iuü]+|y\b",
    "fr": r"[aeiouyàâéèêëîïôûùüœ]+",
    "pt-BR": r"ão|ãe|õe|[iu]?[aeoáéóâêôãõ][iu]?|[íú]|[iu]+",
    "ar": r"[\u064b-\u0650](?![.،؟])",  # every syllable has one vowel sign; the last one before a pause is silent
}
SILENT = {
    "en": r"(?<=[aeiouy])([^aeiouyl\W]+)(?:e|es|ed)\b",
    "fr": r"(?<=[aeiouyàâéèêëîïôûùüœ])([^aeiouyàâéèêëîïôûùüœ\W]+)(?:e|es|ent)\b",
    "es": r"(?<=[qg])(u)(?=[ei])",
    "pt-BR": r"(?<=[qg])(u)(?=[eia])",
}

VOWELLED = """
فِي أَيَّامِ السُّوقِ تَسْتَيْقِظُ السَّاحَةُ قَبْلَ شُرُوقِ الشَّمْسِ. تَنْزِلُ الْعَرَبَاتُ مِنَ التِّلَالِ، وَتَتَرَدَّدُ الْأَصْوَاتُ الْأُولَى فَوْقَ الْحِجَارَةِ الْمُبَلَّلَةِ. تَفْتَحُ الْخَبَّازَةُ نَافِذَتَهَا، وَتَصِلُ رَائِحَةُ الْخُبْزِ السَّاخِنِ إِلَى النَّهْرِ. وَيُغَنِّي رَجُلٌ عَجُوزٌ بِصَوْتٍ خَافِتٍ.

مَنْ يُرِيدُ أَنْ يَبْقَى فِي سَرِيرِهِ فِي مِثْلِ هٰذَا الصَّبَاحِ؟ يَجْرِي الْأَطْفَالُ بَيْنَ الْأَكْشَاكِ وَيَخْتَارُونَ التُّفَّاحَ وَالْجُبْنَ وَالْعِنَبَ وَالْخَوْخَ الْأَصْفَرَ. تَضْحَكُ الْأُمَّهَاتُ، وَيَتَحَدَّثْنَ عَنِ الطَّقْسِ. وَعِنْدَ الظُّهْرِ تَكُونُ الْعَرَبَاتُ فَارِغَةً، وَلَا يَبْقَى فِي السَّاحَةِ إِلَّا الْحَمَامُ.
"""  # noqa: E501
"""The Arabic passage with its vowel signs, which the prompt leaves out, as print usually does."""


def syllables(language):
    """Vowels of the reading passage, without silent ones: within about 5 % of a count by hand."""
    text = VOWELLED if language == "ar" else by_id(language)["reading"].text
    heard = re.sub(SILENT.get(language, r"(?!)"), lambda found: "" if found[1] == "u" else found[1], text.lower())
    return len(re.findall(NUCLEI[language], heard))


def test_the_reading_passages_take_about_as_long_in_each_language():
    assert re.sub(r"[\u064b-\u0652\u0670]", "", VOWELLED).strip() == by_id("ar")["reading"].text
    texts = {language: by_id(language)["reading"].text for language in protocol_languages()}
    assert all(64 <= len(text.split()) <= 100 for text in texts.values())
    seconds = {language: 60 * len(text.split()) / WORDS_A_MINUTE[language] for language, text in texts.items()}
    assert all(24 <= value <= 34 for value in seconds.values()), seconds
    counts = {language: syllables(language) for language in texts}
    assert all(110 <= count <= 190 for count in counts.values()), counts


def test_the_reading_passages_have_the_same_parts():
    for language in protocol_languages():
        text = by_id(language)["reading"].text
        assert len(text.split("\n\n")) == 2
        assert (len(re.findall(r"[.]", text)), len(re.findall(r"[?؟]", text))) == (7, 1), language


def test_a_protocol_takes_long_enough_for_what_it_needs():
    for protocol in protocols():
        assert protocol.seconds >= max(MIN_DURATION_S, protocol.min_speech_s)


def test_the_picture_is_there():
    assert by_id()["picture"].picture.is_file()


def test_a_sequence_has_its_tasks_in_order():
    sequence = by_id("fr")["sequence"]
    assert [task.task_id for task in sequence.tasks] == ["vowel", "reading", "picture"]
    assert sequence.text == by_id("fr")["vowel"].text
    assert sequence.about() == {"protocol": "sequence", "protocol_version": 2, "language": "fr"}


def test_the_ring_counts_speech_or_voice_since_the_task_began():
    so_far = SpeechProgress(speech_s=40, sound_s=50, task_speech_s=3, task_sound_s=6)
    tasks = by_id()["sequence"].tasks
    assert (tasks[0].counted_s(so_far), tasks[0].progress(so_far)) == (6, 0.5)
    assert (tasks[1].counted_s(so_far), tasks[1].progress(so_far)) == (3, 0.2)
    assert tasks[0].progress(SpeechProgress(task_sound_s=90)) == 1.0


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("de", "de"),
        ("de-AT", "de"),
        ("DE_ch", "de"),
        ("es-419", "es"),
        ("fr-x-clinic", "fr"),
        ("pt", "pt-BR"),
        ("pt-PT", "pt-BR"),
        ("ar-EG", "ar"),
        ("tlh", "en"),
        ("", "en"),
    ],
)
def test_the_nearest_language_is_found(wanted, found):
    assert nearest_language(wanted, ("en", "ar", "de", "es", "fr", "pt-BR")) == found


TASK = """
id = "{id}"
version = 1
order = 1
icon = "talk"
kind = "task"
seconds = 30
min_speech_s = 15.0
counts = "speech"
{more}

[{language}]
title = "T"
help = "H"
begin = "{{seconds}} s"
text = "Words"
"""


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"id": "other"}, "calls itself other"),
        ({"language": "de"}, "has no English"),
        ({"language": "english"}, "languages"),
        ({"more": "loudness = 3"}, "loudness"),
    ],
)
def test_a_file_that_breaks_the_form_is_refused_with_its_reason(tmp_path, fields, sentence):
    text = TASK.format(**({"id": "mine", "language": "en", "more": ""} | fields))
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        protocols("en", tmp_path)


def test_a_lab_can_bring_its_own_and_a_sequence_must_name_tasks_that_are_there(tmp_path):
    (tmp_path / "mine.toml").write_text(TASK.format(id="mine", language="en", more='picture = "cat.png"'))
    assert by_id("de", tmp_path)["mine"].picture == tmp_path / "cat.png"
    (tmp_path / "both.toml").write_text(
        'id = "both"\nversion = 1\norder = 2\nicon = "talk"\nkind = "sequence"\nsteps = ["mine", "yours"]\n'
        '[en]\ntitle = "T"\nhelp = "H"\n'
    )
    protocols.cache_clear()
    with pytest.raises(ValueError, match="names yours"):
        protocols("en", tmp_path)

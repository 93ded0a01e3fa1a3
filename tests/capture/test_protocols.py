import pytest

from vbdesk.capture.protocols import nearest_language, protocol_languages, protocols
from vbdesk.capture.speech_meter import SpeechProgress
from vbdesk.contract.limits import MIN_DURATION_S

KINDS = ("reading", "picture", "counting", "vowel", "free", "sequence")


def by_id(language="en", folder=None):
    return {protocol.protocol_id: protocol for protocol in protocols(language, folder)}


def test_every_kind_is_there_in_every_language():
    assert protocol_languages()[0] == "en"
    assert {"en", "de", "es", "fr"} <= set(protocol_languages())
    for language in protocol_languages():
        found = protocols(language)
        assert tuple(protocol.protocol_id for protocol in found) == KINDS
        assert all(protocol.language == task.language == language for protocol in found for task in protocol.tasks)


def test_no_two_languages_share_their_words():
    for texts in zip(*(protocols(language) for language in protocol_languages()), strict=True):
        assert len({protocol.title for protocol in texts}) == len(texts)
        assert len({protocol.text for protocol in texts}) == len(texts)


def test_a_protocol_takes_long_enough_for_what_it_needs():
    for protocol in protocols():
        assert protocol.seconds >= max(MIN_DURATION_S, protocol.min_speech_s)


def test_the_picture_is_there():
    assert by_id()["picture"].picture.is_file()


def test_a_sequence_has_its_tasks_in_order():
    sequence = by_id("fr")["sequence"]
    assert [task.task_id for task in sequence.tasks] == ["vowel", "reading", "picture"]
    assert sequence.text == by_id("fr")["vowel"].text
    assert sequence.about() == {"protocol": "sequence", "protocol_version": 1, "language": "fr"}


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
        ("tlh", "en"),
        ("", "en"),
    ],
)
def test_the_nearest_language_is_found(wanted, found):
    assert nearest_language(wanted, ("en", "de", "es", "fr")) == found


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
act = "A"
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

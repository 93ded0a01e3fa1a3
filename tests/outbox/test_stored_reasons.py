"""Reasons are stored as messages; whatever stands in the column, a page gets a sentence."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from list_by_hand import list_by_hand
from vbdesk.language import available_languages, joined, message, plural_message, reading_in, translated
from vbdesk.language.reader import Language
from vbdesk.outbox.library.stored_reasons import NO_LONGER_WRITTEN, UNREADABLE, read_reason, written_reason

PSEUDO = Language("en_XA", "en_GB")


def test_a_reason_is_shown_in_the_language_of_its_reader():
    inner = message("The service answered {code}.", code=503)
    reason = joined(message("It waits: {why}", why=inner), plural_message("{count} try.", "{count} tries.", 3))
    again = read_reason(written_reason(reason))
    assert again == "It waits: The service answered 503. 3 tries."
    with reading_in(PSEUDO):
        shown = translated(again)
    assert shown.count("[") == 3
    assert "503" in shown


def test_a_sentence_of_an_earlier_version_reads_as_it_is():
    assert read_reason("It failed with {x.__class__} and {0}.") == "It failed with {x.__class__} and {0}."
    assert read_reason(None) is None
    assert read_reason("") is None
    assert written_reason(None) is None
    with reading_in(PSEUDO):
        assert translated(read_reason("It failed { badly.")).startswith("[")


DECIDE = "Decide which time is right. It is not sent before."
OF_VERSION_6 = [
    "The recording is longer than 20 minutes, so it was not sent. Trim it and try again.",
    "12 s of sound, under the 15 s minimum, so it was not sent.",
    "The service may have this recording, but nothing proves it. Look again, or send it again at its price.",
    "Another computer may have sent this recording, but nothing proves it. Look again, or send it again at its price.",
    "The service has the key of this recording for another one, so it was not sent. It is kept, and can be sent again "
    "at its price.",
    "The service does not know this analysis any more. The recording is kept and can be sent again.",
    "Something unexpected went wrong with this recording. It is kept and can be sent again.",
    "There is no voice to analyse in this recording. Record again.",
    "The service does not accept this request. The recording is kept.",
    "The service has a problem of its own; it will be tried again. It was tried 6 times. It is kept and will be "
    "retried automatically.",
    "The service cannot be reached: the connection broke off. Check whether it is weak or unsteady. It was tried 6 "
    "times. It is kept and will be retried automatically.",
    "The service's storage cannot be reached: it did not answer in time. Check whether the connection is very slow. It "
    "was tried 12 times. It is kept and will be retried automatically.",
    "The upload took too long to begin; it will be tried again. It is tried again automatically.",
    "The clock here was ahead: it gave 2026-03-01 12:00 for this recording, and by the service's clock it was 09:30. "
    + DECIDE,
    "The clock here was behind: it gave 2026-03-01 12:00 (UTC+0100) for this recording, and by the service's clock it "
    "was 2026-03-29 09:30 (UTC+0200). " + DECIDE,
    "The clock here was wrong: it gave 2026-03-01 12:00 for this recording, and by the service's clock it was after "
    "2026-02-28 09:30 and not later than 09:45. " + DECIDE,
    "The clock here was behind: it gave 2026-03-01 12:00 for this recording, and by the service's clock it was after "
    "2026-03-02 09:30. " + DECIDE,
    "The time of this recording is 2026-03-01 12:00, and by the service's clock it was made not later than 09:30. "
    + DECIDE,
    "The clock here was wrong: it gave 1970-01-01 00:01 for this recording, and this program did not exist then. "
    + DECIDE,
    "The time of this recording was corrected from 2026-03-01 12:00 to 13:00. By the service's clock it was made after "
    "09:30 and not later than 09:45. " + DECIDE,
    "The time of this recording was corrected from 2026-03-01 12:00 to 13:00. By the service's clock it was made at "
    "09:30. " + DECIDE,
    "The time of this recording was corrected from 2026-03-01 12:00 to 13:00. " + DECIDE,
]
"""Reasons as version 6 of the library wrote them, with times and numbers."""


@pytest.mark.parametrize("stored", OF_VERSION_6)
@pytest.mark.parametrize("name", available_languages())
def test_a_reason_of_version_6_is_shown_in_the_language_of_its_reader(name, stored):
    reason = read_reason(stored)
    assert reason == stored
    with reading_in(Language(name, name)):
        shown = translated(reason)
    assert (shown == stored) is (name == "en")
    assert not re.search("[Tt]he service|[Tt]he clock|[Ii]t was|It is|Decide|[Cc]heck|recording", shown) or name == "en"
    digits = re.compile(r"\d+")
    assert sorted(digits.findall(shown)) == sorted(digits.findall(stored))


@pytest.mark.parametrize("text", NO_LONGER_WRITTEN)
@pytest.mark.parametrize("name", available_languages())
def test_a_reason_in_an_earlier_wording_is_shown_in_the_language_of_its_reader(name, text):
    stored = joined(text, plural_message("It was tried {count} time.", "It was tried {count} times.", 6))
    reasons = [read_reason(written_reason(stored)), read_reason(str(stored))]
    with reading_in(Language(name, name)):
        shown = {translated(reason) for reason in reasons}
    assert len(shown) == 1
    assert (shown == {stored}) is (name == "en")
    assert name == "en" or not re.search("[Tt]he |again|It was", shown.pop())


def test_what_only_looks_like_such_a_sentence_stays_as_it_is():
    text = "It was tried 6 times. It was tried 6 times. The recording is kept. The service cannot be reached: "
    assert [read_reason(text * times) for times in (1, 8, 4000)] == [text * times for times in (1, 8, 4000)]


NESTED = {"text": "{a}" * 60, "fields": {"a": {"text": "{a}" * 60, "fields": {"a": {"text": "x" * 60}}}}}


@pytest.mark.parametrize(
    "stored",
    [
        "{",
        '{"text": 1}',
        '{"text": "{a}", "fields": [1]}',
        '{"text": "{a}", "fields": {"a": [1]}}',
        '{"text": "{a}", "fields": {"a": null}}',
        '{"text": "{a}", "many": 3, "count": 1}',
        '{"text": "{a}", "many": "{a}", "count": "many"}',
        '{"parts": []}',
        '{"parts": "ab"}',
        '{"text": "' + "x" * 100_000 + '"}',
        '{"parts": [' * 3000 + "]}" * 3000,
        '{"text": "{a}", "fields": {"a": ' * 20 + "1" + "}}" * 20,
        json.dumps(NESTED),
    ],
)
def test_damaged_and_hostile_data_become_one_plain_sentence(stored):
    assert read_reason(stored) == UNREADABLE
    with reading_in(PSEUDO):
        assert translated(read_reason(stored)).startswith("[")


@pytest.mark.parametrize("template", ["{x.__class__}", "{x[0]}", "{0}", "{}", "{x!z}", "{y}", "{x:>99999999}", "}{"])
def test_a_template_from_the_database_reaches_nothing_but_its_fields(template):
    reason = read_reason(json.dumps({"text": template, "fields": {"x": "ward"}}))
    for language in (PSEUDO, Language("en", "en_GB")):
        with reading_in(language):
            assert "class 'str'" not in translated(reason)
            assert len(translated(reason)) < 200
    assert reason in (template, "ward")


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["text", "many", "count", "fields", "parts", "x"]), inner, max_size=5),
    ),
)


@given(JSON)
def test_any_json_becomes_a_sentence_in_every_language(data):
    reason = read_reason(json.dumps(data))
    for language in (PSEUDO, Language("en", "ar_EG"), Language("en", "en_GB")):
        with reading_in(language):
            assert reason is None or isinstance(translated(reason), str)


def test_the_english_sentence_goes_to_data_for_machines(library, new_take):
    take_id = new_take()
    with library.store.changing():
        library.store.update(take_id, {"reason": message("It waits for {name}.", name="ward-4")})
    item = library.get(take_id)
    with reading_in(PSEUDO):
        assert json.dumps({"reason": item.reason}) == '{"reason": "It waits for ward-4."}'
    with list_by_hand(library.store.folder) as database:
        (stored,) = database.execute("SELECT reason FROM recordings").fetchone()
    assert json.loads(stored) == {"text": "It waits for {name}.", "fields": {"name": "ward-4"}}
    with library.store.changing():
        library.store.update(take_id, {"reason": "x" * 10_000})
    assert library.get(take_id).reason == "x" * 4000

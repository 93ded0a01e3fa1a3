"""A command tells every refusal in the reader's language: the service's API and what is stored stay English."""

import re

import pytest

from vbdesk.language import Language, reading_in

PSEUDO = Language("en_XA", "en_GB")
NO_JOB = "0198c0de-0000-7000-8000-000000000001"

REFUSED = [
    ("jobs", "show", NO_JOB),
    ("jobs", "wait", NO_JOB),
    ("groups", "show", "nobody"),
    ("groups", "jobs", "nobody"),
    ("groups", "longitudinal", "nobody"),
    ("groups", "longitudinal", "subj-7", "--sign", "courage"),
    ("groups", "aggregate", "nobody"),
    ("groups", "delete", "nobody", "--yes"),
    ("groups", "add", "nobody", NO_JOB),
    ("groups", "remove", "nobody", NO_JOB),
    ("groups", "remove", "subj-7", NO_JOB),
    ("groups", "create", "subj-7"),
    ("groups", "create", "söhn"),
    ("groups", "create", "x" * 600),
    ("groups", "jobs", "subj-7", "--from", "last week"),
]


@pytest.fixture
def answers(near_service):
    """The bodies with which the service refuses, as it sends them."""
    near_service.client().groups.create("subj-7")
    answer, bodies = near_service.answer, []

    def kept(request):
        response = answer(request)
        if not response.is_success:
            bodies.append(response.json())
        return response

    near_service.answer = kept
    return bodies


def outside_of_brackets(text):
    """The words that a translation into the pseudo-language has not reached."""
    while (inner := re.sub(r"\[[^][]*\]", "", text)) != text:
        text = inner
    return text.split()


@pytest.mark.parametrize("command", REFUSED, ids=" ".join)
def test_no_refusal_is_shown_in_the_english_of_the_service(vbdesk, answers, command):
    with reading_in(PSEUDO):
        done = vbdesk(*command)
    assert done.exit_code in (1, 2)
    assert outside_of_brackets(done.stderr) == []
    assert done.stderr
    for body in answers:
        assert body["message"] not in done.stderr
        assert all(detail["msg"] not in done.stderr for detail in body.get("detail", ()))


def test_a_wrong_key_is_told_in_the_readers_language(vbdesk):
    with reading_in(PSEUDO):
        done = vbdesk("jobs", "list", VBDESK_API_KEY="vbk_wrong")
    assert done.exit_code == 4
    assert outside_of_brackets(done.stderr) == []


def test_json_stays_english(vbdesk, answers):
    english = vbdesk("groups", "show", "subj-7", "--json").stdout
    with reading_in(PSEUDO):
        assert vbdesk("groups", "show", "subj-7", "--json").stdout == english

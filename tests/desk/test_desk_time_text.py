"""Times and amounts of the desk in the reader's language and region."""

from datetime import datetime, timedelta

import pytest

from vbdesk.desk.ui.time_text import (
    age_text,
    clock_text,
    day_and_time,
    day_in_sentence,
    day_text,
    megabytes,
    moment_in_sentence,
    place_in_line,
    rate_text,
)
from vbdesk.language import Language, reading_in

NOW = datetime(2026, 11, 21, 12).astimezone()
MORNING = NOW.replace(hour=10, minute=41)
ENGLISH = Language("en", "en_GB")


@pytest.mark.parametrize(
    ("moment", "title", "within"),
    [
        (MORNING, "Today 10:41", "today 10:41"),
        (MORNING - timedelta(days=1), "Yesterday 10:41", "yesterday 10:41"),
        (MORNING + timedelta(days=1), "22 Nov 10:41", "22 Nov 10:41"),
        (MORNING.replace(day=3), "3 Nov 10:41", "3 Nov 10:41"),
        (MORNING.replace(year=2025), "21 Nov 2025 10:41", "21 Nov 2025 10:41"),
    ],
)
def test_a_moment_reads_as_a_person_says_it(moment, title, within):
    with reading_in(ENGLISH):
        assert day_and_time(moment, NOW) == title
        assert moment_in_sentence(moment, NOW) == within
        assert f"{day_text(moment, NOW)} 10:41" == title
        assert f"{day_in_sentence(moment, NOW)} 10:41" == within


def test_days_and_hours_follow_the_region():
    afternoon = NOW.replace(year=2025, hour=15)
    with reading_in(Language("en", "en_US")):
        assert day_and_time(afternoon, NOW).replace("\u202f", " ") == "Nov 21, 2025 3:00 PM"
    with reading_in(Language("en", "de_DE")):
        assert day_and_time(afternoon, NOW) == "21.11.2025 15:00"
    with reading_in(Language("en", "fr_FR")):
        assert megabytes(1_900_000, 3_200_000) == "1.9 of 3.2 MB"  # English text: Python's own numbers


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(seconds=59), "a moment ago"),
        (timedelta(seconds=-9), "a moment ago"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23), "23 hours ago"),
        (timedelta(days=13), "13 days ago"),
    ],
)
def test_ages(age, words):
    with reading_in(ENGLISH):
        assert age_text(NOW - age, NOW) == words


def test_amounts():
    with reading_in(ENGLISH):
        assert rate_text(412_000) == "0.4 MB a second"
        assert [place_in_line(place) for place in (1, 3, 17)] == ["Next in line", "Third in line", "Number 17 in line"]
        assert clock_text(65.9) == "1:05"


def test_every_text_is_marked():
    with reading_in(Language("en_XA", "en_GB")):
        for text in (
            day_and_time(MORNING, NOW),
            day_and_time(MORNING.replace(day=3), NOW),
            moment_in_sentence(MORNING, NOW),
            day_text(MORNING, NOW),
            age_text(MORNING, NOW),
            megabytes(1, 2),
            rate_text(1),
            place_in_line(2),
            place_in_line(20),
        ):
            assert text.startswith("[")
            assert text.endswith("]")

"""Texts never fail for any value of a service, bundle or damaged library."""

import math
import os
import time
from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vbdesk.cli.output import local_time, number
from vbdesk.contract.timestamps import bounded, format_timestamp, from_unix_seconds, in_zone, local_minute
from vbdesk.desk.charts.cursor_text import _moment_text
from vbdesk.desk.charts.time_axis import read_text, ticks, zone_text
from vbdesk.desk.charts.trajectory_data import _signed
from vbdesk.desk.cohort.cohort_rows import age_in_days
from vbdesk.desk.compare.comparison import _amount
from vbdesk.desk.record.check_text import _figures, _is_good
from vbdesk.desk.results.result_text import moment_of, title_of
from vbdesk.desk.subject.trajectory_text import age_text as read_age_words
from vbdesk.desk.ui.time_text import age_text, clock_text, day_and_time, megabytes, moment_in_sentence, rate_text
from vbdesk.outbox.library.recording_time import TimeDoubt, doubt_sentence
from vbdesk.outbox.sync.forecast import approximate_duration
from vbdesk.report import time_format
from vbdesk.report.documents.recording_document import _format_figure
from vbdesk.report.reader_words import with_unit
from vbdesk.report.trajectory_chart import _span, _ticks

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
EDGES = st.sampled_from(
    [datetime.min, datetime.max, datetime(1, 1, 1, 23), datetime(9999, 12, 31, 1), datetime(1969, 1, 1)]
)
MOMENTS = st.builds(lambda moment, zone: moment.replace(tzinfo=zone), EDGES | st.datetimes(), ZONES)
ON_THE_WIRE = (EDGES | st.datetimes()).map(lambda moment: moment.replace(tzinfo=UTC))
AMOUNTS = st.floats() | st.integers(-(10**400), 10**400) | st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf])

OF_MOMENTS = {
    "local_minute": local_minute,
    "format_timestamp": format_timestamp,
    "local_time": local_time,
    "day_and_time": lambda moment: day_and_time(moment, NOW),
    "age_text": lambda moment: age_text(moment, NOW),
    "read_age_words": lambda moment: read_age_words(moment, NOW),
    "age_in_days": lambda moment: age_in_days(moment, NOW),
    "moment_of": moment_of,
    "title_of": title_of,
    "moment_in_sentence": lambda moment: moment_in_sentence(moment, NOW),
    "read_text": lambda moment: read_text(moment, NOW),
    "doubt_sentence": lambda moment: doubt_sentence(moment, TimeDoubt(suggested=NOW)),
    "doubt between": lambda moment: doubt_sentence(NOW, TimeDoubt(after=moment, before=moment)),
    "report moment": lambda moment: time_format.format_moment(moment, UTC),
    "report short": lambda moment: time_format.format_short_moment(moment, timezone(timedelta(hours=14))),
    "report zone": lambda moment: time_format.format_utc_offset(moment, timezone(timedelta(hours=-12))),
}
OF_AMOUNTS = {
    "number": number,
    "signed": _signed,
    "amount": lambda amount: _amount(amount, "%"),
    "with_unit": lambda amount: with_unit(amount, "Hz"),
    "clock_text": clock_text,
    "rate_text": rate_text,
    "about": approximate_duration,
    "report length": time_format.format_duration,
    "report figure": lambda amount: _format_figure(amount, ".2f"),
    "with_unit of a share": lambda amount: with_unit(amount, "%"),
    "axis zone": zone_text,
    "cursor": _moment_text,
}


@pytest.fixture(params=["UTC0", "<+14>-14", "<-12>12"])
def zone(request, monkeypatch):
    """This computer's zone."""
    if not hasattr(time, "tzset"):
        pytest.skip("the zone cannot be changed here")
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    if before is None:
        monkeypatch.delenv("TZ")
    else:
        monkeypatch.setenv("TZ", before)
    time.tzset()


in_any_zone = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)


@pytest.mark.parametrize("name", OF_MOMENTS)
@in_any_zone
@given(moment=MOMENTS)
def test_any_moment_has_words(zone, name, moment):
    assert OF_MOMENTS[name](moment)


@pytest.mark.parametrize("name", OF_AMOUNTS)
@settings(deadline=None)
@given(amount=st.floats())
def test_any_amount_has_words(name, amount):
    assert OF_AMOUNTS[name](amount)


@given(sent=st.integers(0, 10**30), total=st.integers(0, 10**30))
def test_any_size_has_words(sent, total):
    assert megabytes(sent, total).endswith("MB")


@given(st.floats())
def test_any_number_of_seconds_is_a_moment(seconds):
    assert from_unix_seconds(seconds).tzinfo is UTC


@given(AMOUNTS)
def test_any_amount_can_be_rounded(amount):
    assert abs(round(bounded(amount))) <= 10**15
    assert bounded(amount) == amount or not abs(amount) <= 10**15


@in_any_zone
@given(moment=MOMENTS)
def test_a_moment_stays_the_same_where_its_zone_can_show_it(zone, moment):
    shown = in_zone(moment)
    assert shown.tzinfo is not None
    if datetime(2, 1, 1, tzinfo=UTC) < moment < datetime(9998, 1, 1, tzinfo=UTC):
        assert shown == moment


@in_any_zone
@given(start=st.floats(-7e10, 3e11), span=st.floats(0, 3e11) | st.floats(0, 1e8))
def test_any_stretch_of_time_has_an_axis_of_few_ticks(zone, start, span):
    found = ticks(start, start + span)
    places = [place for place, _ in found]
    assert places == sorted(places)
    assert len(found) < 100
    assert all(words for _, words in found)


@settings(deadline=None)
@given(start=MOMENTS, end=MOMENTS)
def test_any_stretch_of_time_has_an_axis_in_the_report(start, end):
    area = SimpleNamespace(start=min(start, end), end=max(start, end), left=0.0, right=500.0)
    found = list(_ticks(area, UTC))
    assert all(words for _, words in found)
    assert len(found) <= 120


@settings(deadline=None)
@given(as_of=ON_THE_WIRE, points=st.lists(ON_THE_WIRE, max_size=3))
def test_any_points_have_a_span_in_the_report(as_of, points):
    start, end = _span(SimpleNamespace(as_of=as_of, data_points=[SimpleNamespace(recorded_at=each) for each in points]))
    assert start <= min(points, default=as_of)
    assert end >= max([as_of, *points])


JSON = st.recursive(
    st.none() | st.booleans() | AMOUNTS | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
FIGURES = ("voice_percentage", "audio_clarity", "clipped_percent", "rms_dbfs", "overall")


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(FIGURES), JSON))
def test_any_check_has_figures(quality):
    assert all(name and value for name, value in _figures(quality))
    assert _is_good(quality) in (True, False, None)

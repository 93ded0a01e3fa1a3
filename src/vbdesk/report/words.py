"""What reports and charts say."""

from datetime import datetime, timedelta, tzinfo
from functools import cache
from typing import Annotated

from pydantic import Field

from vbdesk.contract.timestamps import bounded, in_zone
from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.resource_files import resource

Months = Annotated[tuple[str, ...], Field(min_length=12, max_length=12)]


class ChartWords(StrictDataModel):
    """The charts over time."""

    title: str
    sign: str
    sign_unusual: str
    once: str
    times: str
    rising: str
    falling: str
    stable: str
    first: str
    none: str
    early: str
    gap: str
    days_in: str
    reading: str
    issue: str
    estimate: str
    own_range: str
    unusual: str
    consider: str


class FactWords(StrictDataModel):
    """Labels and values at the head."""

    subject: str
    recorded: str
    analysed: str
    length: str
    analysis: str
    history: str
    quality: str
    model: str
    sign: str
    version: str
    no_history: str
    good_quality: str
    one_issue: str
    issues: str


class OverallWords(StrictDataModel):
    """The card of the overall level."""

    title: str
    caption: str


class SignalWords(StrictDataModel):
    """The table of signals."""

    title: str
    signal: str
    level: str
    baseline: str
    lower: str
    higher: str
    evidence: str
    above: str
    below: str
    within: str
    first: str
    not_compared: str
    strip: str


class CautionWords(StrictDataModel):
    """What a reader must know."""

    title: str
    what: str
    flagged: str
    flagged_unknown: str


class ReaderWords(StrictDataModel):
    """The sign-off."""

    title: str
    name: str
    time: str
    signature: str
    signed: str
    unsigned: str


class DetailWords(StrictDataModel):
    """The pages behind the first."""

    title: str
    over_time: str
    over_time_about: str
    over_time_alternative: str
    no_trajectory: str
    recent: str
    recent_more: str
    recorded: str
    notes: str
    unusual: str
    quality_notes: str
    for_staff: str
    features: str
    features_about: str
    feature: str
    value: str
    band: str
    metrics: str
    metrics_about: str
    metric: str
    between: str
    scale: str
    quality: str
    next_time: str
    quality_good: str
    speakers: str
    speakers_about: str
    speaker: str
    speech: str
    too_little: str
    evidence: str
    known: str
    confounders: str
    scores: str
    scores_about: str
    score: str
    interval: str
    latest: str
    baseline: str
    z: str
    method: str
    method_about: str
    attached: str
    job: str


class AttachmentWords(StrictDataModel):
    """What the attached files are."""

    csv: str
    dictionary: str
    fhir: str


class ReportWords(StrictDataModel):
    """All of wording.toml; `language` is its BCP 47 tag."""

    language: str
    title: str
    not_a_diagnosis: str
    page: str
    exported: str
    one_recording: str
    recordings: str
    months: Months
    months_short: Months
    chart: ChartWords
    fact: FactWords
    overall: OverallWords
    signals: SignalWords
    caution: CautionWords
    reader: ReaderWords
    details: DetailWords
    attachment: AttachmentWords

    def counted(self, count: int) -> str:
        """`1 recording`, `38 recordings`."""
        return self.one_recording if count == 1 else self.recordings.format(count=count)


@cache
def report_words() -> ReportWords:
    """The words of wording.toml, none missing and none unknown."""
    return ReportWords.model_validate(read_toml(resource("report", "wording.toml")))


def moment_words(moment: datetime, zone: tzinfo) -> str:
    """`21 November 2026, 10:41 (UTC+01:00)`: never without its zone."""
    local = in_zone(moment, zone)
    month = report_words().months[local.month - 1]  # never %B: a window sets the language of the whole process
    return f"{local.day} {month} {local:%Y, %H:%M} ({zone_words(moment, zone)})"


def short_moment(moment: datetime, zone: tzinfo) -> str:
    """`21 Nov 2026, 10:41 +01:00`, for tables."""
    local = in_zone(moment, zone)
    offset = zone_words(moment, zone).removeprefix("UTC") or "UTC"
    return f"{local.day} {report_words().months_short[local.month - 1]} {local:%Y, %H:%M}\u00a0{offset}"


def zone_words(moment: datetime, zone: tzinfo) -> str:
    """`UTC` or `UTC+01:00`: the zone's offset at a moment."""
    offset = in_zone(moment, zone).utcoffset() or timedelta(0)
    minutes = round(offset.total_seconds() / 60)
    if not minutes:
        return "UTC"
    hours, rest = divmod(abs(minutes), 60)
    return f"UTC{'+' if minutes > 0 else '−'}{hours:02d}:{rest:02d}"


def duration_words(seconds: float) -> str:
    """`42 s`, `3 min 05 s`."""
    whole = round(bounded(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02d} s"

"""Texts of reports and charts, from `resources/report/wording.toml`."""

from functools import cache
from typing import Annotated

from pydantic import Field

from vbdesk.data_files import StrictDataModel, read_toml
from vbdesk.report.comparison_basis import ComparisonBasis
from vbdesk.resource_files import resource

Months = Annotated[tuple[str, ...], Field(min_length=12, max_length=12)]


class ChartTexts(StrictDataModel):
    """Texts of the trajectory charts."""

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
    analysis_changed: str
    language_note: str
    change_note: str
    changes_note: str


class FactTexts(StrictDataModel):
    """Labels and values at the top of the first page."""

    subject: str
    recorded: str
    analysed: str
    length: str
    analysis: str
    history: str
    first: str
    last: str
    count: str
    quality: str
    model: str
    sign: str
    version: str
    no_history: str
    good_quality: str
    one_issue: str
    issues: str


class OverallLevelTexts(StrictDataModel):
    """Texts of the overall level."""

    title: str
    caption: str


class SignalTexts(StrictDataModel):
    """Texts of the table of signals."""

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


class ComparisonTexts(StrictDataModel):
    """With whom a result was compared."""

    shipped: str
    site: str
    own_sign: str
    other_release: str
    unknown: str

    def of(self, basis: ComparisonBasis) -> str:
        """The sentence."""
        text: str = getattr(self, basis.kind.name.lower())
        return text.format(calibration=basis.calibration, norms=basis.norms, readers=basis.readers)


class CautionTexts(StrictDataModel):
    """Cautions for the reader."""

    title: str
    what: str
    flagged: str
    flagged_unknown: str


class ReaderTexts(StrictDataModel):
    """Texts of the sign-off."""

    title: str
    name: str
    time: str
    signature: str
    signed: str
    unsigned: str


class DetailTexts(StrictDataModel):
    """Texts of the detail pages."""

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
    feature_plain: str
    no_finding: str
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


class AttachmentTexts(StrictDataModel):
    """Descriptions of the attached files."""

    csv: str
    dictionary: str
    fhir: str


class ReportTexts(StrictDataModel):
    """All texts of wording.toml; `language` is their BCP 47 tag."""

    language: str
    title: str
    not_a_diagnosis: str
    page: str
    exported: str
    one_recording: str
    recordings: str
    subjects: str
    subjects_title: str
    subject_title: str
    missing_letters: str
    months: Months
    months_short: Months
    chart: ChartTexts
    fact: FactTexts
    overall: OverallLevelTexts
    signals: SignalTexts
    caution: CautionTexts
    compared: ComparisonTexts
    reader: ReaderTexts
    details: DetailTexts
    attachment: AttachmentTexts

    def counted(self, count: int) -> str:
        """`1 recording`, `38 recordings`."""
        return self.one_recording if count == 1 else self.recordings.format(count=count)


@cache
def report_texts() -> ReportTexts:
    """The texts of wording.toml, validated."""
    return ReportTexts.model_validate(read_toml(resource("report", "wording.toml")))

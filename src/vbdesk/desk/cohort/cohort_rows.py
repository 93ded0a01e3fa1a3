"""Rows of Cohort: heat map, level counts and triage; made on a worker."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property

from vbdesk.contract.baseline_changes import OWN_RANGE_Z
from vbdesk.contract.levels import LEVEL_ORDER, Level, RecommendedAction, recommended_action
from vbdesk.contract.timestamps import in_zone
from vbdesk.desk.cohort.subject_summary import SOME, USUAL, SignState, SubjectSummary
from vbdesk.desk.subject_data.subject_list import rank
from vbdesk.desk.ui.cells import ButtonCell, Cell, HeatCell, LabelCell, LevelCountsCell, TwoLineCell
from vbdesk.desk.ui.routes import RecordingRoute
from vbdesk.language import _, formats, joined, ngettext, pgettext
from vbdesk.outbox.library.subject_names import ShownSubject, search_key
from vbdesk.report.reader_words import level_in_sentence, level_word
from vbdesk.report.result_texts import action_title, overall_word, result_texts
from vbdesk.report.shipped_signs import shipped_signs

FEWEST = 5
"""With fewer subjects, a distribution says nothing; it is shown, and said so."""

OUTDATED_AFTER = timedelta(days=90)
"""What was recorded longer ago comes after everything younger."""

_REASONS = 2
_NEW, _CHANGED, _HOLDS, _REPEATED, _OLD = 3, 2, 1, 0, 4


class Shown(StrEnum):
    """Content of the heat map's cells."""

    LEVEL = "level"
    CHANGE = "change"
    SCORE = "score"


class HeatOrder(StrEnum):
    """Order of the heat map."""

    NEED = "need"
    NAME = "name"
    NEWEST = "newest"

    @property
    def label(self) -> str:
        """Its display text."""
        match self:
            case HeatOrder.NEED:
                # Translators: an order: whose recordings to look at first.
                return _("Most pressing first")
            case HeatOrder.NAME:
                return _("By name")
            case HeatOrder.NEWEST:
                return _("Newest first")


@dataclass(frozen=True, slots=True)
class SignColumn:
    """A column of the heat map."""

    name: str
    label: str


@dataclass(frozen=True)
class HeatRow:
    """A subject in the heat map."""

    summary: SubjectSummary
    columns: tuple[SignColumn, ...] = field(repr=False)
    shown: Shown
    today: datetime = field(compare=False)
    subject: ShownSubject | None = None

    @property
    def key(self) -> str:
        """The subject."""
        return self.summary.group_id

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Cells of the table, made when painted."""
        age = LabelCell(age_in_days(self.summary.recorded_at, self.today), "text3")
        heat = _HEAT[self.shown]
        states = (self.summary.signs.get(column.name) for column in self.columns)
        shown = self.key if self.subject is None else self.subject.text
        name = LabelCell(shown, "text", strong=True, name=True)
        return (name, age, *(HeatCell("") if state is None else heat(state) for state in states))


def age_in_days(moment: datetime, now: datetime) -> str:
    """`today`, `1 d`, `12 d`."""
    days = (now.astimezone().date() - in_zone(moment).date()).days
    if days <= 0:
        # Translators: the age of a recording, in a narrow column.
        return pgettext("age", "today")
    # Translators: the age of a recording in days, in a narrow column.
    return pgettext("age", "{count} d", count=days)


def _level_cell(state: SignState) -> HeatCell:
    level = level_word(state.level)
    if state.unusual == USUAL:
        return HeatCell(level, state.level)
    text = _("{level}. {finding}.", level=level, finding=_against_baseline(state))
    return HeatCell(text, state.level, strong=True)


def _change_cell(state: SignState) -> HeatCell:
    if state.z is None or state.level is Level.INCONCLUSIVE:
        text = ngettext("Too early to say, {count} reading", "Too early to say, {count} readings", state.n)
        # Translators: the number of readings, in a narrow cell.
        return HeatCell(text, figure=_("n {count}", count=state.n))
    text = _against_baseline(state)
    if abs(state.z) <= OWN_RANGE_Z and state.unusual == USUAL:
        return HeatCell(text, icon="equals")
    return HeatCell(text, icon="arrow-up" if state.z > 0 else "arrow-down", strong=True)


def _score_cell(state: SignState) -> HeatCell:
    if state.score is None or state.level is Level.INCONCLUSIVE:
        return HeatCell(level_word(Level.INCONCLUSIVE), state.level)
    score = formats.number(state.score, ".2f")
    text = _("{score}, level: {level}", score=score, level=level_in_sentence(state.level))
    return HeatCell(text, state.level, figure=score)


_HEAT: Mapping[Shown, Callable[[SignState], HeatCell]] = {
    Shown.LEVEL: _level_cell,
    Shown.CHANGE: _change_cell,
    Shown.SCORE: _score_cell,
}


def _against_baseline(state: SignState) -> str:
    """The sign against the subject's own baseline, as a label."""
    if state.z is None:
        return _("No baseline yet")
    if state.unusual == USUAL and abs(state.z) <= OWN_RANGE_Z:
        return _("Within own range")
    above = state.z > 0
    match state.unusual:
        case "acute":
            return _("Above own baseline, suddenly") if above else _("Below own baseline, suddenly")
        case "sustained":
            return _("Above own baseline, for some time") if above else _("Below own baseline, for some time")
    return _("Above own baseline") if above else _("Below own baseline")


@dataclass(frozen=True, slots=True)
class DistributionRow:
    """Number of subjects at each level of a sign."""

    key: str
    label: str
    counts: tuple[tuple[Level, int], ...]
    total: int

    @property
    def conclusive(self) -> int:
        """Number of subjects with a reading."""
        return sum(count for level, count in self.counts if level is not Level.INCONCLUSIVE)

    @property
    def flagged(self) -> int:
        """Number of those at consider or higher."""
        return sum(count for level, count in self.counts if level.flagged)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Cells of the table."""
        few = self.conclusive < FEWEST
        # Translators: so many subjects have a reading, too few for a share.
        only = ngettext("only {count}", "only {count}", self.conclusive)
        flagged = _("{flagged} of {all}", flagged=self.flagged, all=self.conclusive)
        return (
            LabelCell(self.label, "text"),
            LevelCountsCell(self.counts, self.total),
            LabelCell(only, "text3") if few else LabelCell(flagged, "text"),
        )


@dataclass(frozen=True, slots=True)
class TriageRow:
    """A subject to review.

    Attributes:
        recording: the newest with a result.
        reason: as sentences.
        action: title of the suggested action; empty for none.
        urgency: higher comes first.
    """

    key: str
    recording: RecordingRoute
    level: Level
    reason: str
    action: str
    age: str
    urgency: tuple[float, ...]
    subject: ShownSubject | None = None

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Cells of the table."""
        shown = self.key if self.subject is None else self.subject.text
        name = TwoLineCell(_("{subject} · {age}", subject=shown, age=self.age), joined(self.action, self.reason))
        button = ButtonCell(pgettext("verb", "Open"), quiet=True)
        return HeatCell(overall_word(self.level), self.level), name, button


@dataclass(frozen=True)
class CohortReading:
    """Content of the Cohort page."""

    columns: tuple[SignColumn, ...]
    heat: tuple[HeatRow, ...]
    distributions: tuple[DistributionRow, ...]
    triage: tuple[TriageRow, ...]
    summaries: tuple[SubjectSummary, ...]

    @cached_property
    def recordings(self) -> int:
        """Number of recordings."""
        return sum(entry.recordings for entry in self.summaries)

    @cached_property
    def oldest_read(self) -> datetime | None:
        """Time of the oldest read."""
        return min((entry.read_at for entry in self.summaries), default=None)


def cohort_of(
    summaries: Collection[SubjectSummary],
    labels: Mapping[str, str],
    shown: Shown,
    order: HeatOrder,
    now: datetime,
    subject: Callable[[str], ShownSubject] = ShownSubject,
) -> CohortReading:
    """Make the rows of subjects; `subject` gives their names."""
    columns = _columns(summaries, labels)
    needs = {entry.group_id: triage_of(entry, labels, now) for entry in summaries}
    ranked = sorted(summaries, key=lambda entry: (search_key(subject(entry.group_id).name), entry.group_id))
    if order is not HeatOrder.NAME:
        ranked.sort(key=lambda entry: entry.recorded_at, reverse=True)
    if order is HeatOrder.NEED:
        ranked.sort(key=lambda entry: _urgency_of(needs[entry.group_id]), reverse=True)
    named_rows = (replace(row, subject=subject(row.key)) for row in needs.values() if row is not None)
    triage = sorted(named_rows, key=lambda row: row.urgency, reverse=True)
    return CohortReading(
        columns=columns,
        heat=tuple(HeatRow(entry, columns, shown, now, subject(entry.group_id)) for entry in ranked),
        distributions=tuple(_distribution(column, summaries) for column in columns),
        triage=tuple(triage),
        summaries=tuple(ranked),
    )


def _urgency_of(row: TriageRow | None) -> tuple[float, ...]:
    return (-10.0,) if row is None else row.urgency


def _columns(summaries: Collection[SubjectSummary], labels: Mapping[str, str]) -> tuple[SignColumn, ...]:
    """Signs that any subject has, in the catalog's order, then by name."""
    present = {name for entry in summaries for name in entry.signs}
    known = [name for name in shipped_signs() if name in present]
    return tuple(SignColumn(name, _(labels.get(name, name))) for name in [*known, *sorted(present - {*known})])


def _distribution(column: SignColumn, summaries: Collection[SubjectSummary]) -> DistributionRow:
    states = (entry.signs.get(column.name) for entry in summaries)
    found = Counter(state.level for state in states if state is not None)
    counts = tuple((level, found[level]) for level in (*LEVEL_ORDER, Level.INCONCLUSIVE))
    return DistributionRow(column.name, column.label, counts, len(summaries))


def triage_of(entry: SubjectSummary, labels: Mapping[str, str], now: datetime) -> TriageRow | None:
    """The reason to review a subject; None if nothing is unusual."""
    levels = [state.level for state in entry.signs.values()]
    action = recommended_action(levels)
    text = "" if action is RecommendedAction.NONE else action_title(action)
    notable = [(_urgency(state), name, state) for name, state in entry.signs.items() if _is_notable(state)]
    notable.sort(key=lambda item: (item[0], item[1]), reverse=True)
    if notable:
        reasons = [_reason(name, state, labels, entry.recordings) for _key, name, state in notable[:_REASONS]]
        if others := len(notable) - len(reasons):
            reasons.append(ngettext("{count} more sign.", "{count} more signs.", others))
        reason, urgency = str(joined(*reasons)), notable[0][0]
    elif entry.level is Level.INCONCLUSIVE:
        reason, urgency = _why_inconclusive(entry), (float(_REPEATED),)
    else:
        return None
    if now - entry.recorded_at > OUTDATED_AFTER:
        urgency = (urgency[0] - _OLD, *urgency[1:])
    return TriageRow(
        key=entry.group_id,
        recording=RecordingRoute(entry.take_id, entry.job_id, entry.group_id, entry.recorded_at),
        level=entry.level,
        reason=reason,
        action=text,
        age=age_in_days(entry.recorded_at, now),
        urgency=urgency,
    )


def _is_notable(state: SignState) -> bool:
    return state.level.flagged or state.unusual != USUAL


def _rise(state: SignState) -> int:
    """Number of levels above the previous recording."""
    if state.before is None or Level.INCONCLUSIVE in (state.level, state.before):
        return 0
    return rank(state.level) - rank(state.before)


def _urgency(state: SignState) -> tuple[float, ...]:
    """Sort key: anomalies above the baseline and elevated levels, then rising, then lasting ones."""
    above = state.unusual != USUAL and (state.z or 0.0) >= 0
    kind = _HOLDS
    if above or state.level is Level.ELEVATED:
        kind = _NEW
    elif _rise(state) > 0 or (state.level.flagged and state.held == 1):
        kind = _CHANGED
    acute = {"acute": 2.0, "sustained": 1.0, SOME: 1.0}.get(state.unusual, 0.0)
    return (float(kind), float(rank(state.level)), acute, float(_rise(state)), state.z or 0.0)


def _reason(name: str, state: SignState, labels: Mapping[str, str], recordings: int) -> str:
    """`Anxiety: Elevated, first time.`, `Fatigue: Above own baseline, suddenly.`"""
    sign = _(labels.get(name, name))
    if not state.level.flagged:
        return _("{sign}: {finding}.", sign=sign, finding=_against_baseline(state))
    flagged = _since(sign, state, recordings)
    if state.unusual == USUAL:
        return flagged
    return joined(flagged, _("{finding}.", finding=_against_baseline(state)))


def _since(sign: str, state: SignState, recordings: int) -> str:
    """Since when a sign is flagged."""
    level = level_in_sentence(state.level)
    if recordings == 1:
        return _("{sign}: {level}, first recording.", sign=sign, level=level)
    if state.held > 1:
        return ngettext(
            "{sign}: {level}, held {count} time.",
            "{sign}: {level}, held {count} times.",
            state.held,
            sign=sign,
            level=level,
        )
    if state.flagged_before:
        return _("{sign}: {level}, again.", sign=sign, level=level)
    return _("{sign}: {level}, first time.", sign=sign, level=level)


def _why_inconclusive(entry: SubjectSummary) -> str:
    text = result_texts().issue
    known = [text[code].what for code in entry.issues if code in text]
    return _(known[0]) if known else _("The newest recording does not allow a reading.")


def named(
    summaries: Collection[SubjectSummary], matches: Callable[[str], bool], chosen: Collection[str] | None
) -> list[SubjectSummary]:
    """Subjects whose name matches, among `chosen` if given."""
    return [entry for entry in summaries if (chosen is None or entry.group_id in chosen) and matches(entry.group_id)]

"""Comparison of two recordings of one subject, as texts; made on a worker."""

from dataclasses import dataclass, replace
from typing import TypeVar

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.desk.results.analysis_text import task_text
from vbdesk.desk.results.repeatability import feature_repeatability, sign_repeatability
from vbdesk.desk.results.result_rows import FeatureRow, SignRow
from vbdesk.desk.results.result_source import Found
from vbdesk.desk.results.result_state import ResultView, view_of
from vbdesk.desk.results.result_text import ResultReading, moment_of, title_of
from vbdesk.desk.ui.time_text import clock_text
from vbdesk.language import N_, _, formats
from vbdesk.report.reader_words import with_unit

Row = TypeVar("Row", SignRow, FeatureRow)

_UNKNOWN = N_("not known here")
_WHOLE_PERCENT = 100.0
_HIGHER = {
    1: N_("One level higher"),
    2: N_("Two levels higher"),
    3: N_("Three levels higher"),
    4: N_("Four levels higher"),
}
_LOWER = {
    1: N_("One level lower"),
    2: N_("Two levels lower"),
    3: N_("Three levels lower"),
    4: N_("Four levels lower"),
}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two recordings.

    Attributes:
        view: as the Result page shows it.
        name: its time, to distinguish it from the other.
        task: id of its protocol; None if unknown.
        microphone: None if unknown.
        facts: (name, value) pairs.
        subject: how the subject is shown; empty for its id.
    """

    view: ResultView
    name: str
    task: str | None
    microphone: str | None
    facts: tuple[tuple[str, str], ...]
    subject: str = ""

    @property
    def reading(self) -> ResultReading | None:
        """The result; None while it is unknown."""
        return self.view.reading


@dataclass(frozen=True, slots=True)
class SignPair:
    """One signal in both; a level is None if it was not requested."""

    label: str
    left: Level | None
    right: Level | None
    arrow: str
    text: str
    real: bool


@dataclass(frozen=True, slots=True)
class FeaturePair:
    """One vocal feature in both; None if a result lacks it."""

    label: str
    left: FeatureRow | None
    right: FeatureRow | None
    arrow: str
    text: str
    real: bool


@dataclass(frozen=True, slots=True)
class ComparisonReading:
    """Content of the Compare page.

    Attributes:
        cautions: why the two cannot fairly be compared, as sentences; empty if they can.
        signs, features: in the order of the right one; `right` is compared with `left`.
    """

    left: Side
    right: Side
    cautions: tuple[str, ...]
    signs: tuple[SignPair, ...]
    features: tuple[FeaturePair, ...]


def side_of(found: Found, microphone: str | None, seconds: float | None) -> Side:
    """Describe one recording.

    Args:
        found: where it was found.
        microphone: its name, as the recording says.
        seconds: its length, if the sound was read.

    Raises:
        NoSuchResult: nothing is known of it.
    """
    view, item = view_of(found), found.item
    length = found.seconds if seconds is None else seconds
    reading = view.reading
    task = None if item is None else item.protocol or None
    unknown = _(_UNKNOWN)
    imported = item is not None and item.imported
    facts = (
        (_("Asked for"), reading.target if reading is not None else view.caption),
        (_("Calibration"), _versions(reading) or unknown),
        (_("Task"), unknown if task is None else task_text(task)),
        (_("Microphone"), microphone or (_("imported file") if imported else unknown)),
        # Translators: how long the recording is.
        (_("Length"), unknown if length is None else clock_text(length)),
    )
    name = title_of(None) if view.recorded_at is None else moment_of(view.recorded_at)
    return Side(view, name, task, microphone, facts)


def compare(left: Side, right: Side) -> ComparisonReading:
    """Compare two recordings; `right` is compared with `left`."""
    if left.view.group_id != right.view.group_id:
        left, right = _with_subject(left), _with_subject(right)
    same_task = left.task is not None and left.task == right.task
    one, other = left.reading, right.reading
    if one is None or other is None:
        return ComparisonReading(left, right, (), (), ())
    same_scale = one.versions == other.versions
    signs = _paired(one.voice.signs, other.voice.signs)
    features = _paired(one.voice.features, other.voice.features)
    return ComparisonReading(
        left,
        right,
        tuple(_cautions(left, right, one, other)),
        tuple(_sign_pair(before, after, same_task=same_task, same_scale=same_scale) for before, after in signs),
        tuple(_feature_pair(before, after, same_task=same_task) for before, after in features),
    )


def _with_subject(side: Side) -> Side:
    """The side with its subject among the facts."""
    name = side.subject or side.view.group_id
    return replace(side, facts=((_("Subject"), name), *side.facts))


def _paired(left: tuple[Row, ...], right: tuple[Row, ...]) -> list[tuple[Row | None, Row | None]]:
    """Pair rows, in the order of the right ones; rows of the left only come last."""
    before: dict[str, Row] = {row.name: row for row in left}
    after: dict[str, Row] = {row.name: row for row in right}
    pairs: list[tuple[Row | None, Row | None]] = [(before.get(name), row) for name, row in after.items()]
    pairs.extend((row, None) for name, row in before.items() if name not in after)
    return pairs


def _versions(reading: ResultReading | None) -> str:
    return "" if reading is None or not reading.versions else formats.list_of(reading.versions)


def _cautions(left: Side, right: Side, one: ResultReading, other: ResultReading) -> list[str]:
    cautions = []
    if left.view.group_id != right.view.group_id:
        names = {"one": left.subject or left.view.group_id, "other": right.subject or right.view.group_id}
        cautions.append(_("These are recordings of two subjects, {one} and {other}.", **names))
    if one.target != other.target:
        cautions.append(_("Other signals were asked for: {one} and {other}.", one=one.target, other=other.target))
    if one.versions != other.versions:
        unknown = _("unknown")
        cautions.append(
            _(
                "They were scored by different calibrations ({one}; {other}): the levels are not on one scale.",
                one=_versions(one) or unknown,
                other=_versions(other) or unknown,
            )
        )
    if left.task is None or right.task is None:
        cautions.append(_("What was spoken is not known for both: pauses, pace and pitch change with the task."))
    elif left.task != right.task:
        cautions.append(
            _(
                "Another task was spoken ({tasks}): pauses, pace and pitch change with it.",
                tasks=formats.list_of([task_text(left.task), task_text(right.task)]),
            )
        )
    if left.microphone and right.microphone and left.microphone != right.microphone:
        cautions.append(
            _(
                "Another microphone was used ({left} and {right}): loudness and clarity change with it.",
                left=left.microphone,
                right=right.microphone,
            )
        )
    for side, reading in ((left, one), (right, other)):
        if reading.quality.issues:
            issues = " ".join(what for what, _advice in reading.quality.issues)
            cautions.append(_("Quality of {recording}: {issues}", recording=side.name, issues=issues))
    return cautions


def _sign_pair(left: SignRow | None, right: SignRow | None, *, same_task: bool, same_scale: bool) -> SignPair:
    if left is None or right is None:
        levels = (None if left is None else left.level, None if right is None else right.level)
        only = _("Only in the left one") if right is None else _("Only in the right one")
        return SignPair(_label(left, right), *levels, "minus", only, real=False)
    arrow, text, real = _sign_change(left, right, same_task=same_task, same_scale=same_scale)
    return SignPair(right.label, left.level, right.level, arrow, text, real)


def _sign_change(left: SignRow, right: SignRow, *, same_task: bool, same_scale: bool) -> tuple[str, str, bool]:
    if Level.INCONCLUSIVE in (left.level, right.level):
        return "minus", _("Cannot be compared"), False
    steps = LEVEL_ORDER.index(right.level) - LEVEL_ORDER.index(left.level)
    arrow = "equals" if not steps else "arrow-up" if steps > 0 else "arrow-down"
    moved = _((_HIGHER if steps > 0 else _LOWER)[abs(steps)]) if steps else _("Same level")
    known = sign_repeatability().get(right.name)
    if known is None or not same_scale:
        return arrow, moved, bool(steps) and same_scale
    real = known.more_than_error(left.score, right.score, same_task=same_task)
    if real is None:
        return arrow, moved, bool(steps)
    if steps and real:
        return arrow, _("{change}, more than chance", change=moved), True
    if steps:
        return arrow, _("{change}, may be chance", change=moved), False
    if real and right.score > left.score:
        return "arrow-up", _("Same level, but higher by more than chance"), True
    if real:
        return "arrow-down", _("Same level, but lower by more than chance"), True
    return arrow, moved, False


def _feature_pair(left: FeatureRow | None, right: FeatureRow | None, *, same_task: bool) -> FeaturePair:
    if left is None or right is None:
        only = _("Named only in the left one") if right is None else _("Named only in the right one")
        return FeaturePair(_label(left, right), left, right, "minus", only, real=False)
    label = right.label
    change = right.number - left.number
    if with_unit(left.number, left.unit) == with_unit(right.number, right.unit):
        return FeaturePair(label, left, right, "equals", _("No difference"), real=False)
    amount = _amount(abs(change), right.unit)
    if change > 0:
        arrow, moved = "arrow-up", _("Higher by {amount}", amount=amount)
    else:
        arrow, moved = "arrow-down", _("Lower by {amount}", amount=amount)
    known = feature_repeatability().get(right.name)
    if known is None or left.unit != right.unit:
        return FeaturePair(label, left, right, arrow, moved, real=False)
    limit = known.smallest_change(left.number, same_task=same_task, upwards=change > 0)
    smallest = _amount(limit, right.unit)
    if known.more_than_error(left.number, right.number, same_task=same_task):
        text = _("{change}: a real change (from {smallest} on)", change=moved, smallest=smallest)
        return FeaturePair(label, left, right, arrow, text, real=True)
    if right.unit == "%" and change > 0 and left.number + limit > _WHOLE_PERCENT:
        return FeaturePair(label, left, right, arrow, _("{change}: may be chance", change=moved), real=False)
    text = _("{change}: may be chance (below {smallest})", change=moved, smallest=smallest)
    return FeaturePair(label, left, right, arrow, text, real=False)


def _label(left: Row | None, right: Row | None) -> str:
    """The name of a row that only one side has."""
    only = right or left
    return "" if only is None else only.label


def _amount(difference: float, unit: str) -> str:
    return with_unit(difference, "points" if unit == "%" else unit)

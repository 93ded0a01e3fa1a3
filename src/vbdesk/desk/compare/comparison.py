"""Comparison of two recordings of one subject, as texts; made on a worker."""

from dataclasses import dataclass, replace
from typing import TypeVar

from PySide6.QtCore import QCoreApplication

from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.desk.models.analysis_text import task_words
from vbdesk.desk.models.repeatability import feature_repeatability, sign_repeatability
from vbdesk.desk.models.result_rows import FeatureRow, SignRow, with_unit
from vbdesk.desk.models.result_source import Found
from vbdesk.desk.models.result_state import ResultView, view_of
from vbdesk.desk.models.result_text import ResultReading, moment_of
from vbdesk.desk.ui.time_text import clock_words

Row = TypeVar("Row", SignRow, FeatureRow)

translate = QCoreApplication.translate

_UNKNOWN = "not known here"
_WHOLE_PERCENT = 100.0
_NUMBERS = {1: "One level", 2: "Two levels", 3: "Three levels", 4: "Four levels"}


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
    words: str
    real: bool


@dataclass(frozen=True, slots=True)
class FeaturePair:
    """One vocal feature in both; None if a result lacks it."""

    label: str
    left: FeatureRow | None
    right: FeatureRow | None
    arrow: str
    words: str
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
    facts = (
        ("Asked for", reading.target if reading is not None else view.caption),
        ("Calibration", ", ".join(reading.versions) if reading is not None and reading.versions else _UNKNOWN),
        ("Task", _UNKNOWN if task is None else task_words(task)),
        ("Microphone", microphone or ("imported file" if item is not None and item.imported else _UNKNOWN)),
        ("Length", _UNKNOWN if length is None else clock_words(length)),
    )
    name = "Recording" if view.recorded_at is None else moment_of(view.recorded_at)
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
    return replace(side, facts=((translate("compare", "Subject"), name), *side.facts))


def _paired(left: tuple[Row, ...], right: tuple[Row, ...]) -> list[tuple[Row | None, Row | None]]:
    """Pair rows, in the order of the right ones; rows of the left only come last."""
    before: dict[str, Row] = {row.name: row for row in left}
    after: dict[str, Row] = {row.name: row for row in right}
    pairs: list[tuple[Row | None, Row | None]] = [(before.get(name), row) for name, row in after.items()]
    pairs.extend((row, None) for name, row in before.items() if name not in after)
    return pairs


def _cautions(left: Side, right: Side, one: ResultReading, other: ResultReading) -> list[str]:
    cautions = []
    if left.view.group_id != right.view.group_id:
        one_name, other_name = left.subject or left.view.group_id, right.subject or right.view.group_id
        cautions.append(f"These are recordings of two subjects, {one_name} and {other_name}.")
    if one.target != other.target:
        cautions.append(f"Other signals were asked for: {one.target} and {other.target}.")
    if one.versions != other.versions:
        versions = " and ".join(", ".join(reading.versions) or "unknown" for reading in (one, other))
        cautions.append(f"They were scored by different calibrations ({versions}): the levels are not on one scale.")
    if left.task is None or right.task is None:
        cautions.append("What was spoken is not known for both: pauses, pace and pitch change with the task.")
    elif left.task != right.task:
        text = translate(
            "compare", "Another task was spoken ({left} and {right}): pauses, pace and pitch change with it."
        )
        cautions.append(text.format(left=task_words(left.task), right=task_words(right.task)))
    if left.microphone and right.microphone and left.microphone != right.microphone:
        cautions.append(
            f"Another microphone was used ({left.microphone} and {right.microphone}): loudness and clarity change with "
            "it."
        )
    for side, reading in ((left, one), (right, other)):
        if reading.quality.issues:
            what = " ".join(what for what, _ in reading.quality.issues)
            cautions.append(f"Quality of {side.name}: {what}")
    return cautions


def _sign_pair(left: SignRow | None, right: SignRow | None, *, same_task: bool, same_scale: bool) -> SignPair:
    if left is None or right is None:
        label, where = _alone(left, right)
        levels = (None if left is None else left.level, None if right is None else right.level)
        return SignPair(label, *levels, "minus", f"Only in {where}", real=False)
    arrow, words, real = _sign_change(left, right, same_task=same_task, same_scale=same_scale)
    return SignPair(right.label, left.level, right.level, arrow, words, real)


def _sign_change(left: SignRow, right: SignRow, *, same_task: bool, same_scale: bool) -> tuple[str, str, bool]:
    if Level.INCONCLUSIVE in (left.level, right.level):
        return "minus", "Cannot be compared", False
    steps = LEVEL_ORDER.index(right.level) - LEVEL_ORDER.index(left.level)
    arrow = "equals" if not steps else "arrow-up" if steps > 0 else "arrow-down"
    direction = "higher" if steps > 0 else "lower"
    moved = f"{_NUMBERS[abs(steps)]} {direction}" if steps else "Same level"
    known = sign_repeatability().get(right.name)
    if known is None or not same_scale:
        return arrow, moved, bool(steps) and same_scale
    real = known.more_than_error(left.score, right.score, same_task=same_task)
    if real is None:
        return arrow, moved, bool(steps)
    if steps:
        return arrow, f"{moved}, {'more than chance' if real else 'may be chance'}", real
    if real:
        higher = right.score > left.score
        return (
            ("arrow-up" if higher else "arrow-down"),
            f"Same level, but {'higher' if higher else 'lower'} by more than chance",
            real,
        )
    return arrow, moved, False


def _feature_pair(left: FeatureRow | None, right: FeatureRow | None, *, same_task: bool) -> FeaturePair:
    if left is None or right is None:
        label, where = _alone(left, right)
        return FeaturePair(label, left, right, "minus", f"Named only in {where}", real=False)
    label = right.label
    change = right.number - left.number
    if with_unit(left.number, left.unit) == with_unit(right.number, right.unit):
        return FeaturePair(label, left, right, "equals", "No difference", real=False)
    arrow, direction = ("arrow-up", "Higher") if change > 0 else ("arrow-down", "Lower")
    moved = f"{direction} by {_amount(abs(change), right.unit)}"
    known = feature_repeatability().get(right.name)
    if known is None or left.unit != right.unit:
        return FeaturePair(label, left, right, arrow, moved, real=False)
    limit = known.smallest_change(left.number, same_task=same_task, upwards=change > 0)
    smallest = _amount(limit, right.unit)
    real = known.more_than_error(left.number, right.number, same_task=same_task)
    if real:
        return FeaturePair(label, left, right, arrow, f"{moved}: a real change (from {smallest} on)", real)
    if right.unit == "%" and change > 0 and left.number + limit > _WHOLE_PERCENT:
        return FeaturePair(label, left, right, arrow, f"{moved}: may be chance", real)
    return FeaturePair(label, left, right, arrow, f"{moved}: may be chance (below {smallest})", real)


def _alone(left: Row | None, right: Row | None) -> tuple[str, str]:
    """Text for a row that only one side has."""
    if right is not None:
        return right.label, "the right one"
    return "" if left is None else left.label, "the left one"


def _amount(difference: float, unit: str) -> str:
    return with_unit(difference, "points" if unit == "%" else unit)

"""The list of subjects from library and service: rows, filters, orders and a cached copy.

No widgets: made on a worker.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Any, NamedTuple

from vbdesk.contract.groups import Group
from vbdesk.contract.levels import LEVEL_ORDER, Level
from vbdesk.desk.subject_data.levels import level_of
from vbdesk.desk.ui.cells import ButtonCell, Cell, LabelCell, LevelCell, TwoLineCell
from vbdesk.desk.ui.time_text import day_and_time
from vbdesk.json_lines import parse_json_lines
from vbdesk.language import N_, _, formats, ngettext, pgettext
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.states import ON_THEIR_WAY, OutboxState
from vbdesk.outbox.library.subject_notes import SubjectNote
from vbdesk.report.reader_words import level_word

HEADINGS = (
    N_("Subject"),
    N_("Last recording"),
    N_("Last level"),
    N_("Unread"),
    N_("Results"),
    N_("On this computer"),
    "",
)
LEVELS_AT_ONCE = 1000
"""Results that are read for their level in one go; the list is shown in between."""

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class AtService(NamedTuple):
    """A subject in the service's list."""

    latest: datetime | None
    jobs: int
    done_jobs: int

    @classmethod
    def of(cls, group: Group) -> "AtService":
        """Make it from an entry of the service's list."""
        return cls(group.latest_recorded_at, group.job_count, group.done_job_count)


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One subject.

    Attributes:
        level: of the newest result, where that is on this computer.
        unknown_level: the newest result is here, but its level is not read yet.
        at_service: the service has results.
        last: when the newest recording was made; excluded ones do not count.
        recordings: number in the course; see `RecordingCounts`.
        here: number of recordings on this computer.
        moving: number of these in progress.
        unread: number of unopened results on this computer.
        note: the local note about the subject.
    """

    key: str
    last: datetime | None
    level: Level | None
    unknown_level: bool
    at_service: bool
    recordings: int
    here: int
    moving: int
    unread: int
    note: SubjectNote
    now: datetime = field(compare=False)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Cells of the table, made when painted."""
        unread = ngettext("{count:,} unread", "{count:,} unread", self.unread) if self.unread else ""
        return (
            TwoLineCell(self.note.shown(self.key).name, " · ".join(self._below())),
            LabelCell(day_and_time(self.last, self.now) if self.last else self._no_date()),
            LevelCell(self.level, self._no_level(), overall=True),
            LabelCell(unread, "accent", strong=True),
            LabelCell(formats.number(self.recordings), "text"),
            LabelCell(self._here(), "text3"),
            ButtonCell(_("Edit note") if self.note.text or self.note.tags else _("Add note"), quiet=True),
        )

    def _here(self) -> str:
        if self.moving:
            # Translators: recordings that are being sent or analysed.
            return ngettext("{count:,} on the way", "{count:,} on the way", self.moving)
        return ngettext("{count:,} recording", "{count:,} recordings", self.here) if self.here else ""

    def _no_level(self) -> str:
        if self.unknown_level:
            # Translators: the level of a result is being read.
            return pgettext("progress", "Reading")
        return _("Open to see") if self.at_service else _("No result yet")

    def _no_date(self) -> str:
        if self.here:
            return _("None that counts")
        return _("No recording yet")

    def _below(self) -> Iterable[str]:
        """Second line, tags and the note's first line."""
        detail = self.note.shown(self.key).detail
        return (*([detail] if detail else []), *self.note.tags, *self.note.text.splitlines()[:1])

    def holds(self, wanted: str) -> bool:
        """Whether id, alias, second line, a tag or the note contains `wanted`, a `search_key`."""
        return wanted in self.key.lower() or self.note.holds(wanted)


class SubjectFilter(StrEnum):
    """Filter of the list."""

    ALL = "all"
    UNREAD = "unread"
    ELEVATED = "elevated"
    MODERATE = "moderate"
    CONSIDER = "consider"
    INCONCLUSIVE = "inconclusive"
    NO_RESULT = "no_result"
    MOVING = "moving"

    @property
    def label(self) -> str:
        """Its display text."""
        match self:
            case SubjectFilter.ALL:
                return _("Everyone")
            case SubjectFilter.UNREAD:
                return _("With unread results")
            case SubjectFilter.ELEVATED:
                return level_word(Level.ELEVATED)
            case SubjectFilter.MODERATE:
                return _("Moderate or higher")
            case SubjectFilter.CONSIDER:
                return _("Consider or higher")
            case SubjectFilter.INCONCLUSIVE:
                return level_word(Level.INCONCLUSIVE)
            case SubjectFilter.NO_RESULT:
                return _("Without a result here")
            case SubjectFilter.MOVING:
                return _("With recordings on the way")

    def takes(self, row: SubjectRow) -> bool:
        """Whether the filter accepts a subject."""
        match self:
            case SubjectFilter.ALL:
                return True
            case SubjectFilter.UNREAD:
                return row.unread > 0
            case SubjectFilter.INCONCLUSIVE:
                return row.level is Level.INCONCLUSIVE
            case SubjectFilter.NO_RESULT:
                return row.level is None
            case SubjectFilter.MOVING:
                return row.moving > 0
        return row.level in LEVEL_ORDER and rank(row.level) >= LEVEL_ORDER.index(Level(self.value))


class Order(StrEnum):
    """Order of the list."""

    NEWEST = "newest"
    OLDEST = "oldest"
    NAME = "name"
    LEVEL = "level"
    UNREAD = "unread"
    RECORDINGS = "recordings"
    HERE = "here"

    @property
    def label(self) -> str:
        """Its display text."""
        match self:
            case Order.NEWEST:
                return _("Newest first")
            case Order.OLDEST:
                return _("Longest ago first")
            case Order.NAME:
                return _("By name")
            case Order.LEVEL:
                return _("Highest level")
            case Order.UNREAD:
                return _("Most unread")
            case Order.RECORDINGS:
                return _("Most results")
            case Order.HERE:
                return _("Most recorded here")


ORDER_OF_COLUMN = (Order.NAME, Order.NEWEST, Order.LEVEL, Order.UNREAD, Order.RECORDINGS, Order.HERE)

_KEYS: Mapping[Order, tuple[Callable[[SubjectRow], Any], bool]] = {
    Order.NEWEST: (lambda row: row.last or _LONG_AGO, True),
    Order.OLDEST: (lambda row: row.last or _LONG_AGO, False),
    Order.NAME: (lambda row: row.key, False),
    Order.LEVEL: (lambda row: rank(row.level), True),
    Order.UNREAD: (lambda row: row.unread, True),
    Order.RECORDINGS: (lambda row: row.recordings, True),
    Order.HERE: (lambda row: row.here, True),
}


def rank(level: Level | None) -> int:
    """Sort key of a level: inconclusive is below none, unknown last."""
    if level is None:
        return -2
    return -1 if level is Level.INCONCLUSIVE else LEVEL_ORDER.index(level)


def ordered(rows: Iterable[SubjectRow], order: Order) -> list[SubjectRow]:
    """Sort subjects; ties by newest recording, then by name."""
    found = sorted(rows, key=lambda row: row.key)
    if order is not Order.NAME:
        found.sort(key=lambda row: row.last or _LONG_AGO, reverse=True)
        key, falling = _KEYS[order]
        if order is not Order.NEWEST:
            found.sort(key=key, reverse=falling)
    return found


def merged(
    items: Iterable[RecordingItem],
    groups: Mapping[str, AtService],
    notes: Mapping[str, SubjectNote],
    unread: Mapping[str, int],
    levels: dict[str, Level],
    counts: Mapping[str, int],
    now: datetime,
) -> list[SubjectRow]:
    """Merge into one row for each subject, newest recording first, then by name; `items` are newest first.

    Takes known levels from `levels`, and adds up to `LEVELS_AT_ONCE` new ones to it.
    """
    here: dict[str, list[RecordingItem]] = {}
    for item in items:
        here.setdefault(item.group_id, []).append(item)
    room = [LEVELS_AT_ONCE]
    rows = []
    noted = {group_id for group_id, note in notes.items() if note != SubjectNote(alias=note.alias)}
    for group_id in {*here, *groups, *noted}:
        mine, group = here.get(group_id, []), groups.get(group_id)
        newest = _newest_result(mine, group)
        level = None if newest is None else _level(newest, levels, room)
        rows.append(
            SubjectRow(
                key=group_id,
                last=_last(mine, group),
                level=level,
                unknown_level=newest is not None and level is None,
                at_service=group is not None and group.done_jobs > 0,
                recordings=counts.get(group_id, 0),
                here=len(mine),
                moving=sum(item.state in ON_THEIR_WAY for item in mine),
                unread=unread.get(group_id, 0),
                note=notes.get(group_id, SubjectNote()),
                now=now,
            )
        )
    return ordered(rows, Order.NEWEST)


def _last(items: Sequence[RecordingItem], group: AtService | None) -> datetime | None:
    times = [item.recorded_at for item in items if not item.excluded][:1]
    if group is not None and group.latest is not None:
        times.append(group.latest)
    return max(times, default=None)


def _newest_result(items: Sequence[RecordingItem], group: AtService | None) -> RecordingItem | None:
    """Newest local recording with a result, unless the service has a newer one."""
    done = next((item for item in items if item.state is OutboxState.DONE and not item.excluded), None)
    if done is None or group is None or group.latest is None:
        return done
    return done if group.latest.replace(microsecond=0) <= done.recorded_at else None


def _level(item: RecordingItem, levels: dict[str, Level], room: list[int]) -> Level | None:
    known = levels.get(item.take_id)
    if known is None and room[0] > 0:
        room[0] -= 1
        known = level_of(item)
        if known is not None:
            levels[item.take_id] = known
    return known


STORED_AS = "subjects"
"""The name of the stored list among the responses of a library."""


@dataclass(frozen=True)
class StoredList:
    """The last list, cached to show it immediately."""

    rows: list[SubjectRow]
    groups: Mapping[str, AtService]
    levels: Mapping[str, Level]
    listed_at: datetime | None

    def to_json(self) -> bytes:
        """Return one short line for each entry: one long text would block the window."""
        lines = [json.dumps((_text(self.listed_at), len(self.rows), len(self.groups)))]
        lines.extend(
            json.dumps((row.key, _text(row.last), row.level, row.at_service, row.recordings, row.here, row.moving))
            for row in self.rows
        )
        lines.extend(json.dumps((key, _text(group.latest), *group[1:])) for key, group in self.groups.items())
        lines.extend(json.dumps(known) for known in self.levels.items())
        return "\n".join(lines).encode()

    @classmethod
    def from_json(
        cls, body: bytes, notes: Mapping[str, SubjectNote], unread: Mapping[str, int], now: datetime
    ) -> "StoredList":
        """Read the output of `to_json`; notes and unread results are current."""
        lines = parse_json_lines(body.splitlines())
        listed_at, rows, groups = next(lines)
        return cls(
            [_stored_row(next(lines), notes, unread, now) for _ in range(rows)],
            {key: AtService(_moment(latest), jobs, done) for key, latest, jobs, done in islice(lines, groups)},
            {take_id: _LEVELS[level] for take_id, level in lines},
            _moment(listed_at),
        )


def _stored_row(
    line: Sequence[Any], notes: Mapping[str, SubjectNote], unread: Mapping[str, int], now: datetime
) -> SubjectRow:
    key, last, level, at_service, recordings, here, moving = line
    return SubjectRow(
        key=key,
        last=_moment(last),
        level=None if level is None else _LEVELS[level],
        unknown_level=False,
        at_service=at_service,
        recordings=recordings,
        here=here,
        moving=moving,
        unread=unread.get(key, 0),
        note=notes.get(key, _NO_NOTE),
        now=now,
    )


def with_stable_order(rows: list[SubjectRow], before: Iterable[SubjectRow]) -> list[SubjectRow]:
    """Replace unchanged rows by the previous objects, so that the table skips them."""
    known = {row.key: row for row in before}
    same = ((row, known.get(row.key)) for row in rows)
    return [old if old is not None and old == row and old.now.date() == row.now.date() else row for row, old in same]


_NO_NOTE = SubjectNote()
_LEVELS = {level.value: level for level in Level}


def all_tags(notes: Collection[SubjectNote]) -> tuple[str, ...]:
    """Every tag in use, by name."""
    return tuple(sorted({tag for note in notes for tag in note.tags}, key=str.lower))


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)

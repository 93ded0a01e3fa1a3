"""What the Subjects page reads and changes: local subjects and those at the service, and their notes."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from vbdesk.client.errors import ClientError
from vbdesk.contract.levels import Level
from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Asked, AskedRead
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.desk.subject_data.request_throttle import has_room
from vbdesk.desk.subject_data.subject_list import (
    STORED_AS,
    AtService,
    StoredList,
    SubjectRow,
    merged,
    with_stable_order,
)
from vbdesk.outbox.library.response_cache import ResponseCache
from vbdesk.outbox.library.subject_notes import SubjectNote

FRESH = timedelta(minutes=5)
"""For so long the service's list, once it was read to its end, is not read again."""

STORE_EVERY = timedelta(seconds=20)
"""For recordings alone, the copy for the next start is not written more often."""

_CHECK_INTERVAL_S = 5.0


@dataclass(frozen=True)
class SubjectListing:
    """Progress of reading the service's list.

    Attributes:
        groups: all subjects of this or the previous listing.
        seen: those of this listing.
        pages_read, pages: of this listing.
        listed_at: time of the last complete listing.
        since: see `ResponseCache.erasures`, before it was read.
    """

    groups: Mapping[str, AtService]
    seen: frozenset[str] = frozenset()
    pages_read: int = 0
    pages: int = 1
    listed_at: datetime | None = None
    since: int = 0

    @property
    def complete(self) -> bool:
        """Whether every page was read."""
        return self.pages_read >= self.pages

    def without_erased(self, responses: ResponseCache) -> "SubjectListing":
        """Leave out who was erased since it was read."""
        left = {key: group for key, group in self.groups.items() if not responses.is_erased(key, self.since)}
        return self if len(left) == len(self.groups) else replace(self, groups=left)


class SubjectsBook:
    """What a session has read of the service's list, and the levels of results here.

    Attributes:
        listing: as last read.
        levels: of results, by recording.
        wanted: a person wants the list to be read again, also a fresh one.
    """

    def __init__(self) -> None:
        self.listing, self.levels, self.wanted = SubjectListing({}), dict[str, Level](), False
        self._stored_list: StoredList | None = None
        self._opened, self._lock = False, threading.Lock()
        self._stored: tuple[datetime | None, SubjectListing | None] = (None, None)

    def open(self, context: DeskContext) -> None:
        """Read the copy of the session before, once."""
        with self._lock:
            if self._opened:
                return
            self._opened = True
            self._stored = (context.clock.now(), None)
            since = context.library.responses.erasures
            stored_list = context.library.responses.read(STORED_AS)
            if stored_list is None:
                return
            notes = context.library.subject_notes
            listed = StoredList.from_json(stored_list[0], notes.all(), notes.unread(), context.clock.now())
            done = {group_id: group.done_jobs for group_id, group in listed.groups.items()}
            context.results.counts.listed(done, listed.listed_at or stored_list[1], stored=True)
            self.levels |= listed.levels
            self.listing = SubjectListing(listed.groups, listed_at=listed.listed_at, since=since)
            self._stored_list = listed

    def take_stored(self) -> StoredList | None:
        """The copy of the session before, once."""
        stored_list, self._stored_list = self._stored_list, None
        return stored_list

    def store(self, context: DeskContext, listing: SubjectListing, rows: list[SubjectRow], since: int) -> None:
        """Store the list for the next start; see `ResponseCache.store`."""
        stored_at, stored = self._stored
        now = context.clock.now()
        due = stored != listing or stored_at is None or now - stored_at >= STORE_EVERY
        if due and not any(row.unknown_level for row in rows):
            self._stored = (now, listing)
            copy = StoredList(rows, dict(listing.groups), self.levels, listing.listed_at)
            context.library.responses.store(STORED_AS, copy.to_json(), since)


@dataclass(frozen=True)
class SubjectsData:
    """All subjects; `complete` if everything here was read, not only what was kept from the last session."""

    rows: tuple[SubjectRow, ...] = ()
    listing: SubjectListing = SubjectListing({})
    complete: bool = False


@dataclass(frozen=True)
class SubjectsRead(AskedRead[SubjectsData]):
    """All subjects: as kept from the last session, then local ones, then the service's list."""

    book: SubjectsBook
    refresh_every_s = 0.0  # at once, while levels are missing
    topics = frozenset({Changed.LIBRARY, Changed.TRAJECTORIES})

    def here(self, context: DeskContext, before: SubjectsData | None, task: TaskContext) -> SubjectsData:  # noqa: D102
        book, library = self.book, context.library
        book.open(context)
        since = library.responses.erasures
        stored_list, listing = book.take_stored(), book.listing.without_erased(library.responses)
        if stored_list is not None:
            return SubjectsData(tuple(stored_list.rows), listing)
        notes = library.subject_notes
        newest = context.results.newest_listed({key: group.latest for key, group in listing.groups.items()})
        groups = {key: group._replace(latest=newest[key]) for key, group in listing.groups.items()}
        counts, now, items = context.results.counts.all(), context.clock.now(), library.list()
        book.levels = {item.take_id: book.levels[item.take_id] for item in items if item.take_id in book.levels}
        rows = merged(items, groups, notes.all(), notes.unread(), book.levels, counts, now)
        book.store(context, listing, rows, since)
        return SubjectsData(
            tuple(with_stable_order(rows, () if before is None else before.rows)), listing, complete=True
        )

    def ask(self, context: DeskContext, task: TaskContext) -> Asked:
        """Read the next pages within the request limit; what was read stays if one fails."""
        book, budget = self.book, context.connection.budget
        book.open(context)
        since = context.library.responses.erasures
        before, at, old = book.listing, book.listing.listed_at, book.wanted or book.listing.since != since
        if before.complete and at is not None and context.clock.now() - at < FRESH and not old:
            return Asked(stored=False)
        book.wanted, before = False, before.without_erased(context.library.responses)
        if before.complete:
            before = SubjectListing(before.groups, listed_at=at)  # known subjects stay
        elif before.pages_read and not has_room(budget):
            return Asked(ask_again_s=_CHECK_INTERVAL_S, stored=False)
        groups, seen = dict(before.groups), set(before.seen)
        read, pages = before.pages_read, before.pages
        try:
            with context.results.reader() as reader:
                while read < pages:
                    task.check()
                    page = reader.groups(read)
                    groups.update((group.group_id, AtService.of(group)) for group in page.groups)
                    seen.update(group.group_id for group in page.groups)
                    read, pages = read + 1, page.total_pages
                    if not has_room(budget):
                        break
        except ClientError:
            if read == before.pages_read:
                raise
        if read < pages:
            book.listing = SubjectListing(groups, frozenset(seen), read, pages, before.listed_at, since)
            return Asked(ask_again_s=_CHECK_INTERVAL_S)
        left = {key: group for key, group in groups.items() if key in seen}  # others were deleted at the service
        book.listing = SubjectListing(left, frozenset(seen), read, pages, context.clock.now(), since)
        return Asked()

    def moves(self, value: SubjectsData) -> bool:  # noqa: D102
        return not value.complete or any(row.unknown_level for row in value.rows)


@dataclass(frozen=True)
class StoreNote(Command):
    """Store the note of a subject on this computer."""

    group_id: str
    note: SubjectNote

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.subject_notes.store(self.group_id, self.note)
        return Done(touched=frozenset({Changed.LIBRARY}))


@dataclass(frozen=True)
class StoreTags(Command):
    """Give subjects tags, or take tags from them; notes and other tags stay."""

    group_ids: frozenset[str]
    tags: tuple[str, ...]
    added: bool

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.subject_notes.tag_many(self.group_ids, self.tags, added=self.added)
        return Done(touched=frozenset({Changed.LIBRARY}))

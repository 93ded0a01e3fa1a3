"""State of the line on new versions: where to ask, and what the answer was."""

from collections.abc import Callable
from datetime import UTC, datetime

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk import __version__
from vbdesk.client.update_notice import (
    NoticeRefused,
    NoticeSource,
    VersionNotice,
    read_notice_source,
    version_key,
)
from vbdesk.clock import Clock
from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.desk.models.preferences import PreferenceStore, SeenNotice
from vbdesk.language import _, translated
from vbdesk.outbox.library.managed_policy import ManagedPolicy

ASK_EVERY_S = 24 * 3600

Ask = Callable[[NoticeSource, datetime, str], VersionNotice]


class UpdateNoticeViewModel(QObject):
    """Asks once a day at most, and only while there is an address; shows new versions in one line.

    Attributes:
        managed: whether the organisation has set the address, or that there is none.

    Signals:
        shown: (str, str) the address, and the line on new versions; each may be empty.
    """

    shown = Signal(str, str)

    def __init__(self, store: PreferenceStore, policy: ManagedPolicy, ask: Ask, clock: Clock, tasks: TaskOwner) -> None:
        super().__init__()
        self.managed = policy.update_notice is not None
        self._set = policy.update_notice if isinstance(policy.update_notice, NoticeSource) else None
        self._store, self._ask, self._clock = store, ask, clock
        self._lane = Lane(tasks, self)

    def read(self) -> None:
        """Show what is known, after asking if that is due."""
        self._lane.run(self._read, self._on_read, self._on_failed, name="update-notice")

    def choose(self, text: str) -> str | None:
        """Set the address to ask; empty for none. Returns why it cannot be used, None if it can."""
        if self.managed:
            return None
        try:
            address = str(read_notice_source(text)) if text.strip() else ""
        except ValueError as fault:
            return translated(fault)

        def work(context: TaskContext) -> tuple[str, str]:
            self._store.change(update_notice=address)
            return self._read(context)

        self._lane.run(work, self._on_read, self._on_failed, name="update-notice")
        return None

    def _read(self, context: TaskContext) -> tuple[str, str]:
        known = self._store.load()
        source = self._set if self.managed else _source(known.update_notice)
        if source is None:
            return "", ""
        seen = known.seen_notice if known.seen_notice.source == str(source) else SeenNotice(str(source))
        now = self._clock.now().astimezone(UTC)
        fault = ""
        if not 0 <= now.timestamp() - seen.asked_at < ASK_EVERY_S:
            try:
                notice = self._ask(source, now, seen.version)
                seen = SeenNotice(str(source), now.timestamp(), notice.version, notice.page)
            except NoticeRefused as error:
                fault = translated(error)
                seen = SeenNotice(str(source), now.timestamp(), seen.version, seen.page)
            self._store.change(seen_notice=seen)
        return str(source), _line(seen) or fault

    @Slot(object)
    def _on_read(self, found: tuple[str, str]) -> None:
        self.shown.emit(*found)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.shown.emit("", failure.sentence)


def _source(address: str) -> NoticeSource | None:
    """The stored address; None if there is none, or if the file holds text that is not an address."""
    try:
        return read_notice_source(address)
    except ValueError:
        return None


def _line(seen: SeenNotice) -> str:
    if seen.version and version_key(seen.version) > version_key(__version__):
        return _("Version {version} is available: {page}", version=seen.version, page=seen.page)
    return ""

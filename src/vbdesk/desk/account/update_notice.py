"""The line on new versions: where to ask, and what the answer was."""

from dataclasses import dataclass, replace
from datetime import UTC

from vbdesk import __version__
from vbdesk.client.update_notice import NoticeRefused, NoticeSource, read_notice_source, version_key
from vbdesk.desk.flow.context import ProgramContext
from vbdesk.desk.flow.reads import Asked, AskedRead
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.preferences import PreferenceStore, SeenNotice
from vbdesk.language import _

ASK_EVERY_S = 24 * 3600


@dataclass(frozen=True)
class UpdateNoticeRead(AskedRead[tuple[str, str]]):
    """The address that is asked, and the line on a new version; each may be empty.

    Asks once a day at most, and only while there is an address.

    Attributes:
        address: the chosen one, unless the organisation has set another one, or that there is none.
    """

    address: str
    topics = frozenset()

    def here(self, context: ProgramContext, before: object, task: TaskContext) -> tuple[str, str]:  # noqa: D102
        source = self._source(context)
        if source is None:
            return "", ""
        seen = _seen(context, source)
        if seen.version and version_key(seen.version) > version_key(__version__):
            return str(source), _("Version {version} is available: {page}", version=seen.version, page=seen.page)
        return str(source), ""

    def ask(self, context: ProgramContext, task: TaskContext) -> Asked:  # noqa: D102
        source, now = self._source(context), context.clock.now().astimezone(UTC)
        if source is None:
            return Asked(stored=False)
        seen = _seen(context, source)
        if 0 <= now.timestamp() - seen.asked_at < ASK_EVERY_S:
            return Asked(stored=False)
        seen = replace(seen, asked_at=now.timestamp())
        try:
            notice = context.ports.ask_for_notice(source, now, seen.version)
            seen = replace(seen, version=notice.version, page=notice.page)
        except NoticeRefused:
            _store(context).change(seen_notice=seen)
            raise
        _store(context).change(seen_notice=seen)
        return Asked()

    def _source(self, context: ProgramContext) -> NoticeSource | None:
        """Where to ask; None if there is no address, or a text that is none."""
        managed = context.ports.policy.update_notice
        if managed is not None:
            return managed if isinstance(managed, NoticeSource) else None
        try:
            return read_notice_source(self.address)
        except ValueError:
            return None


def _store(context: ProgramContext) -> PreferenceStore:
    return PreferenceStore(context.ports.config_dir)


def _seen(context: ProgramContext, source: NoticeSource) -> SeenNotice:
    seen = _store(context).load().seen_notice
    return seen if seen.source == str(source) else SeenNotice(str(source))

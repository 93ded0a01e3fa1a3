"""The pages of the window, in the order of the sidebar, and how each is built."""

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from vbdesk.desk.account.page import AccountPage
from vbdesk.desk.cohort.page import CohortPage
from vbdesk.desk.compare.page import ComparePage
from vbdesk.desk.flow.flow import Flow
from vbdesk.desk.outbox.page import OutboxPage
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.shell.page_registry import PageSpec
from vbdesk.desk.shell.workspace import Workspace
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.language import pgettext


def build_account_page(workspace: Workspace, parent: QWidget | None = None) -> AccountPage:
    """Build Account, which locks the window, changes its language and names profiles."""
    page = AccountPage(workspace.flow, workspace.app_lock, workspace.reading, parent)
    page.profiles_renamed.connect(workspace.profiles_renamed)
    return page


def _page(page: Callable[[Flow, QWidget], QWidget]) -> Callable[[Workspace, QWidget], QWidget]:
    return lambda workspace, parent: page(workspace.flow, parent)


PAGES: tuple[PageSpec, ...] = (
    PageSpec("record", lambda: pgettext("page", "Record"), "record", _page(RecordPage)),
    PageSpec("subjects", lambda: pgettext("page", "Subjects"), "person", _page(SubjectsPage)),
    PageSpec("outbox", lambda: pgettext("page", "Outbox"), "outbox", _page(OutboxPage)),
    PageSpec("cohort", lambda: pgettext("page", "Cohort"), "grid", _page(CohortPage)),
    PageSpec("account", lambda: pgettext("page", "Account"), "sliders", build_account_page),
    PageSpec("subject", lambda: pgettext("page", "Subject"), "person", _page(SubjectPage), sidebar="subjects"),
    PageSpec("result", lambda: pgettext("page", "Result"), "chart", _page(ResultPage), sidebar="subjects"),
    PageSpec("compare", lambda: pgettext("page", "Compare"), "compare", _page(ComparePage), sidebar="subjects"),
)

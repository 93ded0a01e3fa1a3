"""The pages of the window, in the order of the sidebar, and how each is built."""

from PySide6.QtWidgets import QWidget

from vbdesk.desk.account.page import AccountPage
from vbdesk.desk.cohort.page import CohortPage
from vbdesk.desk.compare.page import ComparePage
from vbdesk.desk.outbox.page import OutboxPage
from vbdesk.desk.record.page import RecordPage
from vbdesk.desk.result.page import ResultPage
from vbdesk.desk.shell.page_registry import PageSpec
from vbdesk.desk.shell.view_models import (
    cohort_group_view_model,
    cohort_view_model,
    compare_view_model,
    intake_view_model,
    outbox_view_model,
    record_view_model,
    result_view_model,
    subject_view_model,
    subjects_view_model,
    take_review_view_model,
)
from vbdesk.desk.shell.workspace import Workspace
from vbdesk.desk.subject.page import SubjectPage
from vbdesk.desk.subjects.page import SubjectsPage
from vbdesk.language import pgettext


def build_record_page(workspace: Workspace, parent: QWidget | None = None) -> RecordPage:
    """Build Record."""
    return RecordPage(
        record_view_model(workspace), take_review_view_model(workspace), intake_view_model(workspace), parent
    )


def build_subjects_page(workspace: Workspace, parent: QWidget | None = None) -> SubjectsPage:
    """Build Subjects."""
    return SubjectsPage(subjects_view_model(workspace), parent)


def build_outbox_page(workspace: Workspace, parent: QWidget | None = None) -> OutboxPage:
    """Build Outbox."""
    return OutboxPage(outbox_view_model(workspace), parent)


def build_cohort_page(workspace: Workspace, parent: QWidget | None = None) -> CohortPage:
    """Build Cohort."""
    return CohortPage(cohort_view_model(workspace), cohort_group_view_model(workspace), parent)


def build_account_page(workspace: Workspace, parent: QWidget | None = None) -> AccountPage:
    """Build Account."""
    page = AccountPage(workspace.flow, workspace.navigator, workspace.app_lock, workspace.reading, parent)
    page.profiles_renamed.connect(workspace.profiles_renamed)
    return page


def build_subject_page(workspace: Workspace, parent: QWidget | None = None) -> SubjectPage:
    """Build Subject."""
    return SubjectPage(subject_view_model(workspace), parent)


def build_result_page(workspace: Workspace, parent: QWidget | None = None) -> ResultPage:
    """Build Result."""
    return ResultPage(result_view_model(workspace), parent)


def build_compare_page(workspace: Workspace, parent: QWidget | None = None) -> ComparePage:
    """Build Compare."""
    return ComparePage(compare_view_model(workspace), parent)


PAGES: tuple[PageSpec, ...] = (
    PageSpec("record", lambda: pgettext("page", "Record"), "record", build_record_page),
    PageSpec("subjects", lambda: pgettext("page", "Subjects"), "person", build_subjects_page),
    PageSpec("outbox", lambda: pgettext("page", "Outbox"), "outbox", build_outbox_page),
    PageSpec("cohort", lambda: pgettext("page", "Cohort"), "grid", build_cohort_page),
    PageSpec("account", lambda: pgettext("page", "Account"), "sliders", build_account_page),
    PageSpec("subject", lambda: pgettext("page", "Subject"), "person", build_subject_page, sidebar="subjects"),
    PageSpec("result", lambda: pgettext("page", "Result"), "chart", build_result_page, sidebar="subjects"),
    PageSpec("compare", lambda: pgettext("page", "Compare"), "compare", build_compare_page, sidebar="subjects"),
)

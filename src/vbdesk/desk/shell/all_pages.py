"""The pages of the window, in the order of the rail."""

from vbdesk.desk.account.page import build_account_page
from vbdesk.desk.cohort.page import build_cohort_page
from vbdesk.desk.compare.page import build_compare_page
from vbdesk.desk.outbox.page import build_outbox_page
from vbdesk.desk.record.page import build_record_page
from vbdesk.desk.result.page import build_result_page
from vbdesk.desk.shell.page_registry import PageSpec
from vbdesk.desk.subject.page import build_subject_page
from vbdesk.desk.subjects.page import build_subjects_page

PAGES: tuple[PageSpec, ...] = (
    PageSpec("record", "Record", "record", build_record_page),
    PageSpec("subjects", "Subjects", "person", build_subjects_page),
    PageSpec("outbox", "Outbox", "outbox", build_outbox_page),
    PageSpec("cohort", "Cohort", "grid", build_cohort_page),
    PageSpec("account", "Account", "sliders", build_account_page),
    PageSpec("subject", "Subject", "person", build_subject_page, sidebar="subjects"),
    PageSpec("result", "Result", "chart", build_result_page, sidebar="subjects"),
    PageSpec("compare", "Compare", "compare", build_compare_page, sidebar="subjects"),
)

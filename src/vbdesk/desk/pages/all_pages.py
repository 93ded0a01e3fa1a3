"""The pages of the window, in the order of the rail."""

from vbdesk.desk.pages.account import build_account_page
from vbdesk.desk.pages.cohort import build_cohort_page
from vbdesk.desk.pages.compare import build_compare_page
from vbdesk.desk.pages.outbox import build_outbox_page
from vbdesk.desk.pages.record_page import build_record_page
from vbdesk.desk.pages.registry import PageSpec
from vbdesk.desk.pages.result import build_result_page
from vbdesk.desk.pages.subject import build_subject_page
from vbdesk.desk.pages.subjects import build_subjects_page

PAGES: tuple[PageSpec, ...] = (
    PageSpec("record", "Record", "record", build_record_page),
    PageSpec("subjects", "Subjects", "person", build_subjects_page),
    PageSpec("outbox", "Outbox", "outbox", build_outbox_page),
    PageSpec("cohort", "Cohort", "grid", build_cohort_page),
    PageSpec("account", "Account", "sliders", build_account_page),
    PageSpec("subject", "Subject", "person", build_subject_page, rail="subjects"),
    PageSpec("result", "Result", "chart", build_result_page, rail="subjects"),
    PageSpec("compare", "Compare", "compare", build_compare_page, rail="subjects"),
)

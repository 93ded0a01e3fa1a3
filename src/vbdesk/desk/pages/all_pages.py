"""The pages of the window, in the order of the rail."""

from vbdesk.desk.pages.record_page import build_record_page
from vbdesk.desk.pages.registry import PageSpec

PAGES: tuple[PageSpec, ...] = (PageSpec("record", "Record", "record", build_record_page),)

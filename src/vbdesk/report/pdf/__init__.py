"""PDF report of a subject."""

from vbdesk.report.pdf.report import PageSize, ReportOptions, pdf_report

__all__ = ["PageSize", "ReportOptions", "pdf_report"]

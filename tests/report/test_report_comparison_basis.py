"""With whom a result was compared, in one sentence: from the versions that its signals name."""

import io
from datetime import UTC
from typing import Any

import pytest
from pypdf import PdfReader
from report_cases import AS_OF, pulse_scores, subject

from vbdesk.contract.results import Signal
from vbdesk.report.comparison_basis import Basis, ComparisonBasis, comparison_basis, split_version
from vbdesk.report.documents.caution import compared_text
from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.documents.reports import pdf_report
from vbdesk.report.shipped_signs import shipped_signs

OURS = shipped_signs()["stress"].version


def signal(version: str | None, name: str = "stress") -> Signal:
    values: dict[str, Any] = {"name": name, "label": name, "score": 0.2, "level": "none", "flagged": False}
    return Signal(**values, sign_version=version)


def sentence(*signals: Signal) -> str:
    return compared_text(comparison_basis(signals))


@pytest.mark.parametrize(
    ("signals", "kind", "told"),
    [
        ([signal(OURS)], Basis.SHIPPED, "261 adults who read English aloud (norms"),
        ([signal(OURS), signal(f"{OURS}+widened", "fatigue")], Basis.SHIPPED, f"calibration {OURS})"),
        ([signal(f"{OURS}+widened.norms.clinic.3")], Basis.SITE, f"(norms clinic.3, calibration {OURS})"),
        ([signal(f"{OURS}+norms.clinic.3")], Basis.SITE, f"(norms clinic.3, calibration {OURS})"),
        ([signal(f"{OURS}+norms.clinic.3"), signal(OURS)], Basis.OTHER_RELEASE, f"{OURS}+norms.clinic.3, {OURS}"),
        ([signal("0.9.0"), signal("0.9.0", "fatigue")], Basis.OTHER_RELEASE, "calibration 0.9.0, which"),
        ([signal("1.2", "hoarseness-of-ours")], Basis.OWN_SIGN, "(version 1.2)"),
        ([signal(None)], Basis.UNKNOWN, "does not tell"),
        ([], Basis.UNKNOWN, "does not tell"),
    ],
)
def test_the_sentence_names_the_reference_that_the_version_tells(signals, kind, told):
    assert comparison_basis(signals).kind is kind
    assert told in sentence(*signals)
    assert sentence(*signals).startswith("How this was compared: ")


def test_no_sentence_tells_anything_about_the_sex_of_the_voice():
    words = " ".join(compared_text(ComparisonBasis(kind)) for kind in Basis).lower()
    assert not any(word in words for word in (" male", "female", "men ", "women", "sex", "class", "gender"))


@pytest.mark.parametrize(
    ("version", "parts"),
    [
        ("2.0.0", ("2.0.0", "")),
        ("2.0.0+norms.7", ("2.0.0", "7")),
        ("2.0.0+build.5.norms.2.0.0.measured.3f9c", ("2.0.0+build.5", "2.0.0.measured.3f9c")),
    ],
)
def test_a_version_is_split_as_the_analysis_joins_it(version, parts):
    assert split_version(version) == parts


def test_the_first_page_of_the_report_has_it():
    pages = PdfReader(io.BytesIO(pdf_report(subject(pulse_scores(2)), ReportOptions(AS_OF, UTC)))).pages
    assert "How this was compared: with the reference of calibration 1.0.0" in " ".join(pages[0].extract_text().split())

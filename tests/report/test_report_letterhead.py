"""The logo of a letterhead: what is drawn, and what is refused before anything draws it."""

import io
import zlib
from dataclasses import replace

import pytest
from pypdf import PdfReader
from report_cases import AS_OF, pulse_scores, subject

from vbdesk.report.documents.report_input import ReportOptions
from vbdesk.report.documents.reports import pdf_report
from vbdesk.report.letterhead import MAX_LOGO_BYTES, Letterhead, check_logo

ONE = subject(pulse_scores(1))
HEAD = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 90 30">'


def svg(inside: str, head: str = HEAD) -> bytes:
    return f"{head}{inside}</svg>".encode()


def chunk(kind: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4)


def png(width: int, height: int, pixels: bytes | None = None, interlaced: int = 0, colour: int = 2) -> bytes:
    rows = (b"\x00" + bytes(width * 3)) * height if pixels is None else pixels
    header = width.to_bytes(4) + height.to_bytes(4) + bytes((8, colour, 0, 0, interlaced))
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


GRADIENT = (
    '<defs><linearGradient id="a"><stop offset="0"/></linearGradient></defs><rect fill="url(#a)" width="9" height="9"/>'
)


STYLED = "<style>.a{fill:red}</style><path class='a' d='M0 0h9v9z'/>"


@pytest.mark.parametrize("logo", [svg(GRADIENT), svg(STYLED), png(30, 9)])
def test_a_plain_logo_stands_in_the_report(logo: bytes) -> None:
    head = Letterhead("Praxis Dr. Müller #1", ("Hohe Straße 12", "01069 Dresden"), logo)
    plain = pdf_report(ONE, ReportOptions(AS_OF, letterhead=replace(head, logo=b"")))
    drawn = pdf_report(ONE, ReportOptions(AS_OF, letterhead=head))
    words = PdfReader(io.BytesIO(drawn)).pages[0].extract_text()
    assert words.index("Praxis Dr. Müller #1") < words.index("Hohe Straße 12") < words.index("Voice biomarker report")
    assert len(drawn) != len(plain)


@pytest.mark.parametrize(
    ("logo", "told"),
    [
        (svg("<script>alert(1)</script>"), "parts that a report does not draw"),
        (svg('<rect width="9" height="9" onload="x()"/>'), "parts that a report does not draw"),
        (svg('<image xlink:href="https://example.org/x.png" width="9" height="9"/>'), "does not draw"),
        (svg('<image href="file:///etc/passwd" width="9" height="9"/>'), "does not draw"),
        (svg('<linearGradient id="a" xlink:href="https://example.org/x.svg#b"/>'), "does not draw"),
        (svg('<rect width="9" height="9" fill="url(https://example.org/x.svg#a)"/>'), "does not draw"),
        (svg("<style>@import 'https://example.org/x.css';</style>"), "does not draw"),
        (svg("<style>.a{fill:URL( 'https://example.org/x')}</style>"), "does not draw"),
        (svg("<foreignObject/>"), "does not draw"),
        (svg('<g id="a"><use href="#a"/><use href="#a"/></g>'), "does not draw"),
        (svg("<text>a letter without a font \U0001f399</text>"), "does not draw"),
        (b'<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa">]>' + svg("<title>&a;</title>"), "does not draw"),
        (svg("", HEAD.replace("90 30", "1e30 1e30")), "too large"),
        (svg("", HEAD.replace("90 30", "90 nan")), "too large"),
        (svg("", HEAD.replace("90 30", "0 0")), "damaged"),
        (svg("", HEAD.replace("viewBox=", 'width="1e9" height="1" viewBox=')), "too large"),
        (svg("", HEAD.replace("viewBox=", 'width="much" viewBox=')), "damaged"),
        (svg("<g>" * 90 + "</g>" * 90), "too large"),
        (svg("<g/>" * 6000), "too large"),
        (svg("<path d='" + "M0 0" * MAX_LOGO_BYTES + "'/>"), "too large"),
        (svg("<g>"), "damaged"),
        (b"<html><svg></svg></html>", "neither an SVG drawing nor a PNG"),
        (b"GIF89a", "neither an SVG drawing nor a PNG"),
        (png(30, 9)[:-20], "damaged"),
        (png(30, 9).replace(b"IDAT", b"IDAX"), "damaged"),
        (png(30, 9, b"short"), "damaged"),
        (png(30, 9, bytes(9_000_000)), "damaged"),
        (png(30, 9, interlaced=1), "damaged"),
        (png(9000, 9000, b""), "too large"),
        (b"\x89PNG\r\n\x1a\n", "damaged"),
    ],
)
def test_a_hostile_or_broken_logo_is_refused_in_a_sentence(logo: bytes, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        check_logo(logo)
    with pytest.raises(ValueError, match=told):
        Letterhead("Practice", (), logo)


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        ("<g>" * 39 + "</g>" * 39, "<g>" * 40 + "</g>" * 40),
        ("<g/>" * 4_999, "<g/>" * 5_000),
    ],
)
def test_a_drawing_has_at_most_5000_elements_40_deep(within: str, beyond: str) -> None:
    check_logo(svg(within))
    with pytest.raises(ValueError, match="too large"):
        check_logo(svg(beyond))


@pytest.mark.parametrize("colour", [0, 2, 3, 4, 6])
def test_every_kind_of_png_is_taken_with_as_many_channels_as_the_format_says(colour: int) -> None:
    channels = 1 + (2 if colour & 2 and not colour & 1 else 0) + (1 if colour & 4 else 0)
    assert check_logo(png(5, 3, (b"\0" * (1 + 5 * channels)) * 3, colour=colour)) is None
    with pytest.raises(ValueError, match="damaged"):
        check_logo(png(5, 3, (b"\0" * (1 + 5 * (channels + 1))) * 3, colour=colour))


@pytest.mark.parametrize(("name", "address"), [("", ()), ("x" * 121, ()), ("x", ("y",) * 7), ("x", ("y" * 121,))])
def test_a_letterhead_has_a_name_and_fits(name: str, address: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="letterhead"):
        Letterhead(name, address)

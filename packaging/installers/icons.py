"""Icons for Windows and macOS, made of the mark of the application (resources/icons/mark.svg)."""

import os
import struct
from pathlib import Path

ICO_SIZES = (16, 24, 32, 48, 64, 128, 256)
ICNS_TYPES = {16: b"icp4", 32: b"icp5", 64: b"icp6", 128: b"ic07", 256: b"ic08", 512: b"ic09", 1024: b"ic10"}
"""Types of PNG entries of an .icns file, by edge in pixels."""

_MARK = Path(__file__).resolve().parents[2] / "resources" / "icons" / "mark.svg"


def mark_svg() -> str:
    """The mark in the colours of the light scheme."""
    from vbdesk.desk.ui.tokens import LIGHT

    text = _MARK.read_text(encoding="utf-8")
    return text.replace("currentColor", LIGHT.accentfill).replace("inkColor", LIGHT.on_accent)


def png(svg: str, edge: int) -> bytes:
    """A square picture of `edge` pixels."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
    from PySide6.QtGui import QGuiApplication, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    application = QGuiApplication.instance() or QGuiApplication([])
    picture = QImage(edge, edge, QImage.Format.Format_ARGB32)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    QSvgRenderer(QByteArray(svg.encode())).render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    picture.save(buffer, "PNG")
    del application
    return bytes(buffer.data().data())


def ico(pictures: dict[int, bytes]) -> bytes:
    """An .ico file of PNG pictures by their edge; 256 is the largest that the format has."""
    head = struct.pack("<HHH", 0, 1, len(pictures))
    at = len(head) + 16 * len(pictures)
    entries, bodies = b"", b""
    for edge, body in sorted(pictures.items()):
        entries += struct.pack("<BBBBHHII", edge % 256, edge % 256, 0, 0, 1, 32, len(body), at + len(bodies))
        bodies += body
    return head + entries + bodies


def icns(pictures: dict[int, bytes]) -> bytes:
    """An .icns file of PNG pictures by their edge."""
    body = b"".join(
        ICNS_TYPES[edge] + struct.pack(">I", 8 + len(picture)) + picture for edge, picture in sorted(pictures.items())
    )
    return b"icns" + struct.pack(">I", 8 + len(body)) + body

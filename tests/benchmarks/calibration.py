"""Speed of this machine, to compare benchmarks between machines: `python tests/benchmarks/calibration.py`.

A fixed workload like that of the desk's GUI thread: Python code over objects, arithmetic over arrays, and painting of
text and lines. It does not change with the desk. A limit is stated for the reference machine (`REFERENCE_MS`), and is
scaled by the ratio of the calibration times.
"""

import os
import sys
import time
from collections.abc import Callable
from functools import cache

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter, QPolygonF
from PySide6.QtWidgets import QApplication

REFERENCE_MS = {"Python": 20.0, "arrays": 25.0, "painting": 6.5}
"""Time of each part on the reference machine: 2 cores of AMD EPYC, Python 3.11."""
REPEATS = 15


@cache
def slowness() -> float:
    """Time on this machine over time on the reference machine; measured once, and printed."""
    _application = QGuiApplication.instance() or QApplication(sys.argv[:1])
    took = {name: _best_ms(work) for name, work in PARTS.items()}
    factor = sum(took[name] / REFERENCE_MS[name] for name in took) / len(took)
    told = ", ".join(f"{name} {ms:.1f} ms" for name, ms in took.items())
    print(f"calibration of this machine: {told}; it takes {factor:.2f} times as long as the one of the bars")
    return factor


def within(measured: float, bar: float) -> bool:
    """Whether a time is within its limit, scaled to this machine."""
    return measured <= bar * slowness()


def judgement(measured: float, bar: float) -> str:
    """Format a time and its limit, scaled to the reference machine."""
    ratio = measured / (bar * slowness())
    return f"{ratio:6.2f} of the bar of {bar:g}{'' if ratio <= 1 else '  TOO LONG'}"


def _python() -> object:
    rows = [(f"ward-{number % 97:03d}", number * 7 % 1013) for number in range(24_000)]
    best: dict[str, int] = {}
    for name, value in rows:
        best[name] = max(best.get(name, 0), value)
    return sorted(rows, key=lambda row: (-row[1], row[0])), best


def _arrays() -> object:
    samples = np.sin(np.arange(700_000) / 20).astype(np.float32)
    return np.minimum.reduceat(samples, np.arange(0, len(samples), 200)), np.abs(np.fft.rfft(samples)).argmax()


def _painting() -> object:
    image = QImage(1000, 600, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor("black"))
    for row in range(60):
        painter.drawText(10, 10 * row + 8, f"Recording {row}: moderate, in line with this person's own recordings")
        painter.drawPolyline(QPolygonF([QPointF(500 + 5 * x, 10 * row + (x * 7 + row) % 17) for x in range(100)]))
    painter.end()
    return image


PARTS: dict[str, Callable[[], object]] = {"Python": _python, "arrays": _arrays, "painting": _painting}


def _best_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        began = time.thread_time()
        work()
        times.append(1000 * (time.thread_time() - began))
    return min(times)


if __name__ == "__main__":
    slowness()

"""Time of exports: `python tests/benchmarks/report_figures.py`.

The subject has 1,001 recordings of six signs, one more than a trajectory holds. Each figure is the median of several
runs in one process; the cold one starts a new process, with imports and fonts, like a command.
"""

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "report"))  # report_cases, by name

from figures import Row, judged, reported, show
from report_cases import AS_OF, golden, long_history

from vbdesk.report.bids import bids_files
from vbdesk.report.documents.report_input import ReportOptions, ReportScope
from vbdesk.report.documents.reports import pdf_report
from vbdesk.report.drawing.svg import to_svg
from vbdesk.report.fhir import fhir_bundle
from vbdesk.report.tidy_csv import csv_files
from vbdesk.report.trajectory_chart import trajectory_drawing

RUNS = 5
RECORDING_BAR_S, SUBJECT_BAR_S, BATCH_BAR_S = 0.150, 1.0, 8.0
BATCH = 100
COLD = "--cold"
OPTIONS = ReportOptions(exported_at=AS_OF)


def main() -> None:
    """Print every row; with `--cold` only make one report."""
    if COLD in sys.argv:
        pdf_report(golden()["gaps and anomalies"], OPTIONS)
        return
    show(rows())


def rows() -> Iterator[Row]:
    """Times of every format."""
    record, usual = long_history(), golden()["gaps and anomalies"]
    read = record.trajectory
    assert read is not None
    moments = (AS_OF + timedelta(seconds=number) for number in itertools.count())  # Typst keeps equal documents
    usual_s = _median_s(lambda: pdf_report(usual, replace(OPTIONS, exported_at=next(moments))))
    yield _pdf("one recording of a subject with 24, files attached", usual_s, RECORDING_BAR_S)
    over_time = replace(OPTIONS, scope=ReportScope.OVER_TIME)
    size = len(pdf_report(record, over_time)) / 1e6
    long_s = _median_s(lambda: pdf_report(record, replace(over_time, exported_at=next(moments))))
    yield _pdf("a subject of 1,001 recordings over time, tables attached", long_s, SUBJECT_BAR_S, f", {size:.1f} MB")
    begin = time.perf_counter()
    for _ in range(BATCH):
        pdf_report(usual, replace(OPTIONS, exported_at=next(moments)))
    yield _pdf(f"{BATCH} reports one after the other", time.perf_counter() - begin, BATCH_BAR_S)
    begin = time.perf_counter()
    subprocess.run([sys.executable, __file__, COLD], check=True)
    yield _other("PDF, one recording, in a new process", time.perf_counter() - begin)
    chart = _median_s(lambda: to_svg(trajectory_drawing(read, read.signs, 500.0, UTC)))
    yield _other("SVG of the charts, 1,001 recordings by six signs", chart)
    yield _other("CSV, 1,001 recordings", _median_s(lambda: csv_files([record])))
    yield _other("FHIR, 1,001 recordings with scores", _median_s(lambda: fhir_bundle(record, scores=True)))
    yield _other("BIDS, 1,001 recordings", _median_s(lambda: bids_files([record])))


def _pdf(what: str, seconds: float, bar_s: float, more: str = "") -> Row:
    return judged("Exports", f"PDF, {what}", f"under {bar_s:g} s", f"{seconds:.3f} s{more}", seconds < bar_s)


def _other(what: str, seconds: float) -> Row:
    return reported("Exports", what, f"{seconds:.2f} s")


def _median_s(work: Callable[[], object]) -> float:
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


if __name__ == "__main__":
    main()

"""Shift the clock of vbdesk in every Python process that has this folder on its PYTHONPATH.

CLOCK_AHEAD_S says by how many seconds. CLOCK_APPROACHES, a moment with its offset from UTC, asks for the shift with
which that moment is 10 s away: the first process computes it, the others inherit it.
"""

import email.utils
import os
import time
from datetime import datetime, timedelta

AHEAD, APPROACHES = "CLOCK_AHEAD_S", "CLOCK_APPROACHES"

try:
    from vbdesk import clock
except ImportError:  # the Python of another environment
    pass
else:
    of_system, with_date = clock.utc_now, email.utils.formatdate

    def ahead_s() -> float:
        return float(os.environ.get(AHEAD, 0))

    def shifted() -> datetime:
        return of_system() + timedelta(seconds=ahead_s())

    def date_header(timeval: float | None = None, localtime: bool = False, usegmt: bool = False) -> str:
        """Write the present time for a Date header, as HTTP servers do."""
        return with_date((time.time() if timeval is None else timeval) + ahead_s(), localtime, usegmt)

    def approach(before_s: float) -> None:
        """Shift this process and its children so that the approached moment comes in `before_s` seconds."""
        moment = datetime.fromisoformat(os.environ[APPROACHES]) - timedelta(seconds=before_s)
        os.environ[AHEAD] = str((moment - of_system()).total_seconds())

    if APPROACHES in os.environ and AHEAD not in os.environ:
        approach(10)
    clock.utc_now, email.utils.formatdate = shifted, date_header

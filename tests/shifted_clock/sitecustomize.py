"""Shift the clock of vbdesk in every Python process that has this folder on its PYTHONPATH.

CLOCK_AHEAD_S says by how many seconds. CLOCK_APPROACHES, a moment with its offset from UTC, asks for the shift with
which that moment is 10 s away: the first process computes it, the others inherit it.
"""

import email.utils
import importlib.machinery
import os
import sys
import time
from datetime import datetime, timedelta

AHEAD, APPROACHES = "CLOCK_AHEAD_S", "CLOCK_APPROACHES"
SIGNING = {"botocore.compat": "get_current_datetime", "google.cloud.storage._helpers": "_NOW"}
"""Functions that give the time to addresses of object stores, by their module."""

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

    class SignersClocks:
        """Shift the time of the object stores' libraries as soon as they are imported."""

        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> object:
            spec = importlib.machinery.PathFinder.find_spec(name, path) if name in SIGNING else None
            if spec is not None:
                execute = spec.loader.exec_module

                def exec_module(module: object) -> None:
                    execute(module)
                    read = getattr(module, SIGNING[name])
                    setattr(module, SIGNING[name], lambda *of: read(*of) + timedelta(seconds=ahead_s()))

                spec.loader.exec_module = exec_module
            return spec

    def approach(before_s: float) -> None:
        """Shift this process and its children so that the approached moment comes in `before_s` seconds."""
        moment = datetime.fromisoformat(os.environ[APPROACHES]) - timedelta(seconds=before_s)
        os.environ[AHEAD] = str((moment - of_system()).total_seconds())

    if APPROACHES in os.environ and AHEAD not in os.environ:
        approach(10)
    sys.meta_path.insert(0, SignersClocks)
    clock.utc_now, email.utils.formatdate = shifted, date_header

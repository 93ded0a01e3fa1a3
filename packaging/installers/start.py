"""Where a frozen vbdesk begins."""

import sys

from vbdesk.__main__ import run

if sys.platform == "darwin" and len(sys.argv) == 1:
    sys.argv.append("desk")  # opened from the Finder
run()

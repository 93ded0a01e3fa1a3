"""Imports of the warm process from which slot children are forked.

Import this module only there. Import modules and tables only: threads, open files and model sessions do not survive a
fork.
"""

import gc
from contextlib import suppress

from vbdesk.service.engine.analysis import prepare
from vbdesk.service.engine.slot import tame_libraries

tame_libraries()
with suppress(Exception):  # every child prepares again and reports its own import errors
    prepare()
gc.collect()
gc.freeze()  # a garbage collection in a child would touch, and so copy, all of it

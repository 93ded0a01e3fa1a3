"""What the process imports from which the children of slots are forked.

Imported there and nowhere else. Modules and tables only: threads, open files and model sessions do not survive a fork.
"""

import gc
from contextlib import suppress

from vbdesk.service.engine.analysis import prepare
from vbdesk.service.engine.slot import tame_libraries

tame_libraries()
with suppress(Exception):  # every child prepares itself again: the one that needs what is broken says so
    prepare()
gc.collect()
gc.freeze()  # lest a collection in a child touch, and so copy, all of it

"""Runs before the program: pyqtgraph imports QtOpenGL by name, and uses it only in views that vbdesk does not have.

The bindings of that module would be 9 MB.
"""

import sys
import types

sys.modules["PySide6.QtOpenGL"] = types.ModuleType("PySide6.QtOpenGL")

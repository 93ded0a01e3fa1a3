"""Child processes of this program: the same program with another task, from source or as an installed application.

An installed (frozen) application has no `python -m`: it starts itself with `--run-module`, which `vbdesk.__main__`
understands for the modules listed here. No child opens a console window on Windows.
"""

import subprocess
import sys
from typing import Any

RUN_MODULE = "--run-module"
CHILD_MODULES = frozenset({"vbdesk.capture.device_helper", "vbdesk.outbox.bundles.passphrase_child"})


def is_frozen() -> bool:
    """Whether this is an installed application with its own interpreter inside."""
    return bool(getattr(sys, "frozen", False))


def own_command(*arguments: str) -> list[str]:
    """The command line of `vbdesk ARGUMENTS`."""
    start = [sys.executable] if is_frozen() else [sys.executable, "-m", "vbdesk"]
    return [*start, *arguments]


def own_module(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module of `CHILD_MODULES` as a program.

    Raises:
        ValueError: the module is not in the list.
    """
    if module not in CHILD_MODULES:
        raise ValueError(f"{module} is not started as a child process.")
    # -P: do not import modules from the current folder, which may be a USB stick
    start = [sys.executable, RUN_MODULE] if is_frozen() else [sys.executable, "-P", "-m"]
    return [*start, module, *arguments]


def child_options(*, own_session: bool = False) -> dict[str, Any]:
    """Options for `subprocess` that keep a child without a window.

    Args:
        own_session: Ctrl-C in the terminal of this process does not reach the child.
    """
    if sys.platform == "win32":
        group = subprocess.CREATE_NEW_PROCESS_GROUP if own_session else 0
        return {"creationflags": subprocess.CREATE_NO_WINDOW | group}
    return {"start_new_session": own_session}

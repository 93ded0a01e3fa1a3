"""The time limit of a test, of a clean-up after a failure too, and the start of the time of its waits."""

import faulthandler

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from patience import begin_test


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol():
    begin_test()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item):
    """Set the limit once more: pytest takes it back when a test fails."""
    limit_s = float(item.config.getini("faulthandler_timeout"))
    faulthandler.dump_traceback_later(limit_s, file=item.config.stash[fault_handler_stderr_fd_key], exit=True)

"""Plugin of pytest for runs with CLOCK_APPROACHES: that moment comes early in each test.

Where several tests share a process of the product, its clock and theirs would part: there, the moment comes once.
"""

import os
import random

import pytest
import sitecustomize

SHARING_PROCESSES = ("tests/service/", "tests/e2e/", "tests/cli/test_client_guide.py", "tests/cli/test_demo.py")


@pytest.fixture(autouse=True)
def moment_in_this_test(request):
    """Between 10 ms and 10 s after the start of the test, so that it comes within short tests and long ones."""
    if sitecustomize.APPROACHES in os.environ and not request.node.nodeid.startswith(SHARING_PROCESSES):
        sitecustomize.approach(10 ** random.Random(os.environ["PYTEST_CURRENT_TEST"]).uniform(-2, 1))

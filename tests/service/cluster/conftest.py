"""Import path for this folder's helpers; the two long tests run first."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

LONG = ("test_cluster_conformance.py", "test_cluster_chaos.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that take minutes first, so that nothing waits for them at the end."""
    items.sort(key=lambda item: item.path.name not in LONG)

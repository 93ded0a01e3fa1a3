"""The helpers' modules of this folder, by name; the two long tests before all others."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

LONG = ("test_cluster_conformance.py", "test_cluster_chaos.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes minutes, lest everybody wait for it at the end."""
    items.sort(key=lambda item: item.path.name not in LONG)

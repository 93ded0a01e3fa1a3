"""Limit BLAS to one thread for small matrices.

A recurrent step multiplies small matrices, where a second BLAS thread only waits for the first. On shared cores one
second of work took fifteen.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import cast

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit numpy's BLAS to one thread inside the `with` block, for the whole process."""
    return cast(AbstractContextManager[object], _controller().limit(limits=1, user_api="blas"))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()

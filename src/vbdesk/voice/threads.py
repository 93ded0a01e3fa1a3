"""One thread for small matrices.

A recurrent step multiplies matrices so small that a second BLAS thread only waits for the first, and where cores are
shared it waits long: a second of work took fifteen.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import cast

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[object]:
    """Hold numpy's BLAS to one thread inside the `with`; it holds for the whole process meanwhile."""
    return cast(AbstractContextManager[object], _controller().limit(limits=1, user_api="blas"))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()

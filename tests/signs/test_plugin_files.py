"""Plug-in sign files: accepted files, rejected files, and the messages."""

import hashlib
import json
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
import sklearn
import tomli_w
from sklearn.linear_model import LogisticRegression

from vbdesk.contract.catalog import SignName
from vbdesk.signs.plugins.discovery import PluginSource, load_plugins

FEATURES = ["pitch_variability", "speech_rate", "pause_ratio"]


def sign_file(name="hoarse-voice", **changes):
    return {
        "format": 1,
        "name": name,
        "version": "2.1",
        "evidence_grade": "C",
        "max_level": "moderate",
        "meaning": "how rough the voice sounds",
        "known": "nothing yet",
        "timescale": "fast",
        "confounders": ["a cold"],
        "model": {"kind": "linear", "weights": {"pitch_variability": -0.5, "speech_rate": 0.25, "pause_ratio": 0.25}},
        "reference": {"mean": 0.0, "sd": 0.5},
        "cut_points": {"low": 1.3, "consider": 1.6, "moderate": 2.2, "elevated": 2.6},
        "expected_rate": {"low": 0.1, "consider": 0.05, "moderate": 0.015, "elevated": 0.005},
        **changes,
    }


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture
def offer(folder):
    """Write a sign file and load the folder."""

    def write_and_load(content=None, *, name="hoarse-voice", text=None, allow_pickles=False):
        content = sign_file(name) if content is None else content
        (folder / f"{name}.toml").write_text(tomli_w.dumps(content) if text is None else text, encoding="utf-8")
        load_plugins.cache_clear()
        return load_plugins(PluginSource(folder, allow_pickles))

    yield write_and_load
    load_plugins.cache_clear()


def the_reason(signs):
    (unavailable,) = signs.unavailable
    return unavailable.reason


def test_a_linear_sign_needs_no_code_at_all(offer):
    sign = offer().available["hoarse-voice"]
    z = {"pitch_variability": -1.0, "speech_rate": 2.0, "pause_ratio": 1.0}
    assert sign.index(z) == pytest.approx((0.5 + 0.5 + 0.25) / 0.5)
    assert sign.index({"speech_rate": 2.0, "voice_jitter": 3.0}) == pytest.approx(1.0)


def test_the_score_is_anchored_as_that_of_every_sign(offer):
    from vbdesk.signs.score_to_level import index_to_score

    file = offer().available["hoarse-voice"].file
    assert index_to_score(file, 0.0) == pytest.approx(0.2)
    assert index_to_score(file, 1.6) == pytest.approx(0.5)


def test_without_a_folder_there_are_no_signs_and_no_error(tmp_path):
    for source in (PluginSource(None), PluginSource(tmp_path / "absent")):
        signs = load_plugins(source)
        assert not signs.available
        assert not signs.unavailable


@pytest.mark.parametrize("name", [*SignName, "pulse"])
def test_a_name_of_vbdesk_cannot_be_taken(offer, name):
    reason = the_reason(offer(sign_file(str(name)), name=str(name)))
    assert reason == f"{name}.toml: name: the name {name} belongs to vbdesk. Choose another."


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"model": {"kind": "linear", "weights": {"no_such_feature": 1.0}}}, "no_such_feature is not a feature"),
        (
            {"model": {"kind": "linear", "weights": {"speech_rate": 0.9}}},
            "model.linear: the absolute weights sum to 0.",
        ),
        ({"model": {"kind": "magic"}}, "model: "),
        (
            {
                "model": {
                    "kind": "onnx",
                    "file": "m.onnx",
                    "sha256": "1" * 64,
                    "features": FEATURES[:1] * 2,
                    "gives": "score",
                }
            },
            "model.onnx: a feature is named twice",
        ),
        (
            {"cut_points": {"low": 1, "consider": 3, "moderate": 2, "elevated": 4}},
            "cut_points: the cut-points must asc",
        ),
        ({"cut_points": {"low": -1.0, "consider": 3, "moderate": 4, "elevated": 5}}, "cut_points.low: "),
        ({"expected_rate": {"low": 0.1, "consider": 0.2, "moderate": 0.01, "elevated": 0.001}}, "expected_rate: "),
        ({"reference": {"mean": 0.0, "sd": 0.0}}, "reference.sd: "),
        ({"reference": {"mean": float("nan"), "sd": 1.0}}, "reference.mean: "),
        ({"models": ["pulse"]}, "a plug-in sign cannot join a model"),
        ({"max_level": "none"}, "max_level must be one of low, consider, moderate, elevated"),
        ({"max_level": "extreme"}, "max_level: "),
        ({"version": ""}, "version: "),
        ({"nmae": "typo"}, "nmae: "),
        ({"name": "other-name"}, "the name is other-name, but the file is named hoarse-voice.toml"),
        ({"format": 2}, "format: "),
    ],
)
def test_an_invalid_file_is_rejected_with_its_name_and_field(offer, change, place):
    signs = offer(sign_file(**{"name": "hoarse-voice", **change}))
    assert not signs.available
    assert the_reason(signs).startswith("hoarse-voice.toml: ")
    assert place in the_reason(signs)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name = ", "is not valid TOML: "),
        ("", "hoarse-voice.toml: format: Field required (and "),
        ("a = " + 10_000 * "[", "hoarse-voice.toml is nested too deeply."),
    ],
)
def test_a_file_that_is_not_toml_names_the_line(offer, text, reason):
    assert reason in the_reason(offer(text=text))


def test_a_binary_file_does_not_affect_other_signs(offer, folder):
    (folder / "binary.toml").write_bytes(b"\xff\xfe\x00")
    signs = offer()
    assert list(signs.available) == ["hoarse-voice"]
    assert the_reason(signs) == "binary.toml is not text in UTF-8."


def fitted_estimator():
    z = np.random.default_rng(1).standard_normal((200, 3)).astype(np.float32)
    return LogisticRegression(C=0.5).fit(z, z[:, 1] - z[:, 2] > 0)


def pickled(folder, estimator, **changes):
    path = folder / "hoarse-voice.joblib"
    joblib.dump(estimator, path)
    model = {
        "kind": "pickle",
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "scikit_learn": sklearn.__version__,
        "features": FEATURES,
    }
    return sign_file(model={**model, **changes})


def test_an_estimator_is_loaded_if_pickles_are_allowed(offer, folder):
    estimator = fitted_estimator()
    sign = offer(pickled(folder, estimator), allow_pickles=True).available["hoarse-voice"]
    raw = estimator.decision_function(np.array([[0.5, 1.5, 0.0]], dtype=np.float32))[0]
    assert sign.index({"pitch_variability": 0.5, "speech_rate": 1.5}) == pytest.approx(raw / 0.5, rel=1e-4)


class Trap:
    """Leaves a mark when it is opened."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


@pytest.mark.parametrize(
    ("allow_pickles", "changes", "reason"),
    [
        (False, {}, "hoarse-voice.toml: model: it is a pickle, and opening it runs the code in it."),
        (True, {"sha256": "0" * 64}, "is not the file it was calibrated with"),
        (True, {"scikit_learn": "0.1"}, "it was fitted with scikit-learn 0.1"),
    ],
)
def test_no_pickle_is_opened_unless_allowed_and_unchanged(offer, folder, allow_pickles, changes, reason):
    mark = folder / "opened"
    content = pickled(folder, Trap(mark), **changes)
    assert reason in the_reason(offer(content, allow_pickles=allow_pickles))
    assert not mark.exists()


def test_a_pickle_that_is_not_an_estimator_is_rejected(offer, folder):
    assert "holds no estimator" in the_reason(offer(pickled(folder, {"a": 1}), allow_pickles=True))


@pytest.fixture
def package(tmp_path):
    """An installed package with an entry point; its module and calibration file are made by the test."""
    site = tmp_path / "site"
    information = site / "lab_signs-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-signs\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[vbdesk.signs]\nlab-sign = lab_signs_of_a_test:predict\n")
    sys.path.insert(0, str(site))
    load_plugins.cache_clear()

    def make(code, content=None):
        (site / "lab_signs_of_a_test.py").write_text(code)
        if content is not None:
            (site / "lab-sign.toml").write_text(tomli_w.dumps(content))
        return load_plugins(PluginSource())

    yield make
    sys.path.remove(str(site))
    sys.modules.pop("lab_signs_of_a_test", None)
    load_plugins.cache_clear()


CALLABLE = sign_file("lab-sign", model={"kind": "callable", "features": FEATURES})


def test_a_function_of_an_installed_package_is_a_sign(package):
    sign = package("def predict(z):\n    return z.get('speech_rate', 0) - len(z)\n", CALLABLE).available["lab-sign"]
    assert sign.index({"speech_rate": 2.0, "voice_jitter": 1.0}) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("code", "content", "reason"),
    [
        ("1 / 0", CALLABLE, "lab_signs_of_a_test:predict cannot be imported: ZeroDivisionError"),
        ("raise SystemExit(3)", CALLABLE, "lab_signs_of_a_test:predict cannot be imported: SystemExit: 3"),
        ("predict = 3", CALLABLE, "the entry point names something that cannot be called"),
        ("def predict(z):\n    return float('nan')\n", CALLABLE, "its model gives nan"),
        ("def predict(z):\n    raise RuntimeError('no')\n", CALLABLE, "its model fails: RuntimeError: no"),
        ("def predict(z):\n    return 0\n", None, "there is no lab-sign.toml next to the module lab_signs_of_a_test"),
    ],
)
def test_a_broken_package_is_reported(package, code, content, reason):
    assert reason in the_reason(package(code, content))


def test_a_callable_without_its_package_is_reported(offer):
    signs = offer(sign_file(model={"kind": "callable", "features": FEATURES}))
    assert "no installed package has an entry point hoarse-voice" in the_reason(signs)


@pytest.fixture(scope="module")
def onnx_truth(request):
    data = request.config.rootpath / "tests" / "data"
    return data / "logistic_three_features.onnx", json.loads((data / "logistic_three_features.json").read_text())


def with_onnx(folder, source, **changes):
    (folder / "model.onnx").write_bytes(source.read_bytes())
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    model = {"kind": "onnx", "file": "model.onnx", "sha256": digest, "features": FEATURES, "gives": "probability"}
    return sign_file(model={**model, **changes})


def test_an_onnx_model_gives_the_output_of_its_estimator(offer, folder, onnx_truth):
    source, truth = onnx_truth
    sign = offer(with_onnx(folder, source)).available["hoarse-voice"]
    for row, decision in zip(truth["rows"], truth["decision"], strict=True):
        z = dict(zip(FEATURES, row, strict=True))
        assert sign.index(z) == pytest.approx(decision / 0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"features": FEATURES[:2]}, "must take one table of 2 columns"),
        ({"output": "logits"}, "has no output 'logits'. It has: "),
        ({"file": "absent.onnx"}, "absent.onnx cannot be read: No such file"),
        ({"file": "../model.onnx"}, "model.onnx.file: "),
        ({"sha256": "1" * 64}, "is not the file it was calibrated with"),
    ],
)
def test_an_unsuitable_onnx_file_is_rejected(offer, folder, onnx_truth, changes, reason):
    assert reason in the_reason(offer(with_onnx(folder, onnx_truth[0], **changes)))


def test_a_damaged_onnx_file_is_rejected(offer, folder, onnx_truth):
    damaged = folder / "damaged.onnx"
    damaged.write_bytes(onnx_truth[0].read_bytes()[:40])
    assert "is not a model that ONNX Runtime can run" in the_reason(offer(with_onnx(folder, damaged)))


def test_the_example_of_the_guide_works(offer, request):
    guide = (request.config.rootpath / "docs" / "signs-of-your-own.md").read_text(encoding="utf-8")
    example = guide.split("```toml\n")[1].split("```")[0]
    sign = offer(name="slow-speech", text=example).available["slow-speech"]
    assert sign.file.version == "1.2"

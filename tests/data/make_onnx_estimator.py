"""Writes logistic_three_features.onnx and .json. Run with skl2onnx 1.20 and scikit-learn 1.9 installed."""

import json
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression

HERE = Path(__file__).parent

z = np.random.default_rng(1).standard_normal((200, 3)).astype(np.float32)
estimator = LogisticRegression(C=0.5).fit(z, z[:, 1] - z[:, 2] > 0)
options = {id(estimator): {"zipmap": False}}
model = to_onnx(estimator, z[:1], options=options, target_opset=17)
(HERE / "logistic_three_features.onnx").write_bytes(model.SerializeToString())
rows = z[:5].tolist()
decision = estimator.decision_function(z[:5]).tolist()
truth = {"rows": rows, "decision": decision}
(HERE / "logistic_three_features.json").write_text(json.dumps(truth, indent=1) + "\n")

"""Measurements of a recording, as pure functions of samples."""

import os

# onnxruntime reads this at its first import; otherwise it sends telemetry from a thread of its own
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

"""What a recording says: pure functions of samples."""

import os

# onnxruntime would report to its maker, from a thread and a file of its own. It looks here when it is first imported.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

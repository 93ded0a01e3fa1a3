"""Tasks for worker processes in tests, in place of the measurement; imported by name."""

import os

from vbdesk.lab.corpus.measurement import MeasuredFile, Unmeasurable


def read_number(path):
    text = path.read_text()
    if text == "crash":
        os._exit(9)
    if text == "fault":
        raise ZeroDivisionError("what a fault of ours looks like")
    if text == "bad":
        return Unmeasurable("It is no recording.")
    number = float(text)
    return MeasuredFile({"pitch_mean": number}, number, number, 16_000, 90.0, None, ("low_level",))

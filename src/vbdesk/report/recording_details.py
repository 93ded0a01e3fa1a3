"""What only the computer that recorded knows of a recording; the service never has it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RecordingDetails:
    """Details of one recording.

    Attributes:
        protocol: its id; empty if it is not known, as the other texts.
        protocol_version: None if it is not known, as the other numbers.
        protocol_language: BCP 47 tag of the prompts.
        microphone: name of the device.
        microphone_sample_rate: in Hz; the file that was sent may have another.
        imported: whether it comes from a file.
        markers_s: marked moments, in seconds from the beginning of the part that was analysed.
        check: figures of the check before it was sent.
        recorder_version: vbdesk's own, when it recorded.
        spoken_language: BCP 47 tag of what is spoken; empty if it is not known.
        second_language: whether that is a second language of the speaker; None if it is not known.
        random_fraction: the fraction of a second of its time is random: it only identifies a file.
    """

    protocol: str = ""
    protocol_version: int | None = None
    protocol_language: str = ""
    microphone: str = ""
    microphone_sample_rate: int | None = None
    imported: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""
    markers_s: tuple[float, ...] = ()
    check: Mapping[str, Any] = field(default_factory=dict)
    recorder_version: str = ""
    random_fraction: bool = False
    spoken_language: str = ""
    second_language: bool | None = None

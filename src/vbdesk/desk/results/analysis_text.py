"""What was asked of the service, and what was spoken, in people's words."""

from vbdesk.capture.protocols import protocol_titles
from vbdesk.contract.catalog import label_of
from vbdesk.language import _


def model_text(name: str) -> str:
    """`Pulse analysis`."""
    # Translators: stands alone, as a title: begin it as a sentence begins
    return _("{model} analysis", model=label_of(name))


def sign_text(name: str) -> str:
    """`Stress`."""
    return _(label_of(name))


def task_text(protocol_id: str) -> str:
    """`Reading passage`; a protocol that is not known here by its own name."""
    return protocol_titles().get(protocol_id, protocol_id)

"""What was asked of the service, and what was spoken, in people's words."""

from PySide6.QtCore import QCoreApplication

from vbdesk.capture.protocols import protocols
from vbdesk.contract.catalog import label_of

translate = QCoreApplication.translate


def model_words(name: str) -> str:
    """`Pulse analysis`."""
    return translate("analysis", "{model} analysis").format(model=label_of(name))


def sign_words(name: str) -> str:
    """`Stress`."""
    return label_of(name)


def task_words(protocol_id: str) -> str:
    """`Reading passage`; a protocol that is not known here by its own name."""
    titles = {protocol.protocol_id: protocol.title for protocol in protocols()}
    return titles.get(protocol_id, protocol_id)

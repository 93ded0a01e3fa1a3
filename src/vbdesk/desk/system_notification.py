"""Notifications of the operating system, for a person who looks at another window. Never name a subject in one."""

import sys

from PySide6.QtCore import QProcess, QStandardPaths
from PySide6.QtWidgets import QApplication, QSystemTrayIcon

_TOOL = "notify-send"
_NAME = "vbdesk"


def notify_system(sentence: str) -> None:
    """Show a sentence for a few seconds, without waiting; nothing happens where the system shows none."""
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        return
    tool = "" if sys.platform in ("win32", "darwin") else QStandardPaths.findExecutable(_TOOL)
    if tool:
        QProcess.startDetached(tool, [f"--app-name={_NAME}", sentence])
    elif QSystemTrayIcon.isSystemTrayAvailable():
        icon = application.findChild(QSystemTrayIcon) or QSystemTrayIcon(application.windowIcon(), application)
        icon.show()  # a message belongs to an icon
        icon.showMessage(_NAME, sentence)

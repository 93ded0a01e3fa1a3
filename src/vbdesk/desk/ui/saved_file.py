"""Open a file that was saved, or show it in its folder, with the programs of the system."""

import sys
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QProcess, QUrl
from PySide6.QtDBus import QDBusConnection, QDBusMessage, QDBusPendingCallWatcher
from PySide6.QtGui import QDesktopServices

_FILE_MANAGER = "org.freedesktop.FileManager1"


def open_file(path: Path) -> None:
    """Open a file or folder with the program that the system has for it."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def show_in_folder(path: Path) -> None:
    """Show a file, marked, in the system's file manager; where that is not possible, its folder."""
    if sys.platform == "win32":
        QProcess.startDetached("explorer.exe", ["/select,", str(path)])
    elif sys.platform == "darwin":
        QProcess.startDetached("open", ["-R", str(path)])
    else:
        _ask_file_manager(path)


def _ask_file_manager(path: Path) -> None:
    """Ask the desktop's file manager, without waiting for its answer."""
    request = QDBusMessage.createMethodCall(_FILE_MANAGER, "/org/freedesktop/FileManager1", _FILE_MANAGER, "ShowItems")
    request.setArguments([[QUrl.fromLocalFile(str(path)).toString()], ""])
    answer = QDBusPendingCallWatcher(QDBusConnection.sessionBus().asyncCall(request), QCoreApplication.instance())

    def fall_back(watcher: QDBusPendingCallWatcher) -> None:
        if watcher.isError():
            open_file(path.parent)
        watcher.deleteLater()

    if answer.isFinished():  # without a bus it fails at once
        fall_back(answer)
    else:
        answer.finished.connect(fall_back)

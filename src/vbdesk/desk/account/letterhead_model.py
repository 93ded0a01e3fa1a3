"""The letterhead of a profile, as the Account page shows and changes it."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.desk.flow.tasks import Failure, Lane, TaskContext, TaskOwner
from vbdesk.language import message, translated
from vbdesk.outbox.library.disk_faults import file_sentence
from vbdesk.outbox.library.library import Library
from vbdesk.report.letterhead import MAX_LOGO_BYTES, Letterhead


class LetterheadViewModel(QObject):
    """Reads and changes the letterhead in worker tasks, one after the other.

    Signals:
        changed: (object) the stored Letterhead; None without one.
        failed: (str) why nothing was stored.
    """

    changed = Signal(object)
    failed = Signal(str)

    def __init__(self, library: Library, tasks: TaskOwner) -> None:
        super().__init__()
        self._library = library
        self._changes = Lane(tasks, self)

    def tell(self) -> None:
        """Read the stored letterhead."""
        self._run(lambda library: None)

    def set_words(self, name: str, address: str) -> None:
        """Set name and address, whose lines commas separate, Arabic ones too; without both, there is no letterhead."""
        lines = tuple(line.strip() for line in re.split("[,،]", address) if line.strip())

        def work(library: Library) -> None:
            known = library.letterhead.read()
            if not name.strip() and not lines:
                library.letterhead.keep(None)
            else:
                logo = b"" if known is None else known.logo
                library.letterhead.keep(Letterhead(name.strip(), lines, logo))

        self._run(work)

    def set_logo(self, file: Path | None) -> None:
        """Read, check and store the logo in `file`; None removes it."""

        def work(library: Library) -> None:
            known = library.letterhead.read()
            if known is None:
                raise ValueError(message("Enter a name first. A letterhead needs one."))
            logo = b""
            if file is not None:
                with file.open("rb") as source:
                    logo = source.read(MAX_LOGO_BYTES + 1)
            library.letterhead.keep(replace(known, logo=logo))

        self._run(work)

    def _run(self, work: Callable[[Library], None]) -> None:
        library = self._library

        def done(context: TaskContext) -> Letterhead | None:
            work(library)
            return library.letterhead.read()

        self._changes.run(done, self._on_done, self._on_failed, name="letterhead")

    @Slot(object)
    def _on_done(self, letterhead: Letterhead | None) -> None:
        self.changed.emit(letterhead)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        match failure.error:
            case ValueError():
                self.failed.emit(translated(failure.error))
            case OSError():
                self.failed.emit(translated(file_sentence(failure.error)))
            case _:
                self.failed.emit(failure.sentence)

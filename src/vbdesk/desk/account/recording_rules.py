"""Rules for the recordings of a profile: sending, retention, consent, audit."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vbdesk.desk.flow.commands import Command, Done
from vbdesk.desk.flow.context import DeskContext
from vbdesk.desk.flow.reads import Read
from vbdesk.desk.flow.tasks import TaskContext
from vbdesk.desk.flow.topics import Changed
from vbdesk.outbox.diagnostics.diagnostics import diagnose, write_bundle
from vbdesk.outbox.library.settings import LibrarySettings

LONGEST_DAYS = 3650


@dataclass(frozen=True)
class SettingsRead(Read[LibrarySettings]):
    """The settings of the library."""

    topics = frozenset({Changed.LIBRARY})

    def here(self, context: DeskContext, before: object, task: TaskContext) -> LibrarySettings:  # noqa: D102
        return context.library.settings()


@dataclass(frozen=True)
class ChangeSettings(Command):
    """Change the settings that are named; the others stay."""

    changes: Mapping[str, Any]

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.change_settings(**self.changes)
        return Done(touched=frozenset({Changed.LIBRARY}))


@dataclass(frozen=True)
class ChangeConsentRules(Command):
    """Change the consent rules that are named; the others stay."""

    changes: Mapping[str, Any]

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        context.library.change_consent_rules(lambda rules: replace(rules, **self.changes))
        return Done(touched=frozenset({Changed.LIBRARY}))


@dataclass(frozen=True)
class CheckAudit(Command):
    """Verify the whole audit log; finds whether it is intact."""

    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        found = context.library.verify_audit()
        return Done(found.sentence, found=found.ok)


@dataclass(frozen=True)
class WriteDiagnostics(Command):
    """Write diagnostics to a file, without secrets and personal data."""

    file: Path
    beside = True

    def do(self, context: DeskContext, task: TaskContext) -> Done:  # noqa: D102
        write_bundle(diagnose(context.ports), self.file)
        return Done()

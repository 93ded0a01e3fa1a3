"""Consent in `vbdesk submit`: what the desk has noted for the profile, and what the command line states."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.cli.connection import ACT_FIRST, ConnectedAccount
from vbdesk.cli.output import fail
from vbdesk.clock import utc_now
from vbdesk.language import joined, message, translated

if TYPE_CHECKING:
    from vbdesk.outbox.imports.import_row import ImportRow
    from vbdesk.outbox.library.consent import ConsentStatus
    from vbdesk.outbox.library.consent_gate import ConsentList


class StatedConsent(StrEnum):
    """What a person states about all subjects of a command, or in the column `consent` of a list."""

    CLINICAL = "clinical"
    RESEARCH = "research"
    BOTH = "both"


_REFUSED = frozenset({"none", "withdrawn", "unreadable"})
HOW = message("Note it in the desk, or state it with --consent or in the column consent of the list.")


@dataclass(frozen=True, slots=True)
class SubmitConsent:
    """Decides for each row.

    Attributes:
        known: what the desk has noted.
        stated: for all rows; a row's own statement comes first.
    """

    known: "ConsentList"
    stated: StatedConsent | None

    def checked(self, rows: "Iterable[ImportRow]") -> "Iterator[ImportRow]":
        """The rows, with a fault where the policy refuses one or its statement cannot be read."""
        for row in rows:
            fault = None if row.error is not None else self._fault(row)
            yield row if fault is None else replace(row, faults=(*row.faults, fault))

    def is_missing(self, row: "ImportRow") -> bool:
        """Whether the policy refuses a row."""
        from vbdesk.outbox.library.consent import ConsentPolicy

        required = self.known.rules.policy is ConsentPolicy.REQUIRED
        return required and self.text(row.group_id, row.consent) in _REFUSED

    def text(self, group_id: str, statement: str | None) -> str:
        """The consent that counts: a kind, `withdrawn`, `none`, or empty if the profile does not ask for any."""
        from vbdesk.outbox.library.consent import ConsentPolicy, ConsentState

        status = self._status(group_id)
        if status.kind is not None:
            return status.kind
        if status.state in (ConsentState.WITHDRAWN, ConsentState.UNREADABLE):
            return status.state
        stated = _statement(statement) or self.stated
        if stated is not None:
            return stated
        return "" if self.known.rules.policy is ConsentPolicy.OFF else "none"

    def _fault(self, row: "ImportRow") -> str | None:
        from vbdesk.outbox.library.consent import ConsentPolicy, ConsentState

        if row.consent and _statement(row.consent) is None:
            return message(
                "The consent {consent} is not known. There are: {known}.",
                consent=row.consent,
                known=", ".join(StatedConsent),
            )
        if self.known.rules.policy is not ConsentPolicy.REQUIRED:
            return None
        found = self.text(row.group_id, row.consent)
        if found == "none":
            return joined(message("No consent of this subject is noted, and this profile requires it."), HOW)
        if found == ConsentState.WITHDRAWN:
            return message(
                "This subject has withdrawn consent, and this profile requires it. Note a new one in the desk."
            )
        if found == ConsentState.UNREADABLE:
            return message(
                "The consent of this subject was changed by something other than vbdesk. Ask again in the desk."
            )
        return None

    def _status(self, group_id: str) -> "ConsentStatus":
        return self.known.status(group_id, utc_now())


def submit_consent(connection: ConnectedAccount, data_dir: Path | None, stated: StatedConsent | None) -> SubmitConsent:
    """Read what the desk has noted for the profile; an account of the environment has nothing noted.

    Where recordings are here whose key is only in the open desk, consent has to be stated.
    """
    from vbdesk.cli.paths import desk_paths
    from vbdesk.outbox.library.consent import ConsentPolicy
    from vbdesk.outbox.library.consent_gate import ConsentList
    from vbdesk.outbox.library.consent_reader import ConsentUnreadable, has_library, read_consent_list
    from vbdesk.outbox.library.settings import ConsentRules
    from vbdesk.outbox.profiles.profiles import known_library_key, library_folder

    profile, vault = connection.profile, connection.vault
    if profile is None or vault is None:
        return SubmitConsent(ConsentList(), stated)
    folder = library_folder(desk_paths(data_dir).data, profile.profile_id)
    if not has_library(folder):
        return SubmitConsent(ConsentList(), stated)
    key = None if profile.secrets == "session" else known_library_key(vault, profile)
    if key is None:
        return SubmitConsent(ConsentList(ConsentRules(policy=ConsentPolicy.REQUIRED)), stated)
    try:
        return SubmitConsent(read_consent_list(folder, key), stated)
    except ConsentUnreadable as error:
        fail(translated(error), ACT_FIRST)


def _statement(text: str | None) -> StatedConsent | None:
    try:
        return StatedConsent((text or "").strip().lower())
    except ValueError:
        return None

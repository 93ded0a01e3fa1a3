"""What a profile's consent policy allows: recording, importing and sending for a subject."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from vbdesk.language import N_, joined
from vbdesk.outbox.library.consent import ConsentPolicy, ConsentState, ConsentStatus, SubjectConsent
from vbdesk.outbox.library.consents import CONSENTS
from vbdesk.outbox.library.items import RecordingItem
from vbdesk.outbox.library.settings import SETTINGS_NAME, ConsentRules, LibrarySettings, read_settings
from vbdesk.outbox.library.states import OutboxState
from vbdesk.outbox.library.store import Store

_WHY = {
    ConsentState.NONE: N_("No consent of this subject is noted, and this profile requires it."),
    ConsentState.EXPIRED: N_("The consent of this subject has expired, and this profile requires one."),
    ConsentState.WITHDRAWN: N_("This subject has withdrawn consent, and this profile requires it."),
    ConsentState.UNREADABLE: N_(
        "The consent of this subject was changed by something other than vbdesk, and this profile requires one."
    ),
}
_WHAT_TO_DO = N_("Note the consent on the page Record or Subject, then try again.")


@dataclass(frozen=True, slots=True)
class ConsentList:
    """The consent of all subjects, as read at one moment, and the rules of the profile."""

    rules: ConsentRules = field(default_factory=ConsentRules)
    subjects: Mapping[str, SubjectConsent] = field(default_factory=dict)

    def status(self, group_id: str, at: datetime) -> ConsentStatus:
        """The state of a subject's consent for a recording made `at`."""
        return self.subjects.get(group_id, SubjectConsent()).status(at)

    def of_recording(self, item: RecordingItem) -> ConsentStatus:
        """The state of the consent for a recording."""
        return self.status(item.group_id, item.recorded_at)

    def is_missing(self, item: RecordingItem) -> bool:
        """Whether a list has to say that there is no consent for this recording."""
        return self.rules.policy is not ConsentPolicy.OFF and not self.of_recording(item).in_force

    def refusal(self, group_id: str, at: datetime) -> str | None:
        """Why nothing may be done for a recording made `at`, as sentences; None if the policy allows it."""
        return refusal_of(self.rules.policy, self.status(group_id, at))


NOT_ASKED_FOR = ConsentList(ConsentRules(policy=ConsentPolicy.OFF))
"""For lists that do not mention consent."""


class ConsentGate:
    """Answers from one library. Every method reads the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def rules(self) -> ConsentRules:
        """The rules of the profile."""
        return _rules(self._store.setting(SETTINGS_NAME))

    def all(self) -> ConsentList:
        """The consent of all subjects."""
        return ConsentList(self.rules(), self._store.journal.read(CONSENTS))

    def held_back(self) -> int:
        """Number of queued recordings that the policy does not let go."""
        consents = self.all()
        if consents.rules.policy is not ConsentPolicy.REQUIRED:
            return 0
        query = "SELECT group_id, recorded_at FROM recordings WHERE state = ?"
        queued = self._store.rows(query, (OutboxState.WAITING,))
        made = ((row["group_id"], datetime.fromisoformat(row["recorded_at"])) for row in queued)
        return sum(consents.refusal(group_id, at) is not None for group_id, at in made)

    def refusal(self, group_id: str, at: datetime | None = None) -> str | None:
        """Why nothing may be done for a recording made `at`, now if None; None if the policy allows it."""
        if self.rules().policy is not ConsentPolicy.REQUIRED:
            return None
        return self.all().refusal(group_id, at or self._store.clock.now())


def refusal_of(policy: ConsentPolicy, status: ConsentStatus) -> str | None:
    """Why a policy refuses what needs a consent, as sentences; None if it allows it."""
    if policy is not ConsentPolicy.REQUIRED or status.in_force:
        return None
    return joined(_WHY[status.state], _WHAT_TO_DO)


@lru_cache(maxsize=8)
def _rules(settings: bytes | None) -> ConsentRules:
    return (LibrarySettings() if settings is None else read_settings(settings)).consent

"""Which FHIR server a profile sends to, as the Account page shows it; never its credentials."""

from PySide6.QtCore import QObject, Signal, Slot

from vbdesk.client.fhir import StoredLogin
from vbdesk.desk.flow.tasks import Failure, TaskContext, TaskOwner
from vbdesk.language import _, translated
from vbdesk.outbox.profiles.profiles import Profile
from vbdesk.outbox.profiles.vault import Vault, VaultMissing


class FhirServerViewModel(QObject):
    """Reads the login of `vbdesk fhir login`.

    Signals:
        changed: (str) what is configured, as a sentence.
    """

    changed = Signal(str)

    def __init__(self, profile: Profile, vault: Vault, tasks: TaskOwner) -> None:
        super().__init__()
        self._profile, self._vault, self._tasks = profile, vault, tasks

    def read(self) -> None:
        """Read what is configured."""
        self._tasks.start(self._sentence, self._on_read, self._on_failed, name="fhir-login")

    def _sentence(self, context: TaskContext) -> str:
        if self._profile.secrets == "session":
            return _("This profile forgets its keys when the window closes, so it keeps no login to a server.")
        try:
            secret = self._vault.get_without_prompt(self._profile.fhir_login_name)
        except VaultMissing:
            secret = None
        if secret is None:
            return _(
                "No server is configured. To send results to a hospital system, run this command: vbdesk fhir login"
            )
        login = StoredLogin.of_secret(secret)
        match login.credentials.kind:
            case "basic":
                return _("{address}, with a user name and a password.", address=login.address)
            case "bearer":
                return _("{address}, with a token.", address=login.address)
        return _("{address}, as a SMART backend service.", address=login.address)

    @Slot(object)
    def _on_read(self, sentence: str) -> None:
        self.changed.emit(sentence)

    @Slot(object)
    def _on_failed(self, failure: Failure) -> None:
        self.changed.emit(translated(failure.error) if isinstance(failure.error, ValueError) else failure.sentence)

"""The card of Account for the FHIR server that subjects are sent to."""

from vbdesk.desk.account.fhir_model import FhirServerViewModel
from vbdesk.desk.ui.card import Card
from vbdesk.desk.ui.text import Text
from vbdesk.desk.ui.theme import Role
from vbdesk.language import _


class FhirServerCard(Card):
    """Binds `FhirServerViewModel`; the command line changes the login, since it asks for secrets."""

    def __init__(self, model: FhirServerViewModel) -> None:
        super().__init__(padding=20)
        self.words = Text("", Role.BODY, "text2", wrap=True)
        self.body.addWidget(Text(_("FHIR server"), Role.CARD_TITLE))
        self.body.addWidget(self.words)
        model.changed.connect(self.words.setText)

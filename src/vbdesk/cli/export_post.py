"""Send exported subjects to a FHIR server."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vbdesk.cli.connection import report_errors
from vbdesk.cli.fhir_login import stored_login
from vbdesk.cli.output import say
from vbdesk.language import _

if TYPE_CHECKING:
    from vbdesk.report.documents.report_input import ReportOptions
    from vbdesk.report.subject_record import SubjectRecord


def post_subjects(
    address: str,
    records: "Sequence[SubjectRecord]",
    options: "ReportOptions",
    profile: str | None,
    data_dir: Path | None,
    *,
    note: Callable[[int], object],
) -> None:
    """Send each subject as FHIR transactions; any error ends the command with one sentence.

    Args:
        address: of the server, checked.
        records: the subjects.
        options: sign-off, and whether to send raw scores.
        profile, data_dir: whose login is used.
        note: called with the number of subjects that were sent, also in part, unless it is 0.
    """
    from vbdesk.client.fhir import FhirServer, TransactionCounts
    from vbdesk.report.fhir import fhir_transactions

    begun = 0
    try:
        with report_errors():
            login = stored_login(profile, data_dir)
            if login is not None and login.address != address:
                say(
                    _(
                        "The stored login is for {stored}, so it is not sent to {address}.",
                        stored=login.address,
                        address=address,
                    ),
                    err=True,
                )
                login = None
            with FhirServer(address, None if login is None else login.credentials) as server:
                for record in records:
                    done = TransactionCounts()
                    for transaction in fhir_transactions(record, scores=options.scores, sign_off=options.sign_off):
                        begun += not done.created and not done.kept
                        done += server.send(transaction)
                    say(
                        _(
                            "{group_id}: {created} resources created, {kept} were there already",
                            group_id=record.group_id,
                            created=done.created,
                            kept=done.kept,
                        )
                    )
    finally:
        if begun:
            note(begun)

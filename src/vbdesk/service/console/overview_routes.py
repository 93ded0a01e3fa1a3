"""Overview page: credits, use, and the used share of the plan's limits."""

from fastapi import APIRouter, Response

from vbdesk.service.console.pages import CurrentVisit, go_to, page
from vbdesk.service.console.usage import DAYS, read_allowances, read_usage
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.http.guard import CurrentContext

router = APIRouter()


@router.get("/console")
def show_overview(visit: CurrentVisit, context: CurrentContext) -> Response:
    """Show the account's credits, use and limits."""
    account = visit.account
    with context.database.reading() as connection:
        credits = CreditsService(context.clock).balance(connection, account.account_id)
        usage = read_usage(connection, account.account_id, context.clock.now())
    return page(
        "overview.html",
        visit=visit,
        here="overview",
        credits=credits,
        usage=usage,
        days=DAYS,
        allowances=read_allowances(context, account),
    )


@router.get("/console/")
def show_overview_without_slash() -> Response:
    """Redirect to the overview's only address."""
    return go_to()

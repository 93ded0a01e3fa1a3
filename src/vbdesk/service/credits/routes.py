"""Credit balance over HTTP."""

from fastapi import APIRouter

from vbdesk.contract.accounts import Credits
from vbdesk.contract.limits import Bucket
from vbdesk.service.credits.service import CreditsService
from vbdesk.service.http.guard import CurrentAccount, CurrentContext, guard

GENERAL = guard(Bucket.GENERAL)
router = APIRouter()


@router.get("/v2/account/credits", dependencies=GENERAL)
def read_credits(account: CurrentAccount, context: CurrentContext) -> Credits:
    """The remaining token balance."""
    with context.database.reading() as connection:
        return Credits(credits=CreditsService(context.clock).balance(connection, account.account_id))

"""What a person reads when the service refuses a request.

The service's own sentences are English, as its API is. So a refusal is said in our words: by its code, and by what was
asked, since `NOT_FOUND` is another thing for a job than for a sign. The service's sentence is quoted only where neither
names the reason.
"""

from collections.abc import Mapping

from vbdesk.contract.errors import ErrorBody, ErrorCode, facts_of
from vbdesk.language import N_, Message, message

Refusals = Mapping[str, str]
"""Whole sentences by `ErrorCode`, for one kind of request. `ErrorCode` has those of every request."""

OF_MODEL: Refusals = {ErrorCode.NOT_FOUND: N_("The service does not offer this model. Choose another one.")}
OF_SIGN: Refusals = {ErrorCode.NOT_FOUND: N_("The service does not offer this sign alone. Choose another one.")}
OF_JOB: Refusals = {
    ErrorCode.NOT_FOUND: N_("The account has no job with this id. Check the id; the job may have been deleted.")
}
OF_GROUP: Refusals = {
    ErrorCode.NOT_FOUND: N_("The account has no group with this id. Check the id; the group may have been deleted.")
}
OF_NEW_GROUP: Refusals = {
    ErrorCode.CONFLICT: N_("The account has a group with this id already. Choose another id, or use that group."),
    ErrorCode.INVALID_REQUEST: N_(
        "The service does not accept this group id. Choose one of A to Z without accents, digits and . _ ~ : - "
        "that begins with a letter or a digit."
    ),
}
OF_TRAJECTORY: Refusals = {
    **OF_GROUP,
    ErrorCode.VALIDATION_ERROR: N_("The service does not know one of these signs. Check their names."),
}
OF_MEMBER: Refusals = {
    ErrorCode.NOT_FOUND: N_("The account has no group with this id, or the group does not have this job. Check both.")
}
OF_WEBHOOK: Refusals = {
    ErrorCode.VALIDATION_ERROR: N_(
        "The service does not report to this address. Give one that begins with https:// and can be reached over the "
        "public network."
    )
}


def refusal(body: ErrorBody, refusals: Refusals | None) -> str | None:
    """Our sentence for an error body; None if there is none for its code.

    Args:
        body: of the service.
        refusals: sentences of the request that it answers; None if it has none of its own.
    """
    facts = facts_of(body.code)
    return (refusals or {}).get(body.code) or (facts and facts.in_client)


def quoted(body: ErrorBody) -> Message:
    """The service's own English reason, as a quotation in a sentence of ours."""
    if not body.detail:
        return message(
            "The service does not accept this request. The reason, in English: {reason}", reason=body.message
        )
    first = body.detail[0]
    return message(
        "The service does not accept the field {field} of this request. The reason, in English: {reason}",
        field=str(first.loc[-1]) if first.loc else "?",
        reason=first.msg,
    )

"""Names in a path, made into what they name."""

from vbdesk.contract.catalog import ModelName, SignName
from vbdesk.service.errors import NotFound


def known_model(name: str) -> ModelName:
    """The model of this name. Raises NotFound."""
    try:
        return ModelName(name)
    except ValueError:
        raise NotFound("There is no model with this name. See GET /v2/models.") from None


def known_sign(name: str) -> SignName:
    """The standalone sign of this name. Raises NotFound, also for a sign that only models hold."""
    try:
        sign = SignName(name)
    except ValueError:
        sign = None
    if sign is None or not sign.standalone:
        raise NotFound("There is no sign with this name. See GET /v2/signs.")
    return sign

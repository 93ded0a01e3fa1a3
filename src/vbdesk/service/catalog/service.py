"""Look-up of models and signs by name."""

from collections.abc import Collection

from vbdesk.contract.catalog import STANDALONE_SIGNS, ModelName, SignName
from vbdesk.contract.errors import ErrorDetail
from vbdesk.service.kernel.errors import NotFound, ValidationFailed


def known_model(name: str) -> ModelName:
    """Return the model of this name. Raises NotFound."""
    try:
        return ModelName(name)
    except ValueError:
        raise NotFound("There is no model with this name. See GET /v2/models.") from None


def known_sign(name: str, plugins: Collection[str]) -> str:
    """Return the name of a standalone sign, built-in or one of `plugins`.

    Raises:
        NotFound: there is none, or it is internal to models.
    """
    if name not in STANDALONE_SIGNS and name not in plugins:
        raise NotFound("There is no sign with this name. See GET /v2/signs.")
    return name


def require_sign(name: str, plugins: Collection[str], location: tuple[str, ...]) -> None:
    """Check that a sign exists, built-in (also internal to models) or one of `plugins`.

    Raises:
        ValidationFailed: there is no such sign; `location` says where the request names it.
    """
    if name not in set(SignName) and name not in plugins:
        known = ", ".join([*SignName, *sorted(plugins)])
        raise ValidationFailed(
            [ErrorDetail(loc=list(location), msg=f"There is no such sign. Known: {known}.", type="enum")]
        )

"""Names in a path, made into what they name."""

from collections.abc import Collection

from vbdesk.contract.catalog import STANDALONE_SIGNS, ModelName, SignName
from vbdesk.contract.errors import ErrorDetail
from vbdesk.service.kernel.errors import NotFound, ValidationFailed


def known_model(name: str) -> ModelName:
    """The model of this name. Raises NotFound."""
    try:
        return ModelName(name)
    except ValueError:
        raise NotFound("There is no model with this name. See GET /v2/models.") from None


def known_sign(name: str, plugins: Collection[str]) -> str:
    """The standalone sign of this name, ours or one of `plugins`.

    Raises:
        NotFound: there is none, or only models hold it.
    """
    if name not in STANDALONE_SIGNS and name not in plugins:
        raise NotFound("There is no sign with this name. See GET /v2/signs.")
    return name


def require_sign(name: str, plugins: Collection[str], place: tuple[str, ...]) -> None:
    """Refuse a name that no sign has, ours or one of `plugins`, those that only models hold included.

    Raises:
        ValidationFailed: it is the name of none; `place` is where it stood.
    """
    if name not in set(SignName) and name not in plugins:
        known = ", ".join([*SignName, *sorted(plugins)])
        raise ValidationFailed(
            [ErrorDetail(loc=list(place), msg=f"There is no such sign. Known: {known}.", type="enum")]
        )

"""Names inside addresses."""

from urllib.parse import quote


def path(*parts: str) -> str:
    """`/v2/...` with every part quoted, so that no name can change the route."""
    return "/v2/" + "/".join(quote(part, safe="") for part in parts)

"""HTML templates for all pages of the service."""

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from vbdesk.resource_files import resource


def templates_in(*folder: str) -> Environment:
    """Load templates from a resource folder: values are escaped, and a missing value is an error."""
    return Environment(
        loader=FileSystemLoader(resource(*folder)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

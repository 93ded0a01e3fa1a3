"""The way from data to HTML, the same for every page that the service shows."""

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from vbdesk.resource_files import resource


def templates_in(*folder: str) -> Environment:
    """Templates of a folder of resources: whatever is put into them is escaped, and what is missing is an error."""
    return Environment(
        loader=FileSystemLoader(resource(*folder)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

"""Console responses: HTML pages from templates in the reader's language, and redirects."""

from functools import cache
from typing import Any

from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment

from vbdesk.language import Language, available_languages, current, formats, markup
from vbdesk.service.http.templates import templates_in

HOME = "/console"


@cache
def _templates() -> Environment:
    environment = templates_in("console", "templates")
    environment.filters |= {"moment": formats.day_and_time, "day": formats.day, "number": formats.number}
    environment.globals |= markup.FUNCTIONS
    environment.globals |= {"home": HOME, "offered_languages": _offered_languages()}
    return environment


@cache
def _offered_languages() -> list[Language]:
    """Languages to choose from, by their own names."""
    offered = [Language(name, name) for name in available_languages()]
    return sorted(offered, key=lambda language: language.own_name)


def page(template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render the template with these values, in the reader's language; all values are escaped."""
    language = current()
    text = _templates().get_template(template).render(values | {"language": language})
    return HTMLResponse(text, status, {"Content-Language": language.tag, "Vary": "Accept-Language, Cookie"})


def go_to(path: str = "", notice: str | None = None) -> RedirectResponse:
    """Redirect to a console page, which shows the notice of that name."""
    return RedirectResponse(f"{HOME}{path}" + (f"?notice={notice}" if notice else ""), 303)

"""Console responses: HTML pages from templates, and redirects."""

from datetime import datetime
from functools import cache
from typing import Any

from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment

from vbdesk.service.http.templates import templates_in

HOME = "/console"


@cache
def _templates() -> Environment:
    environment = templates_in("console", "templates")
    environment.filters |= {"moment": _moment, "number": _number}
    environment.globals["home"] = HOME
    return environment


def page(template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> HTMLResponse:
    """Render the template with these values; all values are escaped."""
    text = _templates().get_template(template).render(values)
    return HTMLResponse(text, status, headers)


def go_to(path: str = "", notice: str | None = None) -> RedirectResponse:
    """Redirect to a console page, which shows the notice of that name."""
    return RedirectResponse(f"{HOME}{path}" + (f"?notice={notice}" if notice else ""), 303)


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def _number(number: int) -> str:
    return f"{number:,}"

"""API reference page: one HTML document without scripts or external resources."""

import json
import re
from functools import cache
from typing import Any

from fastapi import FastAPI
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route, Router

from vbdesk.resource_files import resource
from vbdesk.service.http.security_headers import Protected
from vbdesk.service.http.templates import templates_in

Json = dict[str, Any]


def reference_routes(app: FastAPI) -> list[BaseRoute]:
    """Create the route of `/docs`, rendered from `/openapi.json`."""

    @cache
    def rendered() -> str:
        environment = templates_in("service", "docs")
        environment.globals["marked"] = _marked
        return environment.get_template("page.html").render(view_of(app.openapi()))

    style = resource("service", "docs", "style.css").read_bytes()

    def page(_request: Request) -> Response:
        return HTMLResponse(rendered())

    def send_style(_request: Request) -> Response:
        return Response(style, media_type="text/css")

    pages = Protected(Router([Route("/docs", page), Route("/docs/style.css", send_style)]))
    return [Route("/docs", pages, methods=["GET", "HEAD"]), Route("/docs/style.css", pages, methods=["GET", "HEAD"])]


def view_of(description: Json) -> Json:
    """Build the template's data from the description."""
    operations = [
        {"method": method.upper(), "path": path, **_operation(operation, description)}
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]
    webhook = description["webhooks"]["finished-job"]["post"]
    return {
        "title": description["info"]["title"],
        "version": description["info"]["version"],
        "paragraphs": description["info"]["description"].split("\n\n"),
        "credentials": {
            name: scheme["description"] for name, scheme in description["components"]["securitySchemes"].items()
        },
        "chapters": [
            {**tag, "operations": [operation for operation in operations if operation["chapter"] == tag["name"]]}
            for tag in description["tags"]
        ],
        "webhook": {
            "description": webhook["description"],
            "headers": webhook["parameters"],
            "example": _pretty(webhook["requestBody"]["content"]["application/json"]["example"]),
        },
    }


def _operation(operation: Json, description: Json) -> Json:
    contents: Json = operation.get("requestBody", {}).get("content", {})
    accepted = next((status, response) for status, response in operation["responses"].items() if status.startswith("2"))
    return {
        "id": operation["operationId"],
        "chapter": operation["tags"][0],
        "summary": operation["summary"],
        "description": operation["description"],
        "credentials": list(operation["security"][0]),
        "parameters": [
            {**parameter, "type": _type(parameter["schema"], description)}
            for parameter in operation.get("parameters", [])
        ],
        "body": _body(contents, description) if contents else None,
        "status": accepted[0],
        "answer": _pretty(accepted[1]["content"]["application/json"]["example"]),
        "refusals": sorted(
            (status, response["description"])
            for status, response in operation["responses"].items()
            if not status.startswith("2")
        ),
    }


def _body(contents: Json, description: Json) -> Json:
    """Show the first media type in full; the others have a subset of its fields."""
    (media_type, content), *others = contents.items()
    schema = _resolved(content["schema"], description)
    fields = [
        {
            "name": name,
            "type": _type(field, description),
            "required": name in schema.get("required", ()),
            "description": field.get("description", ""),
        }
        for name, field in schema["properties"].items()
    ]
    return {
        "media_type": media_type,
        "other_media_types": [other for other, _ in others],
        "fields": fields,
        "example": _pretty(content["example"]),
    }


def _resolved(schema: Json, description: Json) -> Json:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: Json = description["components"]["schemas"][reference.rpartition("/")[2]]
    return found


def _type(schema: Json, description: Json) -> str:
    """Describe a schema in one or two words."""
    schema = _resolved(schema, description)
    choices = [each for each in schema.get("anyOf", []) if each.get("type") != "null"]
    if choices:
        return " or ".join(dict.fromkeys(_type(each, description) for each in choices))
    if "enum" in schema:
        return "one of its names" if len(schema["enum"]) > 6 else " | ".join(map(str, schema["enum"]))
    kind: str = schema.get("type", "value")
    if kind == "array":
        return f"list of {_type(schema['items'], description)}"
    return {"binary": "file", "date-time": "time", "uri": "URL", "password": "secret"}.get(
        schema.get("format", ""), kind
    )


def _marked(text: str) -> Markup:
    """Mark `names` in the text as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704  (escaped before)


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)

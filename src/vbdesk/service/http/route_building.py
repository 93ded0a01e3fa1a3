"""Routes that are built when an application is created, not in its first request."""

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts


def build_routes(app: FastAPI) -> None:
    """Build all routes of an application, which FastAPI otherwise does in the first request.

    Pydantic changes the warning filters of the whole process meanwhile, which two threads must not do at once.
    """
    for _ in iter_route_contexts(app.routes):
        pass

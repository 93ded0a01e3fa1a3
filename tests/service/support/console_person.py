"""Simulated browser user: follows redirects, keeps cookies, submits the forms of a page."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import httpx


@dataclass
class Form:
    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given["action"], given["method"]))
        elif tag == "input" and self.forms:
            self.forms[-1].fields[given["name"]] = given.get("value", "")


class Person:
    def __init__(self, client: httpx.Client, service: Any = None) -> None:
        self.client = client
        self.service = service
        self.page = httpx.Response(0)

    def open(self, path: str = "/console") -> httpx.Response:
        self.page = self.client.get(path, follow_redirects=True)
        return self.page

    def send(self, action: str, **fields: str) -> httpx.Response:
        """Fill in and submit the current page's form for `action`."""
        form = self.form(action)
        return self.post(action, {**form.fields, **fields})

    def post(self, path: str, fields: dict[str, str]) -> httpx.Response:
        self.page = self.client.post(path, data=fields, follow_redirects=True)
        return self.page

    def form(self, action: str) -> Form:
        [form] = [form for form in self.forms() if form.action == action]
        return form

    def forms(self) -> list[Form]:
        parser = _Forms()
        parser.feed(self.page.text)
        return parser.forms

    def sign_in(self, account: Any) -> httpx.Response:
        self.open("/console/sign-in")
        return self.send("/console/sign-in", account_id=account.account_id, secret_key=account.secret_key)

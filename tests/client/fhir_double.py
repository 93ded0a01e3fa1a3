"""A FHIR server for tests: transactions with conditional create and update, and tokens for signed assertions."""

import copy
import json
import uuid
from base64 import urlsafe_b64decode
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import httpx
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA384

BASE = "https://fhir.example.org/r4"
FHIR = {"Content-Type": "application/fhir+json"}


class Refused(Exception):
    """An answer with a status and an OperationOutcome."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


def outcome(*texts):
    issues = [{"severity": "error", "code": "processing", "diagnostics": text} for text in texts]
    return {"resourceType": "OperationOutcome", "issue": issues}


@dataclass
class FhirDouble:
    """Attributes:
    base: address that it answers at.
    wants: the `Authorization` header that it asks for; None: any or none.
    jwk: public key of the client that may have tokens.
    configuration: SMART configuration; None: there is none.
    instead: answers for the next transactions, before it does any.
    resources: what is stored, by reference.
    """

    base: str = BASE
    wants: str | None = None
    jwk: dict | None = None
    configuration: dict | None = None
    instead: list = field(default_factory=list)
    resources: dict = field(default_factory=dict)
    requests: list = field(default_factory=list)
    tokens: list = field(default_factory=list)
    expires_in: int = 3600

    def transport(self):
        return httpx.MockTransport(self.answer)

    def answer(self, request):
        self.requests.append(request)
        path = request.url.path
        if path.endswith("/.well-known/smart-configuration"):
            known = self.configuration
            return httpx.Response(404) if known is None else httpx.Response(200, json=known)
        if path.endswith("/token"):
            return self._token(parse_qs(request.read().decode()))
        if self.instead:
            return self.instead.pop(0)
        wanted = self.wants if self.jwk is None else f"Bearer {self.tokens[-1]}" if self.tokens else "a token"
        if wanted is not None and request.headers.get("Authorization") != wanted:
            return httpx.Response(401, json=outcome("Who are you?"), headers=FHIR)
        try:
            return httpx.Response(200, json=self.do(json.loads(request.read())), headers=FHIR)
        except Refused as refused:
            return httpx.Response(refused.status, json=outcome(str(refused)), headers=FHIR)

    def do(self, bundle):
        """Do a whole transaction, or nothing."""
        if bundle["type"] != "transaction":
            raise Refused(400, "Only transactions.")
        stored = copy.deepcopy(self.resources)
        places, answers = {}, []
        for entry in bundle["entry"]:
            place, status = self._place(stored, entry)
            places[entry["fullUrl"]] = place
            answers.append({"response": {"status": status, "location": place}})
        for entry, answer in zip(bundle["entry"], answers, strict=True):
            if not answer["response"]["status"].startswith("200 kept"):
                stored[places[entry["fullUrl"]]] = resolved(entry["resource"], places)
        self.resources = stored
        return {"resourceType": "Bundle", "type": "transaction-response", "entry": answers}

    def _place(self, stored, entry):
        request, kind = entry["request"], entry["resource"]["resourceType"]
        method, target = request["method"], urlsplit(request["url"])
        query = request.get("ifNoneExist") if method == "POST" else target.query
        if target.path != kind or not query or method not in ("POST", "PUT"):
            raise Refused(400, f"Not conditional: {method} {request['url']}")
        found = [
            place for place, resource in stored.items() if place.startswith(f"{kind}/") and matches(resource, query)
        ]
        if len(found) > 1:
            raise Refused(412, "Several match.")
        if found:
            return found[0], "200 kept" if method == "POST" else "200 updated"
        place = f"{kind}/{uuid.uuid4()}"
        stored[place] = entry["resource"]
        return place, "201 Created"

    def _token(self, form):
        assertion = form["client_assertion"][0]
        head, claims, signature = (urlsafe_b64decode(part + "==") for part in assertion.split("."))
        head, claims = json.loads(head), json.loads(claims)
        good = self.jwk is not None and head["kid"] == self.jwk["kid"] and head["alg"] == self.jwk["alg"]
        if not good or not signed_by(self.jwk, assertion.rpartition(".")[0].encode(), signature):
            return httpx.Response(401, json={"error": "invalid_client", "error_description": f"bad {assertion}"})
        self.claims, self.form = claims, form
        self.tokens.append(f"token-{uuid.uuid4()}")
        told = {"access_token": self.tokens[-1], "token_type": "bearer", "expires_in": self.expires_in}
        return httpx.Response(200, json=told)

    def of_kind(self, kind):
        return [resource for resource in self.resources.values() if resource["resourceType"] == kind]


def matches(resource, query):
    key, _, value = query.partition("=")
    system, _, code = value.partition("|")
    if key == "identifier":
        return any((one["system"], one["value"]) == (system, code) for one in resource.get("identifier", []))
    if key == "_tag":
        return any((one["system"], one["code"]) == (system, code) for one in resource.get("meta", {}).get("tag", []))
    raise Refused(400, f"Unknown search: {key}")


def resolved(value, places):
    """A resource with references to places in this server."""
    if isinstance(value, list):
        return [resolved(one, places) for one in value]
    if not isinstance(value, dict):
        return value
    found = {name: resolved(one, places) for name, one in value.items()}
    reference = found.get("reference")
    if isinstance(reference, str) and reference.startswith("urn:uuid:"):
        if reference not in places:
            raise Refused(400, f"Nothing has this address: {reference}")
        found["reference"] = places[reference]
    return found


def signed_by(jwk, content, signature):
    def number(name):
        return int.from_bytes(urlsafe_b64decode(jwk[name] + "=="), "big")

    try:
        if jwk["kty"] == "RSA":
            key = rsa.RSAPublicNumbers(number("e"), number("n")).public_key()
            key.verify(signature, content, padding.PKCS1v15(), SHA384())
        else:
            key = ec.EllipticCurvePublicNumbers(number("x"), number("y"), ec.SECP384R1()).public_key()
            r, s = int.from_bytes(signature[:48], "big"), int.from_bytes(signature[48:], "big")
            key.verify(encode_dss_signature(r, s), content, ec.ECDSA(SHA384()))
    except Exception:
        return False
    return len(signature) == 96 if jwk["kty"] == "EC" else True


@contextmanager
def serving(double):
    """Serve it at an address of this computer, which becomes its base."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            url = f"{double.base}{self.path}"
            answer = double.answer(httpx.Request(self.command, url, headers=dict(self.headers), content=body))
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)

        do_POST = do_GET

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        double.base = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield double
        server.shutdown()
        thread.join()

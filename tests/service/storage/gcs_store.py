"""Emulated Google Cloud Storage: signed PUTs of its XML API, and the client's JSON API requests.

Like Google's, its token server accepts assertions signed with the service account's key.
"""

import base64
import json
import re
import secrets
from email import message_from_bytes
from typing import Any
from urllib.parse import unquote
from xml.sax.saxutils import escape

from moods import Moods
from object_files import AlreadyThere, ObjectFiles, StoredObject
from signatures import GoogleSignatures, Refused
from signatures import Request as SignedRequest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

_PRECONDITION_FAILED = Refused(
    412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold."
)
_TOO_LARGE = Refused(400, "EntityTooLarge", "Your proposed upload is larger than the maximum object size.")
_TOO_SMALL = Refused(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum object size.")
_PAGE = 100  # fewer than the providers' thousand; they may return fewer at any time
_OBJECT = re.compile(r"/(?:download/)?storage/v1/b/(?P<bucket>[^/]+)/o/(?P<key>[^/]+)")
_REWRITE = re.compile(
    r"/storage/v1/b/(?P<bucket>[^/]+)/o/(?P<key>[^/]+)/rewriteTo/b/(?P<to_bucket>[^/]+)/o/(?P<to_key>[^/]+)"
)
_BUCKET = re.compile(r"/storage/v1/b/(?P<bucket>[^/]+)")
_LIST = re.compile(r"/storage/v1/b/(?P<bucket>[^/]+)/o")
_UPLOAD = re.compile(r"/upload/storage/v1/b/(?P<bucket>[^/]+)/o")


class JsonRefused(Exception):
    """A refusal of the JSON API."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class GcsStore:
    """One bucket."""

    def __init__(self, bucket: str, objects: ObjectFiles, signatures: GoogleSignatures, moods: Moods) -> None:
        self._bucket, self._objects, self._signatures, self._moods = bucket, objects, signatures, moods
        self._tokens: set[str] = set()
        self._sessions: dict[str, tuple[str, dict[str, Any], bool]] = {}

    async def token(self, request: Request) -> Response:
        """Issue a bearer token for a signed assertion."""
        form = dict(pair.split("=", 1) for pair in (await request.body()).decode().split("&"))
        if not self._is_signed(unquote(form["assertion"])):
            return JSONResponse({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}, 400)
        token = secrets.token_urlsafe(16)
        self._tokens.add(token)
        return JSONResponse({"access_token": token, "expires_in": 3600, "token_type": "Bearer"})

    async def answer(self, request: Request) -> Response:
        """Handle a signed PUT."""
        try:
            return await self._signed_put(request)
        except Refused as refusal:
            inner = {"Code": refusal.code, "Message": refusal.message, **refusal.details}
            elements = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in inner.items())
            text = f"<?xml version='1.0' encoding='UTF-8'?><Error>{elements}</Error>"
            return Response(text, refusal.status, media_type="application/xml")

    async def _signed_put(self, request: Request) -> Response:
        if request.method != "PUT":
            raise Refused(405, "MethodNotAllowed", "The specified method is not allowed against this resource.")
        raw_path = request.scope["raw_path"].decode().partition("?")[0]
        self._signatures.check(SignedRequest("PUT", raw_path, request.url.query, request.headers))
        self._moods.counts["signed-put"] += 1
        name = unquote(raw_path).lstrip("/")
        if name.partition("/")[0] != self._bucket:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist.")
        least, most = 0, 5 * 1024**4
        if length_range := request.headers.get("x-goog-content-length-range"):
            least, most = (int(bound) for bound in length_range.split(","))
        if int(request.headers.get("content-length", 0)) > most:
            raise _TOO_LARGE
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise _TOO_LARGE
        if len(body) < least:
            raise _TOO_SMALL
        once = request.headers.get("x-goog-if-generation-match") == "0"
        try:
            stored = self._put(name, bytes(body), request.headers.get("content-type", ""), {}, once=once)
        except AlreadyThere:
            raise _PRECONDITION_FAILED from None
        return Response(headers={"ETag": stored.etag})

    async def answer_json(self, request: Request) -> Response:
        """Handle a client request with a bearer token."""
        body = await request.body()
        try:
            self._require_token(request.headers.get("authorization", "").removeprefix("Bearer "))
            return self._answer_json(request, body)
        except AlreadyThere:
            return _json_refusal(412, "At least one of the pre-conditions you specified did not hold.")
        except JsonRefused as refusal:
            return _json_refusal(refusal.status, refusal.message)

    def _answer_json(self, request: Request, body: bytes) -> Response:
        raw_path = request.scope["raw_path"].decode().partition("?")[0]
        query = request.query_params
        once = query.get("ifGenerationMatch") == "0" and not self._moods.mood.ignore_conditions
        if found := _BUCKET.fullmatch(raw_path):  # the client requests this once in the background, for its traces
            self._require(found["bucket"])
            return JSONResponse({"kind": "storage#bucket", "name": self._bucket, "location": "EU"})
        self._moods.counts[f"own-{request.method.lower()}"] += 1
        if found := _UPLOAD.fullmatch(raw_path):
            self._require(found["bucket"])
            return self._upload(request, body, once=once)
        if (found := _REWRITE.fullmatch(raw_path)) and request.method == "POST":
            self._require(found["bucket"])
            source = self._find(found["key"])
            described = json.loads(body or b"{}")
            name = f"{self._bucket}/{unquote(found['to_key'])}"
            content = self._objects.read(source)
            kept = self._put(name, content, source.content_type, described.get("metadata", {}), once=once)
            size = str(kept.size)
            resource = _resource(kept)
            return JSONResponse({"done": True, "objectSize": size, "totalBytesRewritten": size, "resource": resource})
        if (found := _LIST.fullmatch(raw_path)) and request.method == "GET":
            self._require(found["bucket"])
            return self._list(dict(query))
        if found := _OBJECT.fullmatch(raw_path):
            self._require(found["bucket"])
            return self._one(request, self._find(found["key"]))
        raise JsonRefused(404, "Not Found")

    def _one(self, request: Request, found: StoredObject) -> Response:
        if request.method == "DELETE":
            self._objects.delete(found.name)
            return Response(status_code=204)
        if request.query_params.get("alt") == "media":
            hashes = f"crc32c={found.crc32c},md5={found.md5}"
            return Response(self._objects.read(found), media_type=found.content_type, headers={"X-Goog-Hash": hashes})
        return JSONResponse(_resource(found))

    def _upload(self, request: Request, body: bytes, *, once: bool) -> Response:
        kind, session = request.query_params.get("uploadType"), request.query_params.get("upload_id", "")
        if request.method == "PUT":
            name, described, once = self._sessions[session]
            return JSONResponse(_resource(self._put_described(name, described, body, once=once)))
        if kind == "resumable":
            described = json.loads(body)
            session = secrets.token_hex(8)
            self._sessions[session] = (f"{self._bucket}/{described['name']}", described, once)
            return Response(headers={"Location": f"{request.url}&upload_id={session}"})
        head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        described_part, content_part = message_from_bytes(head + body).get_payload()
        described = json.loads(described_part.get_payload(decode=True))
        boundary = re.search(rb'boundary="?([^";]+)', head)[1]
        content = body.split(b"--" + boundary)[2].partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        described.setdefault("contentType", content_part.get_content_type())
        name = f"{self._bucket}/{described['name']}"
        return JSONResponse(_resource(self._put_described(name, described, content, once=once)))

    def _put_described(self, name: str, described: dict[str, Any], content: bytes, *, once: bool) -> StoredObject:
        kind = described.get("contentType", "application/octet-stream")
        return self._put(name, content, kind, described.get("metadata", {}), once=once)

    def _put(self, name: str, body: bytes, content_type: str, metadata: dict[str, str], *, once: bool) -> StoredObject:
        once = once and not self._moods.mood.ignore_conditions
        return self._objects.put(name, body, content_type, metadata, once=once)

    def _list(self, query: dict[str, str]) -> Response:
        prefix, after = query.get("prefix", ""), query.get("pageToken", "")
        most = min(int(query.get("maxResults", _PAGE)), _PAGE)
        found = [stored for stored in self._objects.below(f"{self._bucket}/{prefix}") if stored.name > after]
        answer: dict[str, Any] = {"kind": "storage#objects", "items": [_resource(stored) for stored in found[:most]]}
        if len(found) > most:
            answer["nextPageToken"] = found[most - 1].name
        return JSONResponse(answer)

    def _find(self, quoted_key: str) -> StoredObject:
        name = f"{self._bucket}/{unquote(quoted_key)}"
        found = self._objects.find(name)
        if found is None:
            raise JsonRefused(404, f"No such object: {name}")
        return found

    def _require_token(self, token: str) -> None:
        """Accept our own tokens, and those signed by the account, as used outside Google's own cloud."""
        if token not in self._tokens and not self._is_signed(token):
            raise JsonRefused(401, "Invalid Credentials")

    def _is_signed(self, assertion: str) -> bool:
        message, _, signature = assertion.rpartition(".")
        return self._signatures.signed(message.encode(), base64.urlsafe_b64decode(signature + "=="))

    def _require(self, bucket: str) -> None:
        if bucket != self._bucket:
            raise JsonRefused(404, "The specified bucket does not exist.")


def _resource(stored: StoredObject) -> dict[str, Any]:
    bucket, _, key = stored.name.partition("/")
    return {
        "kind": "storage#object",
        "bucket": bucket,
        "name": key,
        "size": str(stored.size),
        "contentType": stored.content_type,
        "md5Hash": stored.md5,
        "crc32c": stored.crc32c,
        "generation": "1",
        "metageneration": "1",
        "metadata": stored.metadata,
        "updated": stored.updated,
    }


def _json_refusal(status: int, message: str) -> Response:
    error = {"code": status, "message": message, "errors": [{"message": message, "domain": "global"}]}
    return JSONResponse({"error": error}, status)

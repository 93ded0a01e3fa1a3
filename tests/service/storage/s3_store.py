"""Emulated S3: path-style addresses, signature checks, and boto3's requests to a bucket."""

import hashlib
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape

from moods import Moods
from object_files import AlreadyThere, ObjectFiles, StoredObject
from signatures import SIGNATURE_DIFFERS, AwsSignatures, Refused
from signatures import Request as SignedRequest
from starlette.requests import Request
from starlette.responses import Response

_META = "x-amz-meta-"
_XML = "application/xml"
_PRECONDITION_FAILED = Refused(
    412,
    "PreconditionFailed",
    "At least one of the pre-conditions you specified did not hold",
    Condition="If-None-Match",
)
_NO_KEY = Refused(404, "NoSuchKey", "The specified key does not exist.")
_PAGE = 100  # fewer than the providers' thousand; they may return fewer at any time


class S3Store:
    """One bucket."""

    def __init__(self, bucket: str, objects: ObjectFiles, signatures: AwsSignatures, moods: Moods) -> None:
        self._bucket, self._objects, self._signatures, self._moods = bucket, objects, signatures, moods

    async def answer(self, request: Request) -> Response:
        """Handle any request."""
        body = await request.body()
        try:
            return self._answer(request, body)
        except Refused as refusal:
            return _refusal(refusal, with_body=request.method != "HEAD")

    def _answer(self, request: Request, body: bytes) -> Response:
        raw_path = request.scope["raw_path"].decode().partition("?")[0]
        signed = SignedRequest(request.method, raw_path, request.url.query, request.headers)
        self._signatures.check(signed)
        by_address = "X-Amz-Signature" in signed.query
        said = request.headers.get("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
        if not by_address and said != "UNSIGNED-PAYLOAD" and said != hashlib.sha256(body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch", "The provided header does not match what was computed.")
        bucket, _, key = unquote(raw_path).lstrip("/").partition("/")
        self._moods.counts[f"{'signed' if by_address else 'own'}-{request.method.lower()}"] += 1
        if bucket != self._bucket:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist")
        if not key:
            return self._list(signed.query) if request.method == "GET" else Response()
        name = f"{bucket}/{key}"
        match request.method:
            case "PUT" if "x-amz-copy-source" in request.headers:
                return self._copy(name, request)
            case "PUT":
                return self._put(name, request, body)
            case "DELETE":
                self._objects.delete(name)
                return Response(status_code=204)
            case "GET" | "HEAD":
                return self._get(name, with_body=request.method == "GET")
        raise SIGNATURE_DIFFERS

    def _put(self, name: str, request: Request, body: bytes) -> Response:
        stored = self._store(name, body, request)
        return Response(headers={"ETag": stored.etag})

    def _store(self, name: str, body: bytes, request: Request) -> StoredObject:
        metadata = {
            header.removeprefix(_META): value for header, value in request.headers.items() if header.startswith(_META)
        }
        once = request.headers.get("if-none-match") == "*" and not self._moods.mood.ignore_conditions
        content_type = request.headers.get("content-type", "binary/octet-stream")
        try:
            return self._objects.put(name, body, content_type, metadata, once=once)
        except AlreadyThere:
            raise _PRECONDITION_FAILED from None

    def _copy(self, name: str, request: Request) -> Response:
        if self._moods.mood.plain_copies and "if-none-match" in request.headers:
            raise Refused(501, "NotImplemented", "A header you provided implies functionality that is not implemented")
        source = self._objects.find(unquote(request.headers["x-amz-copy-source"]).lstrip("/"))
        if source is None:
            raise _NO_KEY
        stored = self._store(name, self._objects.read(source), request)
        return _xml(
            f"<CopyObjectResult><ETag>{escape(stored.etag)}</ETag>"
            f"<LastModified>{stored.updated}</LastModified></CopyObjectResult>"
        )

    def _get(self, name: str, *, with_body: bool) -> Response:
        found = self._objects.find(name)
        if found is None:
            raise _NO_KEY
        headers = {f"{_META}{key}": value for key, value in found.metadata.items()}
        headers |= {"ETag": found.etag, "Content-Type": found.content_type}
        if with_body:
            return Response(self._objects.read(found), headers=headers)
        return Response(headers=headers | {"Content-Length": str(found.size)})

    def _list(self, query: dict[str, str]) -> Response:
        prefix, after = query.get("prefix", ""), query.get("continuation-token", "")
        most = min(int(query.get("max-keys", _PAGE)), _PAGE)
        found = [(stored.name.partition("/")[2], stored) for stored in self._objects.below(f"{self._bucket}/{prefix}")]
        rest = [(key, stored) for key, stored in found if key > after]
        items = "".join(
            f"<Contents><Key>{quote(key, safe='/')}</Key><Size>{stored.size}</Size></Contents>"
            for key, stored in rest[:most]
        )
        more = len(rest) > most
        token = f"<NextContinuationToken>{escape(rest[most - 1][0])}</NextContinuationToken>" if more else ""
        return _xml(
            f"<ListBucketResult><Name>{self._bucket}</Name><Prefix>{escape(prefix)}</Prefix>"
            f"<EncodingType>url</EncodingType><IsTruncated>{str(more).lower()}</IsTruncated>"
            f"<KeyCount>{len(rest[:most])}</KeyCount>{items}{token}</ListBucketResult>"
        )


def _xml(text: str, status: int = 200) -> Response:
    return Response(f'<?xml version="1.0" encoding="UTF-8"?>{text}', status, media_type=_XML)


def _refusal(refusal: Refused, *, with_body: bool) -> Response:
    if not with_body:
        return Response(status_code=refusal.status)
    inner = {"Code": refusal.code, "Message": refusal.message, **refusal.details}
    elements = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in inner.items())
    return _xml(f"<Error>{elements}</Error>", refusal.status)

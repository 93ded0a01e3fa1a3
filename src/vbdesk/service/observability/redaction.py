"""Redaction of log lines: secrets, signed addresses, names in paths, e-mail addresses.

The service's own lines name jobs by id and contain none of these. Lines of libraries may: an object store's client logs
the address that it calls, a database driver the password in it. Anything that looks like one of these is replaced.
"""

import re

REDACTED = "[redacted]"

_TELLING_NAMES = (
    r"[\w-]*(?:pass(?:word|wd|phrase)?|secret|token|signature|credential|api[_-]?key|access[_-]?key(?:[_-]?id)?"
    r"|private[_-]?key|authorization|cookie|webhook[_-]?secret[_-]?key|session|sig)"
)
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL), REDACTED),
    (re.compile(r"(?i)\b(bearer|basic|aws4-hmac-sha256|goog4-rsa-sha256)\s+[^\s,'\"][^'\"\n]*"), rf"\1 {REDACTED}"),
    # user and password before the host: postgresql://user:password@host
    (re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/@'\"<>]*@"), rf"\1{REDACTED}@"),
    # the query of an address may contain a signature
    (re.compile(r"(?i)((?:https?|s3|gs)://[^\s?'\"<>]*|\s/[^\s?'\"<>]*)\?[^\s'\"<>]+"), rf"\1?{REDACTED}"),
    (
        re.compile(
            r"(?i)\b((?:x-(?:amz|goog|vbdesk)-[\w-]+|awsaccesskeyid|googleaccessid))(['\"]?\s*[=:]\s*)(?:'[^']*'|\"[^\"]*\"|[^\s&'\",;]+)"
        ),
        rf"\1\2{REDACTED}",
    ),
    (
        re.compile(rf"(?i)\b({_TELLING_NAMES})(['\"]?\s*[=:]\s*)(?:b?'[^']*'|b?\"[^\"]*\"|[^\s&'\",;)}}]+)"),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(r"\bvb[ks]_[A-Za-z0-9_-]{8,}"), REDACTED),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}"), REDACTED),
    (re.compile(r"\bya29\.[\w.-]+|\beyJ[\w-]+\.[\w-]+\.[\w-]+"), REDACTED),
    (re.compile(r"(?i)(/groups?/)(?!\{)[^/\s?'\"]+"), rf"\1{REDACTED}"),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), REDACTED),
)
_MAY_NEED = re.compile(
    r"(?i)[@?]|://|vb[ks]_|group|akia|asia|ya29|eyj|begin|bearer|basic|hmac|rsa|pass|secret|token|signat|credential|key"
    r"|authoriz|cookie|session|sig|x-"
)
"""A cheap first check: most lines match nothing."""


def redact(text: str) -> str:
    """Replace everything that looks like a secret or a person's name."""
    if not _MAY_NEED.search(text):
        return text
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text

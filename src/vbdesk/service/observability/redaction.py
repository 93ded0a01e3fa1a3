"""Taking out of log lines what must not be there: secrets, signed addresses, names in paths, e-mail addresses.

The service's own lines name jobs by id and hold none of this. Those of libraries may: an object store's client shows
the address that it calls, a database driver the password in it. What looks like any of these is taken out.
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
    # who calls is named in some addresses before the host: postgresql://user:password@host
    (re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/@'\"<>]*@"), rf"\1{REDACTED}@"),
    # whatever stands behind the question mark of an address may sign it
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
"""Cheap to look for: most lines have none of it."""


def redact(text: str) -> str:
    """The text without what looks like a secret or a person's name."""
    if not _MAY_NEED.search(text):
        return text
    for pattern, instead in _RULES:
        text = pattern.sub(instead, text)
    return text

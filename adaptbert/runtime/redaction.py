"""Removes credentials from messages, logs and tracking runs: texts pass through `redacted` first.

Two kinds are replaced. What looks like a credential: the part before the @ of an address, values of parameters such as
token, key or password, and the tokens of Hugging Face and AWS. And the credentials of this process in any encoding,
because libraries quote them in several: values of environment variables called ..._PASSWORD, ..._TOKEN, ..._KEY, and
the credentials of addresses in any variable.
"""

import os
import re
import sys
import traceback
from base64 import b64encode
from collections.abc import Iterator, Mapping
from types import TracebackType
from urllib.parse import quote, unquote

HIDDEN = "***"
SHORTEST = 4
"""Characters of a credential that is looked for by itself; shorter ones are parts of words."""

_BEFORE_THE_HOST = re.compile(r"(?:(?<=://)|(?<=\w\w:/)(?!/))([^\s/@:]*:(?!\d+[^\w@])\S*|[^\s/?#'\"<>]*)@")
"""What is before the @ of an address; first with a password that has / or @ in it, which should have been encoded. Of
an address that was taken for a path, one slash is left."""
_ADDRESS = re.compile(r"://(.*)@", re.DOTALL)
_PARAMETER = re.compile(
    r"([?&;][\w.-]*(?:token|secret|passw(?:or)?d|pwd|signature|credential|api_?key|access_?key)[\w.-]*=)"
    r"[^&;\s'\"#)]+",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")
_SECRET_NAME = re.compile(r"(?:PASSWORD|SECRET|TOKEN|API_KEY|ACCESS_KEY|AUTH_STRING)$", re.IGNORECASE)


def redacted(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """The text with `***` in the place of every credential."""
    text = _BEFORE_THE_HOST.sub(f"{HIDDEN}@", text)
    text = _PARAMETER.sub(rf"\g<1>{HIDDEN}", text)
    text = _TOKEN.sub(HIDDEN, text)
    for secret in sorted(set(_secrets(environment)), key=len, reverse=True):  # one may be a part of another
        text = text.replace(secret, HIDDEN)
    return text


def hide_in_tracebacks() -> None:
    """From now on an exception that nobody catches is printed without credentials."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.stderr.write(redacted("".join(traceback.format_exception(kind, error, trace))))

    sys.excepthook = show


def _secrets(environment: Mapping[str, str]) -> Iterator[str]:
    """Secrets in every encoding in which a library may quote them."""
    for name, value in environment.items():
        if _SECRET_NAME.search(name):
            yield from _forms(value)
        for login in _BEFORE_THE_HOST.findall(value):
            _, _, password = login.partition(":")
            yield b64encode(unquote(login).encode()).decode()  # as in the header `Authorization`
            yield from _forms(password)
        if address := _ADDRESS.search(value):  # its password may have a blank, which other patterns do not match
            yield from _forms(address[1].partition(":")[2])
        for parameter in _PARAMETER.finditer(value):
            yield from _forms(parameter.group().partition("=")[2])


def _forms(secret: str) -> Iterator[str]:
    plain = unquote(secret)
    for form in (secret, plain, quote(plain, safe=""), *re.split(r"[/?#@]", plain)):
        if len(form) >= SHORTEST:
            yield form

"""Removes credentials from all that leaves a process: what it prints, logs, records in MLflow or shows in Prefect.

Two kinds are replaced. What looks like a credential: of any address what is before the @, each value of its query and
its fragment, and values of parameters such as token, key or password; the tokens of Hugging Face and AWS. And the
credentials of this process in any encoding, because libraries quote them in several: values of environment variables
called ..._PASSWORD, ..._TOKEN, ..._KEY, and the credentials of addresses in any variable.
"""

import os
import re
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from urllib.parse import quote, unquote

from adaptbert.core.printable import TURNING, printable

HIDDEN = "***"
SHORTEST = 4
"""Characters of a credential that is looked for by itself; shorter ones are parts of words."""

_BEFORE_THE_HOST = re.compile(r"(?:(?<=://)|(?<=\w\w:/)(?!/))([^\s/@:]*:(?!\d+[^\w@])\S{0,999}|[^\s/?#'\"<>]*)@")
"""What is before the @ of an address; first with a password that has / or @ in it, which should have been encoded. Of
an address that was taken for a path, one slash is left. Bounds keep a long line from taking minutes."""
_ADDRESS = re.compile(r"://(.*)@", re.DOTALL)
_BEHIND_THE_PATH = re.compile(
    r"((?:\w\w:/|(?<![\w/])/(?=[^\s?#'\"<>]{0,999}\?[\w.%-]+=))[^\s?#'\"<>]{0,999})([?#](?:[^\s'\"<>]|['\"](?=[\w%]))+)"
)
"""The query and the fragment of an address, or those of a path, as libraries quote what they have asked a host for."""
_VALUE = re.compile(r"([?#&;])([\w.\[\]%-]{1,40}=(?!=*(?:[?#&;]|$)))?[^?#&;]*[^?#&;.,:!)}\]]")
"""With the name before it; without one, all of it is a value. Punctuation behind it is that of a sentence."""
_PARAMETER = re.compile(
    r"([?#&;](?:[\w.-]*(?:token|secret|passw(?:or)?d|pwd|signature|credential|key)[\w.-]*|sig|auth|code)=)"
    r"[^&;\s'\"#)]*[^&;\s'\"#).,:]",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")
_SECRET_NAME = re.compile(
    r"(?:PASS(?:W(?:OR)?D)?|_PWD|SECRET|TOKEN|(?:API|ACCESS|ACCOUNT|SECRET)_KEY|AUTH_STRING)$", re.IGNORECASE
)


def redacted(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """The text with `***` in the place of every credential."""
    text = _BEFORE_THE_HOST.sub(f"{HIDDEN}@", text)
    text = _BEHIND_THE_PATH.sub(lambda match: match[1] + _VALUE.sub(rf"\g<1>\g<2>{HIDDEN}", match[2]), text)
    text = _PARAMETER.sub(rf"\g<1>{HIDDEN}", text)
    text = _TOKEN.sub(HIDDEN, text)
    for secret in _longest_first(frozenset(environment.items())):
        text = text.replace(secret, HIDDEN)
    return text


def guard_streams() -> None:
    """From now on this process prints no credentials, and nothing in another order, whoever prints: libraries, loggers
    and tracebacks as well."""

    def guarded(write: Callable[[str], int], text: str) -> int:
        return write(printable(redacted(text), TURNING))

    for stream in (sys.stdout, sys.stderr):
        if "write" not in vars(stream):  # once
            vars(stream)["write"] = partial(guarded, stream.write)


@lru_cache(1)
def _longest_first(variables: frozenset[tuple[str, str]]) -> list[str]:
    """Their credentials, of which one may be a part of another."""
    return sorted(set(_secrets(variables)), key=len, reverse=True)


def _secrets(variables: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The credentials of variables, in every encoding in which a library may quote them."""
    for name, value in variables:
        if _SECRET_NAME.search(name):
            yield from _forms(value)
        for login in _BEFORE_THE_HOST.findall(value):
            user, _, password = login.partition(":")
            yield b64encode(unquote(login).encode()).decode()  # as in the header `Authorization`
            yield from _forms(password or user)
        if address := _ADDRESS.search(value):  # its password may have a blank, which other patterns do not match
            yield from _forms(address[1].partition(":")[2])
        for parameter in _PARAMETER.finditer(value):
            yield from _forms(parameter.group().partition("=")[2])


def _forms(secret: str) -> Iterator[str]:
    plain = unquote(secret)
    for form in (secret, plain, quote(plain, safe=""), *re.split(r"[/?#@]", plain)):
        if len(form) >= SHORTEST:
            yield form

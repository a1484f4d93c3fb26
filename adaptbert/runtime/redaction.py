"""Removes credentials from all that leaves a process: what it prints, logs, records in MLflow or shows in Prefect.

Two kinds are replaced. What looks like a credential: of any address what is before the @, of one elsewhere also each
value of its query and its fragment, and values of parameters such as token, key or password; tokens of Hugging
Face, AWS, GitHub and OpenAI. And the credentials of this process in any encoding, because libraries quote them in
several: values of environment variables called ..._PASSWORD, ..._TOKEN, ..._KEY, and the credentials of addresses in
any variable.
"""

import io
import os
import re
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from threading import RLock
from urllib.parse import quote, unquote

from adaptbert.core.printable import TURNING, printable

HIDDEN = "***"
SHORTEST, SHORTEST_PIECE = 8, 4
"""Characters of a credential, and of a piece of one, that is looked for by itself; shorter ones are ordinary words."""
_STOP = r"\s'\"<>\u201c\u201d\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
"""Characters that end an address in a sentence, also a Chinese one."""

_BEFORE_THE_HOST = re.compile(
    r"(?:(?<=://)|(?<=\w\w:/)(?<!\bmodels:/)(?!/))"
    r"((?!(?:(?:localhost|\d+(?:[.]\d+){3}):\d+|\[[^\s/@\]]{0,99}\](?::\d+)?)[^\w@-])[^\s/@:]*:\S{0,999}"
    r"|[^\s/?#'\"<>]*)@"
)
"""What is before the @ of an address; first with a password that has / or @ in it, which should have been encoded, and
which is not the port of a host: a name with a port may as well be a user, but for an IP address and localhost. Of an
address that was taken for a path, one slash is left; `models:/mood@champion` of MLflow has an alias there. Bounds keep
a long line from taking minutes."""
_ADDRESS = re.compile(r"://(.*)@", re.DOTALL)
_BEHIND_THE_PATH = re.compile(
    r"((?:\w\w:/(?<!file:/)(?!/?(?:\*\*\*@)?(?:127\.0\.0\.1|localhost|\[::1\])[:/?#])"
    r"|(?<![\w/:#])/(?=[^\s?#'\"<>]{0,999}\?[\w.%-]+=))[^\s?#'\"<>]{0,999})"
    rf"(\?(?:[^{_STOP}]|['\"](?=[\w%]))+|#(?=[^{_STOP}]{{0,999}}=)[^{_STOP}]+)"
)
"""The query of an address that is not of this machine, and a fragment that has values; or those of a path, as libraries
quote what they have asked a host for."""
_VALUE = re.compile(r"([?#&;])([\w.\[\]%-]{1,40}=(?!=*(?:[?#&;]|$)))?[^?#&;]*[^?#&;.,:!)}\]]")
"""A value with the name before it; without one, all of it is a value. Punctuation behind it is that of a sentence."""
_PARAMETER = re.compile(
    r"([?#&;](?:[\w.-]*(?:token|secret|passw(?:or)?d|pwd|signature|credential|key)[\w.-]*|sig|auth|code)=)"
    rf"[^&;#){_STOP}]*[^&;#).,:{_STOP}]"
    r"|(authorization['\"]?[:=] ?(?:b?['\"])?(?:(?:Bearer|Basic|Token) )?)[^\s'\",]+"
    r"|(['\"][\w-]*(?:passw(?:or)?d|secret|api_?key|access_?token)['\"]: ?['\"])[^'\"]+"
    r"|(%3A%2F%2F)(?:(?!%2F)[^\s&'\"<>]){1,300}(?=%40)",
    re.IGNORECASE,
)
"""A credential in an address, a header, a Python or JSON mapping, or before the @ of an encoded address."""
_TOKEN = re.compile(
    r"\bhf_[A-Za-z0-9]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\b(?:gh[oprsu]|github_pat)_\w{20,}|\bsk-(?=[\w-]*\d)[\w-]{20,}"
)
_SECRET_NAME = re.compile(
    r"(?:(?:^|_|SSH)PASS|PASSW(?:OR)?D|_PWD|SECRET|TOKEN|(?:API|ACCESS|ACCOUNT|SECRET)_KEY|AUTH_STRING)$", re.IGNORECASE
)


def redacted(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """The text with `***` in the place of every credential."""
    text = _BEFORE_THE_HOST.sub(f"{HIDDEN}@", text)
    text = _BEHIND_THE_PATH.sub(lambda match: match[1] + _VALUE.sub(rf"\g<1>\g<2>{HIDDEN}", match[2]), text)
    text = _PARAMETER.sub(lambda match: f"{match[match.lastindex or 0]}{HIDDEN}", text)
    text = _TOKEN.sub(HIDDEN, text)
    for secret in _longest_first(frozenset(environment.items())):
        text = text.replace(secret, HIDDEN)
    return text


def guard_streams() -> None:
    """From now on this process prints no credentials, and nothing in another order, whoever prints: libraries, loggers
    and tracebacks as well, and those that print bytes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and "write" not in vars(stream.buffer):  # once
            _Guard(stream)


class _Guard:
    """What a stream passes on: lines as a whole, so that one in several pieces has no half of a credential.

    It stands below the stream, in the place of the methods of its buffer, because others hold both of them already.
    """

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream, buffer = stream, stream.buffer
        self._write, self._flush = buffer.write, buffer.flush
        self._begin()
        vars(buffer).update(write=self.write, flush=self.flush)
        os.register_at_fork(after_in_child=self._begin)  # what is held, the parent writes; another thread has the lock

    def _begin(self) -> None:
        self._held, self._lock = list[bytes](), RLock()

    def write(self, piece: bytes) -> int:
        with self._lock:
            self._held.append(bytes(piece))
            if b"\n" in self._held[-1]:
                text = b"".join(self._held)
                rest = text[text.rfind(b"\n") + 1 :]
                shown, hidden = self._shown(text), self._shown(rest)
                is_apart = shown.endswith(hidden)  # else a credential of several lines goes on in the rest
                self._held = [rest] if is_apart and rest else []
                self._write(shown.removesuffix(hidden) if is_apart else shown)
        return len(piece)

    def flush(self) -> None:
        with self._lock:
            if self._held:  # a full disk refuses nothing as well
                self._write(self._shown(b"".join(self._held)))
                self._held = []
            self._flush()

    def _shown(self, text: bytes) -> bytes:
        shown = printable(redacted(text.decode(self._stream.encoding, "surrogateescape")), TURNING)
        return shown.encode(self._stream.encoding, "surrogateescape")


@lru_cache(1)
def _longest_first(variables: frozenset[tuple[str, str]]) -> list[str]:
    """Their credentials, of which one may be a part of another."""
    return sorted(set(_secrets(variables)), key=len, reverse=True)


def _secrets(variables: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The credentials of variables, in every encoding in which a library may quote them."""
    for name, value in variables:
        if _SECRET_NAME.search(name) and not _is_path(value):
            yield from _forms(value)
        for login in _BEFORE_THE_HOST.findall(value):
            user, _, password = login.partition(":")
            yield b64encode(unquote(login).encode()).decode()  # as in the header `Authorization`
            yield from _forms(password or user, "[/?#@]")
        if address := _ADDRESS.search(value):  # its password may have a blank, which other patterns do not match
            yield from _forms(address[1].partition(":")[2], "[/?#@]")
        for parameter in _PARAMETER.finditer(value):
            yield from _forms(parameter.group().partition("=")[2])


def _is_path(value: str) -> bool:
    """Whether a value names a file, which may be missing; a key may begin with a slash as well."""
    return value.startswith("~/") or os.access("/".join(value.split("/")[:2]), os.F_OK)


def _forms(secret: str, cut_at: str = "$") -> Iterator[str]:
    """A credential in every encoding; a password of an address may be cut by whoever parses it."""
    plain = unquote(secret)
    if len(plain) >= SHORTEST:
        yield from (secret, plain, quote(plain, safe=""))
        yield from (piece for piece in re.split(cut_at, plain) if len(piece) >= SHORTEST_PIECE)

"""What a stage does that DVC has started where its flow has a warm process (adaptbert.flow.warm): it hands over, passes
signals on to the process that computes, and ends with the same status or by the same signal."""

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import NoReturn

from adaptbert.runtime.signals import PASSED_ON, SIGNALS, TAKEN, die_with_parent

WARM_SOCKET = "ADAPTBERT_WARM_SOCKET"
"""Variable for stages: the path of the socket at which the warm process of their flow waits for them."""
ACCEPTED = b"1"


def hand_over() -> None:
    """Have the warm process run this stage, and end as that run ends; returns where this process has to run it."""
    if sys.orig_argv[1] != "-m":  # Python has options here, which the warm process lacks
        return
    request = {
        "module": sys.orig_argv[2],
        "argv": sys.argv[1:],
        "environment": dict(os.environ),
        "place": place(),
        "ignored": [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_IGN],
    }
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(os.environ[WARM_SOCKET])
        socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
        if connection.recv(len(ACCEPTED)) == ACCEPTED:
            _end_as_it_ends(connection)


def place() -> list[str]:
    """What the warm process and a stage have to have in common besides variables: interpreter, packages, folder."""
    return [sys.version, sys.prefix, str(Path.cwd())]


def _end_as_it_ends(connection: socket.socket) -> NoReturn:
    for number in TAKEN:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, partial(_pass_on, connection))
    die_with_parent()
    status = -signal.SIGKILL
    with suppress(OSError, ValueError):  # the warm process was killed
        status = int(connection.recv(16))
    if status < 0:
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _pass_on(connection: socket.socket, number: int, _: FrameType | None) -> None:
    """A terminal sends its signals to all processes of the flow, so what it sends is none of its own here."""
    passed = number if number == signal.SIGTERM else PASSED_ON
    with suppress(OSError):  # it has ended
        connection.send(bytes([passed]))

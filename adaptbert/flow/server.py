"""The Prefect server of a flow that somebody started in a terminal: without one no flow runs.

Prefect would start one itself, which outlives a flow that is killed, and whose end is the end of the flow.
"""

import atexit
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from threading import Thread
from urllib.parse import urlsplit

import httpx
from prefect.context import refresh_global_settings_context
from prefect.logging import get_logger
from prefect.settings import PREFECT_API_REQUEST_TIMEOUT, PREFECT_API_URL, Settings, load_current_profile
from prefect.settings.sources import ProfileSettingsTomlLoader

from adaptbert.errors import TEMPORARY
from adaptbert.flow import process
from adaptbert.runtime.libraries import LOCAL, check_proxies
from adaptbert.runtime.redaction import redacted
from adaptbert.runtime.signals import withheld
from adaptbert.runtime.user_errors import user_errors

HOST = "127.0.0.1"
COMMAND = ("uvicorn", "--factory", "prefect.server.api.server:create_app", "--log-level", "error", "--host", HOST)
OF_PREFECT = {"PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1", "PREFECT_UI_ENABLED": "0"}
SECONDS_BETWEEN_LOOKS = 0.1


def await_server() -> None:
    """Start a temporary server where nobody names one, and wait for it, which takes some seconds.

    Raises:
        BadParams: a proxy is of another kind than Prefect takes, which it looks at also where it needs none.
        StageFailed: a signal came meanwhile, or the server does not start.
    """
    check_proxies()
    profile = ProfileSettingsTomlLoader(Settings).profile_settings | load_current_profile().to_environment_variables()
    other, url = profile.get(PREFECT_API_URL.name), PREFECT_API_URL.value()
    if PREFECT_API_URL.name not in os.environ and other and other != url:
        get_logger("flows").warning("prefect.toml has %s, the profile has %s: write it into prefect.toml", url, other)
    if is_named():
        return
    get_logger("flows").info("a temporary Prefect server starts")
    server = TemporaryServer()
    if not server.answers():
        process.check()
        raise process.StageFailed("the temporary Prefect server did not start", TEMPORARY)
    os.environ[PREFECT_API_URL.name] = server.url
    refresh_global_settings_context()
    Thread(target=server.keep, daemon=True).start()


def is_named() -> bool:
    """Whether a flow reports to a server that somebody keeps: by PREFECT_API_URL, or on another machine.

    The local address of prefect.toml is for `prefect server start`. What answers there may be another project's; if it
    is this one's, it shows the same database.
    """
    url = PREFECT_API_URL.value()
    return PREFECT_API_URL.name in os.environ or (bool(url) and urlsplit(url).hostname not in LOCAL)


class TemporaryServer:
    """A server that ends with this process, however that ends. A terminal's signals do not reach it, so it takes the
    last state of the flow as well.

    Attributes:
        url: of its API.
    """

    def __init__(self) -> None:
        with socket.create_server((HOST, 0)) as free:
            self._port = free.getsockname()[1]
        self.url = f"http://{HOST}:{self._port}/api"
        self._is_due = True
        self._process = self._started()
        atexit.register(self._end)

    def _started(self) -> "subprocess.Popen[bytes]":
        command = [*process.FOLLOWING, *COMMAND, "--port", str(self._port)]
        with withheld(signal.SIGINT, signal.SIGHUP):
            return subprocess.Popen(command, env=process.environment() | OF_PREFECT)

    def answers(self) -> bool:
        """Wait until the server answers; false where it has ended, or a signal came."""
        while self._process.poll() is None and not process.received():
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/health", timeout=1).is_success:
                    return True
            time.sleep(SECONDS_BETWEEN_LOOKS)
        return False

    def keep(self) -> None:
        """Start it again when it has ended, as where memory ran out: its database has all that the flow needs,
        and no stage is ended for its sake."""
        while self.answers():
            self._process.wait()
            time.sleep(SECONDS_BETWEEN_LOOKS)  # a signal that ended it may have come to the flow as well
            if not self._is_due or process.received():
                return
            get_logger("flows").info("the temporary Prefect server has ended, and starts again")
            self._process = self._started()

    def _end(self) -> None:
        self._is_due = False
        self._process.kill()


def main() -> None:
    """See whether a server answers a flow here, for `adaptbert doctor`."""
    is_kept = is_named()
    with user_errors():
        try:
            await_server()
            url = str(PREFECT_API_URL.value())
            httpx.get(f"{url}/health", timeout=PREFECT_API_REQUEST_TIMEOUT.value()).raise_for_status()
        except (process.StageFailed, httpx.HTTPError) as error:
            sys.exit(redacted(str(error)))
    print(f"{redacted(url)} answers" if is_kept else "a temporary server starts")

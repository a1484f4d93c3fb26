"""Remotes of DVC: a folder, a store with the interface of S3, and a server of SSH that knows one key."""

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.installed import installation, ran
from tests.support.project import Project, free_port, stopped_at_the_end, wait_until

PACKAGES = {"S3": ("dvc-s3", "moto[server]"), "SSH": ("dvc-ssh",)}
"""Kind of a remote -> what DVC needs for it, and the server of the test."""
SSH_SERVER = """
import asyncio, asyncssh, sys
async def serve(key, port):
    keys = asyncssh.import_authorized_keys(key.export_public_key().decode())
    options = {"server_host_keys": [key], "authorized_client_keys": keys, "sftp_factory": True}
    await asyncssh.listen("127.0.0.1", port, **options)
    print("ready", flush=True)
    await asyncio.Event().wait()
asyncio.run(serve(asyncssh.read_private_key(sys.argv[1]), int(sys.argv[2])))
"""


@contextmanager
def remote(kind: str, project: Project, folder: Path) -> Iterator[None]:
    """The project has a default remote, which answers for as long as the block lasts; skips where no index has what
    it needs."""
    store, port = folder / "remote", free_port()
    if kind == "a folder":
        _add(project, str(store))
        yield
        return
    project.env["PYTHONPATH"] = str(_installed(PACKAGES[kind], folder / "packages"))
    if kind == "S3":
        project.env |= {f"AWS_{name}": "test" for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "DEFAULT_REGION")}
        address = f"http://127.0.0.1:{port}"
        with stopped_at_the_end(project.start("moto.server", "--port", str(port))):
            wait_until(lambda: _is_bucket(f"{address}/team"), 60)
            _add(project, "s3://team/study", endpointurl=address)
            yield
        return
    key, server = folder / "key", folder / "ssh_server.py"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    server.write_text(SSH_SERVER, encoding="utf-8")
    store.mkdir()
    with subprocess.Popen([project.python, server, key, str(port)], env=project.env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        _add(project, f"ssh://somebody@127.0.0.1:{port}{store}", keyfile=str(key))
        yield
        process.terminate()


def _installed(packages: tuple[str, ...], folder: Path) -> Path:
    """A folder for PYTHONPATH with what these packages need beside those of this environment."""
    made = installation(folder)
    pip = [sys.executable, "-m", "pip", "--python", str(made.python), "install", "--quiet", *packages]
    done = subprocess.run(pip, capture_output=True, text=True)
    if "No matching distribution found" in done.stderr:
        pytest.skip(f"no index has {' and '.join(packages)}")
    assert done.returncode == 0, done.stderr
    return made.packages


def _is_bucket(address: str) -> bool:
    """Whether the store has made it."""
    with suppress(OSError), urllib.request.urlopen(urllib.request.Request(address, method="PUT"), timeout=5):
        return True
    return False


def _add(project: Project, url: str, **options: str) -> None:
    ran(project, "python", "-m", "dvc", "remote", "add", "--default", "team", url)
    for name, value in options.items():
        ran(project, "python", "-m", "dvc", "remote", "modify", "team", name, value)

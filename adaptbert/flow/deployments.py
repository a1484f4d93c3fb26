"""Keeps `prefect deploy` from replacing the deployments of another folder, which have the same names: a step of
prefect.yaml. Two projects on one machine ask the same address (prefect.toml), whosever server answers there."""

import os
import sys
from pathlib import Path

from prefect import get_client
from prefect.exceptions import ObjectNotFound

from adaptbert.codes import Code
from adaptbert.errors import BadData

NAME = "recipe/local"
REMEDY = f"write another port into prefect.toml, in both places, and start again; or: prefect deployment delete {NAME}"


def spare_those_of_others() -> None:
    """End `prefect deploy` where the server has these deployments of another folder that is still there."""
    with get_client(sync_client=True) as client:
        try:
            deployment = client.read_deployment_by_name(NAME)
        except ObjectNotFound:
            return
    for step in deployment.pull_steps or ():
        for folder in (Path(values["directory"]) for values in step.values() if "directory" in values):
            if folder.is_dir() and not folder.samefile(Path.cwd()):
                error = BadData(
                    Code.ALREADY_THERE,
                    NAME,
                    f"{str(client.api_url).rstrip('/')} has this deployment of {folder}",
                    REMEDY,
                )
                print(f"error: {error}", file=sys.stderr, flush=True)
                os._exit(error.exit_code)  # of an exception Prefect would show the traceback

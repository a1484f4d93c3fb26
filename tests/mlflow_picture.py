"""docs/img/mlflow-compare.png: the cells of one task side by side in MLflow, in Chromium.

    python -m tests.mlflow_picture        # after `make recipe`, in the project's folder: reads mlflow.db

The runs are those of the newest recipe that has the task. Look at the picture before it is committed.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import mlflow
from playwright.sync_api import Page, sync_playwright

STORE = "sqlite:///mlflow.db"
PICTURE = Path("docs/img/mlflow-compare.png")
SIZE = {"width": 1720, "height": 1130}
SECONDS = 120


def runs(task: str) -> list[tuple[str, str]]:
    """Experiment and run of each cell of the task, the newest recipe's, in the order in which they ran."""
    mlflow.set_tracking_uri(STORE)
    query = f"tags.stage = 'finetune' and tags.task = '{task}' and attributes.status = 'FINISHED'"
    cells = mlflow.search_runs(search_all_experiments=True, filter_string=query, order_by=["start_time DESC"])
    assert len(cells), f"no finished cell of {task} in {STORE}: make recipe"
    newest = cells[cells["tags.recipe"] == cells["tags.recipe"][0]].drop_duplicates("tags.arm")[::-1]
    return list(zip(newest["experiment_id"], newest["run_id"], strict=True))


@contextmanager
def served() -> Iterator[str]:
    """The address of an MLflow server on the store."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", STORE, "--port", str(port)]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([*command, "--workers", "1"], stdout=quiet, stderr=quiet, env=environment)
    try:
        _wait(address)
        yield address
    finally:
        server.terminate()
        server.wait()


def _wait(address: str) -> None:
    until = time.monotonic() + SECONDS
    while True:
        try:
            urlopen(f"{address}/health").close()
            return
        except URLError:
            assert time.monotonic() < until, f"no server at {address} after {SECONDS} seconds"
            time.sleep(0.5)


def show(page: Page, address: str, chosen: list[tuple[str, str]]) -> None:
    """The comparison with its charts and artifacts folded, and nothing shown in which the cells agree."""
    experiments = json.dumps(sorted({experiment for experiment, _ in chosen}))
    ids = json.dumps([run for _, run in chosen])
    page.goto(
        f"{address}/#/compare-runs?runs={quote(ids)}&experiments={quote(experiments)}&workflowType=machine_learning"
    )
    page.get_by_text("Run details").wait_for()
    page.get_by_role("button", name="Close").first.click()  # the assistant
    for fold in ("Visualizations", "Artifacts"):
        page.get_by_text(fold, exact=True).click()
    for switch in page.get_by_role("switch").all():
        if switch.get_attribute("aria-checked") != "true":
            switch.click()
    page.get_by_text("Comparing").first.scroll_into_view_if_needed()
    page.mouse.move(0, 0)
    page.wait_for_timeout(1000)  # folds move


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--task", default="section")
    parser.add_argument("--out", default=PICTURE, type=Path)
    options = parser.parse_args()
    chosen = runs(options.task)
    with served() as address, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, locale="en-US")
        show(page, address, chosen)
        page.screenshot(path=options.out)
        browser.close()
    print(f"{options.out}: {len(chosen)} runs")


if __name__ == "__main__":
    main()

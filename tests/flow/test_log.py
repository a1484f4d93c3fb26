"""What is said of a stage: all its lines to Prefect, to a terminal its progress and a line at its end."""

import logging
import signal
from pathlib import Path

import pytest
from prefect.logging.loggers import PrefectLogAdapter

from adaptbert.config import plan_file
from adaptbert.core.files import write_json
from adaptbert.flow import log, process
from adaptbert.flow.log import StageLog, result
from adaptbert.flow.process import StageFailed
from tests.support.simulated import edited, simulate

STAGE = "measure@small"
BEGIN = ["Running stage 'measure@small':", "> exec python -m stages.measure --checkpoint '{key}'"]
END = ["Updating lock file 'dvc.lock'", "Use `dvc push` to send your updates to remote storage."]
HELD = ["general: 302 of 302 rows kept", "ERROR: failed to reproduce 'measure@small'"]
SHOWN = [
    "  step     39/586  loss 6.664  7,893 tokens/s  1:10 left",
    "  seed 2  step     39/75  loss 0.664  7,893 tokens/s  0:10 left",
    "  resumed after step 20",
    "  warning: a spike",
    "domain: 37,803 of 40,000 rows kept, duplicate 2,197",
]


class Lines(logging.Handler):
    """Keeps what it is given; that of Prefect's server leaves out what is not for it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def logger(monkeypatch: pytest.MonkeyPatch) -> PrefectLogAdapter:
    """Logger of the task, as Prefect makes it."""
    logger = logging.getLogger("prefect.task_runs")
    for name, value in {"filters": [], "handlers": [], "level": logging.INFO, "propagate": True}.items():
        monkeypatch.setattr(logger, name, value)
    monkeypatch.setattr(logging.getLogger("prefect.flow_runs"), "filters", [])
    monkeypatch.setattr(logging.getLogger("prefect"), "propagate", True)
    log.quieten()
    return PrefectLogAdapter(logger, {"task_run_name": STAGE})


@pytest.fixture
def server(logger: PrefectLogAdapter) -> list[str]:
    handler = Lines()
    handler.addFilter(lambda record: getattr(record, "send_to_api", True))
    logger.logger.addHandler(handler)
    return handler.lines


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Its lines without the time; pytest's own handlers, which are those of every test, stay as they are."""
    handler = Lines()
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    monkeypatch.setattr(logging.getLogger("prefect._internal"), "handlers", [])
    monkeypatch.setattr(logging, "raiseExceptions", True)
    log.shorten()
    handler.format = lambda record: logging.Handler.format(handler, record)[10:]  # type: ignore[method-assign]
    return handler.lines


@pytest.fixture
def stage(logger: PrefectLogAdapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StageLog:
    monkeypatch.chdir(tmp_path)
    return StageLog(STAGE, logger)


def of_terminal(lines: list[str]) -> list[str]:
    return [f"{STAGE}: {line.strip()}" for line in lines]


def test_a_stage_that_runs(stage: StageLog, server: list[str], terminal: list[str]) -> None:
    """Nothing of DVC; a line at the end, with its measures."""
    text = {"bits_per_char": 1.5, "mlm_loss": 2.0, "masked_accuracy": 0.5}
    write_json(Path("metrics/measure/small.json"), {"checkpoint": "pretrain/small", "texts": {"general": text}})
    for line in [*BEGIN, HELD[0], *SHOWN, *END]:
        stage.say(line)
    stage.ended(51.4, "12 of 56, about 9 minutes left")
    last = "bits per character: general 1.500 (51 s; 12 of 56, about 9 minutes left)"
    assert server == [HELD[0], *SHOWN, last]
    assert terminal == of_terminal([*SHOWN, last])


def test_one_whose_outputs_dvc_has(stage: StageLog, server: list[str], terminal: list[str]) -> None:
    for line in ["Stage 'measure@small' is cached - skipping run, checking out outputs", *END]:
        stage.say(line)
    assert not stage.has_run
    stage.ended(1.6, "1 of 2")
    assert server == ["nothing to do (2 s; 1 of 2)"]
    assert terminal == of_terminal(server)


def test_a_file_of_the_user_that_has_changed(logger: PrefectLogAdapter, server: list[str]) -> None:
    """DVC runs nothing, and notes its hash."""
    StageLog("data/own/mood.csv.dvc", logger).ended(1.2, "1 of 2")
    assert server == ["recorded as it is now (1 s; 1 of 2)"]


def test_a_head_that_was_never_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its figures are worth stands beside them."""
    made = simulate(tmp_path, tasks=["section"])
    monkeypatch.chdir(made.root)
    Path("plan.json").write_text(plan_file.text(made.plan), encoding="utf-8")
    text = {"bits_per_char": 1.5, "mlm_loss": 2.0, "masked_accuracy": 0.5}
    write_json(Path("metrics/measure/small.json"), {"checkpoint": "pretrain/small", "texts": {"general": text}})
    assert "nothing" not in result("measure@small") + result("pretrain@small")
    with edited(Path("metrics/pretrain/small.json")) as metrics:
        metrics["random_head"] = True
    for stage in ("measure@small", "pretrain@small"):
        assert result(stage).endswith(
            "; the masked-LM head was never trained, so that bits per character mean nothing"
        ), stage


def test_one_that_fails_shows_all_its_lines(
    stage: StageLog, logger: PrefectLogAdapter, server: list[str], terminal: list[str]
) -> None:
    """Each once; how Prefect says it is left out, and so is the traceback."""
    for line in [*BEGIN, HELD[0], SHOWN[0], HELD[1]]:
        stage.say(line)
    stage.failed()
    try:
        raise StageFailed("measure@small: exited with 65", 65, HELD[1])
    except StageFailed:
        logger.exception("Task run failed")
    logger.error("Finished in state Failed('...')")
    assert server == [HELD[0], SHOWN[0], HELD[1], "Task run failed"]
    assert terminal == of_terminal([SHOWN[0], *HELD, "Task run failed"])


def test_one_that_ends_while_a_signal_stops_the_flow(
    stage: StageLog, server: list[str], terminal: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logging is disabled then, and the server goes as well."""
    monkeypatch.setattr(process, "_received", [signal.SIGINT])
    logging.disable()
    try:
        stage.say(SHOWN[0])
        stage.ended(2.0, "3 of 4")
    finally:
        logging.disable(logging.NOTSET)
    assert (server, terminal) == ([], of_terminal(["nothing to do (2 s; 3 of 4)"]))


def test_what_was_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = simulate(tmp_path, tasks=["section"])
    monkeypatch.chdir(made.root)
    Path("plan.json").write_text(plan_file.text(made.plan), encoding="utf-8")
    with edited(Path("metrics/finetune/section-general-small.json")) as metrics:
        for seed in metrics["seeds"][:2]:
            seed["failed"] = True
    assert result("finetune@section-general-small").endswith("), 2 of 3 runs failed")
    assert "failed" not in result("finetune@section-domain-small-1")
    assert result("pretrain@small").startswith("bits per character: general ")
    assert result("domain_transfer@domain-small-1").startswith("bits per character: ")
    assert result("domain_transfer@general-small-1").startswith("on general text, as the control; bits per character: ")
    with edited(Path("metrics/pretrain/small.json")) as metrics:
        metrics |= {"steps": 0, "before": {}, "after": {}}
    assert result("pretrain@small") == "as it is"


def test_a_stage_without_measures(stage: StageLog) -> None:
    assert [result(name) for name in ("validate", "collect@domain", "finetune@gone", STAGE)] == [""] * 4


def test_a_connection_to_a_server_that_is_gone(terminal: list[str]) -> None:
    """As websockets reports it, with a traceback: the flow goes on, with a new server."""
    logging.getLogger("websockets.client").error("keepalive ping failed", exc_info=ConnectionError("closed"))
    logging.getLogger("websockets.client").error("another error")
    assert [line.strip() for line in terminal] == ["another error"]

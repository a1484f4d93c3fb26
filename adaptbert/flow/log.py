"""The log of the stages of a flow: a line when one has ended, and how far it is while it trains.

    17:50:40  task_transfer@mention-small-1: step 51/74  loss 5.025  8,899 tokens/s  0:04 left
    17:50:46  task_transfer@mention-small-1: bits per character: general 1.978 -> 1.987 (11 s; 12 of 56)

The page of a task in Prefect has all lines of its stage, a terminal or a file only these, and all those of one that
failed.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from adaptbert.config import plan as planning
from adaptbert.config.plan import FINETUNE, MEASURE, TRAINED
from adaptbert.config.schema.bases import DOMAIN_TRANSFER, GENERAL
from adaptbert.errors import UserError
from adaptbert.flow.process import StageFailed, received
from adaptbert.mlm.records import CheckpointMeasures, HeldOutMeasures, StepMetrics
from adaptbert.project.dvc_files import RECORD
from adaptbert.runtime.redaction import redacted
from adaptbert.tasks.metrics.cell_metrics import CellMetrics
from adaptbert.tasks.metrics.scoring import TITLES

RUNS = re.compile(r"Running stage '")
OF_DVC = re.compile(
    rf"{RUNS.pattern}|> |(Updating|Generating) lock file|Use `dvc push`|To track the changes|\tgit add|"
    r"Stage '.*' (didn't change|is cached)|Data and pipelines are up to date"
)
"""What it says of each stage, and what follows from the line that a flow says itself."""
SHOWN = re.compile(
    r"\s*((seed \d+  )?step +[\d,]+/|resumed|warning|\S+ runs on |\S+: [\d,]+ of [\d,]+ rows kept,)", re.IGNORECASE
)
"""Lines of a stage that a terminal shows while it runs; of the rows of a set where some are left out."""
ABOVE_ALL = logging.CRITICAL + 1
"""The level of a line that is logged while logging is disabled."""
OF_PREFECT = (
    *("Finished in state", "Encountered exception during execution", "Crash detected!", "View at http"),
    *("Unable to connect to 'ws", "Still processing items", "keepalive ping failed"),
)
"""Loggers of Prefect that say how a flow ends in words of their own, and `flows.recipe` in ours; a temporary server has
no pages, and what could not be sent to a server that is gone does not matter."""


class StageLog:
    """Reads the lines of a stage.

    Args:
        logger: of its task.

    Attributes:
        has_run: whether DVC has run it; else its outputs were there, or in DVC's cache.
    """

    def __init__(self, stage: str, logger: "logging.Logger | logging.LoggerAdapter[logging.Logger]") -> None:
        self._stage, self._logger = stage, logger
        self._held: list[str] = []
        self.has_run = False

    def say(self, line: str) -> None:
        """A line of the stage, or of the DVC that runs it."""
        self.has_run = self.has_run or RUNS.match(line) is not None
        if OF_DVC.match(line):
            return
        is_shown = SHOWN.match(line) is not None
        if not is_shown:
            self._held.append(line)
        self._logger.info(line, extra={"is_shown": is_shown})

    def failed(self) -> None:
        """Tells of a failure: where the log was shortened, the other lines follow."""
        is_short = any(_is_for_a_terminal in handler.filters for handler in logging.getLogger().handlers)
        for line in self._held if is_short else ():
            self._logger.info(line, extra={"send_to_api": False})

    def ended(self, seconds: float, place: str) -> None:
        """Tells of the end.

        Args:
            place: in the run: `12 of 56`.
        """
        what = result(self._stage) or "done"
        if not self.has_run:
            is_source = self._stage.endswith(RECORD)  # a changed file of the user, of which DVC notes the hash
            nothing = "recorded as it is now" if is_source else "nothing to do"
            what = f"{nothing}, {what}" if what != "done" else nothing
        # One that ends while a signal stops the flow is logged nonetheless, though not to a server that goes as well.
        is_last = received()
        level = ABOVE_ALL if is_last else logging.INFO
        self._logger.log(level, f"{what} ({seconds:.0f} s; {place})", extra={"send_to_api": not is_last})


def result(stage: str) -> str:
    """The measures or the score of a stage; empty for one that has none."""
    name, _, key = stage.partition("@")
    path = Path("metrics", name, f"{key}.json")
    if name not in (*TRAINED, MEASURE) or not path.is_file():
        return ""
    if name == FINETUNE:
        cell = CellMetrics.read(path)
        scores = [100 * seed.test[cell.metric] for seed in cell.learned]
        seeds = " ".join(f"{score:.1f}" for score in scores)
        failed = f", {len(cell.failed)} of {len(cell.seeds)} runs failed" if cell.failed else ""
        return f"{TITLES.get(cell.metric, cell.metric)} {sum(scores) / len(scores):.1f} (seeds {seeds}){failed}"
    if name == MEASURE:
        measures = CheckpointMeasures.read(path)
        return _bits({}, measures.texts) + _untrained(Path("metrics", f"{measures.checkpoint}.json"))
    step = StepMetrics.read(path)
    if not step.steps:
        return f"as it is{_untrained(path)}"
    is_control = name == DOMAIN_TRANSFER and planning.read().table(name)[key].corpus == GENERAL
    control = "on general text, as the control; " if is_control else ""
    return f"{control}{_bits(step.before, step.after)}{_untrained(path)}"


def _untrained(path: Path) -> str:
    """What is said of the head that a step leaves, where it was never trained; `path`: the metrics of the step."""
    never = path.is_file() and StepMetrics.read(path).random_head
    return "; the masked-LM head was never trained, so that bits per character mean nothing" if never else ""


def _bits(before: Mapping[str, HeldOutMeasures], after: Mapping[str, HeldOutMeasures]) -> str:
    began = {name: f"{measures.bits_per_char:.3f} -> " for name, measures in before.items()}
    texts = (f"{name} {began.get(name, '')}{measures.bits_per_char:.3f}" for name, measures in after.items())
    return f"bits per character: {', '.join(texts)}"


def quieten() -> None:
    """Leave out of Prefect's log, which its server keeps, credentials, what says nothing, and of user errors the
    traceback: their message has the reason."""
    for kind in ("flow_runs", "task_runs"):
        logging.getLogger(f"prefect.{kind}").addFilter(_is_news)


@contextmanager
def without_credentials() -> Iterator[None]:
    """A block whose exceptions have none in their text, which Prefect keeps."""
    try:
        yield
    except Exception as error:
        if (text := redacted(str(error))) != str(error):
            error.args = (text,)
            if str(error) != text:  # it makes its text of something else
                raise RuntimeError(f"{type(error).__name__}: {text}") from None
        raise


def _is_news(record: logging.LogRecord) -> bool:
    record.msg, record.args = redacted(record.getMessage()), ()
    if record.exc_info and isinstance(record.exc_info[1], StageFailed | UserError):
        record.exc_info = None
    elif record.exc_info:
        record.exc_text = redacted(logging.Formatter().formatException(record.exc_info))
    return not record.msg.startswith(OF_PREFECT[0])


def shorten() -> None:
    """Shorten the lines of Prefect's log that a person who waits for this process sees, and their time."""
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_for_a_terminal)
        handler.setFormatter(_Line("%(asctime)s  %(message)s", "%H:%M:%S"))
    logging.raiseExceptions = False  # else Prefect prints what it cannot send, each line of a stage
    for handler in logging.getLogger("prefect._internal").handlers:
        handler.addFilter(lambda _record: False)  # Prefect sets its levels anew where a flow begins


def _is_for_a_terminal(record: logging.LogRecord) -> bool:
    return getattr(record, "is_shown", True) and not record.getMessage().startswith(OF_PREFECT)


class _Line(logging.Formatter):
    """Begins with the stage, in the log of a task."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        if stage := getattr(record, "task_run_name", ""):
            record.message = f"{stage}: {record.message.strip()}"
        return super().formatMessage(record)

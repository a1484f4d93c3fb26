"""The project as one start sees it: its rungs, cells, values and text; for commands that run between the stages."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from adaptbert.base import expansion
from adaptbert.base.expansion import DOMAIN_TRANSFER, PRETRAIN, TASK_TRANSFER, Expansion
from adaptbert.base.ladder import GENERAL
from adaptbert.base.start import StartConfig
from adaptbert.codes import Code
from adaptbert.errors import BadData, BadParams, nearest
from adaptbert.pretraining.heldout_evaluation import MeasureConfig
from adaptbert.runtime.params import expanded_ladder, params_file
from adaptbert.runtime.params.all_sections import check_all
from adaptbert.runtime.stage import PARAMS

TOKENIZED, VALIDATED, METRICS = Path("data/tokenized"), Path("data/validated"), Path("metrics")


@dataclass(frozen=True)
class OneStart:
    """The project as one start sees it.

    Attributes:
        document: params.yaml, valid.
        ladder: of all starts.
    """

    document: Mapping[str, Any]
    ladder: Expansion
    start: str

    @property
    def seed(self) -> int:
        return int(self.document["seed"])

    @property
    def weights(self) -> StartConfig:
        """Where the weights of the start come from."""
        key = f"ladder.starts.{self.start}"
        return params_file.parse(StartConfig, self.document["ladder"]["starts"][self.start], key, PARAMS)

    @property
    def measure(self) -> MeasureConfig:
        """As the stage `measure` has it: the same masks."""
        return params_file.parse(MeasureConfig, self.document["measure"], "measure", PARAMS)

    @property
    def tokenized(self) -> Path:
        return TOKENIZED / self.start

    @property
    def heldout(self) -> Path:
        return self.tokenized / "heldout"

    def values(self, stage: str, **names: str) -> Any:
        """The values of a stage that are in force for these names, typed as the stage has them."""
        return import_module(f"stages.{stage}").STAGE.params_of(self.document, names, PARAMS)

    def rungs(self) -> dict[str, Any]:
        """`<stage>/<key>` -> its entry in ladder.yaml: the trained rungs of this start, the lower ones first."""
        tables: dict[str, Mapping[str, Any]] = {
            PRETRAIN: self.ladder.pretrain,
            DOMAIN_TRANSFER: self.ladder.domain_transfer,
            TASK_TRANSFER: self.ladder.task_transfer,
        }
        entries = {f"{stage}/{key}": entry for stage, table in tables.items() for key, entry in table.items()}
        return {folder: entry for folder, entry in entries.items() if entry.start == self.start}

    def cells(self) -> dict[str, Any]:
        """Key -> its entry in ladder.yaml: the cells of this start."""
        return {key: cell for key, cell in self.ladder.finetune.items() if cell.start == self.start}

    def tasks(self) -> list[str]:
        """That this start is fine-tuned on."""
        return list(dict.fromkeys(cell.task for cell in self.cells().values()))

    def text(self, rung: str) -> Path:
        """The tokenised text that a rung is trained on, without replay."""
        stage, entry = rung.partition("/")[0], self.rungs()[rung]
        if stage == TASK_TRANSFER:
            return self.tokenized / "tasks" / str(entry.task)
        return self.tokenized / "corpora" / (GENERAL if stage == PRETRAIN else str(entry.corpus))

    def rung_values(self, rung: str) -> Any:
        """The values of a rung."""
        stage = rung.partition("/")[0]
        return self.values(stage, **{**self.rungs()[rung].names(), "start": self.start})

    def is_trained(self, output: str) -> bool:
        """Whether a rung or cell, `<stage>/<key>`, has its metrics, which its stage writes last."""
        return (METRICS / f"{output}.json").is_file()


def one_start(start: str | None, command: str) -> OneStart:
    """The project as a start sees it.

    Args:
        start: None: the only one.
        command: that asks, for its message.

    Raises:
        BadParams: params.yaml is wrong or ladder.yaml older; there is no such start, or several and none is named.
    """
    document = params_file.read(PARAMS)
    check_all(document, PARAMS)
    expanded_ladder.check(document, PARAMS)
    starts = list(document["ladder"]["starts"])
    if start is None and len(starts) > 1:
        problem = f"there are {len(starts)} starts: {', '.join(starts)}"
        raise BadParams(Code.UNKNOWN_KEY, "--start", problem, f"name one: adaptbert {command} --start {starts[0]}")
    name = starts[0] if start is None else start
    if name not in starts:
        problem = f"no start '{name}'{nearest(name, starts)}"
        raise BadParams(Code.UNKNOWN_KEY, "--start", problem, f"{PARAMS} has {', '.join(starts)}")
    return OneStart(document, expansion.read(), name)


def tokenized_start(start: str | None, command: str) -> OneStart:
    """The same, where all text of the start is tokenised.

    Raises:
        BadParams: as `one_start`.
        BadData: the text of the start is not tokenised yet.
    """
    read = one_start(start, command)
    needed = [read.heldout / GENERAL, read.tokenized / "corpora" / GENERAL, *map(read.text, read.rungs())]
    if any(not (folder / "corpus.json").is_file() for folder in needed):
        problem = "the text of this start is not tokenised, or not all of it"
        remedy = f"run `dvc repro tokenize@{read.start}` first"
        raise BadData(Code.NO_TOKENIZED_TEXT, read.tokenized, problem, remedy)
    return read
